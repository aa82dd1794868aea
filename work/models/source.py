"""Where suggestions come from: what was marked before, preannotations, and programs that bring their own."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, UniqueConstraint
from django.urls import reverse
from django.utils import timezone

from annotation_service import limits, words
from annotation_service.blueprints import Right
from annotation_service.db import among, copy_rows, store, write
from annotation_service.inputs import Refused, clean_title
from annotation_service.models import Job, User, start_once
from datasets.importing.document import Progress, no_progress
from datasets.models import Annotation, Dataset, Entity, Item, Layer, Mark, Relation
from datasets.models.broken import judge_of
from datasets.models.item import ItemQuerySet
from ontologies.models import OntologyItem

from ..placing import Placing, Suggester, for_calibration
from ..pushed import Line, PushedItem, PushReader, Refusal
from .batch import ITEMS_AT_ONCE, Turns, lock_items

# So many suggestions, on `ITEMS_AT_ONCE` items at most, are stored before others can write.
SUGGESTIONS_AT_ONCE = 300
MOST_SOURCES = 100  # of a project
MOST_REFUSED = 10_000  # told in one answer
# The kind of the jobs that take untouched suggestions away: `projects.jobs` has the work.
WITHDRAW = "withdraw_suggestions"
_STATUS = Mark.Status


@dataclass
class Outcome:
    """What came of suggestions that a program has brought: how many are new on the items, how many stood there already, how many
    of before were taken away, and which were refused."""

    made: int = 0
    unchanged: int = 0
    withdrawn: int = 0
    refused: list[Refusal] = field(default_factory=list)

    def refuse(self, refusal: Refusal) -> None:
        """Raises `Refused` when there are too many for an answer: then something is wrong with all of them."""
        self.refused.append(refusal)
        if len(self.refused) > MOST_REFUSED:
            first = min(self.refused)
            raise Refused(
                f"More than {words.number(MOST_REFUSED)} are refused, so it ends here; what was suggested before stays. The first"
                f" is in line {first.line}, {first.place}: {first.text}"
            )


class SourceFigures(NamedTuple):
    """``made`` is how often something was suggested: to each who has begun an item or has suggestions there, else once. Of these
    were ``accepted`` as they are, ``changed`` to another label or place, ``rejected``, and nobody has decided about the
    ``open`` ones. What somebody accepted and removed later is not counted."""

    made: int = 0
    accepted: int = 0
    changed: int = 0
    rejected: int = 0
    open: int = 0


class Source(models.Model):
    """All of a project's suggestions that are not its dataset's come from one; each mark keeps it, with its score, for good.

    Of each kind but programs there is one, made when it is needed first. A program suggests on some items at a time: what is
    suggested of an item is all that its source says of it then, of whichever version. So what nobody has touched there and is not
    suggested again goes at once, and items that are not named stay as they are; `finish` withdraws what is left of older
    versions when all of a version has come.
    """

    class Kind(models.TextChoices):
        HISTORY = "history", "what was marked before"
        PREANNOTATIONS = "preannotations", "preannotations"
        PROGRAM = "program", "a program"

    # What the sources are called that nobody names.
    NAMES = {Kind.HISTORY: "History", Kind.PREANNOTATIONS: "Preannotations"}
    ORIGINS = {
        Kind.HISTORY: Mark.Origin.HISTORY,
        Kind.PREANNOTATIONS: Mark.Origin.PREANNOTATION,
        Kind.PROGRAM: Mark.Origin.PROGRAM,
    }

    dataset = models.ForeignKey("datasets.Dataset", on_delete=models.RESTRICT, db_index=False, related_name="sources")
    name = models.CharField(max_length=limits.MAX_NAME_CHARACTERS)
    kind = models.CharField(max_length=14, choices=Kind, default=Kind.PROGRAM)
    version = models.CharField(max_length=limits.MAX_NAME_CHARACTERS, blank=True)
    # When the first suggestions of this version came. What was suggested before, and not again since, is of an older one.
    version_at = models.DateTimeField(default=timezone.now)
    is_on = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    # When suggestions came last.
    updated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["kind", "name"]
        constraints = [UniqueConstraint(fields=["dataset", "name"], name="source_name")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("projects:source", args=[self.dataset.project_id, self.pk])

    @property
    def suggester(self) -> Suggester:
        version_at = self.version_at if self.kind == self.Kind.PROGRAM else None
        return Suggester(self.pk, self.ORIGINS[self.Kind(self.kind)], version_at)

    @classmethod
    def of(cls, dataset: Dataset, name: str) -> Self:
        """The program of that name, which is made when it brings something first."""
        name = clean_title(name)
        if name in cls.NAMES.values():
            raise Refused(f"“{name}” is the name of the service’s own suggestions. Choose another one.")
        if found := cls.objects.filter(dataset=dataset, name=name).first():
            return found
        if cls.objects.filter(dataset=dataset).count() >= MOST_SOURCES:
            raise Refused(f"A project has at most {MOST_SOURCES} sources of suggestions. Send new versions of one.")
        return cls.objects.get_or_create(dataset=dataset, name=name)[0]

    @classmethod
    def own(cls, dataset: int, kind: Kind) -> Self:
        """The history of a dataset, or its preannotations."""
        return cls.objects.get_or_create(dataset_id=dataset, name=cls.NAMES[kind], defaults={"kind": kind})[0]

    # --- Suggesting ---

    def suggest(self, lines: Iterable[Line], *, version: str = "", by: User) -> Outcome:
        """Suggest what a program brings, each line a JSON object with all that it suggests on an item (see
        ``schemas/suggestions.json``), some items at a time, so that others can save meanwhile. If it breaks off, what was stored
        stays; the same again changes nothing."""
        outcome, turns = Outcome(), Turns()
        version = clean_title(version) if version else ""
        with write():
            held = self._hold(by)
            if version != held.version or not held.updated_at:
                store(held, version=version, version_at=timezone.now(), updated_at=timezone.now())
        self.version, self.version_at = held.version, held.version_at
        read = PushReader(self.dataset, outcome.refuse).read(lines)
        for some in _portions(read):
            with Placing(self.suggester, judge_of(self.dataset_id)) as placing:
                keys = [(each, self._add(placing, each)) for each in some]
                placing.write_all()
                with turns.write():
                    self._hold(by, version)
                    lock_items([each.item.pk for each in some])
                    gone = self._changed_since(placing, some)
                    stored = placing.store()
            outcome.made += stored.made
            outcome.withdrawn += stored.withdrawn
            refused = 0
            for each, its_keys in keys:
                if each.item.pk in gone:
                    outcome.refuse(each.refusal(None, "The item was changed meanwhile. Suggest this again."))
                    refused += len(its_keys)
                    continue
                texts = {mark: placing.refused[key] for mark, key in its_keys.items() if key in placing.refused}
                for mark, text in texts.items():
                    outcome.refuse(each.refusal(mark, text))
                refused += len(texts)
            outcome.unchanged += sum(len(its_keys) for _, its_keys in keys) - stored.made - refused
        if outcome.made or outcome.withdrawn:
            self.note_suggestions()
        return outcome

    def note_suggestions(self) -> None:
        store(self, updated_at=timezone.now())

    def _add(self, placing: Placing, pushed: PushedItem) -> dict[Any, int]:
        item = pushed.item
        return placing.add(item.pk, item.text_version, item.tokens, pushed.found, pushed.scores)

    def _hold(self, by: User, version: str | None = None) -> "Source":
        """Until the transaction ends nobody switches it off; refused if it is off, or if its project cannot be changed."""
        held = Source.objects.select_for_update(of=("self",), no_key=True).filter(pk=self.pk).first()
        project = self.dataset.its_project if held else None
        if held is None or project is None:
            raise Refused("The project was deleted.")
        if Right.MANAGE not in project.rights_of(by):
            raise Refused(project.reason_not_to_change() or f"You do not manage “{project}” any more.")
        if not held.is_on:
            raise Refused(f"“{self}” is switched off in this project: nothing that it suggests is taken.")
        if version is not None and held.version != version:
            raise Refused(f"Meanwhile version “{held.version}” of “{self}” is being suggested.")
        return held

    def _changed_since(self, placing: Placing, some: list[PushedItem]) -> set[int]:
        """The items whose text is another one than that which was read, or that are gone: nothing is stored there. Refused if
        labels or rules are others."""
        labels = {mark.label for each in some for marks in each.found for mark in marks}
        used = list(OntologyItem.objects.filter(pk__in=among(labels)))
        OntologyItem.hold_all(used)
        if not all(label.active for label in used) or judge_of(self.dataset_id) is not placing.judge:
            raise Refused("The labels or the constraints were changed meanwhile. Suggest this again.")
        items = Item.objects.filter(pk__in=among([each.item.pk for each in some]))
        versions = dict(items.exclude(pk__in=for_calibration(items).values("pk")).values_list("pk", "text_version"))
        return {each.item.pk for each in some if versions.get(each.item.pk) != each.item.text_version}

    # --- Taking away ---

    def finish(self, *, by: User) -> int:
        """All of its version has come: withdraw what older ones have left and nobody has touched; returns how many went."""
        with write():
            self._hold(by)
        return self.withdraw(Q(updated_at__lt=self.version_at))

    def untouched(self) -> int:
        """How many suggestions would go with it, counted as in its figures."""
        return sum(_counted(_untouched(model, self)).count() for model in (Entity, Relation))

    def switch(self, is_on: bool, *, by: User) -> Job | None:
        """Off, it suggests nothing any more, and what nobody has touched goes: at once or by the job that is returned. On again,
        preannotations are matched, history comes when items are opened, and programs have to suggest theirs anew."""
        project = self.dataset.its_project
        if project is None or Right.MANAGE not in project.rights_of(by):
            raise Refused("You do not manage this project any more.")
        with write():
            project.locked()
            store(self, is_on=is_on)
            if is_on:
                return project.match_preannotations(by=by) if self.kind == self.Kind.PREANNOTATIONS else None
            if self.untouched() > settings.JOB_ROWS:
                target = {"project": self.dataset.project_id, "source": self.pk}
                return start_once(WITHDRAW, title=f"Take the suggestions of “{self}” away", by=by, target=target)
        self.withdraw()
        return None

    def withdraw(self, which: Q | None = None, progress: Progress = no_progress) -> int:
        """Delete what nobody has touched, of all or of some suggestions, where it is not done; relations before their ends. Some
        annotations at a time, so that others can save meanwhile; returns how many went."""
        turns, gone = Turns(), 0
        both: tuple[type[Mark], ...] = (Relation, Entity)
        for model in both:
            last = 0
            while True:
                rows = _untouched(model, self).filter(which or Q(), annotation__gt=last).order_by("annotation")
                annotations = list(rows.values_list("annotation", flat=True).distinct()[:ITEMS_AT_ONCE])
                if not annotations:
                    break
                last = annotations[-1]
                here = Annotation.objects.filter(pk__in=among(annotations))
                with turns.write():
                    lock_items(list(here.values_list("item", flat=True)))
                    gone += _delete(_untouched(model, self).filter(which or Q(), annotation__in=among(annotations)))
                progress(gone, gone, "withdrawing")
        return gone

    # --- Figures ---

    def figures(self) -> dict[int, SourceFigures]:
        """By the keys of labels."""
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        for model in (Entity, Relation):
            marks = _counted(model._default_manager.filter(suggested_by=self))
            grouped = marks.order_by().values_list("label", "status", "is_changed").annotate(Count("pk"))
            for label, status, is_changed, count in grouped:
                counts[label][_FATES[status] if not is_changed or status != _STATUS.ACCEPTED else "changed"] += count
                counts[label]["made"] += count
        return {
            label: SourceFigures(*(count[name] for name in SourceFigures._fields)) for label, count in counts.items()
        }


_FATES = {_STATUS.ACCEPTED: "accepted", _STATUS.REJECTED: "rejected", _STATUS.SUGGESTED: "open"}


def _counted(marks: QuerySet[Any]) -> QuerySet[Any]:
    """Those of each who has begun the item, else those that it begins with. On items that were removed nothing is counted, nor in
    gold, which repeats what people have."""
    own = Annotation.objects.filter(item=OuterRef("annotation__item"), layer=Layer.OWN)
    layers = Q(annotation__layer=Layer.OWN) | Q(~Exists(own), annotation__layer=Layer.GIVEN)
    return marks.filter(layers, annotation__item__removed_at=None)


def withdraw_on(items: ItemQuerySet) -> None:
    """Delete what nobody has touched, of all sources, on a few items; in the transaction of the caller."""
    keys = list(items.order_by("position").values_list("pk", flat=True))
    lock_items(keys)
    both: tuple[type[Mark], ...] = (Relation, Entity)
    for model in both:
        _delete(_untouched(model).filter(annotation__item__in=among(keys)))


def _untouched(model: type[Mark], source: Source | None = None) -> QuerySet[Any]:
    """What nobody has decided about where it is not done, of one source or all, without the ends of relations."""
    free = {"outgoing": None, "incoming": None} if model is Entity else {}
    whose = {"suggested_by": source} if source else {"suggested_by__isnull": False}
    return model._default_manager.filter(status=_STATUS.SUGGESTED, annotation__done_at=None, **whose, **free)


def _delete(marks: QuerySet[Any]) -> int:
    keys = list(marks.values_list("pk", "annotation"))
    marks.model._default_manager.filter(pk__in=among([pk for pk, _ in keys]))._raw_delete(marks.db)
    touched = {annotation for _, annotation in keys}
    Annotation.count_up(Annotation.objects.filter(pk__in=among(touched)))
    return len(keys)


def _portions(read: Iterator[PushedItem]) -> Iterator[list[PushedItem]]:
    some: list[PushedItem] = []
    count = 0
    for each in read:
        some.append(each)
        count += len(each.paths)
        if count >= SUGGESTIONS_AT_ONCE or len(some) == ITEMS_AT_ONCE:
            yield some
            some, count = [], 0
    if some:
        yield some


def copy_sources(dataset: Dataset, copy: Dataset) -> dict[str, Any]:
    """For the copies of marks, which keep their sources."""
    copy_rows(Source.objects.filter(dataset=dataset), dataset=copy.pk)
    theirs = Source.objects.filter(dataset=copy, name=OuterRef("suggested_by__name"))
    return {"suggested_by": Subquery(theirs.values("pk"))}
