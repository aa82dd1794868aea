"""Datasets with their items and bin, and what goes with them when they are removed or deleted."""

import time
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, TextField, UniqueConstraint
from django.db.models.functions import Cast, Coalesce, Now
from django.utils import timezone

from annotation_service import words
from annotation_service.blueprints import PagedBlueprint
from annotation_service.db import among, changed, copy_rows, delete_rows, write
from annotation_service.inputs import Refused
from annotation_service.models import User
from ontologies import usage
from ontologies.counterparts import counterpart, counterparts, key_map, label_map
from ontologies.labels import Label
from ontologies.models import Ontology, OntologyItem

from ..importing.document import ImportReport
from ..importing.storage import Spool, json_unchecked
from ..kinds import DatasetKind
from ..preprocessing import Preprocessing
from .annotation import Annotation
from .item import BIN, Item, ItemQuerySet
from .judged import BrokenRule, Judged
from .marks import DECIDED, GIVEN, NOBODYS, Entity, Layer, Mark, Rejection, Relation, relabel

# Models with a field `annotation`, and models with the field that points to items or datasets. The apps above add theirs.
goes_with_annotations: list[type[models.Model]] = [Relation, Entity, Rejection, BrokenRule]
goes_with_items: list[tuple[type[models.Model], str]] = [(Annotation, "item")]
goes_with_datasets: list[tuple[type[models.Model], str]] = [(Judged, "dataset")]
# Marks point to these.
goes_after_marks: list[tuple[type[models.Model], str]] = []
# What everybody's marks of a copy refer to: the apps above add functions that copy it, and give the fields with what they are in
# the copy.
goes_before_marks: list[Callable[["Dataset", "Dataset"], dict[str, Any]]] = []
# What is copied after everybody's marks: the apps above add functions that get the dataset, its copy, and the keys of the copy's
# labels by those of the dataset's. The temporary table `annotation_map` has the keys of the annotations.
goes_along: list[Callable[["Dataset", "Dataset", Mapping[int, int]], None]] = []
# When many items are deleted, so many are locked and deleted with their marks before the next.
ITEMS_AT_ONCE = 500

# The annotations of a layer that become the given ones of a copy.
_COPIED = {Layer.GIVEN: Q(layer=Layer.GIVEN), Layer.GOLD: Q(layer=Layer.GOLD, done_at__isnull=False)}


class MarkCount(NamedTuple):
    """The marks of some items: ``given`` with the dataset, and ``made`` by so many ``people``."""

    given: int
    made: int
    people: int

    @classmethod
    def of(cls, items: ItemQuerySet) -> "MarkCount":
        """A suggestion is nobody's mark before it is accepted."""
        given, people = 0, Counter[int]()
        annotations = Annotation.objects.filter(item__in=items.order_by().values("pk"))
        for model in (Entity, Relation):
            marks = model.objects.filter(annotation__in=annotations)
            given += marks.filter(GIVEN).count()
            made = marks.filter(annotation__annotator__isnull=False, status=Mark.Status.ACCEPTED)
            people.update(dict(made.order_by().values_list("annotation__annotator").annotate(Count("pk"))))
        return cls(given, people.total(), len(people))


def with_marks(items: ItemQuerySet) -> Iterator[QuerySet[Any]]:
    """The rows of items and of all that goes with them, in an order in which they can be deleted. Annotators lock the item whose
    marks they change, so that none come in between."""
    locked = items.select_for_update(of=("self",)).values_list("pk", flat=True)
    while keys := list(locked[:ITEMS_AT_ONCE]):
        for model in goes_with_annotations:
            yield model._base_manager.filter(annotation__item__in=among(keys))
        for model, field in goes_with_items:
            yield model._base_manager.filter(**{f"{field}__in": among(keys)})
        yield Item.with_removed.filter(pk__in=among(keys))


class Contents(models.TextChoices):
    """What a copy takes along: each what those before it do, and more."""

    NOTHING = "nothing", "No items: the dataset begins empty"
    ITEMS = "items", "The items, without any marks"
    GIVEN = "given", "The items with the marks that came with them"
    EVERYBODY = "everybody", "The items with everybody’s marks, and how far everybody is"


class Dataset(PagedBlueprint):
    """A list of texts to be annotated, with the tokens that marks refer to."""

    kind = models.CharField(max_length=21, choices=DatasetKind)
    preprocessing = models.JSONField(default=dict, blank=True)
    entity_ontology = models.ForeignKey(
        Ontology, null=True, blank=True, on_delete=models.RESTRICT, related_name="entity_datasets"
    )
    relation_ontology = models.ForeignKey(
        Ontology, null=True, blank=True, on_delete=models.RESTRICT, related_name="relation_datasets"
    )
    # What the marks that come with its items are when annotators find them.
    given_status = models.CharField(max_length=9, choices=Mark.Status, default=Mark.Status.SUGGESTED, editable=False)
    # Counted when items are written, so that lists of datasets need not count rows.
    item_count = models.PositiveIntegerField(default=0, editable=False)
    token_count = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["project"], condition=~Q(project=None), name="dataset_one_a_project"),
        ]

    arrived: ItemQuerySet | None = None
    """The items that came while it was `changing`."""

    # --- Reading ---

    @property
    def operations(self) -> list[str]:
        """The preprocessing that was applied, in words."""
        return Preprocessing(**self.preprocessing).operations() if self.preprocessing else []

    @property
    def import_options(self) -> dict[str, Any]:
        """What it decides about the reading of an addition."""
        ontologies = {"entity_ontology": self.entity_ontology_id, "relation_ontology": self.relation_ontology_id}
        return {"kind": self.kind, **self.preprocessing, **ontologies}

    def copy_options(self, kind: DatasetKind) -> dict[str, Any]:
        """What this dataset of a project decides about items that are copied from one of a kind: the wider of both kinds is
        read, as far as the project has ontologies for it."""
        own = {ontology.kind: ontology.pk for ontology in Ontology.objects.filter(project=self.project_id)}
        wider = max(DatasetKind(self.kind), kind, key=list(DatasetKind).index)
        if "relation" not in own and wider.has_relations:
            wider = DatasetKind.PREANNOTATED_ENTITY
        return {"kind": wider, **{f"{of}_ontology": own[of] for of in wider.label_kinds}}

    @property
    def row_count(self) -> int:
        given = Entity.objects.filter(GIVEN, annotation__item__in=self.items().order_by())
        return self.item_count + (given.count() if self.given_ontologies() else 0)

    def content_in_words(self) -> str:
        return words.plural(self.item_count, "item,items")

    def items(self) -> ItemQuerySet:
        return Item.objects.filter(dataset=self).order_by("position")

    def bin(self) -> ItemQuerySet:
        """The removed items that can still be restored, the last removed first."""
        removed = Item.with_removed.filter(dataset=self, removed_at__gt=timezone.now() - BIN)
        return removed.order_by("-removed_at", "position")

    def decided_items(self) -> ItemQuerySet:
        """Those whose gold is decided."""
        decided = Annotation.objects.filter(_COPIED[Layer.GOLD], item=OuterRef("pk"))
        return self.items().filter(Exists(decided))

    def decided_marks(self) -> int:
        here = {"annotation__item__dataset": self, "annotation__item__removed_at": None}
        return sum(model.objects.filter(DECIDED, **here).count() for model in (Entity, Relation))

    def marks_of(self, items: ItemQuerySet) -> MarkCount:
        """Those that are removed together with items."""
        return MarkCount.of(items.filter(dataset=self))

    def items_with_external_ids(self, external_ids: Collection[str]) -> ItemQuerySet:
        return self.items().filter(external_id__in=among(external_ids))

    def items_like(self, items: ItemQuerySet) -> ItemQuerySet:
        """Those that have the same tokens as one of some other items, so that people read the same text."""
        text = Cast("tokens", TextField())
        return self.items().alias(text=text).filter(text__in=items.order_by().annotate(text=text).values("text"))

    def additions(self) -> QuerySet[Any]:
        """The uploads that were stored in it, the newest first."""
        return self.uploads.filter(number__isnull=False).order_by("-number")

    def given_ontologies(self) -> list[Ontology]:
        """The ontologies of its given marks."""
        return [ontology for ontology in (self.entity_ontology, self.relation_ontology) if ontology]

    def ontologies(self) -> list[Ontology]:
        """The ontologies of its given marks or, if it came without marks, those of its project."""
        given = self.given_ontologies()
        return given if given or self.is_blueprint else self.ontologies_of(Layer.GOLD)

    def ontologies_of(self, layer: Layer) -> list[Ontology]:
        """The ontologies of its given marks or, of gold, those of its project."""
        if layer == Layer.GIVEN:
            return self.given_ontologies()
        return list(Ontology.objects.filter(project=self.project_id).order_by("kind"))

    def kind_with(self, layer: Layer) -> DatasetKind:
        """What its items come with, if the marks of a layer do."""
        if layer == Layer.GIVEN:
            return DatasetKind(self.kind)
        kinds = [ontology.kind for ontology in self.ontologies_of(layer)]
        return next(kind for kind in DatasetKind if kind.label_kinds == kinds)

    def labels(self) -> Mapping[int, Label]:
        """The labels that its marks may carry, by primary key."""
        return ChainMap(*(ontology.labels().by_pk for ontology in self.ontologies()))

    # --- Making ---

    def copy_to(
        self,
        project: Any = None,
        *,
        by: User,
        name: str = "",
        ontologies: dict[int, Ontology] | None = None,
        contents: str = Contents.GIVEN,
        given_status: str = Mark.Status.SUGGESTED,
    ) -> "Dataset":
        """A copy in the project or, without one, a new blueprint of the user; removed items stay behind.

        ``ontologies`` maps the keys of this dataset's ontologies to those that the copy shall use, which must have all labels of
        the given marks. Without it a copy of a blueprint uses the same ontologies, and one of a project's dataset blueprints,
        which are made if necessary. Everybody's marks are copied only from one project to another, with all its ontologies.
        """
        with write():
            to = ontologies or {o.pk: self._locked_blueprint(o, by) for o in self.given_ontologies()}
            source = self.locked()
            copy = source.copy_row(by=by, project=project, name=name)
            copy.touch(
                given_status=given_status,
                entity_ontology=to.get(source.entity_ontology_id or 0, source.entity_ontology),
                relation_ontology=to.get(source.relation_ontology_id or 0, source.relation_ontology),
            )
            source._copy_content(copy, to, contents)
        return copy

    def copy_gold(self, *, by: User, name: str) -> "Dataset":
        """A new blueprint of the user with the items whose gold is decided, and the gold as the marks that came with them. The
        ontologies are found or made as for any copy of a project's dataset."""
        with write():
            to = {o.kind: self._locked_blueprint(o, by, Layer.GOLD) for o in self.ontologies_of(Layer.GOLD)}
            source = self.locked()
            items, copy = source.decided_items(), source.copy_row(by=by, name=name)
            copy.touch(
                kind=source.kind_with(Layer.GOLD),
                given_status=Mark.Status.SUGGESTED,
                item_count=items.count(),
                token_count=items.token_count(),
                **{f"{kind}_ontology": ontology for kind, ontology in to.items()},
            )
            if not copy.item_count:
                raise Refused("No item of this project is decided.")
            with json_unchecked():
                copy_rows(items, dataset=copy.pk, text_version=1)
            source._copy_marks(copy, source.labels_in(to, layer=Layer.GOLD), Layer.GOLD)
        return copy

    def _copy_content(self, copy: "Dataset", ontologies: dict[int, Ontology], contents: str) -> None:
        if contents == Contents.NOTHING:
            copy.touch(item_count=0, token_count=0)
            return
        with json_unchecked():  # half the time of 100,000 items would go into parsing JSON that is right in the source
            copy_rows(self.items(), dataset=copy.pk, text_version=1)
        if contents == Contents.EVERYBODY:
            labels: dict[int, int] = {}
            for own in Ontology.objects.filter(pk__in=ontologies):
                labels |= counterparts(own.items(), own, ontologies[own.pk], f"The marks of “{self}” have")
            self._copy_marks(copy, labels)
        elif contents == Contents.GIVEN and self.entity_ontology_id:
            to_kinds = {ontology.kind: ontology for ontology in copy.given_ontologies()}
            self._copy_marks(copy, self.labels_in(to_kinds), Layer.GIVEN)

    def _copy_marks(self, copy: "Dataset", labels: Mapping[int, int], layer: Layer | None = None) -> None:
        """Copy everybody's marks, and what was decided, with the annotations that hold them or, of a layer that is nobody's,
        those alone, as the given marks of the copy.

        ``labels`` has the keys of the copy's labels by those of this dataset's: without one for each mark the copy fails.

        Positions, layers, annotators and uids tell which rows of the copy are those of the source's.
        """
        annotations = Annotation.objects.filter(item__dataset=self, item__removed_at=None).order_by("item__position")
        # What a batch or the history put on items that nobody has begun stays behind.
        begun = Q(started_at__isnull=False)
        annotations = annotations.filter(_COPIED[layer] if layer else ~Q(layer=Layer.OWN) | begun)
        items = Item.objects.filter(dataset=copy, position=OuterRef("item__position"))
        became = {"layer": Layer.GIVEN, "done_at": None, "changed_at": None} if layer == Layer.GOLD else {}
        copy_rows(annotations, item=Subquery(items.values("pk")), counted=0, accepted=0, suggested=0, **became)
        copies = Annotation.objects.filter(item__dataset=copy, item__position=OuterRef("item__position"))
        theirs = copies.alias(who=Coalesce("annotator", 0))
        theirs = theirs.filter(
            layer=Layer.GIVEN if layer else OuterRef("layer"), who=Coalesce(OuterRef("annotator"), 0)
        )
        pairs = annotations.values_list("pk", Subquery(theirs.values("pk")))
        with label_map(labels), key_map("annotation_map", pairs):

            def end(name: str) -> Subquery:
                within = counterpart(OuterRef("annotation"), "annotation_map")
                return Subquery(Entity.objects.filter(annotation=within, uid=OuterRef(f"{name}__uid")).values("pk"))

            others: dict[str, Any] = {"annotation": counterpart("annotation", "annotation_map")}
            if layer is None:
                copy_rows(Rejection.objects.filter(annotation__in=annotations), **others)
                relabel(Rejection.objects.filter(annotation__item__dataset=copy), labels)
            others |= {"label": counterpart("label"), "batch": None, "source": end("source"), "target": end("target")}
            others |= {"suggested_by": None, "score": None, "is_changed": None} if layer else {}
            for copy_before in () if layer else goes_before_marks:
                others |= copy_before(self, copy)
            for model in (Entity, Relation):
                marks = model.objects.filter(annotation__in=annotations).order_by("pk")
                if layer:
                    others |= {"status": copy.given_status, "origin": Mark.Origin.GIVEN}
                    marks = marks.filter(NOBODYS[layer])
                copy_rows(marks, **others)
            for copy_along in () if layer else goes_along:
                copy_along(self, copy, labels)

    def labels_in(
        self,
        ontologies: Mapping[str, Ontology],
        made_with: Iterable[Ontology] | None = None,
        *,
        layer: Layer = Layer.GIVEN,
    ) -> dict[int, int]:
        """For the key of every label of the given marks, or of gold, that of the one which stands for it in other ontologies,
        given by kind. Raises `Refused` if they do not have all; asked only for some of those that it was ``made_with``, if these
        are given."""
        labels: dict[int, int] = {}
        for own in self.ontologies_of(layer) if made_with is None else made_with:
            if own.kind not in ontologies:
                raise Refused(f"The marks of “{self}” need labels: choose the {own.kind_in_words} that has them.")
            labels |= counterparts(
                self._labels_used(own, layer), own, ontologies[own.kind], f"The marks of “{self}” have"
            )
        return labels

    def _labels_used(self, ontology: Ontology, layer: Layer) -> QuerySet[OntologyItem]:
        model = Entity if ontology.is_entity else Relation
        marks = model.objects.filter(NOBODYS[layer], annotation__item__in=self.items().order_by())
        return OntologyItem.objects.filter(pk__in=marks.values("label"))

    # --- Changing what items there are ---

    @contextmanager
    def changing(self, *ontologies: Ontology) -> Iterator["Dataset"]:
        """A transaction with this dataset, locked; at its end the items that a project has got are assigned, and get suggestions.

        Everybody locks in this order: the project, its ontologies, its dataset.
        """
        with write():
            project = self.its_project.locked() if self.its_project else None
            for ontology in ontologies:
                ontology.locked()
            dataset = self.locked()
            yield dataset
            if project:
                project.assign_changes()
                if dataset.arrived is not None:
                    project.suggest_on(dataset.arrived)

    def append_items(
        self, spool: Spool, report: ImportReport, *, replaced: Collection[str], by: User, status: str
    ) -> int:
        """Append what was read, marks with this status, in the transaction of the caller, who has locked this dataset; returns
        the first position.

        Items with one of the external ids ``replaced`` go to the bin for it.
        """
        if replaced:
            self._put_into_bin(self.items_with_external_ids(replaced), by)
        self.check_room(report.items)
        behind_items = Item.with_removed.filter(dataset=self).aggregate(n=Max("position") + 1)["n"] or 0
        # A deleted item leaves its position to its upload.
        behind_uploads = self.uploads.aggregate(n=Max(F("first_position") + F("item_count")))["n"] or 0
        first = max(behind_items, behind_uploads)
        spool.store(self.pk, first, status)
        self.arrived = self.items().filter(position__gte=first)
        self.touch(item_count=self.item_count + report.items, token_count=self.token_count + report.tokens)
        return first

    def widen(self, kind: DatasetKind, ontologies: Mapping[str, Ontology]) -> None:
        """Become of a kind whose items come with more, if it is one. The caller has locked this dataset."""
        order = list(DatasetKind).index
        if order(kind) > order(DatasetKind(self.kind)):
            self.touch(kind=kind, **{f"{of}_ontology": ontology for of, ontology in ontologies.items()})

    def remove(self, items: ItemQuerySet, *, by: User, agreed: int | None = None, unbegun: bool = False) -> int:
        """Put items into the bin with their marks, from where they can be restored; returns how many went.

        All get the same ``removed_at``. Raises `Refused` if somebody has ``agreed`` to another number than would go now, or
        if only ``unbegun`` items are to go and somebody has begun one.
        """
        with self.changing() as dataset:
            count = dataset._put_into_bin(items.filter(dataset=self, removed_at=None), by)
            if agreed not in (None, count):
                raise Refused("Meanwhile it has become another number of items.")
            if unbegun and count:  # they are locked now: whoever was about to begin one has
                Annotation.check_unbegun(dataset.bin().filter(removed_at=dataset.bin()[0].removed_at))
            return count

    def _put_into_bin(self, items: ItemQuerySet, by: User) -> int:
        now = timezone.now()
        count = Item.with_removed.filter(pk__in=items.order_by().values("pk")).update(removed_at=now, removed_by=by)
        changed(Item._meta.db_table, count)
        gone = Item.with_removed.filter(dataset=self, removed_at=now)
        self.touch(item_count=self.item_count - count, token_count=self.token_count - gone.token_count())
        return count

    def restore(self, items: ItemQuerySet) -> int:
        """Take items out of the bin with all their marks; returns how many came back.

        Raises `Refused` if another item has one of their external ids now.
        """
        with self.changing() as dataset:
            coming = dataset.bin().filter(pk__in=items.order_by().values("pk"))
            named = coming.order_by().exclude(external_id="").values("external_id")
            dataset.check_free(named)
            if twice := named.annotate(n=Count("pk")).filter(n__gt=1).order_by("external_id").first():
                raise Refused(f"Two of them have the external id “{twice['external_id']}”: restore one.")
            count, tokens = coming.count(), coming.token_count()
            # As everybody does: the items before what hangs on them, in their order.
            list(coming.order_by("position").select_for_update(no_key=True).values_list("pk"))
            # Whoever asked for changes meanwhile has not seen those from before.
            Annotation.objects.filter(item__in=coming.order_by().values("pk")).update(touched_at=Now())
            dataset.arrived = dataset.items().filter(pk__in=among(list(coming.order_by().values_list("pk", flat=True))))
            dataset.check_room(count)
            Item.with_removed.filter(pk__in=coming.order_by().values("pk")).update(removed_at=None, removed_by=None)
            changed(Item._meta.db_table, count)
            dataset.touch(item_count=dataset.item_count + count, token_count=dataset.token_count + tokens)
        return count

    def check_free(self, external_ids: Any) -> None:
        """Refuse external ids that items of this dataset have already."""
        if taken := self.items().filter(external_id__in=external_ids).first():
            raise Refused(f"Item {words.number(taken.number)} has the external id “{taken.external_id}” already.")

    def check_room(self, count: int) -> None:
        if self.item_count + count > settings.MAX_DATASET_ITEMS:
            raise Refused(f"A dataset has at most {words.number(settings.MAX_DATASET_ITEMS)} items. Make a second one.")

    def empty_bin(self, seconds: float) -> int:
        """Delete items whose time in the bin is over, with their marks, for so long; returns how many rows went."""
        with write():
            old = Item.with_removed.filter(dataset=self.locked(), removed_at__lte=timezone.now() - BIN)
            return delete_rows(with_marks(old.order_by("removed_at")), time.monotonic() + seconds)

    def note_on_duplicate(self) -> str:
        return "" if self.is_blueprint else self.note_on_labels(Layer.GIVEN)

    def note_on_labels(self, layer: Layer) -> str:
        """Which ontologies a blueprint has that is made of the marks of a layer, in words."""
        used = [(ontology, self._blueprint_of(ontology, layer)) for ontology in self.ontologies_of(layer)]
        known = [f"“{blueprint}”" for _, blueprint in used if blueprint]
        new = [f"“{ontology}”" for ontology, blueprint in used if not blueprint]
        is_gold = layer == Layer.GOLD
        its = "Its marks" if is_gold else "The marks that came with it"
        notes = [f"{its} get the labels of {' and '.join(known)}."] if known else []
        if new:
            marks = "marks" if is_gold else "marks that came with the dataset"
            notes.append(
                f"A copy of the project’s {' and '.join(new)} becomes yours as well, because {marks} carry labels that are in no"
                " blueprint."
            )
        return " ".join(notes)

    def _locked_blueprint(self, ontology: Ontology, by: User, layer: Layer = Layer.GIVEN) -> Ontology:
        """That of an ontology, which is made if necessary."""
        return (self._blueprint_of(ontology.locked(), layer) or ontology.copy_to(by=by)).locked()

    def _blueprint_of(self, ontology: Ontology, layer: Layer) -> Ontology | None:
        """The blueprint of an ontology: itself, or the one that it was copied from if that has all labels of the marks."""
        if ontology.is_blueprint:
            return ontology
        origin = Ontology.objects.filter(copies=ontology, project=None).first()
        if origin is None:
            return None
        return (
            None
            if self._labels_used(ontology, layer).exclude(uid__in=origin.items().order_by().values("uid")).exists()
            else origin
        )

    # --- Deleting ---

    @classmethod
    def mark_deleted(cls, things: QuerySet[Any]) -> None:
        for model, field in goes_with_datasets:  # few rows, which people find without their dataset
            model._base_manager.filter(**{f"{field}__in": things})._raw_delete(things.db)
        super().mark_deleted(things)

    def content(self) -> Iterator[QuerySet[Any]]:
        yield from with_marks(Item.with_removed.filter(dataset=self).order_by("position"))
        for model, field in (*goes_with_datasets, *goes_after_marks):
            yield model._base_manager.filter(**{field: self})


usage.ontology_uses += [(Dataset, "entity_ontology"), (Dataset, "relation_ontology")]
