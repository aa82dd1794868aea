"""The documents of constraint sets and preannotation sets: the same format for creation and download."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import MAX_PROBLEMS, Problems, Refused, parse_json, to_json
from annotation_service.schemas import PUBLISHED, Checker, load
from ontologies.labels import LabelNames

if TYPE_CHECKING:
    from .models.rows import Row, Values
    from .models.sets import Resource


SCHEMAS = Path(__file__).parent / "schemas"
PUBLISHED.update({path.stem: path for path in SCHEMAS.glob("*.json")})


def schema_file(format: str) -> Path:
    """The published JSON Schema of a format such as “entity_constraints”."""
    return SCHEMAS / f"{format}.json"


@cache
def _row_checker(format: str) -> Checker:
    return Checker(load(schema_file(format))["items"])


# --- Reading -----------------------------------------------------------------------------------------------------------


def read(text: str, format: str, model: "type[Row]", names: "Mapping[str, LabelNames]") -> "list[Values]":
    """The rows of a document, their labels found in the ontologies whose names are given by kind.

    Labels are full names, or names alone that occur once in their ontology. Unknown, ambiguous and switched off ones are refused,
    and so is what stands twice: a label in a list, and a row as the row models say (`Row.once`). Nothing is dropped without a
    word, so a document is read as a whole or not at all.

    Raises `Refused` with line and column of broken JSON, or with the number and JSON path of every wrong item.
    """
    document = parse_json(text)
    if not isinstance(document, list):
        raise Refused("A list of objects was expected: the document starts with “[”.", place="$")
    if len(document) > settings.MAX_RESOURCE_ROWS:
        most, count = words.number(settings.MAX_RESOURCE_ROWS), words.number(len(document))
        raise Refused(f"At most {most} items are allowed; this has {count}.", place="$")
    reader = _Reader(model, _row_checker(format), names)
    rows = list(reader.rows(document))
    reader.problems.raise_if_any()
    return rows


class _Reader:
    def __init__(self, model: "type[Row]", checker: Checker, names: "Mapping[str, LabelNames]") -> None:
        self.model, self.checker, self.names = model, checker, names
        self.kinds = {key: model.label_kind(key) for key in model.keys}
        self.problems = Problems()
        self.numbers: dict[tuple[Any, ...], int] = {}

    def rows(self, document: list[Any]) -> "Iterator[Values]":
        for number, value in enumerate(document, start=1):
            if self.problems.total >= MAX_PROBLEMS and not self.checker.is_valid(value):
                self.problems.add("", "")  # only counted: to find out what is wrong takes much longer
            else:
                yield self.row(value, number)

    def row(self, value: Any, number: int) -> "Values":
        path = f"$[{number - 1}]"
        wrong = list(self.checker.problems(value, path))
        before = self.problems.total
        for place, text in wrong:
            self.problems.add(f"item {number}, {place}", text)
        # The other fields of a wrong item are read, too, so that all its problems are told at once.
        places = {place.removeprefix(path).lstrip(".").partition("[")[0] for place, _ in wrong}
        values: Values = dict.fromkeys(self.model.keys)
        for key in self.model.keys if isinstance(value, dict) else ():
            if value.get(key) is not None and key not in places:
                values[key] = self.field(key, value[key], f"item {number}, {path}.{key}")
        if self.problems.total == before:
            for place, text in self.model.contradictions(values):
                self.problems.add(f"item {number}, {path}.{place}", text)
            first = self.numbers.setdefault(tuple(values[key] for key in self.model.once), number)
            if first != number:
                self.problems.add(f"item {number}, {path}", f"{self.model.once_words} stands already at item {first}.")
        return values

    def field(self, key: str, value: Any, place: str) -> Any:
        if isinstance(value, list):
            return self.labels(key, value, place)
        if self.kinds[key]:
            return self.label(key, value, place)
        if isinstance(value, str) and not (value := value.strip()):
            self.problems.add(place, "This must not be empty.")
        return value if isinstance(value, str) else int(value)  # 1.0 is a whole number in JSON

    def labels(self, key: str, texts: list[str], place: str) -> list[int | None]:
        found: dict[int | None, None] = {}
        for index, text in enumerate(texts):
            label = self.label(key, text, f"{place}[{index}]")
            if label is not None and label in found:
                self.problems.add(f"{place}[{index}]", f"“{text}” stands in this list already.")
            found[label] = None
        return list(found)

    def label(self, key: str, text: str, place: str) -> int | None:
        names = self.names[self.kinds[key]]
        if label := names.find(text):
            return label.pk
        self.problems.add(place, names.why_not(text) if self.problems.total < MAX_PROBLEMS else "")
        return None


# --- Writing -----------------------------------------------------------------------------------------------------------


def json_document(resource: "Resource") -> Iterator[str]:
    """The document with the labels’ current full names, a row a line."""
    names, rows = resource.label_names(), resource.rows()
    lists = {field.name: _listed(field, resource) for field in rows.model.lists()}
    before = "["
    for row in rows.iterator():
        own = {key: labels.get(row.pk, []) for key, labels in lists.items()}
        yield f"{before}\n{to_json(row.document(own, names))}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _listed(field: Any, resource: "Resource") -> dict[int, list[int]]:
    """The labels of a list by the row that they belong to, in order."""
    lists: dict[int, list[int]] = {}
    listed: Iterable[tuple[int, int]] = (
        field.remote_field.through.objects.filter(row__resource=resource)
        .order_by("row_id", "position")
        .values_list("row_id", "label_id")
    )
    for row, label in listed:
        lists.setdefault(row, []).append(label)
    return lists
