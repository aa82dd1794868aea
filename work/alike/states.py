"""What a person sees in items: the marks of their own annotation or, before they have one, of the given one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection

from annotation_service.db import keys, snapshot
from datasets.models.rejection import entity_key

_ANNOTATIONS = """
SELECT item_id, id, annotator_id IS NULL, done_at IS NOT NULL, revision FROM datasets_annotation
 WHERE item_id IN ({keys}) AND (annotator_id = %(person)s OR annotator_id IS NULL)
 ORDER BY annotator_id IS NULL
"""
_OWN = "SELECT item_id, id FROM datasets_annotation WHERE item_id IN ({keys}) AND annotator_id = %(person)s"
_ENTITIES = (
    'SELECT annotation_id, id, label_id, start, "end", status FROM datasets_entity WHERE annotation_id IN ({keys})'
)
_RELATIONS = (
    "SELECT annotation_id, id, label_id, source_id, target_id, status"
    " FROM datasets_relation WHERE annotation_id IN ({keys})"
)
_REJECTIONS = "SELECT annotation_id, what FROM datasets_rejection WHERE annotation_id IN ({keys})"


@dataclass(slots=True, eq=False)
class Marked:
    """An entity; the key of one that is to be made is 0."""

    pk: int
    label: int
    start: int
    end: int
    status: str

    @property
    def what(self) -> str:
        """As in `Rejection`."""
        return entity_key(self.start, self.end, self.label)


@dataclass(slots=True, eq=False)
class Related:
    pk: int
    label: int
    source: Marked
    target: Marked
    status: str

    @property
    def what(self) -> str:
        return f"{self.source.what}>{self.target.what}:{self.label}"


@dataclass(slots=True)
class State:
    """Of an item: ``annotation`` is the person's own; without one, it ``is_copied`` from the given one, if there is that."""

    annotation: int | None = None
    is_copied: bool = False
    is_done: bool = False
    entities: list[Marked] = field(default_factory=list)
    relations: list[Related] = field(default_factory=list)
    rejected: set[str] = field(default_factory=set)

    def entity(self, label: int, start: int, end: int) -> Marked | None:
        for each in self.entities:
            if each.start == start and each.end == end and each.label == label:
                return each
        return None


def states_of(items: Sequence[int], person: int, *, with_relations: bool) -> dict[int, State]:
    """The states of items, by their keys."""
    states = {item: State() for item in items}
    seen: dict[int, State] = {}
    own: list[int] = []
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(_ANNOTATIONS.format(keys=keys(items)), {"person": person})
        for item, annotation, is_given, is_done, _ in cursor.fetchall():
            state = states[item]
            if not is_given:
                state.annotation, state.is_done = annotation, bool(is_done)
                own.append(annotation)
            elif state.annotation is not None:
                continue
            else:
                state.is_copied = True
            seen[annotation] = state
        cursor.execute(_ENTITIES.format(keys=keys(seen)))
        entities: dict[int, Marked] = {}
        for annotation, pk, *values in cursor.fetchall():
            entities[pk] = entity = Marked(pk, *values)
            seen[annotation].entities.append(entity)
        if with_relations:
            cursor.execute(_RELATIONS.format(keys=keys(seen)))
            for annotation, pk, label, source, target, status in cursor.fetchall():
                seen[annotation].relations.append(Related(pk, label, entities[source], entities[target], status))
        if own:
            cursor.execute(_REJECTIONS.format(keys=keys(own)))
            for annotation, what in cursor.fetchall():
                seen[annotation].rejected.add(what)
    return states


def versions_of(items: Sequence[int], person: int) -> list[tuple[int, ...]]:
    """While these are the same, so are the states."""
    with connection.cursor() as cursor:
        cursor.execute(_ANNOTATIONS.format(keys=keys(items)), {"person": person})
        return sorted(cursor.fetchall())


def annotations_of(items: Sequence[int], person: int) -> list[tuple[int, int]]:
    """The items with the person's own annotations."""
    with connection.cursor() as cursor:
        cursor.execute(_OWN.format(keys=keys(items)), {"person": person})
        return cursor.fetchall()
