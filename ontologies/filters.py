"""Labels that somebody wants to see alone, such as those without a description: the overview counts them, the tree shows them."""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from .labels import Label, Labels

TITLES = {
    "undescribed": "Without description",
    "unused": "Active, without marks",
    "off": "Switched off",
}


class Filter(NamedTuple):
    """``key`` stands in the address."""

    key: str
    title: str
    labels: list[Label]


def filtered(labels: Labels, key: str, marks: Mapping[str, int]) -> Filter | None:
    """The labels that a filter lets through, None if there is no such filter; ``marks`` count those of each label."""
    if level := re.fullmatch(r"level-([1-9]\d{0,2})", key):
        return Filter(key, f"Level {level[1]}", [label for label in labels if label.level == int(level[1])])
    if key not in TITLES:
        return None
    return Filter(key, TITLES[key], [label for label in labels if _passes(label, key, marks)])


def _passes(label: Label, key: str, marks: Collection[str]) -> bool:
    if key == "undescribed":
        return not label.description
    return not label.active if key == "off" else label.active and label.uid not in marks


def overview(labels: Labels, depth: int, marks: Mapping[str, int]) -> tuple[list[Filter], list[Filter]]:
    """The levels, and the other filters."""
    levels = (filtered(labels, f"level-{level}", marks) for level in range(1, depth + 1))
    others = (filtered(labels, key, marks) for key in TITLES)
    return [each for each in levels if each], [each for each in others if each]
