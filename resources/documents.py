"""Reading the documents of constraint sets and preannotation sets. They are checked whole, then stored or refused whole."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import MAX_PROBLEMS, Problems, Refused
from annotation_service.json_input import parse_json
from annotation_service.schemas import PUBLISHED, Checker, load
from ontologies.labels import LabelNames

SCHEMAS = Path(__file__).parent / "schemas"
PUBLISHED.update({path.stem: path for path in SCHEMAS.glob("*.json")})
R = TypeVar("R")


@cache
def _entry_checker(format: str) -> Checker:
    return Checker(load(SCHEMAS / f"{format}.json")["items"])


def read(text: str, format: str, names: Mapping[str, LabelNames], to_row: "Callable[[Entry], R]") -> list[R]:
    """A row for each entry of a document; ``names`` finds labels in the ontology of each kind.

    Raises `Refused` with line and column of broken JSON, or with the number and JSON path of every wrong entry.
    """
    document = parse_json(text)
    if not isinstance(document, list):
        raise Refused("A list of objects was expected: the document starts with “[”.", place="$")
    if len(document) > settings.MAX_RESOURCE_ROWS:
        most, count = words.number(settings.MAX_RESOURCE_ROWS), words.number(len(document))
        raise Refused(f"At most {most} items are allowed; this has {count}.", place="$")
    checker, problems, rows = _entry_checker(format), Problems(), []
    first_numbers: dict[tuple[Any, ...], int] = {}
    for number, value in enumerate(document, start=1):
        place, before = f"item {number}, $[{number - 1}]", problems.total
        values = checker.sound_fields(value, place, problems)
        is_valid = problems.total == before
        rows.append(to_row(Entry(number, place, values, is_valid, names, problems, first_numbers)))
    problems.raise_if_any()
    return rows


@dataclass(slots=True)
class Entry:
    """One object of a document. A value that is missing or wrong is None; as its problem is added to those of the document, no
    row with it is stored."""

    number: int  # counted from 1
    place: str
    values: dict[str, Any]
    is_valid: bool
    names: Mapping[str, LabelNames]
    problems: Problems  # of the document
    first_numbers: dict[tuple[Any, ...], int]  # of the entries in which `check_once` has met some values

    def add_problem(self, place: str, text: str) -> None:
        self.is_valid = False
        self.problems.add(f"{self.place}{place}", text)

    def check_once(self, what: str, *values: Any) -> None:
        """Report values that an earlier entry has, too."""
        first = self.first_numbers.setdefault(values, self.number)
        if first != self.number:
            self.add_problem("", f"{what} stands already at item {first}.")

    def value(self, field: Any, kind: str) -> Any:
        """The value of a model field; labels, of the ontology of the kind, as primary keys."""
        value, place = self.values.get(field.name), f".{field.name}"
        if value is None:
            return None
        if field.many_to_many:
            return self._find_all(value, kind, place)
        if field.is_relation:
            return self._find(value, kind, place)
        if isinstance(value, str):
            value = value.strip()
            if not value:
                self.add_problem(place, "This must not be empty.")
            return value
        return int(value)  # 1.0 is a whole number in JSON

    def _find_all(self, texts: list[str], kind: str, place: str) -> list[int | None]:
        found: dict[int | None, None] = {}
        for index, text in enumerate(texts):
            label = self._find(text, kind, f"{place}[{index}]")
            if label is not None and label in found:
                self.add_problem(f"{place}[{index}]", f"“{text}” stands in this list already.")
            found[label] = None
        return list(found)

    def _find(self, text: str, kind: str, place: str) -> int | None:
        """The primary key of the item with this full name, or with this name alone if that occurs once."""
        names = self.names[kind]
        if label := names.find(text):
            return label.pk
        # Finding the nearest label takes long.
        self.add_problem(place, names.why_not(text) if self.problems.total < MAX_PROBLEMS else "")
        return None
