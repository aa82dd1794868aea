"""All items of an ontology as plain values, kept in memory until the ontology changes."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Collection
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from annotation_service import words
from annotation_service.inputs import Refused, normalized

from .search import Index, rank


class Label(NamedTuple):
    """What is needed to draw a mark: one item of an ontology."""

    pk: int
    uid: str
    name: str
    fullname: str
    color: str
    active: bool
    level: int
    parent_uid: str | None
    description: str
    example_terms: list[str]


GLOSS_CHARACTERS = 160


def gloss(description: str, example_terms: Collection[str]) -> str:
    """What stands beside a name: the first line of the description or, without one, the example terms."""
    return words.cut(description.partition("\n")[0] or ", ".join(example_terms), GLOSS_CHARACTERS)


class Labels(list[Label]):
    """All labels of an ontology in tree order, found by primary key, uid or full name."""

    @cached_property
    def by_pk(self) -> dict[int, Label]:
        return {label.pk: label for label in self}

    @cached_property
    def by_uid(self) -> dict[str, Label]:
        return {label.uid: label for label in self}

    @cached_property
    def by_fullname(self) -> dict[str, Label]:
        return {label.fullname: label for label in self}

    @cached_property
    def children(self) -> dict[str, list[Label]]:
        """The labels below each one, by its uid; those at the top by the empty string."""
        children: dict[str, list[Label]] = defaultdict(list)
        for label in self:
            children[label.parent_uid or ""].append(label)
        return dict(children)

    def lineage(self, label: Label) -> tuple[int, ...]:
        """The keys of the label, its parent, and so on to the top."""
        line = [label.pk]
        while label.parent_uid:
            label = self.by_uid[label.parent_uid]
            line.append(label.pk)
        return tuple(line)

    def path(self, label: Label) -> list[int]:
        """The places, from 0, of the labels above it and its own among their siblings, from the top."""
        return [self._place[pk] for pk in reversed(self.lineage(label))]

    @cached_property
    def _place(self) -> dict[int, int]:
        return {label.pk: place for siblings in self.children.values() for place, label in enumerate(siblings)}

    def line(self, pk: int) -> tuple[int, ...]:
        """The lineage of the label with a key."""
        return self.lineage(self.by_pk[pk])

    def places(self, uid: str | None) -> dict[str, str | None]:
        """The paths of the labels below one, or of all, by their names; None for a name that stands in more than one place."""
        above = f"{self.by_uid[uid].fullname}/" if uid else ""
        inside = [label for label in self if label.fullname.startswith(above)]
        found: dict[str, str | None] = {}
        for label in inside:
            found[label.name] = None if label.name in found else label.fullname.removeprefix(above)
        return found

    def find(self, text: str, *, exact: bool = False) -> list[Label]:
        """Those that somebody means with the text, in tree order: see `Index.find`."""
        return [self[place] for place in self._index.find(text, exact=exact)]

    def find_best_first(self, text: str, *, exact: bool = False) -> list[Label]:
        """The same, those in front whose names fit best."""
        return sorted(self.find(text, exact=exact), key=lambda label: rank(text, label.name))

    @cached_property
    def _index(self) -> Index:
        """Over names, descriptions and example terms; no text contains the character that stands between them."""
        places = {label.uid: place for place, label in enumerate(self)}
        return Index(
            [label.name for label in self],
            ["\0".join((label.name, label.description, *label.example_terms)) for label in self],
            [places.get(label.parent_uid or "") for label in self],
        )


# --- In memory ---------------------------------------------------------------------------------------------------------

# About 60 MB. Reading 10,000 labels takes 40 ms.
KEPT_ITEMS = 100_000

_kept: dict[tuple[Any, ...], Labels] = {}
_lock = threading.Lock()


def kept_labels(key: tuple[Any, ...], items: QuerySet[Any]) -> Labels:
    """The labels of an ontology's items, read again when the key is new.

    Of each ontology, the first part of the key, only one state is kept, and of all as many as were read last.
    """
    with _lock:
        if found := _kept.get(key):
            return found
    labels = _read_labels(items)
    with _lock:
        for other in [other for other in _kept if other[0] == key[0]]:
            del _kept[other]
        _kept[key] = labels
        room = KEPT_ITEMS - sum(map(len, _kept.values()))
        for other in list(_kept)[:-1]:
            if room >= 0:
                break
            room += len(_kept.pop(other))
    return labels


def _read_labels(items: QuerySet[Any]) -> Labels:
    """In tree order; the hidden root is not among the items."""
    columns = ["pk", "uid", "name", "color", "active", "level", "description"]
    rows = list(items.order_by("lft").values_list(*columns, Cast("example_terms", TextField())))
    # All JSON at once: parsing it row by row takes as long as everything else together.
    terms = json.loads(f"[{','.join(row[-1] for row in rows)}]")
    labels = Labels()
    above: list[Label] = []
    for (pk, uid, name, color, active, level, description, _), its_terms in zip(rows, terms, strict=True):
        del above[level - 1 :]
        fullname, parent_uid = (f"{above[-1].fullname}/{name}", above[-1].uid) if above else (name, None)
        label = Label(pk, uid, name, fullname, color, active, level, parent_uid, description, its_terms)
        labels.append(label)
        above.append(label)
    return labels


# --- Names in documents ---------------------------------------------------------------------------------------------------


# So much of two names is the same, if one may be meant by the other: “Activities” and “Activity”, not “city” and “Activity”.
NEAR = 0.75


class LabelNames:
    """Finds the labels that an uploaded document names: by full name or, with ``bare``, also by a name that occurs only once."""

    def __init__(self, labels: Labels, ontology: str, *, bare: bool = False) -> None:
        self.labels, self.ontology = labels, ontology
        self.bare: dict[str, list[Label]] = defaultdict(list)
        for label in self.labels if bare else ():
            self.bare[label.name].append(label)

    def find(self, text: str) -> Label | None:
        """The label that the text names, even if it is switched off: for None, `why_not` tells the reason."""
        meant = self._meant(_normal(text))
        return meant[0] if len(meant) == 1 else None

    def lacks(self, text: str) -> bool:
        """Whether no label has this name. One that several have is no name of a new one."""
        return not self._meant(_normal(text))

    def why_not(self, text: str) -> str:
        """Why a text names no label, with what is like it."""
        name = _normal(text)
        meant = self._meant(name)
        if len(meant) > 1:
            some = words.listed(f"“{label.fullname}”" for label in meant)
            return f"“{words.cut(name, 200)}” is the name of {words.number(len(meant))} labels: {some}. Give the full name."
        nearest = self._nearest(name)
        hint = f" The nearest is “{nearest.fullname}”." if nearest else ""
        return f"“{words.cut(name, 200)}” is not a label of “{self.ontology}”.{hint}"

    def _meant(self, name: str) -> list[Label]:
        if label := self.labels.by_fullname.get(name):
            return [label]
        return self.bare.get(name, [])

    def _nearest(self, name: str) -> Label | None:
        """Of the labels whose names share the most pairs of letters with the text, the one that is most alike, if it is near."""
        last = name.rpartition("/")[2]
        if len(last) > 2 * settings.MAX_NAME_CHARACTERS:
            return None
        shared = Counter(i for pair in _pairs(last) for i in self._with_pair.get(pair, ()))
        candidates: dict[str, list[Label]] = defaultdict(list)
        for index, _ in shared.most_common(50):
            label = self.labels[index]
            candidates[label.name.casefold()].append(label)
        alike = get_close_matches(last.casefold(), candidates, n=1, cutoff=NEAR)
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


def letters_of(name: str) -> str:
    """The same for names that differ only in case or spacing."""
    return "".join(name.split()).casefold()


def _normal(text: str) -> str:
    try:
        return normalized(text).strip()
    except Refused:
        return text  # no label has such a name


def _pairs(name: str) -> set[str]:
    framed = f" {name.casefold()} "
    return {framed[i : i + 2] for i in range(len(framed) - 1)}


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()
