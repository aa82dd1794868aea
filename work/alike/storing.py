"""Doing a batch: some items at a time, each time in a transaction of its own, so that others can save meanwhile."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from annotation_service.db import among, execute, keys, write
from annotation_service.inputs import Refused
from annotation_service.models import Job, Overtaken
from datasets.cleaned import key_of
from datasets.models import Entity
from datasets.models.item import ItemQuerySet
from datasets.models.violations import rules_for
from ontologies.models import OntologyItem

from ..models import Batch
from ..models.batch import ITEMS_AT_ONCE, Progress, Turns, lock_items, no_progress
from ..models.bringing_back import note_broken
from . import statements as sql
from .asked import GONE, Asked
from .candidates import candidates, tokens_of
from .places import Place
from .preview import finder_of
from .states import Marked, Related, State, annotations_of, states_of, versions_of

Texts = Mapping[int, Sequence[str]]


class Found(NamedTuple):
    """What the person sees in items, the places that are stored, and the reasons why others are not; an empty one, if they were
    unticked. It is so while the ``basis`` is the same."""

    states: dict[int, State]
    places: list[Place]
    left_out: Counter[str]
    basis: tuple[Any, ...]


class Storing:
    """Does what was asked for with a batch. What broke off is taken up behind the last item that was stored."""

    def __init__(self, batch: Batch, items: ItemQuerySet, given: Callable[[], ItemQuerySet]) -> None:
        """``items`` are those that are meant, ``given`` those that it may change, asked for in each transaction. It raises
        `Refused` if the person may not go on."""
        self.batch, self.items, self.given = batch, items, given
        self.asked = Asked.of(batch.dataset, batch.asked)
        ticked = batch.asked.get("ticked")
        self.ticked = None if ticked is None else frozenset(ticked)
        self.unticked = frozenset(batch.asked.get("unticked", ()))
        adapt = connection.ops.adapt_datetimefield_value
        self.params: dict[str, Any] = {"batch": batch.pk, "person": batch.person_id, "at": adapt(batch.created_at)}
        self._prefix = secrets.token_hex(6)  # of the uids: nothing else has the same
        self._count = 0

    def run(self, progress: Progress = no_progress, job: Job | None = None) -> None:
        behind = self.items.filter(position__gte=self.batch.reached)
        items, turns = candidates(self.asked, behind, self.batch.person), Turns()
        for done in range(0, len(items), ITEMS_AT_ONCE):
            progress(done, len(items), "marking")
            some = items[done : done + ITEMS_AT_ONCE]
            texts = tokens_of(self.asked, [pk for pk, _ in some])
            found = self._find(texts)  # before others have to wait
            with turns.write():
                self._lock()
                self._store_on(texts, found, (some[0][1], some[-1][1]))
                self.batch.reached = some[-1][1] + 1
                self.batch.save(update_fields=["reached", "made", "left_out"])
        with write():
            self._lock()
            self.batch.stored_at = timezone.now()
            self.batch.save(update_fields=["stored_at"])
            if job:
                job.finish(text=f"{self.batch.in_words()}.")

    def _lock(self) -> None:
        """Raises `Overtaken` if another worker has gone on, or an undo has begun."""
        rows = Batch.objects.select_for_update(of=("self",), no_key=True).filter(pk=self.batch.pk, stored_at=None)
        if rows.values_list("reached", flat=True).first() != self.batch.reached:
            raise Overtaken

    def _hold_labels(self) -> None:
        active = {label.pk: label.active for label in self.asked.used_labels()}
        if len(held := OntologyItem.objects.filter(pk__in=active)) < len(active):
            raise Refused(GONE)
        OntologyItem.hold_all(held)
        if any(each.active != active[each.pk] for each in held):
            self.asked = Asked.of(self.batch.dataset, self.batch.asked)

    def _store_on(self, texts: Texts, found: Found, between: tuple[int, int]) -> None:
        self._hold_labels()
        lock_items(list(texts))
        # By their positions, too: by the keys alone, SQLite would look through the whole dataset each time.
        near = self.given().filter(position__range=between, pk__in=list(texts))
        allowed = set(near.order_by().values_list("pk", flat=True))
        if len(allowed) < len(texts) or found.basis != self._basis(texts):
            texts = {item: tokens for item, tokens in texts.items() if item in allowed}
            found = self._find(texts)
        states, places, left_out, _ = found
        items = {place.item for place in places}
        begun = [state.annotation for item, state in states.items() if item in items and state.annotation]
        if new := [item for item in items if states[item].annotation is None]:
            execute(sql.NEW_ANNOTATIONS.format(items=keys(new)), self.params)
            for item, annotation in annotations_of(new, self.batch.person_id):
                states[item].annotation = annotation
            if copied := {item: texts[item] for item in new if states[item].is_copied}:
                for statement in sql.COPY_GIVEN:
                    execute(statement.format(items=keys(copied)), self.params)
                again = self._find(copied)
                states |= again.states
                places = [place for place in places if place.item not in copied] + again.places
        if begun:
            execute(sql.NEXT_REVISIONS.format(annotations=keys(begun)))
        if self.batch.verb == Batch.Verb.REJECT:
            self._reject(places)
        elif self.batch.verb == Batch.Verb.REMOVE:
            self._remove(places)
        else:
            self._accept(places)
            self._make(places, states, texts)
        self._count_in(len(places), left_out)

    def _basis(self, texts: Texts) -> tuple[Any, ...]:
        versions = versions_of(list(texts), self.batch.person_id)
        return self.asked, rules_for(self.batch.dataset_id), versions

    def _find(self, texts: Texts) -> Found:
        basis = self._basis(texts)
        finder = finder_of(self.asked, self.batch.dataset, basis[1])
        states = states_of(list(texts), self.batch.person_id, with_relations=not self.asked.is_entity)
        places, left_out = [], Counter[str]()
        for item, tokens in texts.items():
            for place in finder.places(item, tokens, states[item], self._is_ticked):
                if place.against or not self._is_ticked(place):
                    left_out[place.against] += 1
                else:
                    places.append(place)
        return Found(states, places, left_out, basis)

    def _is_ticked(self, place: Place) -> bool:
        if self.ticked is None:
            return not self.unticked or place.key not in self.unticked
        return place.key in self.ticked

    def _reject(self, places: Sequence[Place]) -> None:
        if places:
            marks = keys(place.mark.pk for place in places)
            for statement in sql.NOTE_REJECTED[self.batch.kind]:
                execute(statement.format(marks=marks))
            self._decide(self.batch.kind, "rejected", marks)
            if self.asked.is_entity:
                execute(sql.REJECT_AT.format(marks=marks), self.params)

    def _remove(self, places: Sequence[Place]) -> None:
        """They are kept as they are, for an undo."""
        if not places:
            return
        kind, pks = self.batch.kind, [place.mark.pk for place in places]
        marks = keys(pks)
        for statement in sql.KEEP[kind]:
            execute(statement.format(marks=marks), self.params)
        note_broken(kind, pks, self.batch.dataset_id, self.params)
        for statement in (*sql.NOTE_REJECTED[kind], *sql.REMOVE[kind]):
            execute(statement.format(marks=marks))

    def _accept(self, places: Sequence[Place]) -> None:
        """The suggestions among them."""
        for table, kind in (("entity", Marked), ("relation", Related)):
            marks = [each.pk for place in places for each in place.changed if each.pk and isinstance(each, kind)]
            if marks:
                self._decide(table, "accepted", keys(marks))

    def _decide(self, table: str, status: str, marks: str) -> None:
        execute(sql.DECIDE.format(table=table, status=status, marks=marks), self.params)

    def _make(self, places: Sequence[Place], states: Mapping[int, State], texts: Texts) -> None:
        """The marks among them that are not there yet."""
        new = [(place.item, each) for place in places for each in place.changed if not each.pk]
        entities = [(item, each) for item, each in new if isinstance(each, Marked)]
        relations = [(item, each) for item, each in new if isinstance(each, Related)]
        uids = [self._new_uid() for _ in entities]
        self._insert(
            sql.MAKE_ENTITIES,
            (
                (states[item].annotation, each.label, uid, each.start, each.end, _key(texts[item], each))
                for uid, (item, each) in zip(uids, entities, strict=True)
            ),
        )
        if not relations:
            return
        made = dict(Entity.objects.filter(batch=self.batch, uid__in=among(uids)).values_list("uid", "pk"))
        for uid, (_, each) in zip(uids, entities, strict=True):
            each.pk = made[uid]
        self._insert(
            sql.MAKE_RELATIONS,
            (
                (states[item].annotation, each.label, self._new_uid(), each.source.pk, each.target.pk)
                for item, each in relations
            ),
        )

    def _insert(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """The rows, with what all of them have. The ORM would take five times as long, and others would wait for it."""
        at = self.params["at"]
        with connection.cursor() as cursor:
            cursor.executemany(statement, [(*row, self.batch.pk, at, at) for row in rows])

    def _new_uid(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def _count_in(self, made: int, left_out: Counter[str]) -> None:
        self.batch.made += made
        told = self.batch.left_out
        rules = Counter({each["rule"]: each["count"] for each in told.get("rules", ())})
        unticked = told.get("unticked", 0) + left_out.pop("", 0)
        rules.update(left_out)
        self.batch.left_out = {
            "unticked": unticked,
            "rules": [{"rule": rule, "count": count} for rule, count in rules.items()],
        }


def _key(tokens: Sequence[str], mark: Marked) -> int:
    return key_of(tokens[mark.start : mark.end + 1])
