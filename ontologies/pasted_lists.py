"""Lists of items that are added: read as people paste them or taken from another ontology, and what adding them to a tree would
do."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service import csv_tables
from annotation_service.db import among
from annotation_service.inputs import Problems, Refused, check_text, clean_description, clean_name
from annotation_service.json_input.lists import Element

from .documents import (
    BULLET,
    NewLabel,
    clean_color,
    clean_example_terms,
    name_taken,
    read_ontology,
    read_time,
    too_deep,
    too_many,
)
from .labels import gloss, letters_of
from .tree import NewBranch, Tree

# --- Lines -------------------------------------------------------------------------------------------------------------

_FILLED = re.compile(r"^[^\S\n]*+\S.*", re.MULTILINE)
_LINE = re.compile(rf"([ \t]*)(?:{BULLET})?(.*)", re.DOTALL)


@dataclass(slots=True)
class _Branch:
    """An item with those below it, by their names; ``line`` is the first that names it, 0 while it only stands above others."""

    label: NewLabel
    below: dict[str, "_Branch"] = field(default_factory=dict)
    line: int = 0


class NewTree:
    """What a list names, each item once and those above it included."""

    def __init__(self) -> None:
        self.top = _Branch(NewLabel(0, ""))
        self.count = 0

    def add(self, names: Iterable[str], branch: _Branch, line: int) -> _Branch:
        for name in names:
            if name not in branch.below:
                self.count += 1
                if self.count > settings.MAX_ONTOLOGY_ITEMS:
                    raise Refused(too_many())
                branch.below[name] = _Branch(NewLabel(branch.label.level + 1, name))
            branch = branch.below[name]
        branch.label.repeated += bool(branch.line)
        branch.line = branch.line or line
        return branch

    def labels(self, branch: _Branch | None = None) -> Iterator[NewLabel]:
        for each in (branch or self.top).below.values():
            yield each.label
            yield from self.labels(each)


def read_pasted(text: str, kind: str) -> list[NewLabel]:
    """The items of a pasted list, in tree order. Raises `Refused` with the line, or for JSON the place, of every problem.

    A line is a name or a path with “/”, below the last line that is less indented. Bullets and numbers before it are left out.
    """
    text = check_text(text.removeprefix("\ufeff"))
    if text.lstrip().startswith("["):
        return read_ontology(text, kind)
    found, problems = NewTree(), Problems()
    last, indents, branches = found.top, list[str](), [found.top]
    for number, indent, rest in _filled_lines(text):
        if not indents:
            indents.append(indent)
        elif indent != indents[-1] and indent.startswith(indents[-1]):
            indents.append(indent)
            branches.append(last)
        while len(indents) > 1 and indent != indents[-1] and len(indent) < len(indents[-1]):
            indents.pop()
            branches.pop()
        if indent != indents[-1]:
            problems.add(f"line {number}", "The indentation fits none of the lines above.")
        try:
            names = _names(rest, branches[-1].label.level)
        except Refused as refused:
            problems.add(f"line {number}", refused.problems[0].text)
            names = [""]
        last = found.add(names, branches[-1], number)
    problems.raise_if_any()
    return list(found.labels())


def from_fullnames(names: Iterable[str]) -> list[NewLabel]:
    """Items with these full names, those above them included, in tree order. Raises `Refused` with what no item may be called."""
    found = NewTree()
    for number, name in enumerate(names, 1):
        try:
            found.add(_names(name), found.top, number)
        except Refused as refused:
            raise Refused(refused.problems[0].text, place=f"label “{name}”") from None
    return list(found.labels())


def _filled_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """The number of each line that is not blank, its indentation, and what follows its bullet or number. Raises `Refused` if
    these are more than an ontology may have items."""
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


def _names(path: str, level: int = 0) -> list[str]:
    """The names of a path that begins below this level."""
    if level + path.count("/") >= settings.MAX_LEVELS:
        raise Refused(too_deep())
    return [clean_name(part) for part in path.split("/")]


# --- Tables ------------------------------------------------------------------------------------------------------------


class ColumnRole(NamedTuple):
    """What a column of a table can be, with the headings by which it is known and how its texts are read."""

    title: str
    headings: str
    read: Callable[[str], Any]
    is_offered: bool = True
    """Whether people may choose a column for it. The others are those of downloads."""


_ESCAPES: dict[str, str | int | None] = {"\\": "\\\\", "|": "\\|", "\n": "\\n", "\r": "\\r"}


def written_terms(terms: Sequence[str]) -> str:
    """Example terms in a cell, so that `_read_terms` finds the same."""
    cell = "|".join(term.translate(str.maketrans(_ESCAPES)) for term in terms)
    return f"{cell}|" if "|" not in cell and re.search(r"[;,\\]", cell) else cell


def _read_terms(cell: str) -> list[str]:
    """With “|” between them, else with commas, semicolons or line ends."""
    if "|" not in cell:
        return clean_example_terms(re.split("[;,\n]", cell))
    parts = re.findall(r"(?:[^|\\]|\\.)+", cell, re.DOTALL)
    meant = {"n": "\n", "r": "\r"}
    return clean_example_terms(re.sub(r"\\(.)", lambda sign: meant.get(sign[1], sign[1]), part) for part in parts)


def _read_switch(cell: str) -> bool:
    if cell.casefold() not in ("yes", "true", "no", "false"):
        raise Refused(f"“yes” or “no” was expected, not “{cell[:20]}”.")
    return cell.casefold() in ("yes", "true")


ROLES = {
    "name": ColumnRole(
        "Name", "name,label,term,item,title,category,class,concept,entity,relation,type,tag,preferred label", _names
    ),
    "path": ColumnRole("Path", "path,full name,fullname,full path,hierarchy", _names),
    "parent": ColumnRole("Parent", "parent,parent name,parent label,parent path,broader,above", _names),
    "description": ColumnRole(
        "Description", "description,definition,comment,note,notes,scope note,meaning", clean_description
    ),
    "example_terms": ColumnRole(
        "Example terms",
        "example terms,examples,example,terms,synonyms,synonym,aliases,alternative labels",
        _read_terms,
    ),
    "color": ColumnRole("Colour", "colour,color,hex", clean_color),
    # Only those of this service are ids of labels; an apostrophe keeps spreadsheets from taking one for a number.
    "uid": ColumnRole("Id", "id", lambda cell: "".join(re.findall("^'?([0-9a-f]{8})$", cell)), is_offered=False),
    "active": ColumnRole("Active", "active", _read_switch, is_offered=False),
    "created_at": ColumnRole("Created", "created at", read_time, is_offered=False),
    "updated_at": ColumnRole("Updated", "updated at", read_time, is_offered=False),
}
_ROLE_OF = {heading: name for name, role in ROLES.items() for heading in role.headings.split(",")}
_LEVEL = re.compile(r"level ?(\d{1,3})")


def role_of(heading: str) -> str:
    """The name of its role; “level 2” is that of the names on the second level of the tree."""
    words = re.sub(r"[\W_]+", " ", heading).strip().casefold()
    level = _LEVEL.fullmatch(words)
    return f"level {int(level[1]):03}" if level else _ROLE_OF.get(words, "")


MOST_HEADINGS = 10_000  # characters


def headings_of(text: str) -> list[str]:
    """The columns of a table, none if the text is a list of lines: the first line names that of the names or paths, or has tabs
    between names."""
    lines = [rest for _, _, rest in islice(_filled_lines(text.removeprefix("\ufeff")), 2)]
    if not lines or text.lstrip().startswith("["):
        return []
    headings = csv_tables.headings(lines[0][:MOST_HEADINGS], role_of)
    names = {"name", "path", "level 001"} & set(map(role_of, headings))
    is_known = names and set(csv_tables.DELIMITERS) & set(lines[-1])
    return list(dict.fromkeys(headings)) if len(headings) > 1 and (is_known or "\t" in lines[0].strip()) else []


def usual_columns(headings: Sequence[str]) -> dict[str, str]:
    """The heading for each role, "" if there is none."""
    columns = dict.fromkeys(ROLES, "")
    for heading in headings:
        if (role := role_of(heading)) and not columns.get(role):
            columns[role] = heading
    has_names = columns["name"] or columns["path"] or len(columns) > len(ROLES)
    return columns if has_names else {**columns, "name": headings[0]}


@dataclass(slots=True)
class TableRow:
    """A label as a row of a table names it; ``details`` are fields of a `NewLabel`."""

    line: int
    names: list[str]
    parent: str
    details: dict[str, Any]

    @property
    def path(self) -> str:
        return "/".join(self.names)

    @property
    def uid(self) -> str:
        return self.details.get("uid", "")


Known = Mapping[str, TableRow | str | None]
"""What stands by a name: a row of the table or the path of an item that is there; None for more than one."""


def read_table(records: Iterable[Element], columns: Mapping[str, str], places: Known) -> list[NewLabel]:
    """The items of a table, in tree order: see `read_rows`."""
    found, problems = NewTree(), Problems()
    uids: dict[str, int] = {}
    for row in read_rows(records, columns, places):
        try:
            branch = found.add(row.names, found.top, row.line)
            details = {role: getattr(branch.label, role) for role in row.details}
            if branch.label.repeated and details != row.details:
                raise Refused(f"“{branch.label.name}” stands already in line {branch.line}, with other details.")
            if row.uid and (first := uids.setdefault(row.uid, branch.line)) != branch.line:
                raise Refused(f"The id {row.uid} stands already in line {first}.")
        except Refused as refused:
            problems.add(f"line {row.line}", refused.problems[0].text)
            continue
        for role, value in row.details.items():
            setattr(branch.label, role, value)
    problems.raise_if_any()
    return list(found.labels())


def read_rows(records: Iterable[Element], columns: Mapping[str, str], places: Known) -> list[TableRow]:
    """The rows of a table, whose names are those from the top; ``columns`` are the headings of the roles. Raises `Refused` with
    the line and column of every problem.

    A path ends with the name of its row or with what is above that. A parent is another row or one of the ``places``, by its
    name, or else a path. Names of levels stand for those of the row before where they are left out.
    """
    problems = Problems()
    rows: list[TableRow] = []
    known = dict(places)
    levels = sorted(columns.keys() - ROLES.keys())
    for count, record in enumerate(records):
        if count >= settings.MAX_ONTOLOGY_ITEMS:
            raise Refused(too_many())
        values: dict[str, Any] = {}
        if record.refused:
            problems.add_all(record.refused)
        for role, heading in columns.items():
            if heading and record.value and (cell := record.value[heading].strip()):
                try:
                    values[role] = ROLES[role].read(cell) if role in ROLES else [clean_name(cell)]
                except Refused as refused:
                    problems.add(f"{record.place}, column “{heading}”", refused.problems[0].text)
                    values[role] = [""]
        path, name = values.pop("path", []), values.pop("name", [])
        if filled := [at for at, role in enumerate(levels) if role in values]:
            above = rows[-1].names[: filled[0]] if rows else []
            path = [*above, *(values.pop(levels[at])[0] for at in filled)]
            if len(path) <= filled[-1]:
                problems.add(record.place, "A name is missing on a level above.")
        names, parents = path if path[-len(name) :] == name else path + name, values.pop("parent", [])
        if names:
            rows.append(TableRow(record.number, names, "" if path else "/".join(parents), values))
            known[names[-1]] = None if isinstance(known.get(names[-1]), TableRow) else rows[-1]
        elif record.value:
            problems.add(record.place, "A name is needed.")
    problems.raise_if_any()
    found: list[TableRow] = []
    for row in rows:
        try:
            found.append(replace(row, names=_from_top(row, known)))
        except Refused as refused:
            problems.add(f"line {row.line}", refused.problems[0].text)
    problems.raise_if_any()
    return found


def _from_top(row: TableRow, known: Known) -> list[str]:
    """The names down to a row, through its parents."""
    names, parent = row.names, row.parent
    while parent:
        above = known.get(parent, parent)
        if above is None:
            raise Refused(f"“{parent}” stands in more than one place: give the path of the parent.")
        if isinstance(above, str):
            return [*_names(above, len(names)), *names]
        names, parent = [*above.names, *names], above.parent
        if len(names) > settings.MAX_LEVELS:
            raise Refused("It stands below itself." if above is row or above.parent else too_deep())
    return names


# --- Planning ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class PlannedItem:
    """A new item as people see it before it is added. ``level`` counts from 1 in the list; ``starts_off`` because an item above
    it is off. One that ``exists`` is `key`, in another place or by another name if it is ``elsewhere``, and ``called`` so if only
    case or spacing differ."""

    level: int
    name: str
    exists: bool
    problem: str = ""
    starts_off: bool = False
    key: int = 0
    elsewhere: bool = False
    called: str = ""
    details: str = ""


class Plan:
    """Finds the place of each new item below an item: what stands there already is not added again, but descended into. So is,
    ``by_uid``, what was renamed or moved there, and, if ``alike`` is enough, what differs only in case or spacing."""

    def __init__(
        self, tree: Tree, new_items: Sequence[NewLabel], below: Any, *, by_uid: bool = False, alike: bool = False
    ) -> None:
        self.rows: list[PlannedItem] = []
        self._new: dict[int, list[NewLabel]] = {}  # by the key of the existing item above
        self._tree = tree
        room = settings.MAX_ONTOLOGY_ITEMS - tree.size
        stored = below.branch().order_by()
        columns = ("parent_id", "name", "uid", "pk", "active")
        existing: dict[tuple[int, str], list[Any]] = {}
        moved: dict[str, list[Any]] = {}
        nearly: dict[tuple[int, str], tuple[Any, str]] = {}
        for parent_id, name, uid, *its in stored.values_list(*columns):
            existing[parent_id, name] = its
            if by_uid:
                moved[uid] = its
            if alike:
                nearly[parent_id, letters_of(name)] = its, name
        planned: set[tuple[int, str]] = set()
        # For each level: the existing item above, whether it is on, and how many levels of new ones.
        above = [(below.pk, below.active, 0)]
        for new in new_items:
            del above[new.level :]
            parent, is_on, depth = above[-1]
            row = PlannedItem(new.level, new.name, exists=False)
            self.rows.append(row)
            there = existing.get((parent, new.name)) if depth == 0 else None
            if alike and depth == 0 and not there:
                there, row.called = nearly.get((parent, letters_of(new.name)), (None, ""))
            if found := there or moved.get(new.uid):
                row.exists, row.key, row.elsewhere = True, found[0], not there
                above.append((found[0], found[1], 0))
                continue
            row.starts_off, row.details = not is_on, gloss(new.description, new.example_terms)
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
