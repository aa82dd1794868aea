"""Labels that somebody wants to see alone, such as those without a description: the overview counts them, the tree shows them."""

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from django.utils import timezone

from annotation_service.models import User
from annotation_service.words import plural

from .authors import labels_of
from .labels import Label
from .models import Ontology

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


class Filter(NamedTuple):
    """``key`` stands in the address."""

    key: str
    title: str
    labels: list[Label]


class Filters:
    """The filters of an ontology as one person has them. ``made_by`` are the marks that count, everybody's if it is None."""

    def __init__(self, ontology: Ontology, user: User, made_by: User | None = None) -> None:
        self.ontology, self.user, self.made_by = ontology, user, made_by
        self.labels = ontology.labels()

    def named(self, keys: str) -> list[Filter]:
        """Those that an address names, such as “off,mine”. What names none lets nothing through, and says so."""
        found = dict.fromkeys(key for key in keys.split(",") if key)
        return [self.find(key) or Filter(key, "Unknown filter", []) for key in list(found)[:MOST]]

    def find(self, key: str) -> Filter | None:
        if level := re.fullmatch(r"level-([1-9]\d{0,2})", key):
            return Filter(key, f"Level {level[1]}", [label for label in self.labels if label.level == int(level[1])])
        if key.startswith("since-"):
            return self._since(key)
        if key not in TITLES:
            return None
        return Filter(key, TITLES[key], getattr(self, f"_{key}"))

    def overview(self) -> tuple[list[Filter], list[Filter]]:
        """The levels, and the other filters."""
        depth = max((label.level for label in self.labels), default=0)
        levels = (self.find(f"level-{level}") for level in range(1, depth + 1))
        return [each for each in levels if each], [each for key in OVERVIEW if (each := self.find(key))]

    @property
    def _undescribed(self) -> list[Label]:
        return [label for label in self.labels if not label.description]

    @property
    def _unused(self) -> list[Label]:
        return unused(self.labels, self.marks)

    @property
    def _off(self) -> list[Label]:
        return [label for label in self.labels if not label.active]

    @property
    def _mine(self) -> list[Label]:
        mine = labels_of(self.user.pk, self.ontology)
        return [label for label in self.labels if label.uid in mine]

    def _since(self, key: str) -> Filter | None:
        if not (since := _since(key.removeprefix("since-"))):
            return None
        moment, title = since
        changed = set(self.ontology.items().filter(updated_at__gte=moment).order_by().values_list("pk", flat=True))
        return Filter(key, title, [label for label in self.labels if label.pk in changed])

    @cached_property
    def marks(self) -> dict[str, int]:
        return self.ontology.marks_by_uid(self.made_by)


def unused(labels: Iterable[Label], marks: Collection[str]) -> list[Label]:
    """Active labels that no mark carries, whoever made it; ``marks`` has the uids of those that some do."""
    return [label for label in labels if label.active and label.uid not in marks]


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
