"""How the preannotations of a set fared: how often each was suggested, and what people decided."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import Q

from annotation_service.db import among
from datasets.models import MARKS, Dataset, Layer, Mark, Rejection
from datasets.portions import token_lists
from resources.matching import EntityForm
from resources.models import PreannotationSet

from ..placing import Form, forms_of

ITEMS_AT_ONCE = 1000
What = tuple[int, ...]
"""Of an entity start, end and label; of a relation those of both ends, and its label. As in `Rejection.what`."""
_ENTITY = ("start", "end", "label")
_PLACES = {
    "entity": _ENTITY,
    "relation": (*(f"{end}__{field}" for end in ("source", "target") for field in _ENTITY), "label"),
}


class Figures(NamedTuple):
    """``made`` is how often something was suggested, ``open`` how often nobody has decided; ``accepted`` and ``rejected``
    are the decisions of all annotators."""

    made: int = 0
    accepted: int = 0
    rejected: int = 0
    open: int = 0

    @property
    def decided(self) -> int:
        return self.accepted + self.rejected

    @classmethod
    def total(cls, several: "Iterable[Figures]") -> "Figures":
        return cls(*map(sum, zip(cls(), *several, strict=True)))


def figures_of(preannotations: PreannotationSet, dataset: Dataset) -> dict[int, Figures]:
    """By the primary keys of rows, without those that were never suggested. Rows with the same tokens and labels share theirs;
    each place in an item is counted once."""
    counts: dict[str, Counter[Any]] = {name: Counter() for name in Figures._fields}
    texts = token_lists(dataset.items())
    while batch := dict(islice(texts, ITEMS_AT_ONCE)):
        for item, what, accepted, rejected in _decisions(preannotations.kind, batch):
            key = _key_of_place(what, batch[item], preannotations.ignore_case)
            counts["made"][key] += 1
            counts["accepted"][key] += accepted
            counts["rejected"][key] += rejected
            counts["open"][key] += not (accepted or rejected)
    keys = ((pk, _key_of_form(form)) for pk, form in forms_of(preannotations, dataset))
    return {pk: Figures(*(count[key] for count in counts.values())) for pk, key in keys if key in counts["made"]}


def _decisions(kind: str, items: Collection[int]) -> Iterator[tuple[int, What, int, int]]:
    """What was suggested on items, and how many annotators accepted it and rejected it."""
    decided: dict[tuple[int, What], dict[int, bool]] = defaultdict(dict)
    # Without gold, where marks keep their origin.
    here = {"annotation__item__in": among(list(items)), "annotation__layer__in": (Layer.OWN, Layer.GIVEN)}
    rejections = {}
    for item, annotation, text in Rejection.objects.filter(**here).values_list(
        "annotation__item", "annotation", "what"
    ):
        what = tuple(map(int, re.findall(r"\d+", text)))
        if len(what) == len(_PLACES[kind]):
            rejections[annotation, what] = item
    # What somebody rejected and made anew is theirs, and was a suggestion all the same.
    rejecting = Q(annotation__in=among(list({annotation for annotation, _ in rejections})))
    marks = MARKS[kind]._default_manager.filter(rejecting | Q(origin=Mark.Origin.PREANNOTATION), **here)
    fields = ("annotation__item", "annotation", "annotation__annotator", "status", "origin", *_PLACES[kind])
    found = marks.exclude(status=Mark.Status.REJECTED).order_by()
    for item, annotation, annotator, status, origin, *place in found.values_list(*fields):
        what = tuple(place)
        if origin == Mark.Origin.PREANNOTATION or (annotation, what) in rejections:
            people = decided[item, what]
            if annotator and status == Mark.Status.ACCEPTED:
                people[annotation] = True
    for (annotation, what), item in rejections.items():  # whoever has it in the end, be it made anew, has accepted it
        decided[item, what].setdefault(annotation, False)
    for (item, what), people in decided.items():
        accepted = sum(people.values())
        yield item, what, accepted, len(people) - accepted


def _key_of_place(what: What, tokens: Sequence[str], ignores_case: bool) -> Any:
    """The same for the place of a suggestion as for the form that made it."""

    def entity(start: int, end: int, label: int) -> tuple[Any, ...]:
        return _folded(tokens[start : end + 1], ignores_case), label

    if len(what) == 3:
        return entity(*what)
    return entity(*what[:3]), entity(*what[3:6]), what[3] - what[1] - 1, what[6]


def _key_of_form(form: Form) -> Any:
    if isinstance(form, EntityForm):
        return _folded(form.tokens, form.ignores_case), form.label
    return _key_of_form(form.source), _key_of_form(form.target), form.offset, form.label


def _folded(tokens: Sequence[str], ignores_case: bool) -> tuple[str, ...]:
    return tuple(token.casefold() for token in tokens) if ignores_case else tuple(tokens)
