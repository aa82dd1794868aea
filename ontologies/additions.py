"""What adding a list of items to a tree would do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from annotation_service.db import among
from annotation_service.inputs import Problems

from .documents import NewItem
from .tree import NewBranch, Tree


@dataclass(slots=True)
class PlannedItem:
    """A new item as people see it before it is added. ``level`` counts from 1 in the list."""

    level: int
    name: str
    exists: bool
    problem: str = ""


class Plan:
    """Finds the place of each new item below an item: what stands there already is not added again, but descended into."""

    def __init__(self, tree: Tree, new_items: Sequence[NewItem], below: Any, *, with_terms: bool) -> None:
        self.below, self.with_terms = below, with_terms
        self.rows: list[PlannedItem] = []
        self._new: dict[int, list[NewItem]] = {}  # by the key of the existing item above
        self._nodes = tree.model._base_manager.order_by()
        self._room = settings.MAX_ONTOLOGY_ITEMS - tree.size
        stored = self._nodes.filter(tree_id=tree.pk, lft__gt=below.lft, lft__lt=below.rght)
        existing = {(parent_id, name): pk for pk, parent_id, name in stored.values_list("pk", "parent_id", "name")}
        above = [(below.pk, 0)]  # for each level: the existing item above, and how many levels of new ones
        names: list[set[str]] = [set()]
        for new in new_items:
            del above[new.level :], names[new.level :]
            parent, depth = above[-1]
            row = PlannedItem(new.level, new.name, exists=False)
            self.rows.append(row)
            if new.name in names[-1]:
                row.problem = f"“{new.name}” stands twice at this place of the list."
            names[-1].add(new.name)
            names.append(set())
            if depth == 0 and (found := existing.get((parent, new.name))):
                row.exists = True
                above.append((found, 0))
                continue
            row.problem = row.problem or self._problem(new)
            above.append((parent, depth + 1))
            self._new.setdefault(parent, []).append(replace(new, level=depth + 1))

    def _problem(self, new: NewItem) -> str:
        self._room -= 1
        if self.below.level + new.level > settings.MAX_LEVELS:
            return f"A tree has at most {settings.MAX_LEVELS} levels."
        if new.example_terms and not self.with_terms:
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

    def branches(self) -> list[NewBranch]:
        parents = {node.pk: node for node in self._nodes.filter(pk__in=among(self._new))}
        return [NewBranch(parents[pk], items) for pk, items in self._new.items()]
