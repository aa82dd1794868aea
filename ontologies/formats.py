"""The documents of an ontology: the creation format, the rich format of downloads, indented text."""

import copy
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import (
    MAX_PROBLEMS,
    Problems,
    Refused,
    check_text,
    clean_description,
    clean_name,
    parse_json,
    to_json,
)
from annotation_service.schemas import PUBLISHED, Checker, load

from . import colors

if TYPE_CHECKING:
    from .models import Ontology, OntologyItem

SCHEMAS = Path(__file__).parent / "schemas"
PUBLISHED.update({path.stem: path for path in SCHEMAS.glob("*.json")})
MAX_LEVELS = 200


@dataclass(slots=True)
class NewItem:
    """An item to be created. A list of them is in tree order; ``level`` is 1 at the top."""

    level: int
    name: str
    description: str = ""
    example_terms: list[str] = field(default_factory=list)
    color: str = ""
    active: bool = True
    uid: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


# --- Reading -----------------------------------------------------------------------------------------------------------


def schema(kind: str) -> dict[str, Any]:
    """The published JSON Schema of a creation or rich document; ``kind`` is ``entity`` or ``relation``."""
    return load(SCHEMAS / f"{kind}_ontology.json")


@cache
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
    document = parse_json(text, max_depth=2 * MAX_LEVELS + 1)  # an item and the list it is in, example terms
    if not isinstance(document, list):
        raise Refused("A list of items was expected: the document starts with “[”.", place="$")
    problems = Problems()
    items = list(_read_items(document, kind, problems))
    problems.raise_if_any()
    return items


def _read_items(document: list[Any], kind: str, problems: Problems) -> Iterator[NewItem]:
    checker = _item_checker(kind)
    count = 0
    uids: dict[str, str] = {}
    stack = [_siblings(document, "$", 1)]
    names: list[dict[str, str]] = [{}]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            names.pop()
            continue
        value, path, level = step
        count += 1
        if count > settings.MAX_ONTOLOGY_ITEMS:
            raise Refused(
                f"An ontology has at most {words.number(settings.MAX_ONTOLOGY_ITEMS)} items; this has more.", place="$"
            )
        children = value.get("children") if isinstance(value, dict) else None
        alone = {**value, "children": []} if isinstance(children, list) else value
        wrong = []
        told = problems.total >= MAX_PROBLEMS
        if told and not checker.is_valid(alone):
            problems.add(path, "This is wrong.")  # only counted: to find out what takes much longer
            value = None
        for place, text in () if told else checker.problems(alone, path):
            problems.add(place, text)
            wrong.append(place)
        if level > MAX_LEVELS:
            problems.add(path, f"A tree has at most {MAX_LEVELS} levels.")
            children = None
        elif isinstance(value, dict):
            # The other fields of a wrong item are read, too, so that all its problems are told at once.
            sound = {k: v for k, v in value.items() if not any(w.startswith(f"{path}.{k}") for w in wrong)}
            item = _read_item(sound if wrong else value, path, level, problems)
            if item and (first := names[-1].setdefault(item.name, path)) != path:
                problems.add(f"{path}.name", f"“{item.name}” stands already at this place ({first}).")
            if item and item.uid and (first := uids.setdefault(item.uid, path)) != path:
                problems.add(f"{path}.id", f"The id {item.uid} stands already at {first}.")
            if item:
                yield item
        if isinstance(children, list) and children:
            stack.append(_siblings(children, f"{path}.children", level + 1))
            names.append({})


def _siblings(values: list[Any], path: str, level: int) -> Iterator[tuple[Any, str, int]]:
    return ((value, f"{path}[{index}]", level) for index, value in enumerate(values))


def _read_item(value: dict[str, Any], path: str, level: int, problems: Problems) -> NewItem | None:
    def read(name: str, clean: Any, default: Any) -> Any:
        given = value.get(name)
        if given is None:
            return default
        try:
            return clean(given)
        except Refused as error:
            problems.add(f"{path}.{name}", error.problems[0].text)
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
        active=value.get("active") is not False,
        uid=value.get("id") or "",
        created_at=read("created_at", _read_time, None),
        updated_at=read("updated_at", _read_time, None),
    )


def clean_color(value: str) -> str:
    if not colors.HEX.fullmatch(value):
        raise Refused(f"A colour is written as #RRGGBB, not “{value[:20]}”.")
    return value.upper()


def clean_example_terms(values: Iterable[str]) -> list[str]:
    """Stripped and without repetitions, in the order given."""
    terms = list(dict.fromkeys(filter(None, (unicodedata.normalize("NFC", value).strip() for value in values))))
    if len(terms) > settings.MAX_EXAMPLE_TERMS:
        raise Refused(f"An item has at most {settings.MAX_EXAMPLE_TERMS} example terms; this one has {len(terms)}.")
    for term in terms:
        check_text(term)
        if len(term) > 200:
            raise Refused(f"An example term has at most 200 characters; “{term[:30]}…” has {len(term)}.")
    return terms


def _read_time(value: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(f"A UTC time such as 2023-04-14T10:20:30Z was expected, not “{value[:40]}”.") from None


# --- Writing -----------------------------------------------------------------------------------------------------------


def rich_document(ontology: "Ontology") -> list[dict[str, Any]]:
    """The ontology as nested items of the rich format, keys in the order of the specification."""
    top: list[dict[str, Any]] = []
    branch: list[dict[str, Any]] = []
    for item in ontology.items():
        del branch[item.level - 1 :]
        siblings = branch[-1]["children"] if branch else top
        rich = _rich_item(item, branch[-1] if branch else None, len(siblings), ontology.is_entity)
        siblings.append(rich)
        branch.append(rich)
    return top


def _rich_item(item: "OntologyItem", parent: dict[str, Any] | None, index: int, entity: bool) -> dict[str, Any]:
    rich: dict[str, Any] = {"name": item.name, "children": [], "description": item.description}
    if entity:
        rich["example_terms"] = item.example_terms
    return rich | {
        "created_at": write_time(item.created_at),
        "updated_at": write_time(item.updated_at),
        "id": item.uid,
        "fullname": f"{parent['fullname']}/{item.name}" if parent else item.name,
        "color": item.color,
        "active": item.active,
        "path": [*parent["path"], index] if parent else [index],
    }


def write_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def rich_json(ontology: "Ontology") -> str:
    """The rich document as text, quicker than through `rich_document`: an item starts a line, the children follow indented."""
    parts: list[str] = []
    open_items: list[tuple[str, str, list[int], int]] = []  # end of the item, full name, path, children so far

    def close_to(level: int) -> None:
        while len(open_items) >= level:
            end, _, _, children = open_items.pop()
            parts.append(f"\n{' ' * (len(open_items) + 1)}]{end}" if children else f"]{end}")

    fields = ["level", "name", "description", "example_terms", "created_at", "updated_at", "uid", "color", "active"]
    top = 0
    for level, name, description, terms, created, updated, uid, color, active in ontology.items().values_list(*fields):
        close_to(level)
        if open_items:
            end, above, path, index = open_items.pop()
            open_items.append((end, above, path, index + 1))
            fullname, path = f"{above}/{name}", [*path, index]
        else:
            index, top = top, top + 1
            fullname, path = name, [index]
        rest = {"description": description} | ({"example_terms": terms} if ontology.is_entity else {})
        rest |= {"created_at": write_time(created), "updated_at": write_time(updated), "id": uid}
        rest |= {"fullname": fullname, "color": color, "active": active, "path": path}
        comma = "," if index else ""
        parts.append(f'{comma}\n{" " * level}{{"name": {to_json(name)}, "children": [')
        open_items.append((f", {to_json(rest)[1:]}", fullname, path, 0))
    close_to(1)
    return f"[{''.join(parts)}\n]\n" if parts else "[]\n"


def indented_text(ontology: "Ontology") -> str:
    """One name a line, two spaces for each level."""
    levels = ontology.items().values_list("level", "name")
    return "".join(f"{'  ' * (level - 1)}{name}\n" for level, name in levels)


# --- Examples ----------------------------------------------------------------------------------------------------------

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "entity": [
        {
            "name": "PhysicalObject",
            "description": "Things that can be touched, and their parts.",
            "example_terms": ["pump", "bearing"],
            "children": [
                {"name": "SensingObject", "example_terms": ["thermostat", "pressure gauge"]},
                {"name": "DrivingObject", "example_terms": ["engine", "motor"]},
            ],
        },
        {"name": "Activity", "example_terms": ["replace", "inspect"], "children": []},
        {"name": "State", "example_terms": ["leaking", "worn"]},
    ],
    "relation": [
        {"name": "hasPart", "description": "The source has the target as a part."},
        {
            "name": "hasParticipant",
            "children": [
                {"name": "hasPatient", "description": "The target undergoes the source."},
                {"name": "hasAgent"},
            ],
        },
    ],
}


def example_json(kind: str) -> str:
    return f"[\n{_example_lines(EXAMPLES[kind], '  ')}\n]"


def _example_lines(items: list[dict[str, Any]], indent: str) -> str:
    """An item a line, those below it indented."""
    lines = []
    for item in items:
        own = to_json({key: value for key, value in item.items() if key != "children"})
        if below := item.get("children"):
            own = f'{own[:-1]}, "children": [\n{_example_lines(below, indent + "  ")}\n{indent}]}}'
        lines.append(indent + own)
    return ",\n".join(lines)
