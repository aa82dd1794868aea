"""What the workspace may offer: the labels and the rules of a project, as documents that browsers keep under their version."""

import hashlib
from functools import lru_cache
from typing import Any

from django.urls import reverse

from annotation_service.db import snapshot
from annotation_service.json_input import to_compact_json
from projects.models import Project
from resources.models import ConstraintSet, Version, versions_in


def addresses(project: int) -> dict[str, str]:
    """Where a project's labels and rules are found as they are now. When they change, so do their addresses."""
    return _addresses(project, versions_in("%(key)s", project))


@lru_cache(maxsize=1000)  # 0.1 ms
def _addresses(project: int, versions: tuple[Version, ...]) -> dict[str, str]:
    of = {name: [each for each in versions if each.what == name] for name in DOCUMENTS}
    return {name: reverse(f"annotations:{name}", args=[project, _digest(each)]) for name, each in of.items()}


def labels_json(project: Project) -> bytes:
    """``{kind: [[uid, name, place of the parent or -1, colour, active, description, example terms], ...]}``, in tree order."""
    document = {}
    for ontology in project.ontology_set.order_by("kind"):
        labels = ontology.labels()
        places = {label.uid: place for place, label in enumerate(labels)}
        document[ontology.kind] = [
            [
                label.uid,
                label.name,
                places.get(label.parent_uid or "", -1),
                label.color,
                int(label.active),
                label.description,
                label.example_terms,
            ]
            for label in labels
        ]
    return to_compact_json(document).encode()


def rules_json(project: Project) -> bytes:
    """``{"entity": [[set, position, domain, excludes, can_contain or null], ...], "relation": [[set, position, relation, domain,
    range], ...]}``: sets by their names, labels by their uids."""
    document: dict[str, list[list[Any]]] = {kind: [] for kind in ConstraintSet.row_models}
    with snapshot():
        uids = {label.pk: label.uid for ontology in project.ontology_set.all() for label in ontology.labels()}
        for each in ConstraintSet.objects.filter(project=project).order_by("kind"):
            document[each.kind] = [
                [rule.set.name, rule.position, *(_named(label, uids) for label in (*rule.key, *rule.lists))]
                for rule in each.rules()
            ]
    return to_compact_json(document).encode()


DOCUMENTS = {"labels": labels_json, "rules": rules_json}


def _named(labels: Any, uids: dict[int, str]) -> Any:
    """Keys of labels, one or a list of them or None, as uids."""
    if isinstance(labels, int):
        return uids[labels]
    return labels and [uids[label] for label in labels]


def _digest(versions: list[Version]) -> str:
    return hashlib.blake2b(repr(versions).encode(), digest_size=8).hexdigest()
