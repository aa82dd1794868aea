"""Likely mistakes in a tree of labels: nothing is wrong with the tree itself, a person has to judge."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from math import dist
from typing import NamedTuple

from annotation_service import words

from . import colors
from .labels import Label, Labels

# Distances in OKLab. Below the first, two patches of colour are hardly told apart; at the top level, where a colour stands for a
# whole branch, that is too close. Siblings further down are variations of one colour on purpose: they are closer together, but
# never as close as the second until the variations repeat.
ALIKE_AT_THE_TOP = 0.02
ALIKE = 0.008
MANY_LEVELS = 12

KINDS = {
    "similar_names": "Nearly the same name",
    "same_name": "The same name twice",
    "similar_colors": "Similar colours",
    "no_description": "No description",
    "single_child": "A single item below",
    "many_levels": "Many levels",
}


class Check(NamedTuple):
    """A likely mistake of one of the kinds, with its items in tree order."""

    kind: str
    text: str
    labels: list[Label]

    @property
    def title(self) -> str:
        return KINDS[self.kind]


def likely_mistakes(labels: Labels) -> list[Check]:
    by_key: dict[str, list[Label]] = defaultdict(list)
    children: dict[str | None, list[Label]] = defaultdict(list)
    for label in labels:
        by_key["".join(label.name.split()).casefold()].append(label)
        children[label.parent_uid].append(label)
    found = [check for alike in by_key.values() if len(alike) > 1 for check in _names(alike)]
    for parent_uid, siblings in children.items():
        found += _siblings(siblings, labels.by_uid[parent_uid] if parent_uid else None)
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
    if alike := _look_alike(siblings):
        text = f"The colours of {len(alike):,} items {place} can hardly be told apart."
        yield Check("similar_colors", text, alike)
    if parent and len(siblings) == 1:
        text = f"“{parent.fullname}” has a single item below it, “{siblings[0].name}”."
        yield Check("single_child", text, [parent, siblings[0]])


def _look_alike(siblings: list[Label]) -> list[Label]:
    """Those for which there is another one with the same or nearly the same colour; none among more siblings than there are
    colours that can be told apart: nobody could mend that."""
    below = siblings[0].parent_uid
    if len(siblings) > (colors.SEPARATE_CHILDREN if below else colors.SEPARATE_TOPS):
        return []
    least = ALIKE if below else ALIKE_AT_THE_TOP
    seen = sorted((colors.to_oklab(label.color), label.uid) for label in siblings)
    close: set[str] = set()
    for place, (one, uid) in enumerate(seen):
        for other, its_uid in islice(seen, place + 1, None):
            if other[0] - one[0] >= least:
                break  # only the lightness, by which they are sorted; the others differ more
            if dist(one, other) < least:
                close |= {uid, its_uid}
    return [label for label in siblings if label.uid in close]
