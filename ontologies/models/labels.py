"""All items of an ontology as plain values, kept in memory until the ontology changes."""

import json
import threading
import unicodedata
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from annotation_service.db import among

from .item import OntologyItem
from .journal import OntologyChange

_ONTOLOGIES = 64
_CHANGES = 20
_CHANGED_ITEMS = 2000


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


class Found(NamedTuple):
    """An item that contains a text, which is casefolded."""

    label: Label
    text: str

    @property
    def uid(self) -> str:
        return self.label.uid

    @property
    def where(self) -> list[str]:
        """The fields that the text stands in."""
        label = self.label
        texts = {"name": [label.name], "description": [label.description], "example_terms": label.example_terms}
        return [field for field, values in texts.items() if any(self.text in value.casefold() for value in values)]


class Labels:
    """All labels of an ontology in tree order, found by primary key, uid or full name."""

    def __init__(self, labels: list[Label]) -> None:
        self.all = labels

    @cached_property
    def by_pk(self) -> dict[int, Label]:
        return {label.pk: label for label in self.all}

    @cached_property
    def by_uid(self) -> dict[str, Label]:
        return {label.uid: label for label in self.all}

    @cached_property
    def by_fullname(self) -> dict[str, Label]:
        return {label.fullname: label for label in self.all}

    def __iter__(self) -> Iterator[Label]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def find(self, text: str) -> list[Found]:
        """Those with the text in their name, description or example terms, in any case and any script, in tree order."""
        wanted = unicodedata.normalize("NFC", text).casefold().strip()
        if not wanted:
            return []
        return [Found(label, wanted) for label, folded in zip(self.all, self._folded, strict=True) if wanted in folded]

    @cached_property
    def _folded(self) -> list[str]:
        """No text contains the character that stands between the fields."""
        return ["\0".join((label.name, label.description, *label.example_terms)).casefold() for label in self.all]


# --- In memory ---


class _Kept(NamedTuple):
    """The time of the change is part of the key because a rolled back transaction gives a version away twice."""

    version: int
    at: datetime
    labels: Labels


_kept: dict[int, _Kept] = {}
_lock = threading.Lock()


def labels_of(ontology_pk: int, version: int, updated_at: datetime) -> Labels:
    """Only the newest labels of an ontology are kept. After few changes only the items are read again that the journal names."""
    kept = _kept.get(ontology_pk)
    if kept and kept[:2] == (version, updated_at):
        return kept.labels
    labels = (kept and _brought_up_to_date(ontology_pk, kept, version)) or _read(ontology_pk)
    with _lock:
        _kept.pop(ontology_pk, None)
        _kept[ontology_pk] = _Kept(version, updated_at, labels)
        if len(_kept) > _ONTOLOGIES:
            del _kept[next(iter(_kept))]
    return labels


def _brought_up_to_date(ontology_pk: int, kept: _Kept, version: int) -> Labels | None:
    """None if too much has changed, or if the journal does not know the kept version: it was read in a transaction that was
    rolled back."""
    changes = OntologyChange.objects.filter(ontology=ontology_pk, version__range=(kept.version, version))
    rows = list(changes.order_by("version").values_list("version", "at", "count")[: _CHANGES + 1])
    if not rows or rows[0][:2] != kept[:2] or len(rows) > _CHANGES or sum(row[2] for row in rows[1:]) > _CHANGED_ITEMS:
        return None
    later = list(changes.filter(version__gt=kept.version).values_list("items", flat=True))
    same_places = not any(_changes_places(items) for items in later)
    return _read(ontology_pk, kept.labels, {uid for items in later for uid in items}, same_places=same_places)


def _changes_places(items: dict[str, Any]) -> bool:
    return any(before is None or after is None or "parent" in before for before, after in items.values())


def _read(
    ontology_pk: int, known: Labels | None = None, changed: Collection[str] = (), *, same_places: bool = False
) -> Labels:
    """All labels in tree order. Of those that are known only the changed ones are read, and the order if places have changed."""
    items = OntologyItem.objects.filter(tree_id=ontology_pk)
    old, old_by_uid = (known.by_pk, known.by_uid) if known else ({}, {})
    order = list(old) if same_places else list(items.order_by("lft").values_list("pk", flat=True))[1:]  # not the root
    stale = {old_by_uid[uid].pk for uid in changed if uid in old_by_uid}
    missing = [pk for pk in order if pk in stale or pk not in old]
    fresh = _without_places(items.filter(pk__in=among(missing)) if known else items)
    labels: dict[int, Label] = {}
    for pk in order:
        if pk in fresh:
            parent_id, label = fresh[pk]
            label = _below(labels.get(parent_id), label)
        elif pk in old:
            label = old[pk]
            parent = old_by_uid.get(label.parent_uid or "")
            if parent and (now := labels.get(parent.pk)) is not parent:
                label = _below(now, label)
        else:
            continue  # removed a moment ago
        labels[pk] = label
    return Labels(list(labels.values()))


def _below(parent: Label | None, label: Label) -> Label:
    """The label with what it has from its place."""
    pk, uid, name, _, color, active, _, _, description, terms = label
    if parent is None:
        return Label(pk, uid, name, name, color, active, 1, None, description, terms)
    fullname = f"{parent.fullname}/{name}"
    return Label(pk, uid, name, fullname, color, active, parent.level + 1, parent.uid, description, terms)


def _without_places(items: "QuerySet[OntologyItem]") -> dict[int, tuple[int, Label]]:
    """By primary key, each with the key of its parent."""
    columns = ["pk", "uid", "name", "color", "active", "description", "parent_id"]
    terms = Cast("example_terms", TextField())
    rows = list(items.order_by().values_list(*columns, terms))
    # All JSON at once: one by one it takes longer than everything else together.
    every_terms = json.loads(f"[{','.join(row[-1] for row in rows)}]")
    return {
        pk: (parent_id, Label(pk, uid, name, "", color, active, 0, None, description, its_terms))
        for (pk, uid, name, color, active, description, parent_id, _), its_terms in zip(rows, every_terms, strict=True)
    }
