"""Finding the labels that an uploaded document names."""

import unicodedata
from collections import Counter, defaultdict
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

from annotation_service import words

if TYPE_CHECKING:
    from .labels import Label
    from .models import Ontology

_NAMED = 5


class LabelNames:
    """The labels of an ontology by their full names; with ``bare`` also by a name alone that occurs once."""

    def __init__(self, ontology: "Ontology", *, bare: bool = False) -> None:
        self.ontology = ontology
        self.labels = ontology.labels()
        self.bare: dict[str, list[Label]] = defaultdict(list)
        for label in self.labels if bare else ():
            self.bare[label.name].append(label)

    def find(self, text: str) -> "Label | None":
        """The label that the text names, if it can be used: for None, `why_not` tells the reason."""
        meant = self._meant(_normal(text))
        return meant[0] if len(meant) == 1 and meant[0].active else None

    def why_not(self, text: str) -> str:
        """Why a text names no label that can be used, with what is like it."""
        name = _normal(text)
        meant = self._meant(name)
        if len(meant) > 1:
            some = ", ".join(f"“{label.fullname}”" for label in meant[:_NAMED])
            more = f" and {words.number(len(meant) - _NAMED)} more" if len(meant) > _NAMED else ""
            return f"“{words.cut(name, 200)}” is the name of {words.number(len(meant))} labels: {some}{more}. Give the full name."
        if meant:
            return f"“{words.cut(name, 200)}” is switched off in “{self.ontology}”, so it cannot be used."
        nearest = self._nearest(name)
        hint = f" The nearest is “{nearest.fullname}”." if nearest else ""
        return f"“{words.cut(name, 200)}” is not a label of “{self.ontology}”.{hint}"

    def _meant(self, name: str) -> "list[Label]":
        if label := self.labels.by_fullname.get(name):
            return [label]
        return self.bare.get(name, [])

    def _nearest(self, name: str) -> "Label | None":
        """Of the labels whose names share the most pairs of letters with the text, the one that is most alike, if it is."""
        last = name.rpartition("/")[2]
        shared = Counter(i for pair in _pairs(last) for i in self._with_pair.get(pair, ()))
        candidates: dict[str, list[Label]] = defaultdict(list)
        for index, _ in shared.most_common(50):
            label = self.labels.all[index]
            candidates[label.name.casefold()].append(label)
        alike = get_close_matches(last.casefold(), candidates, n=1)
        return max(candidates[alike[0]], key=lambda label: _likeness(name, label.fullname)) if alike else None

    @cached_property
    def _with_pair(self) -> dict[str, list[int]]:
        """The places of the labels that have two letters side by side in their name. A comparison with each of 50,000 labels
        would take seconds for every unknown one."""
        places: dict[str, list[int]] = defaultdict(list)
        for index, label in enumerate(self.labels):
            for pair in _pairs(label.name):
                places[pair].append(index)
        return places


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _pairs(name: str) -> set[str]:
    framed = f" {name.casefold()} "
    return {framed[i : i + 2] for i in range(len(framed) - 1)}


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()
