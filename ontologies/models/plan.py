"""What adding a list of items to a tree would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from annotation_service.db import among
from annotation_service.inputs import Problems

from .. import tree
from ..formats import MAX_LEVELS, NewItem
from .item import OntologyItem

if TYPE_CHECKING:
    from .ontology import Ontology


@dataclass(slots=True)
class Planned:
    """A new item as people see it before it is added. ``level`` counts from 1 in the list."""

    level: int
    name: str
    exists: bool
    problem: str = ""
    uid: str = ""
    """Of the item that exists."""


@dataclass(frozen=True, slots=True)
class Added:
    uids: list[str]
    existed: int

    @property
    def count(self) -> int:
        return len(self.uids)


class Plan:
    """Finds the place of each new item: what stands there already is not added again, but descended into."""

    def __init__(self, ontology: "Ontology", new_items: Sequence[NewItem], below: OntologyItem) -> None:
        self.ontology, self.below = ontology, below
        self.rows: list[Planned] = []
        self._items: dict[int, list[NewItem]] = {}  # new items by the key of the item that they grow from
        self._room = settings.MAX_ONTOLOGY_ITEMS - ontology.row_count
        stored = ontology.items().filter(lft__gt=below.lft, lft__lt=below.rght)
        self._existing = {
            (parent_id, name): (pk, uid)
            for pk, uid, parent_id, name in stored.values_list("pk", "uid", "parent_id", "name")
        }
        self._walk(new_items)

    def _walk(self, new_items: Sequence[NewItem]) -> None:
        stems = [(self.below.pk, 0)]  # for each level: the existing item above, and how many levels of new ones
        names: list[set[str]] = [set()]
        for new in new_items:
            del stems[new.level :], names[new.level :]
            stem, depth = stems[-1]
            row = Planned(new.level, new.name, exists=False)
            self.rows.append(row)
            if new.name in names[-1]:
                row.problem = f"“{new.name}” stands twice at this place of the list."
            names[-1].add(new.name)
            names.append(set())
            if depth == 0 and (found := self._existing.get((stem, new.name))):
                row.exists, row.uid = True, found[1]
                stems.append((found[0], 0))
                continue
            row.problem = row.problem or self._problem(new)
            stems.append((stem, depth + 1))
            fields = {name: getattr(new, name) for name in NewItem.__slots__} | {"level": depth + 1}
            self._items.setdefault(stem, []).append(NewItem(**fields))

    def _problem(self, new: NewItem) -> str:
        self._room -= 1
        if self.below.level + new.level > MAX_LEVELS:
            return f"A tree has at most {MAX_LEVELS} levels."
        if new.example_terms and not self.ontology.is_entity:
            return "Items of a relation ontology have no example terms."
        if self._room < 0:
            return f"An ontology has at most {settings.MAX_ONTOLOGY_ITEMS:,} items."
        return ""

    def check(self) -> None:
        problems = Problems()
        path: list[str] = []
        for row in self.rows:
            path[row.level - 1 :] = [row.name]
            if row.problem:
                problems.add("/".join(path), row.problem)
        problems.raise_if_any()

    def shoots(self) -> list[tree.Shoot]:
        stems = {stem.pk: stem for stem in OntologyItem.objects.filter(pk__in=among(self._items))}
        return [tree.Shoot(stems[pk], items) for pk, items in self._items.items()]
