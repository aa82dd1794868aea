"""Lists of items that are added: read as people paste them, and what adding them to a tree would do."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.db import among
from annotation_service.inputs import Problems, Refused, check_text, clean_name, split_lines

from .documents import NewItem, read_ontology
from .tree import NewBranch, Tree

# --- Reading -----------------------------------------------------------------------------------------------------------

_LINE = re.compile(r"([ \t]*)(?:(?:[-*+•‣◦–]|\d+(?:\.\d+)*[.)])(?:[ \t]+|$))?(.*)", re.DOTALL)


def read_pasted(text: str, kind: str) -> list[NewItem]:
    """The items of a pasted list, in tree order. Raises `Refused` with the line, or for JSON the place, of every problem.

    Lines are paths if one of them has a “/” and none is indented. Bullets and numbers before the names are left out.
    """
    text = check_text(text.removeprefix("\ufeff"))
    if text.lstrip().startswith("["):
        return read_ontology(text, kind)
    rows = [
        (number, match[1], match[2])
        for number, line in enumerate(split_lines(text), 1)
        if line.strip() and (match := _LINE.fullmatch(line))
    ]
    problems = Problems()
    indented = any(indent != rows[0][1] for _, indent, _ in rows)
    if not indented and any("/" in rest for _, _, rest in rows):
        items = _read_paths(rows, problems)
    else:
        items = _read_indented(rows, problems)
    if len(items) > settings.MAX_ONTOLOGY_ITEMS:
        most, count = words.number(settings.MAX_ONTOLOGY_ITEMS), words.number(len(items))
        problems.add("", f"An ontology has at most {most} items; this has {count}.")
    problems.raise_if_any()
    return items


def _read_indented(rows: list[tuple[int, str, str]], problems: Problems) -> list[NewItem]:
    items: list[NewItem] = []
    indents = [rows[0][1]]
    names: list[dict[str, int]] = [{}]  # of the siblings at each level, with their lines
    for number, indent, rest in rows:
        if indent != indents[-1] and indent.startswith(indents[-1]):
            indents.append(indent)
            names.append({})
        while len(indents) > 1 and indent != indents[-1] and len(indent) < len(indents[-1]):
            indents.pop()
            names.pop()
        if indent != indents[-1]:
            problems.add(f"line {number}", "The indentation fits none of the lines above.")
        level = len(indents)
        if level > settings.MAX_LEVELS:
            problems.add(f"line {number}", f"A tree has at most {settings.MAX_LEVELS} levels.")
            continue
        if name := _read_name(rest, number, problems):
            if (first := names[-1].setdefault(name, number)) != number:
                problems.add(f"line {number}", f"“{name}” stands already at this place (line {first}).")
            items.append(NewItem(level, name))
    return items


def _read_paths(rows: list[tuple[int, str, str]], problems: Problems) -> list[NewItem]:
    tree: dict[str, Any] = {}
    for number, _, path in rows:
        parts = path.split("/")
        if len(parts) > settings.MAX_LEVELS:
            problems.add(f"line {number}", f"A tree has at most {settings.MAX_LEVELS} levels.")
            continue
        branch = tree
        for name in [_read_name(part, number, problems) for part in parts]:
            branch = branch.setdefault(name, {})
    return list(_new_items(tree, 1))


def _new_items(tree: dict[str, Any], level: int) -> Iterator[NewItem]:
    for name, below in tree.items():
        yield NewItem(level, name)
        yield from _new_items(below, level + 1)


def _read_name(text: str, number: int, problems: Problems) -> str:
    try:
        return clean_name(text)
    except Refused as refused:
        problems.add(f"line {number}", refused.problems[0].text)
        return ""


# --- Planning ----------------------------------------------------------------------------------------------------------


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
