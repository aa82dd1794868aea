"""The JSON of other programs: its objects one by one, their fields, which may have any type, and the marks in them."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import chain, dropwhile
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused
from annotation_service.json_input.lists import Element, Elements, json_lines

from . import dataset_format
from .dataset_format import DatasetSource, FoundEntity, FoundRelation, WrittenEntity

LABELS = r'(?:"label"\s*:|\[\s*\d+\s*,\s*\d+\s*,)\s*"([^"\\]+)"'
"""Finds those of objects and those of spans such as [0, 5, "PER"]."""


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its path, such as “entities[2].label”. Raises `Refused`, naming the path, where another type was expected."""

    value: Any
    path: str = ""

    def __getitem__(self, key: str | int) -> "JsonNode":
        """A field or an element; its value is None if it is missing."""
        if isinstance(key, str):
            # Each mark below has the path once more.
            path = f"{self.path}.{words.cut(key, 60)}".lstrip(".")
            return JsonNode(self._as(dict, "an object").get(key), path)
        return JsonNode(next(iter(self._as(list, "a list")[key : key + 1]), None), f"{self.path}[{key}]")

    def each(self) -> list["JsonNode"]:
        """The elements of a list, which may be missing."""
        values = [] if self.value is None else self._as(list, "a list")
        return [JsonNode(value, f"{self.path}[{index}]") for index, value in enumerate(values)]

    @property
    def text(self) -> str:
        return self._as(str, "a text")

    @property
    def number(self) -> int:
        return self._as(int, "a whole number")

    @property
    def id(self) -> str:
        """A text or a whole number, as text; nothing if it is missing."""
        return "" if self.value is None else str(self.value) if type(self.value) is int else self.text

    def others(self, known: Set[str]) -> dict[str, Any]:
        """The fields with other names, and those below “extra_fields”, where writers put them."""
        fields = {name: value for name, value in self.value.items() if name not in {*known, "extra_fields"}}
        below = self["extra_fields"]
        return fields | below._as(dict, "an object") if below.value else fields

    def _as(self, kind: type, what: str) -> Any:
        if type(self.value) is not kind:
            raise Refused(f"{what} was expected.", place=self.path)
        return self.value


@dataclass
class FoundMarks:
    """The marks of an item; relations name entities in whatever way their file does, the first of those with one name."""

    entities: list[FoundEntity] = field(default_factory=list)
    relations: list[FoundRelation] = field(default_factory=list)
    ids: dict[Hashable, str] = field(default_factory=dict)

    def add(self, name: Hashable, label: str, start: int, end: int) -> None:
        self.entities.append(FoundEntity(f"e{len(self.entities) + 1}", label, start, end))
        if name != "":
            self.ids.setdefault(name, self.entities[-1].id)

    def relate(self, label: str, source: Hashable, target: Hashable) -> None:
        self.relations.append(FoundRelation(label, self.ids.get(source, ""), self.ids.get(target, "")))


def read_objects(
    source: DatasetSource, item_of: Callable[[DatasetSource, JsonNode], dict[str, Any] | None]
) -> Iterator[Element]:
    """The items of a JSON list, of JSON Lines, or of one object over many lines; ``item_of`` makes them, or nothing."""
    blocks, limit = dropwhile(str.isspace, source.blocks()), settings.MAX_ITEM_JSON_CHARACTERS
    first = next(blocks, "").lstrip(" \t")
    line, end, _ = first.strip().partition("\n")
    pieces: Iterable[Element] = json_lines(chain([first], blocks), limit)
    if line.startswith("["):
        pieces = Elements(chain([first], blocks), limit)
    elif end and line.rstrip().endswith(("{", "[", ",")):
        pieces = Elements(chain(["[", first], blocks, ["]"]), limit)
    for piece in pieces:
        if piece.value is None:  # refused, blank or too long
            yield piece
            continue
        try:
            if (value := item_of(source, JsonNode(piece.value))) is not None:
                yield dataset_format.element(piece.word, piece.number, value)
        except Refused as error:
            why, place = error.problems[0].text, error.problems[0].place
            yield dataset_format.refused_element(piece.word, piece.number, f"“{place}”: {why}" if place else why)


def seen(start: Beginning, fits: Callable[[dict[str, Any]], bool], names: Set[str], labels: str) -> str | None:
    """The labels that a pattern finds in a beginning with objects that fit. Where the first object is longer than the beginning,
    it has fields with these names, at any depth."""
    text = start.text if len(start.text) < 200_000 else f"{start.text[:100_000]}\n{start.text[-100_000:]}"
    is_cut = start.is_json and not start.objects and names <= set(re.findall(r'"(\w{1,40})"\s*:', text))
    if not is_cut and not any(fits(each) for each in start.objects if "original" not in each):
        return None
    found = re.findall(labels, text)
    return f"labels {dataset_format.tagged(found)}" if found else ""


def has_objects(values: Any, *names: str) -> bool:
    """Whether it is a list in which an object has all these fields."""
    return isinstance(values, list) and any(isinstance(each, dict) and each.keys() >= {*names} for each in values)


def without_overlaps(entities: Iterable[WrittenEntity]) -> list[WrittenEntity]:
    """Those that share no token, longer ones first, as spaCy's `filter_spans` picks them."""
    taken, kept = set[int](), list[WrittenEntity]()
    for entity in sorted(entities, key=lambda each: (each.start - each.end, each.start)):
        if entity.start not in taken and entity.end not in taken:  # none that is shorter is there yet
            taken.update(range(entity.start, entity.end + 1))
            kept.append(entity)
    return kept
