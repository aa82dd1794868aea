"""JSON documents with the items of an ontology: the creation format, and the rich format of downloads."""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Problems, Refused, clean_description, clean_name
from annotation_service.json_input import parse_json
from annotation_service.schemas import PUBLISHED, Checker, load

from .items import NewItem, clean_color, clean_example_terms

SCHEMAS = Path(__file__).parents[1] / "schemas"
PUBLISHED.update({path.stem: path for path in SCHEMAS.glob("*.json")})


def schema(kind: str) -> dict[str, Any]:
    """The published JSON Schema of a creation or rich document; ``kind`` is ``entity`` or ``relation``."""
    return load(SCHEMAS / f"{kind}_ontology.json")


def example_json(kind: str) -> str:
    """A small document to start from."""
    return (Path(__file__).parent / "examples" / f"{kind}.json").read_text("utf-8").strip()


def _item_checker(kind: str) -> Checker:
    """Checks one item without those below it: validators overflow the stack on deep trees."""
    item = copy.deepcopy(schema(kind)["$defs"]["item"])
    item["properties"]["children"] = {"type": ["array", "null"]}
    return Checker(item)


def read_ontology(text: str, kind: str) -> list[NewItem]:
    """The items of a creation or rich document, in tree order.

    ``kind`` is ``entity`` or ``relation``. Raises `Refused` with the line and column of broken JSON, or with the JSON path of
    every wrong item.
    """
    document = parse_json(text, max_depth=2 * settings.MAX_LEVELS + 1)  # an item and the list it is in, example terms
    if not isinstance(document, list):
        raise Refused("A list of items was expected: the document starts with “[”.", place="$")
    reader = _Reader(_item_checker(kind))
    reader.read_siblings(document, "$", 1)
    reader.problems.raise_if_any()
    return reader.items


class _Reader:
    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.problems = Problems()
        self.items: list[NewItem] = []
        self.count = 0
        self.uids: dict[str, str] = {}

    def read_siblings(self, values: list[Any], path: str, level: int) -> None:
        names: dict[str, str] = {}
        for index, value in enumerate(values):
            place = f"{path}[{index}]"
            self.count += 1
            if self.count > settings.MAX_ONTOLOGY_ITEMS:
                most = words.number(settings.MAX_ONTOLOGY_ITEMS)
                raise Refused(f"An ontology has at most {most} items; this has more.", place="$")
            children = value.get("children") if isinstance(value, dict) else None
            alone = {**value, "children": []} if isinstance(children, list) else value
            fields = self.checker.sound_fields(alone, place, self.problems)
            if level > settings.MAX_LEVELS:
                self.problems.add(place, f"A tree has at most {settings.MAX_LEVELS} levels.")
                continue
            if fields and (item := self._read_item(fields, place, level)):
                if (first := names.setdefault(item.name, place)) != place:
                    self.problems.add(f"{place}.name", f"“{item.name}” stands already at this place ({first}).")
                if item.uid and (first := self.uids.setdefault(item.uid, place)) != place:
                    self.problems.add(f"{place}.id", f"The id {item.uid} stands already at {first}.")
                self.items.append(item)
            if isinstance(children, list):
                self.read_siblings(children, f"{place}.children", level + 1)

    def _read_item(self, fields: dict[str, Any], place: str, level: int) -> NewItem | None:
        def read(name: str, clean: Any, default: Any) -> Any:
            try:
                return default if fields.get(name) is None else clean(fields[name])
            except Refused as error:
                self.problems.add(f"{place}.{name}", error.problems[0].text)
                return default

        name = read("name", clean_name, "")
        if not name:
            return None
        return NewItem(
            level=level,
            name=name,
            description=read("description", clean_description, ""),
            example_terms=read("example_terms", clean_example_terms, []),
            color=read("color", clean_color, ""),
            active=fields.get("active") is not False,
            uid=fields.get("id") or "",
            created_at=read("created_at", _read_time, None),
            updated_at=read("updated_at", _read_time, None),
        )


def _read_time(value: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(f"A UTC time such as 2023-04-14T10:20:30Z was expected, not “{value[:40]}”.") from None
