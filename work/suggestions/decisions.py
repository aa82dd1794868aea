"""How the preannotations of a set fared: how often each was suggested, and what people decided."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection

from datasets.models import Dataset
from datasets.models.marks import ENTITY_KEY, RELATION_KEY
from datasets.portions import token_lists
from resources.matching import EntityForm
from resources.models import PreannotationSet

from .placing import Form, forms_of

ITEMS_AT_ONCE = 1000
What = tuple[int, ...]
"""Of an entity start, end and label; of a relation those of both ends, and its label. As in `Rejection.what`."""
_STATE = "m.annotation_id, a.annotator_id IS NOT NULL AND m.status = 'accepted'"
_SUGGESTED = (
    "JOIN datasets_annotation a ON a.id = m.annotation_id AND a.item_id IN ({items})"
    " WHERE m.status <> 'rejected' AND (m.origin = 'preannotation' OR EXISTS"
    " (SELECT 1 FROM datasets_rejection j WHERE j.annotation_id = m.annotation_id AND j.what = {what}))"
)
_SUGGESTIONS = {
    "entity": f'SELECT a.item_id, {_STATE}, m.start, m."end", m.label_id FROM datasets_entity m {_SUGGESTED}',
    "relation": f"""
        SELECT a.item_id, {_STATE}, s.start, s."end", s.label_id, t.start, t."end", t.label_id, m.label_id
        FROM datasets_relation m
        JOIN datasets_entity s ON s.id = m.source_id
        JOIN datasets_entity t ON t.id = m.target_id {_SUGGESTED}
    """,
}
_WHAT = {"entity": ENTITY_KEY.format("m"), "relation": RELATION_KEY.format("m", "s", "t")}
_REJECTIONS = (
    "SELECT a.item_id, m.annotation_id, m.what FROM datasets_rejection m"
    " JOIN datasets_annotation a ON a.id = m.annotation_id AND a.item_id IN ({items})"
)


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


def _decisions(kind: str, items: Iterable[int]) -> Iterator[tuple[int, What, int, int]]:
    """What was suggested on items, and how many annotators accepted it and rejected it."""
    decided: dict[tuple[int, What], dict[int, bool]] = defaultdict(dict)
    keys = ", ".join(map(str, items))
    with connection.cursor() as cursor:
        cursor.execute(_SUGGESTIONS[kind].format(items=keys, what=_WHAT[kind]))
        for item, annotation, accepted, *place in cursor.fetchall():
            people = decided[item, tuple(place)]
            if accepted:
                people[annotation] = True
        length = 3 if kind == "entity" else 7
        cursor.execute(_REJECTIONS.format(items=keys))
        for item, annotation, text in cursor.fetchall():
            what = tuple(map(int, re.findall(r"\d+", text)))
            if len(what) == length:  # whoever has it in the end, be it made anew, has accepted it
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
