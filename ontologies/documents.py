"""New items with the rules of their fields, and the documents of ontologies: the creation format, the rich format of downloads,
indented text."""

import copy
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from annotation_service import words
from annotation_service.inputs import (
    CHECKED_FIRST,
    Problems,
    Refused,
    check_text,
    clean_description,
    clean_name,
    normalized,
    size_of,
    text_blocks,
)
from annotation_service.json_input import to_json
from annotation_service.json_input.trees import JsonTree
from annotation_service.schemas import PUBLISHED, Checker, load

from . import colors

SCHEMAS = Path(__file__).parent / "schemas"
PUBLISHED.update({path.stem: path for path in SCHEMAS.glob("*.json")})
# Of one item without those below it: ten times what its longest description and most terms take.
_ITEM_CHARACTERS = 1_000_000
_STEP = re.compile(r"\d+")
# What stands before names in lists of people, or makes a list something else.
BULLET = r"(?:[-*+•‣◦–]|\d++(?:\.\d++)*+[.)])(?:[ \t]+|$)"
_NO_NAME = re.compile(rf"{BULLET}|[\[{{<\ufeff]")


# --- Items -------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class NewLabel:
    """An item to be created. A list of them is in tree order; ``level`` is 1 at the top. Below one that is not active they go off
    with it, unless they have events of their own."""

    level: int
    name: str
    description: str = ""
    example_terms: list[str] = field(default_factory=list)
    color: str = ""
    active: bool = True
    uid: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    off_by: str = ""
    dropped_terms: int = 0  # of a document: repeated or empty
    repeated: int = 0  # of a list: how many further lines name it


def too_deep() -> str:
    return f"A tree has at most {settings.MAX_LEVELS} levels; here are more than {settings.MAX_LEVELS} levels."


def too_many() -> str:
    return f"An ontology has at most {words.number(settings.MAX_ONTOLOGY_ITEMS)} items."


def name_taken(name: str) -> str:
    return f"There is already an item “{name}” at this place."


def clean_color(value: str) -> str:
    if not colors.HEX.fullmatch(value):
        raise Refused(f"A colour is written as #RRGGBB, not “{value[:20]}”.")
    return value.upper()


def clean_example_terms(values: Iterable[str]) -> list[str]:
    """Stripped and without repetitions, in the order given."""
    values = list(values)
    text = "".join(values)
    if text.strip():
        check_text(text)
    # All at once: of the 2,800,000 terms that 20 MB may have, this takes 1 s instead of 5 s.
    terms = list(dict.fromkeys(filter(None, map(str.strip, normalized("\0".join(values)).split("\0")))))
    if len(terms) > settings.MAX_EXAMPLE_TERMS:
        raise Refused(f"An item has at most {settings.MAX_EXAMPLE_TERMS} example terms; this one has {len(terms)}.")
    if terms and len(term := max(terms, key=len)) > (most := settings.MAX_EXAMPLE_TERM_CHARACTERS):
        raise Refused(f"An example term has at most {most} characters; “{term[:30]}…” has {len(term)}.")
    return terms


def notes_on(items: Iterable[NewLabel]) -> str:
    """Sentences on what of a document is not kept, each behind a space: items that are on below one that is off, and terms."""
    on, dropped, off = 0, 0, 0
    for new in items:
        dropped += new.dropped_terms
        if off and new.level > off:
            on += new.active
        else:
            off = 0 if new.active else new.level
    below = "item that is on below one that is off was,items that are on below one that is off were"
    terms = "example term is,example terms are"
    return (f" {words.plural(on, below)} taken off." if on else "") + (
        f" {words.plural(dropped, terms)} left out: repeated at the same label, or empty." if dropped else ""
    )


# --- Reading -----------------------------------------------------------------------------------------------------------


def example_json(kind: str) -> str:
    """A small document to start from."""
    return (Path(__file__).parent / "examples" / f"{kind}.json").read_text("utf-8").strip()


def read_ontology(source: str | IO[bytes], kind: str) -> list[NewLabel]:
    """The items of a creation or rich document, in tree order.

    ``kind`` is ``entity`` or ``relation``. Raises `Refused` with the line and column of broken JSON, or with the place of
    every wrong item.
    """
    if size_of(source) > CHECKED_FIRST:
        _Reader(source, kind).read(keep=False)
    return _Reader(source, kind).read()


class _Reader:
    def __init__(self, source: str | IO[bytes], kind: str) -> None:
        # Checks one item without those below it.
        item = copy.deepcopy(load(SCHEMAS / f"{kind}_ontology.json")["$defs"]["item"])
        item["properties"]["children"] = {"type": ["array", "null"]}
        self.checker = Checker(item)
        self.cleaners = [(name, clean) for name, clean in _CLEANERS.items() if name in self.checker.known]
        self.problems = Problems()
        self.tree = JsonTree(
            text_blocks(source),
            "children",
            limit=_ITEM_CHARACTERS,
            most=settings.MAX_ONTOLOGY_ITEMS,
            what="An ontology",
        )
        self.names: dict[int, dict[bytes, int]] = {}  # of the items below each item that is open
        self.uids: dict[str, int] = {}

    def read(self, *, keep: bool = True) -> list[NewLabel]:
        """The items, if they are to be kept. They come after those below them, and are put before them."""
        items: dict[int, NewLabel] = {}
        for number, above, level, value in self.tree:
            is_whole = number < 0
            if is_whole and not isinstance(value, list):
                raise Refused("A list of items was expected: the document starts with “[”.", place="$")
            below = value if is_whole else value.get("children")
            if isinstance(below, list):
                self._check_objects(below, "item " if is_whole else f"{self.tree.place(number)}.")
            if not is_whole and (item := self._check_item(value, number, above, level)) and keep:
                items[number] = item
        self.problems.first.sort(key=lambda problem: [int(step) for step in _STEP.findall(problem.place)])
        self.problems.raise_if_any()
        return [items[number] for number in sorted(items)]

    def _check_objects(self, values: list[Any], above: str) -> None:
        """Report what is no object in a list. Those that are come from the tree by themselves."""
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                self.checker.sound_fields(value, f"{above}{index + 1}".__add__, self.problems)

    def _check_item(self, value: dict[str, Any], number: int, above: int, level: int) -> NewLabel | None:
        self.names.pop(number, None)
        if level > settings.MAX_LEVELS:
            if level == settings.MAX_LEVELS + 1:
                self.problems.add(self.tree.place(number).partition(".")[0], too_deep())
            return None
        fields = self.checker.sound_fields(value, partial(self.tree.place, number), self.problems)
        if not (item := self._read_item(fields, number, level)):
            return None
        # As UTF-8: one emoji makes a text four times as large, and 50,000 names 44 MB.
        names = self.names.setdefault(above, {})
        if (first := names.setdefault(item.name.encode(), number)) != number:
            text = f"“{item.name}” stands already at this place ({self.tree.place(first)})."
            self.problems.add(self.tree.place(number, ".name"), text)
        if item.uid and (first := self.uids.setdefault(item.uid, number)) != number:
            text = f"The id {item.uid} stands already at {self.tree.place(first)}."
            self.problems.add(self.tree.place(number, ".id"), text)
        return item

    def _read_item(self, fields: dict[str, Any], number: int, level: int) -> NewLabel | None:
        values: dict[str, Any] = {}
        for name, clean in self.cleaners:
            if (value := fields.get(name)) is not None:
                try:
                    values[name] = clean(value)
                except Refused as error:
                    self.problems.add(self.tree.place(number, f".{name}"), error.problems[0].text)
        if "name" not in values:
            return None
        dropped = len(fields.get("example_terms") or ()) - len(values.get("example_terms", ()))
        return NewLabel(
            level=level,
            dropped_terms=dropped,
            active=fields.get("active") is not False,
            uid=fields.get("id") or "",
            **values,
        )


def read_time(value: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(f"A UTC time such as 2023-04-14T10:20:30Z was expected, not “{value[:40]}”.") from None


_CLEANERS: dict[str, Callable[[Any], Any]] = {
    "name": clean_name,
    "description": clean_description,
    "example_terms": clean_example_terms,
    "color": clean_color,
    "created_at": read_time,
    "updated_at": read_time,
}


# --- Writing -----------------------------------------------------------------------------------------------------------

# Some as the database writes them: with values made of all, and written anew, 10,000 items take 0.22 instead of 0.08 s.
_COLUMNS: list[Any] = ["level", "name", "description", "uid", "color", "active"]
_COLUMNS += [Cast(name, TextField()) for name in ("example_terms", "created_at", "updated_at")]


def write_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def rich_json(items: QuerySet[Any], *, with_terms: bool) -> str:
    """Items in tree order as nested objects, keys in the order of the specification. An item starts a line, its children follow
    indented. Written as text: nesting 10,000 dictionaries first takes 1.7 times as long."""
    parts: list[str] = []
    branch: list[tuple[str, str, list[int]]] = []  # end of the open items, full name, path
    counts = [0]  # of the items so far at the top and below each open item

    def close_to(level: int) -> None:
        while len(branch) >= level:
            end, *_ = branch.pop()
            parts.append(f"\n{' ' * (len(branch) + 1)}]{end}" if counts.pop() else f"]{end}")

    for level, name, description, uid, color, active, terms, created, updated in items.values_list(*_COLUMNS):
        close_to(level)
        index = counts[-1]
        counts[-1] += 1
        fullname, path = name, [index]
        if branch:
            fullname, path = f"{branch[-1][1]}/{name}", [*branch[-1][2], index]
        its_terms = f', "example_terms": {terms if terms == "[]" else to_json(json.loads(terms))}' if with_terms else ""
        rest = (
            f', "description": {to_json(description)}{its_terms}, "created_at": "{_time(created)}"'
            f', "updated_at": "{_time(updated)}", "id": "{uid}", "fullname": {to_json(fullname)}'
            f', "color": "{color}", "active": {"true" if active else "false"}, "path": {path}}}'
        )
        comma = "," if index else ""
        parts.append(f'{comma}\n{" " * level}{{"name": {to_json(name)}, "children": [')
        branch.append((rest, fullname, path))
        counts.append(0)
    close_to(1)
    return f"[{''.join(parts)}\n]\n" if parts else "[]\n"


def _time(text: str) -> str:
    """“2023-04-14 10:20:30.123” in UTC, as all times are stored, without the fraction."""
    return f"{text[:10]}T{text[11:19]}Z"


def indented_text(items: QuerySet[Any]) -> str:
    """One name a line, two spaces for each level; behind a bullet, if what the name begins with would be taken for something else
    than a name."""
    return "".join(
        f"{'  ' * (level - 1)}{'- ' if _NO_NAME.match(name) else ''}{name}\n"
        for level, name in items.values_list("level", "name")
    )
