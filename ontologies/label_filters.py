"""Labels that somebody wants to see alone, such as those without a description: the overview counts them, the tree shows them."""

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from annotation_service.models import User
from annotation_service.words import plural

from .labels import Label
from .models import Ontology, OntologyChange

TITLES = {
    "undescribed": "Without description",
    "unused": "Active, without marks",
    "off": "Switched off",
    "mine": "Added or last changed by me",
}
OVERVIEW = ("undescribed", "unused", "off")
RECENTLY = ("today", "7-days", "30-days")
"""Such as the menu offers behind “since-”; others can be typed into the address."""
MOST = 10


class LabelFilter(NamedTuple):
    """``key`` stands in the address."""

    key: str
    title: str
    labels: list[Label]


class LabelFilters:
    """The filters of an ontology as one person has them. ``made_by`` are the marks that count, everybody's if it is None."""

    def __init__(self, ontology: Ontology, user: User, made_by: User | None = None) -> None:
        self.ontology, self.user, self.made_by = ontology, user, made_by
        self.labels = ontology.labels()

    def named(self, keys: str) -> list[LabelFilter]:
        """Those that an address names, such as “off,mine”. What names none lets nothing through, and says so."""
        found = dict.fromkeys(key for key in keys.split(",") if key)
        return [self.find(key) or LabelFilter(key, "Unknown filter", []) for key in list(found)[:MOST]]

    def find(self, key: str) -> LabelFilter | None:
        if level := re.fullmatch(r"level-([1-9]\d{0,2})", key):
            found = [label for label in self.labels if label.level == int(level[1])]
            return LabelFilter(key, f"Level {level[1]}", found)
        if key.startswith("since-"):
            if not (since := _since(key.removeprefix("since-"))):
                return None
            moment, title = since
            changed = self.ontology.items().filter(updated_at__gte=moment).order_by()
            return LabelFilter(key, title, self._with_uids(changed.values_list("uid", flat=True)))
        if key not in TITLES:
            return None
        match key:
            case "undescribed":
                found = [label for label in self.labels if not label.description]
            case "unused":
                found = unused(self.labels, self.marks)
            case "off":
                found = [label for label in self.labels if not label.active]
            case _:
                found = self._with_uids(made_or_changed_by(self.user, self.ontology))
        return LabelFilter(key, TITLES[key], found)

    def overview(self) -> tuple[list[LabelFilter], list[LabelFilter]]:
        """The levels, and the other filters."""
        depth = max((label.level for label in self.labels), default=0)
        levels = (self.find(f"level-{level}") for level in range(1, depth + 1))
        return [each for each in levels if each], [each for key in OVERVIEW if (each := self.find(key))]

    def _with_uids(self, uids: Iterable[str]) -> list[Label]:
        wanted = set(uids)
        return [label for label in self.labels if label.uid in wanted]

    @cached_property
    def marks(self) -> dict[str, int]:
        return self.ontology.marks_by_uid(self.made_by)


def unused(labels: Iterable[Label], marks: Collection[str]) -> list[Label]:
    """Active labels that no mark carries, whoever made it; ``marks`` has the uids of those that some do."""
    return [label for label in labels if label.active and label.uid not in marks]


def made_or_changed_by(person: User, ontology: Ontology) -> set[str]:
    """The uids of the labels that a person added or changed last, as the steps in the history tell: what came with a file or a
    copy has none."""
    if connection.vendor == "sqlite":
        each, is_new = "json_each(c.items)", "each.value LIKE '[null,%%'"
    else:
        each, is_new = "jsonb_each(c.items)", "each.value -> 0 = 'null'::jsonb"
    sql = f"""
        SELECT each.key, MIN(CASE WHEN {is_new} THEN c.version END), MAX(c.version)
        FROM {OntologyChange._meta.db_table} c, {each} each WHERE c.ontology_id = %s GROUP BY each.key
    """
    their_own = set(ontology.changes.filter(user=person).order_by().values_list("version", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(sql, [ontology.pk])
        return {uid for uid, added, changed in cursor.fetchall() if added in their_own or changed in their_own}


def _since(text: str) -> tuple[datetime, str] | None:
    """When “today”, “7-days”, a day such as “2026-11-20” or a moment such as “2026-11-20T10:20Z” began, in UTC, and the title."""
    now = timezone.now().astimezone(UTC)
    if text == "today":
        return now.replace(hour=0, minute=0, second=0, microsecond=0), "Changed today"
    if days := re.fullmatch(r"([1-9]\d{0,2})-days", text):
        return now - timedelta(days=int(days[1])), f"Changed in the last {plural(int(days[1]), 'day,days')}"
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return moment, f"Changed since {moment:%-d %b %Y}" + (f", {moment:%H:%M} UTC" if "T" in text else "")
