"""Likely mistakes in a tree of labels: nothing is wrong with the tree itself, a person has to judge."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from annotation_service import words

from . import colors
from .labels import Label, Labels, letters_of

MANY_LEVELS = 12

KINDS = {
    "similar_names": "Nearly the same name",
    "same_name": "The same name twice",
    "similar_colors": "Similar colours",
    "many_levels": "Many levels",
    "no_description": "No description",
    "single_child": "A single item below",
}
HINTS = {"no_description", "single_child"}
"""What every tree goes through while it is being made: nothing to be warned of."""


class Check(NamedTuple):
    """A likely mistake of one of the kinds, with its items in tree order."""

    kind: str
    text: str
    labels: list[Label]

    @property
    def title(self) -> str:
        return KINDS[self.kind]

    @property
    def is_hint(self) -> bool:
        return self.kind in HINTS

    @property
    def uids(self) -> str:
        return ",".join(label.uid for label in self.labels)


def likely_mistakes(labels: Labels) -> list[Check]:
    by_key: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_key[letters_of(label.name)].append(label)
    found = [check for alike in by_key.values() if len(alike) > 1 for check in _names(alike)]
    for parent_uid, siblings in labels.children.items():
        found += _siblings(siblings, labels.by_uid.get(parent_uid))
    if deep := [label for label in labels if label.level > MANY_LEVELS]:
        deepest = max(label.level for label in deep)
        items = words.plural(len(deep), "item stands,items stand")
        text = f"{items} deeper than {MANY_LEVELS} levels; the deepest on level {deepest}."
        found.append(Check("many_levels", text, deep))
    order = {kind: index for index, kind in enumerate(KINDS)}
    place_of = {label.uid: index for index, label in enumerate(labels)}
    return sorted(found, key=lambda check: (order[check.kind], place_of[check.labels[0].uid]))


def _names(alike: list[Label]) -> Iterator[Check]:
    by_name: dict[str, list[Label]] = defaultdict(list)
    for label in alike:
        by_name[label.name].append(label)
    if len(by_name) > 1:
        text = f"{words.listed(f'“{name}”' for name in by_name)} differ only in case or spacing."
        yield Check("similar_names", text, alike)
    for name, same in by_name.items():
        if len(same) > 1:
            places = words.listed(f"“{label.fullname}”" for label in same)
            yield Check("same_name", f"“{name}” stands in {len(same):,} branches: {places}.", same)


def _siblings(siblings: list[Label], parent: Label | None) -> Iterator[Check]:
    place = f"below “{parent.fullname}”" if parent else "at the top level"
    bare = [label for label in siblings if not label.description]
    if bare and len(bare) < len(siblings):
        text = f"{len(bare):,} of {len(siblings):,} items {place} {'has' if len(bare) == 1 else 'have'} no description."
        yield Check("no_description", text, bare)
    for alike in _look_alike([label for label in siblings if label.active]):
        names = words.listed((f"“{label.name}”" for label in alike), 3)
        yield Check("similar_colors", f"The colours of {names} {place} can hardly be told apart.", alike)
    if parent and len(siblings) == 1:
        text = f"“{parent.fullname}” has a single item below it, “{siblings[0].name}”."
        yield Check("single_child", text, [parent, siblings[0]])


def _look_alike(siblings: list[Label]) -> list[list[Label]]:
    """Groups of siblings whose colours a person cannot tell apart; none among more siblings than there are colours that could be:
    nobody could mend that."""
    if len(siblings) > colors.SEPARATE:
        return []
    groups = colors.alike([label.color for label in siblings])
    return [[siblings[place] for place in group] for group in groups]
