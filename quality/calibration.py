"""How those who annotate a project do in the items that all of them get first: whether they may go on."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from django.db.models import Count
from django.urls import reverse
from django.utils.http import urlencode

from annotation_service.db import among
from datasets.models import Annotation
from projects.models import Project

from .comparison import Likeness
from .counting import kept_documents
from .measures import f1
from .voices import GOLD_VOICE, Trees

SHOWN_LABELS = 3


class Calibrated(NamedTuple):
    name: str
    done: int
    with_others: float | None
    """The mean of F1 with each other person."""
    with_gold: float | None
    may_go_on: bool
    confused: list[tuple[str, str, int, str]]
    """The labels that differ most from those of others: the person's, the other one, how often, and the address of the places."""


def calibrated(project: Project, items: Collection[int], names: Mapping[int, str], least: float) -> list[Calibrated]:
    """All who annotate, as far as these items are counted. They may go on if they have done all, with an F1 of ``least``: with
    gold, where there is some, else with the others."""
    finished = Annotation.objects.filter(item__in=among(list(items)), annotator__isnull=False, done_at__isnull=False)
    done = dict(finished.order_by().values_list("annotator").annotate(Count("pk")))
    matches: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    confused: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
    for _, document in kept_documents(project, among_items=items):
        for one, other, _, entities, *_ in document["pairs"]:
            _add(matches[one, other], entities)
            for label, other_label, number in entities.get(Likeness.LABEL, ()):
                confused[one][label, other_label] += number
                confused[other][other_label, label] += number
    trees, found = Trees(project.ontology_set.all()), []
    annotators = set(project.annotators()) | done.keys()
    for person in filter(annotators.__contains__, names):
        pairs = [f1(*sums) for pair, sums in matches.items() if person in pair and GOLD_VOICE not in pair]
        known = [value for value in pairs if value is not None]
        with_others = sum(known) / len(known) if known else None
        with_gold = f1(*matches[GOLD_VOICE, person]) if (GOLD_VOICE, person) in matches else None
        measured = with_others if with_gold is None else with_gold
        is_enough = done.get(person, 0) == len(items) and measured is not None and measured >= least
        labels = [
            (trees.labels[own].name, trees.labels[theirs].name, number, _places(project, names[person], own, theirs))
            for (own, theirs), number in confused[person].most_common()
            if trees.labels.keys() >= {own, theirs}
        ]
        shown = labels[:SHOWN_LABELS]
        found.append(Calibrated(names[person], done.get(person, 0), with_others, with_gold, is_enough, shown))
    return found


def _add(sums: list[int], entities: Mapping[str, Any]) -> None:
    """What `f1` takes."""
    for kind, rows in entities.items():
        for label, other_label, number in rows:
            sums[0] += number if kind == Likeness.SAME else 0
            sums[1] += number if label else 0
            sums[2] += number if other_label else 0


def _places(project: Project, name: str, own: int, theirs: int) -> str:
    asked = urlencode([("one", name), ("label", own), ("other_label", theirs)])
    return f"{reverse('quality:agreement_places', args=[project.pk])}?{asked}"
