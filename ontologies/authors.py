"""Who added each label and who changed it last, as the steps in the history tell."""

import threading
from typing import Any

from django.db import connection

from .models import Ontology, OntologyChange

# Of each label two numbers: about 2 MB for 10,000 labels.
KEPT_ONTOLOGIES = 20


class Authors:
    """People by the uids of the labels that they added or changed last. What came with a file or a copy has no step."""

    def __init__(self) -> None:
        self.version = 0
        self.added: dict[str, int] = {}
        self.changed: dict[str, int] = {}

    def read(self, ontology: Ontology) -> None:
        """Read the steps that are new. A step may name thousands of labels, and none is ever changed."""
        newer = ontology.changes.filter(version__gt=self.version).order_by()
        people = dict(newer.values_list("version", "user_id"))
        if not people:
            return
        for uid, added, changed in _labels_of_steps(ontology, min(people), max(people)):
            self.changed[uid] = people[changed]
            if added:
                self.added.setdefault(uid, people[added])
        self.version = max(people)

    def labels_of(self, person: int) -> set[str]:
        return {uid for who in (self.added, self.changed) for uid, key in who.items() if key == person}


def _labels_of_steps(ontology: Ontology, first: int, last: int) -> list[tuple[str, int | None, int]]:
    """The uids in the steps from one version to another, each with the versions of the first that added it, and of its newest."""
    if connection.vendor == "sqlite":
        each, is_new = "json_each(c.items)", "each.value LIKE '[null,%%'"
    else:
        each, is_new = "jsonb_each(c.items)", "each.value -> 0 = 'null'::jsonb"
    sql = f"""
        SELECT each.key, MIN(CASE WHEN {is_new} THEN c.version END), MAX(c.version)
        FROM {OntologyChange._meta.db_table} c, {each} each
        WHERE c.ontology_id = %s AND c.version BETWEEN %s AND %s GROUP BY each.key
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [ontology.pk, first, last])
        return cursor.fetchall()


_kept: dict[tuple[Any, ...], Authors] = {}
_lock = threading.Lock()


def labels_of(person: int, ontology: Ontology) -> set[str]:
    """The uids of the labels that a person added or changed last. What was read is kept in memory, of as many ontologies
    as were asked for last."""
    key = (ontology.pk, ontology.created_at)
    with _lock:
        found = _kept[key] = _kept.pop(key) if key in _kept else Authors()
        found.read(ontology)
        for other in list(_kept)[:-KEPT_ONTOLOGIES]:
            del _kept[other]
        return found.labels_of(person)  # still inside the lock: another thread may read newer steps into it
