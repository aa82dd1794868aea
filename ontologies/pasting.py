"""Lists of items as people paste them: indented lines, paths such as A/B/C, or a creation document."""

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Problems, Refused, check_text, clean_name, split_lines

from .documents import NewItem, read_ontology

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
