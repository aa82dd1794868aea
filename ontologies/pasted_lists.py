"""Lists of items that are added: read as people paste them or taken from another ontology, and what adding them to a tree would
do."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from annotation_service.db import among
from annotation_service.inputs import Problems, Refused, check_text, clean_name

from .documents import NewLabel, name_taken, read_ontology, too_deep, too_many
from .tree import NewBranch, Tree

# --- Reading -----------------------------------------------------------------------------------------------------------

_FILLED = re.compile(r"^[^\S\n]*+\S.*", re.MULTILINE)
_LINE = re.compile(r"([ \t]*)(?:(?:[-*+•‣◦–]|\d++(?:\.\d++)*+[.)])(?:[ \t]+|$))?(.*)", re.DOTALL)
Row = tuple[int, str, str]
"""The number of a line, its indentation, and what follows its bullet or number."""


def read_pasted(text: str, kind: str) -> list[NewLabel]:
    """The items of a pasted list, in tree order. Raises `Refused` with the line, or for JSON the place, of every problem.

    Lines are paths if one of them has a “/” and none is indented. Bullets and numbers before the names are left out.
    """
    text = check_text(text.removeprefix("\ufeff"))
    if text.lstrip().startswith("["):
        return read_ontology(text, kind)
    rows = list(_filled_lines(text))
    problems = Problems()
    indented = any(indent != rows[0][1] for _, indent, _ in rows)
    if not indented and any("/" in rest for _, _, rest in rows):
        items = _read_paths(rows, problems)
    else:
        items = _read_indented(rows, problems)
    problems.raise_if_any()
    return items


def from_fullnames(names: Iterable[str]) -> list[NewLabel]:
    """Items with these full names, those above them included, in tree order. Raises `Refused` with what no item may be called."""
    problems = Problems()
    items = _read_paths([(number, "", name) for number, name in enumerate(names, 1)], problems)
    problems.raise_if_any()
    return items


def _filled_lines(text: str) -> Iterator[Row]:
    """The lines that are not blank. Raises `Refused` if these are more than an ontology may have items."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    number, end = 1, 0
    for count, match in enumerate(_FILLED.finditer(text)):
        if count >= settings.MAX_ONTOLOGY_ITEMS:
            raise Refused(too_many())
        number += text.count("\n", end, match.start())
        end = match.start()
        line = _LINE.fullmatch(match[0])
        assert line  # it matches everything
        yield number, line[1], line[2]


def _read_indented(rows: list[Row], problems: Problems) -> list[NewLabel]:
    items: list[NewLabel] = []
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
            problems.add(f"line {number}", too_deep())
            continue
        if name := _read_name(rest, number, problems):
            if (first := names[-1].setdefault(name, number)) != number:
                problems.add(f"line {number}", f"“{name}” stands already at this place (line {first}).")
            items.append(NewLabel(level, name))
    return items


def _read_paths(rows: list[Row], problems: Problems) -> list[NewLabel]:
    tree: dict[str, Any] = {}
    count = 0
    for number, _, path in rows:
        if path.count("/") >= settings.MAX_LEVELS:
            problems.add(f"line {number}", too_deep())
            continue
        branch = tree
        for name in [_read_name(part, number, problems) for part in path.split("/")]:
            count += name not in branch
            if count > settings.MAX_ONTOLOGY_ITEMS:
                raise Refused(too_many())
            branch = branch.setdefault(name, {})
    return list(_new_items(tree, 1))


def _new_items(tree: dict[str, Any], level: int) -> Iterator[NewLabel]:
    for name, below in tree.items():
        yield NewLabel(level, name)
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
    """A new item as people see it before it is added. ``level`` counts from 1 in the list; ``starts_off`` because an item above
    it is off. One that ``exists`` is `key`, in another place or by another name if it is ``elsewhere``."""

    level: int
    name: str
    exists: bool
    problem: str = ""
    starts_off: bool = False
    key: int = 0
    elsewhere: bool = False


class Plan:
    """Finds the place of each new item below an item: what stands there already is not added again, but descended into. So is,
    ``by_uid``, what was renamed or moved there."""

    def __init__(self, tree: Tree, new_items: Sequence[NewLabel], below: Any, *, by_uid: bool = False) -> None:
        self.rows: list[PlannedItem] = []
        self._new: dict[int, list[NewLabel]] = {}  # by the key of the existing item above
        self._tree = tree
        room = settings.MAX_ONTOLOGY_ITEMS - tree.size
        stored = below.branch().order_by()
        columns = ("parent_id", "name", "uid", "pk", "active")
        existing: dict[tuple[int, str], list[Any]] = {}
        moved: dict[str, list[Any]] = {}
        for parent_id, name, uid, *its in stored.values_list(*columns):
            existing[parent_id, name] = its
            if by_uid:
                moved[uid] = its
        planned: set[tuple[int, str]] = set()
        # For each level: the existing item above, whether it is on, and how many levels of new ones.
        above = [(below.pk, below.active, 0)]
        for new in new_items:
            del above[new.level :]
            parent, is_on, depth = above[-1]
            row = PlannedItem(new.level, new.name, exists=False)
            self.rows.append(row)
            there = existing.get((parent, new.name)) if depth == 0 else None
            if found := there or moved.get(new.uid):
                row.exists, row.key, row.elsewhere = True, found[0], not there
                above.append((found[0], found[1], 0))
                continue
            row.starts_off = not is_on
            room -= 1
            if below.level + new.level > settings.MAX_LEVELS:
                row.problem = too_deep()
            elif room < 0:
                row.problem = too_many()
            elif depth == 0 and (parent, new.name) in planned:  # below two items that are one here
                row.problem = name_taken(new.name)
            if depth == 0:
                planned.add((parent, new.name))
            above.append((parent, is_on and new.active, depth + 1))
            self._new.setdefault(parent, []).append(replace(new, level=depth + 1))

    def check(self) -> None:
        problems = Problems()
        path: list[str] = []
        for row in self.rows:
            path[row.level - 1 :] = [row.name]
            if row.problem:
                problems.add("/".join(path), row.problem)
        problems.raise_if_any()

    def branches(self) -> list[NewBranch]:
        parents = self._tree.nodes.filter(pk__in=among(self._new)).in_bulk()
        return [NewBranch(parents[pk], items) for pk, items in self._new.items()]
