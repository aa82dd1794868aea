"""Reading the documents of constraint sets and preannotation sets. They are checked whole, then stored or refused whole."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from django.conf import settings

from annotation_service import csv_tables, words
from annotation_service.inputs import CHECKED_FIRST, MAX_PROBLEMS, Problems, Refused, size_of, text_blocks
from annotation_service.json_input.lists import Element, Elements
from annotation_service.schemas import PUBLISHED, Checker, load
from ontologies.labels import LabelNames

SCHEMAS = Path(__file__).parent / "schemas"
PUBLISHED.update({path.stem: path for path in SCHEMAS.glob("*.json")})
# Stop after so many: explaining takes longer than reading.
_MOST_PROBLEMS = 10_000
R = TypeVar("R")


class SetKind(NamedTuple):
    """What people read of a kind of sets."""

    title: str  # what they are about
    about: str  # the same on the form for a new set
    free: str  # what holds without them


def explained(format: str) -> dict[str, Any]:
    """The fields of a format with what they mean, and an example as JSON and as a table."""
    schema = load(SCHEMAS / f"{format}.json")
    entries, fields = schema["examples"][0], schema["items"]["properties"]
    rows = [fields, *(map(str, entry.values()) for entry in entries)]
    return {
        "fields": {name: field["description"] for name, field in fields.items()},
        "example": json.dumps(entries, indent=2, ensure_ascii=False),
        "table": "\n".join(map(",".join, rows)),
    }


@cache
def _entry_checker(format: str) -> Checker:
    return Checker(load(SCHEMAS / f"{format}.json")["items"])


def read(
    source: str | IO[bytes],
    format: str,
    names: Mapping[str, LabelNames],
    to_row: "Callable[[Entry], R]",
    *,
    keep_inactive: bool,
) -> tuple[list[R], Problems]:
    """A row for each entry of a document, and warnings; ``names`` finds labels in the ontology of each kind. Those that are
    switched off are refused or, with ``keep_inactive``, kept with a warning. What is no JSON is read as a table if the entries
    are flat.

    Raises `Refused` with line and column of broken JSON, or with the number and JSON path of every wrong entry; of a table with
    the line and the column of every wrong value.
    """
    if size_of(source) > CHECKED_FIRST:
        for _ in _read(source, format, names, to_row, Problems() if keep_inactive else None):
            pass
    warnings = Problems()
    return list(_read(source, format, names, to_row, warnings if keep_inactive else None)), warnings


def _read(
    source: str | IO[bytes],
    format: str,
    names: Mapping[str, LabelNames],
    to_row: "Callable[[Entry], R]",
    warnings: Problems | None,
) -> Iterator[R]:
    """The rows one by one; what is wrong is refused at the end."""
    checker, problems = _entry_checker(format), Problems()
    first_numbers: dict[int, int] = {}
    for count, piece in enumerate(_pieces(source, checker), 1):
        if count > settings.MAX_RESOURCE_ROWS:
            raise Refused(
                f"At most {words.number(settings.MAX_RESOURCE_ROWS)} items are allowed; this has more.", place="$"
            )
        if piece.refused:
            problems.add_all(piece.refused)
        else:
            place_of = place_in_table if piece.word == "line" else place_in_document
            before, place = problems.total, partial(place_of, piece.number)
            values = checker.sound_fields(piece.value, place, problems)
            is_valid = problems.total == before
            yield to_row(Entry(piece.number, values, is_valid, place_of, names, problems, warnings, first_numbers))
        if problems.total >= _MOST_PROBLEMS:
            problems.at_least = True
            break
    problems.raise_if_any()


def lacking(
    source: str | IO[bytes], format: str, names: Mapping[str, LabelNames], kinds: Mapping[str, str]
) -> dict[str, list[str]]:
    """The labels that a document names and the ontologies lack, by the kind of the ontology; ``kinds`` are those that its fields
    name labels of. Whatever else is wrong, `read` tells."""
    checker = _entry_checker(format)
    found: dict[str, dict[str, None]] = {kind: {} for kind in names}
    for piece in islice(_pieces(source, checker), settings.MAX_RESOURCE_ROWS):
        values = {} if piece.refused else checker.sound_fields(piece.value, str, Problems())
        for field, kind in kinds.items():
            if (text := values.get(field)) and names[kind].lacks(text):
                found[kind][text.strip()] = None
    return {kind: list(texts) for kind, texts in found.items() if texts}


def _pieces(source: str | IO[bytes], checker: Checker) -> Iterator[Element]:
    blocks = text_blocks(source)
    first, limit = next(blocks, ""), settings.MAX_ITEM_JSON_CHARACTERS
    texts, begins = chain([first], blocks), first.lstrip()[:1]
    if begins in ("", "[", "{") or "array" in checker.types.values():
        yield from Elements(texts, limit)
    else:
        for record in csv_tables.records(texts, list(checker.types), limit):
            yield record if record.refused else record._replace(value=_typed(record.value, checker))


def _typed(value: dict[str, str], checker: Checker) -> dict[str, Any]:
    """The values of a table, with whole numbers where the schema wants some."""
    return {
        name: int(text) if checker.types[name] == "integer" and re.fullmatch(r"\s*-?[0-9]{1,18}\s*", text) else text
        for name, text in value.items()
    }


def place_in_document(number: int, path: str = "") -> str:
    """An entry, counted from 1, and a JSON path in it, such as “.domain”."""
    return f"item {number}, ${path}" if path else f"item {number}"


def place_in_table(number: int, path: str = "") -> str:
    """A line of a table, counted from 1, and a JSON path, whose first step is the column."""
    return f"line {number}, {path.removeprefix('.')}" if path else f"line {number}"


@dataclass(slots=True)
class Entry:
    """One object of a document. A value that is missing or wrong is None; as its problem is added to those of the document, no
    row with it is stored."""

    number: int  # counted from 1
    values: dict[str, Any]
    is_valid: bool
    place_of: Callable[..., str]  # `place_in_document` or `place_in_table`
    names: Mapping[str, LabelNames]
    problems: Problems  # of the document
    warnings: Problems | None  # of the document, if labels that are switched off are kept
    # Of the entries in which `check_once` has met some values, by their hashes: 200,000 take 25 MB, their values 70 MB.
    first_numbers: dict[int, int]

    def add_problem(self, place: str, text: str) -> None:
        self.is_valid = False
        self.problems.add(self.place_of(self.number, place), text)

    def check_once(self, what: str, *values: Any) -> None:
        """Report values that an earlier entry has, too."""
        first = self.first_numbers.setdefault(hash(values), self.number)
        if first != self.number:
            self.add_problem("", f"{what} stands already at {self.place_of(first)}.")

    def value(self, field: Any, kind: str) -> Any:
        """The value of a model field; labels, of the ontology of the kind, as primary keys."""
        value, place = self.values.get(field.name), f".{field.name}"
        if value is None:
            return None
        if field.many_to_many:
            return [self._find(text, kind, f"{place}[{index}]") for index, text in enumerate(value)]
        if field.is_relation:
            return self._find(value, kind, place)
        if isinstance(value, str):
            value = value.strip()
            if not value:
                self.add_problem(place, "This must not be empty.")
            return value
        return int(value)  # 1.0 is a whole number in JSON

    def _find(self, text: str, kind: str, place: str) -> int | None:
        """The primary key of the item with this full name, or with this name alone if that occurs once."""
        names = self.names[kind]
        if label := names.find(text):
            if not label.active:
                self._note_inactive(place, label.fullname, names.ontology)
            return label.pk
        # Finding the nearest label takes long.
        self.add_problem(place, names.why_not(text) if self.problems.total < MAX_PROBLEMS else "")
        return None

    def _note_inactive(self, place: str, label: str, ontology: str) -> None:
        if self.warnings is not None:
            text = f"“{label}” is switched off in “{ontology}”: the rule holds for marks that have it from before."
            self.warnings.add(self.place_of(self.number, place), text)
        else:
            self.add_problem(place, f"“{label}” is switched off in “{ontology}”, so it cannot be used.")
