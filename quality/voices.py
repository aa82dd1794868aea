"""What people who are done with items say about them, and how far the labels that they use are apart."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.db.models import Case, Q, When

from annotation_service import words
from annotation_service.db import among
from datasets.models import GIVEN, Annotation, Entity, Item, Layer, Mark, Relation
from ontologies.labels import Label
from ontologies.models import Ontology
from projects.models import Project

from .comparison import GIVEN_VOICE, AnyMark, EntityMark, Marked, RelationMark, Voice

GOLD_VOICE = -1
# Below this: the imported work of a person, counted apart until they have changed something.
IMPORTED = -1000


class Trees:
    """The labels of all ontologies of a project, by their keys."""

    def __init__(self, ontologies: Iterable[Ontology]) -> None:
        self.of = {ontology.kind: ontology.labels() for ontology in ontologies}
        self.labels: dict[int, Label] = {label.pk: label for labels in self.of.values() for label in labels}
        self._paths: dict[int, tuple[int, ...]] = {}

    def path(self, pk: int) -> tuple[int, ...]:
        """The keys from the top of the tree down to the label."""
        if pk not in self._paths:
            labels = next(labels for labels in self.of.values() if pk in labels.by_pk)
            self._paths[pk] = labels.line(pk)[::-1]
        return self._paths[pk]

    def apart(self, one: int, other: int) -> int:
        """How many steps lead from one label to the other, by way of the root if need be."""
        first, second = self.path(one), self.path(other)
        shared = 0
        while shared < min(len(first), len(second)) and first[shared] == second[shared]:
            shared += 1
        return len(first) + len(second) - 2 * shared

    def is_on(self, pk: int) -> bool:
        return pk in self.labels and self.labels[pk].active


def voices_in(items: Collection[int], *, given: bool = False, gold: bool = False) -> dict[int, list[Voice]]:
    """Of each item, those who are done with it with their accepted marks, by the keys of users. What came with the dataset is
    one voice more, if that is wanted, and so is gold that is decided."""
    done = Q(layer=Layer.OWN, done_at__isnull=False)
    wanted = done | Q(layer=Layer.GIVEN) if given else done
    wanted = wanted | Q(layer=Layer.GOLD, done_at__isnull=False) if gold else wanted
    annotations = Annotation.objects.filter(wanted, item__in=among(list(items))).order_by()
    who = {
        pk: (item, voice_of(layer, annotator, is_imported))
        for pk, item, layer, annotator, is_imported in annotations.annotate(imported=UNTOUCHED_IMPORT).values_list(
            "pk", "item", "layer", "annotator", "imported"
        )
    }
    marked = marked_in(list(who))
    voices: dict[int, list[Voice]] = defaultdict(list)
    for pk, (item, person) in who.items():
        if person != GIVEN_VOICE or marked[pk].entities:
            voices[item].append(Voice(person, marked[pk]))
    return {item: sorted(each, key=lambda voice: voice.who) for item, each in voices.items()}


UNTOUCHED_IMPORT = Case(When(imported_by__isnull=False, changed_at=None, then=True), default=False)


def voice_of(layer: str, annotator: int | None, is_imported: bool = False) -> int:
    if annotator is None:
        return GIVEN_VOICE if layer == Layer.GIVEN else GOLD_VOICE
    return IMPORTED - annotator if is_imported else annotator


def marked_in(annotations: Collection[int]) -> dict[int, Marked]:
    """What counts in annotations: accepted marks and, in given ones, what came with the dataset."""
    counted = {"annotation__in": among(annotations)}
    entities: dict[int, list[EntityMark]] = defaultdict(list)
    relations: dict[int, list[RelationMark]] = defaultdict(list)
    said: dict[int, EntityMark] = {}
    is_counted = Q(status=Mark.Status.ACCEPTED) | GIVEN
    rows = Entity.objects.filter(is_counted, **counted).order_by()
    for pk, annotation, *mark in rows.values_list("pk", "annotation", "start", "end", "label"):
        said[pk] = EntityMark(*mark)
        entities[annotation].append(said[pk])
    ends = Relation.objects.filter(is_counted, **counted).order_by()
    for annotation, source, target, label in ends.values_list("annotation", "source", "target", "label"):
        if source in said and target in said:
            relations[annotation].append(RelationMark(said[source], said[target], label))
    return {pk: Marked(frozenset(entities[pk]), frozenset(relations[pk])) for pk in annotations}


# --- In words ----------------------------------------------------------------------------------------------------------

SHOWN_CHARACTERS = 80


class Said(NamedTuple):
    words: str
    label: Label


def said(item: Item, trees: Trees, mark: AnyMark) -> Said:
    """The words that somebody marked, those of a relation being its ends, with the label."""
    places = [mark.source, mark.target] if isinstance(mark, RelationMark) else [mark]
    text = " → ".join(words.cut(item.cleaned.between(place.start, place.end), SHOWN_CHARACTERS) for place in places)
    return Said(text, trees.labels[mark.label])


# --- Names ---------------------------------------------------------------------------------------------------------------

NAMES_OF_NOBODY = {GOLD_VOICE: "the gold", GIVEN_VOICE: "the dataset"}
"""No user has a space in the name."""


def names_for(project: Project) -> dict[int, str]:
    """What pages, files and addresses call the voices of a project, in the order in which they are shown: gold, the dataset, and
    all people."""
    named = dict(project.people().order_by("username_folded").values_list("pk", "username"))
    kept = Annotation.objects.filter(
        imported_by__isnull=False, changed_at=None, item__in=project.all_items().order_by()
    )
    imported = kept.order_by().values_list("annotator").distinct()
    return NAMES_OF_NOBODY | named | {IMPORTED - pk: f"{named[pk]} (imported)" for (pk,) in imported}


def voice_named(names: Mapping[int, str], name: str) -> int | None:
    """Whom an address means by one of these names; None for nobody."""
    return next((who for who, known in names.items() if known == name), None)
