"""What a person marked in a dataset, as a list to search in: entities, or relations with the words at both ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.http import QueryDict

from annotation_service.db import among, growing, looked_up, whole
from annotation_service.models import User
from annotation_service.paging import Column, Page, sort_columns
from datasets.cleaned import CleanedText
from datasets.models import MARKS, Annotation, Dataset, Entity, Item, Mark, Relation
from ontologies.labels import Label
from ontologies.models import Ontology, OntologyKind

from .kept import containing, kept_items
from .own_items import labels_named

PAGE_SIZE = 50
# Nobody turns more pages than these; to count 200,000 marks takes 80 ms.
MOST = 2_000
# Whether a mark has the words that are searched for is not known to the database.
LOOKED_AT = 2_000
# So many marks with a label are looked at, or with one in which words are searched for.
FEW, FEW_WITH_WORDS = 30_000, 5_000
# In so many of the person's items marks are looked for first.
ITEMS_AT_ONCE = 500
COLUMNS = [Column("number", "Item", None, number=True), Column("when", "Marked", None, big_first=True)]

# Annotations that nobody has begun hold copies of the given marks, too.
_MEANT = Q(annotation__started_at__isnull=False) | Q(batch__isnull=False)


_ENDS = {"entity": (), "relation": ("source", "target")}

_ANNOTATION = ("pk", "item", "started_at")
_Annotation = tuple[int, int, datetime | None]


@dataclass(frozen=True)
class OwnMarks:
    """Somebody's accepted marks of one kind that match what is in an address: first those of the item that they worked on last,
    as an index finds them.
    """

    dataset: Dataset
    person: User
    ontologies: Sequence[Ontology]
    kind: str = ""
    q: str = ""
    label: str = ""
    sort: str = ""

    @classmethod
    def of(cls, data: QueryDict, **whose: Any) -> "OwnMarks":
        names = ("kind", "q", "label", "sort")
        values: dict[str, Any] = {name: data.get(name, "").strip()[: settings.MAX_SEARCH_CHARACTERS] for name in names}
        kinds = {ontology.kind for ontology in whose["ontologies"]}
        return cls(**whose, **values | {"kind": values["kind"] if values["kind"] in kinds else OntologyKind.ENTITY})

    @property
    def is_empty(self) -> bool:
        """Whether all marks match."""
        return not (self.q or self.label)

    @property
    def noun(self) -> str:
        return self._model.noun

    @property
    def nouns(self) -> str:
        """For figures."""
        return f"{self.noun},{self.noun}s"

    @property
    def ontology(self) -> Ontology:
        return next(ontology for ontology in self.ontologies if ontology.kind == self.kind)

    @property
    def _model(self) -> type[Entity] | type[Relation]:
        return MARKS[self.kind]

    def query_string(self, page: int = 1) -> str:
        values = {
            "kind": self._named_kind,
            "q": self.q,
            "label": self.label,
            "sort": self.sort,
            "page": page if page > 1 else "",
        }
        return urlencode({name: value for name, value in values.items() if value})

    @property
    def all_of_kind(self) -> str:
        """The query string of the whole list."""
        return f"?kind={self._named_kind}" if self._named_kind else ""

    @property
    def _named_kind(self) -> str:
        """As addresses have it."""
        return "" if self.kind == OntologyKind.ENTITY else self.kind

    @property
    def columns(self) -> list[Column]:
        return sort_columns(self.sort, COLUMNS, default="-when")

    def in_words(self) -> str:
        """Such as “of “pump”, as “Activity””."""
        parts = ((self.q, f"of “{self.q}”"), (self.label, f"as “{self.label_name}”"))
        return ", ".join(text for value, text in parts if value)

    @property
    def label_name(self) -> str:
        label = self.ontology.labels().by_uid.get(self.label)
        return label.fullname if label else self.label

    def page(self, wanted: str | None) -> Page:
        page = Page.of_list(self._keys, wanted, size=PAGE_SIZE)
        page.object_list = self._shown(list(page.object_list))
        return page

    def _shown(self, keys: list[int]) -> list[tuple[Mark, list[str], Label]]:
        """These marks, each with its words and its label."""
        long = ("original", "offsets", "extra_fields")
        marks = self._model._default_manager.select_related("annotation__item", *_ENDS[self.kind])
        found = marks.defer(*(f"annotation__item__{name}" for name in long)).in_bulk(keys)
        labels = self.ontology.labels().by_pk
        return [(found[pk], words_of(found[pk]), labels[found[pk].label_id]) for pk in keys if pk in found]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more than the search has looked at."""
        return bool(self.q) and len(self._candidates) > LOOKED_AT

    def _sorted_by(self) -> Column:
        return next(column for column in self.columns if column.direction)

    @property
    def _falls(self) -> bool:
        return self._sorted_by().direction == "descending"

    def _order(self) -> list[Any]:
        if self._sorted_by().name == "number":
            names = ("annotation__item__position", *self._places, "pk")
            return [f"-{name}" if self._falls else name for name in names]
        time = F("annotation__changed_at")
        return (
            [time.desc(nulls_last=True), "-annotation__item_id", "-pk"]
            if self._falls
            else [time.asc(nulls_first=True), "annotation__item_id", "pk"]
        )

    @property
    def _places(self) -> list[str]:
        """The fields of where its words stand."""
        return [f"{end}__{field}" for end in _ENDS[self.kind] for field in ("start", "end")] or ["start", "end"]

    # Two ways to the marks. Where few can match, these are looked at; the person's, in their order, only if that soon has enough
    # of them. The databases take the second way always, unless the first one is spelled out: 20 against 150 ms. On the second way
    # they do not even see the order: without statistics PostgreSQL would begin with all items, which takes it 400 ms.

    def _walk(self, most: int, items: Sequence[int] | None = None) -> list[tuple[int, ...]]:
        """So many of the person's marks, in some items or in all, as `_rows` has them."""
        marks = self._model._default_manager.all()
        if self.label:
            marks = marks.alias(its_label=F("label_id") + 0).filter(its_label__in=among(self._labels))
        own, there = Annotation.objects.filter(annotator=self.person), kept_items(self.dataset).there
        if items is not None:
            there &= set(items)
            own = own.filter(looked_up("item", items)) if len(items) <= LOOKED_AT else own
        found, falls = list[tuple[int, ...]](), self._falls
        is_by_number = self._sorted_by().name == "number"
        within: Any = itemgetter(slice(2, None), 0) if is_by_number else itemgetter(0)
        for annotations in self._by_number(own) if is_by_number else self._by_time(own):
            its_item = {pk: item for pk, item, _ in annotations if item in there}
            unbegun = [pk for pk, _, started_at in annotations if not started_at]
            meant = marks.filter(looked_up("annotation", its_item)).exclude(batch=None, annotation__in=among(unbegun))
            by_annotation: dict[int, list[tuple[int, ...]]] = {pk: [] for pk in its_item}
            # Neither by a join with the annotations nor by their status, for PostgreSQL would read all marks: 45 and not 15 ms.
            for pk, status, annotation, *places in meant.values_list("pk", "status", "annotation", *self._places):
                if status == Mark.Status.ACCEPTED:
                    by_annotation[annotation].append((pk, its_item[annotation], *places))
            for rows in by_annotation.values():
                found += sorted(rows, key=within, reverse=falls)
            if len(found) >= most:
                break
        return found[:most]

    def _by_number(self, own: QuerySet[Annotation]) -> Iterator[list[_Annotation]]:
        """Somebody's annotations in the order of their items, some at a time."""
        kept, items = kept_items(self.dataset), set(whole(own.values_list("item", flat=True)))
        order = reversed(kept.by_number) if self._falls else kept.by_number
        for some in growing(list(filter(items.__contains__, order)), ITEMS_AT_ONCE):
            found = {row[1]: row for row in own.filter(looked_up("item", some)).values_list(*_ANNOTATION)}
            yield [found[item] for item in some if item in found]

    def _by_time(self, own: QuerySet[Annotation]) -> Iterator[list[_Annotation]]:
        """The same in the order of the last change. What nobody has changed yet is asked for by itself: an index has it at the
        other end than this order, and PostgreSQL would sort all."""
        changed, unchanged = own.filter(changed_at__isnull=False), own.filter(changed_at=None)
        order = changed.order_by("-changed_at", "-item_id"), unchanged.order_by("-item_id")
        for rows in order if self._falls else [rows.reverse() for rows in reversed(order)]:
            yield from growing(rows.values_list(*_ANNOTATION), ITEMS_AT_ONCE)

    def _rows(self, marks: QuerySet[Any]) -> QuerySet[Any, tuple[int, ...]]:
        """Their keys and items, and where their words stand."""
        return marks.values_list("pk", "annotation__item", *self._places)

    def _own_of(self, marks: QuerySet[Any]) -> QuerySet[Any]:
        """In their order."""
        own = marks.alias(whose=F("annotation__annotator") + 0).filter(whose=self.person.pk)
        own = own.exclude(annotation__item__in=among(kept_items(self.dataset).removed))
        return own.filter(_MEANT, status=Mark.Status.ACCEPTED).order_by(*self._order())

    @property
    def _labels(self) -> list[int]:
        return [label.pk for label in labels_named(self.label, self.ontology)]

    @cached_property
    def _keys(self) -> list[int]:
        """Of all that match, in their order, or of the first ones of very many."""
        if self.q:
            return self._with_words()
        if (marks := self._few_labelled(FEW)) is not None:
            return whole(marks.values_list("pk", flat=True))
        return [pk for pk, *_ in self._walk(MOST)]

    def _with_words(self) -> list[int]:
        wanted, candidates = _squeezed(self.q), self._candidates[:LOOKED_AT]
        items = Item.with_removed.filter(pk__in=among({item for _, item, *_ in candidates}))
        tokens = dict(items.order_by().values_list("pk", "tokens"))
        return [
            pk
            for pk, item, *places in candidates
            if any(
                wanted in _squeezed("".join(tokens[item][start : end + 1]))
                for start, end in zip(places[::2], places[1::2], strict=True)
            )
        ]

    def _few_labelled(self, few: int) -> QuerySet[Any] | None:
        """The person's marks with the label, if no more in the project have it."""
        marks = self._model._default_manager.filter(looked_up("label", self._labels)) if self.label else None
        return None if marks is None or marks[: few + 1].count() > few else self._own_of(marks)

    @cached_property
    def _candidates(self) -> list[tuple[int, ...]]:
        """Of their items that contain the words, each with its item and the places of its words."""
        items = containing(self.dataset, self.q)
        marks = self._few_labelled(FEW_WITH_WORDS) if len(items) > LOOKED_AT else None
        if marks is None:
            return self._walk(LOOKED_AT + 1, items)
        there = set(items)
        return [row for row in self._rows(marks) if row[1] in there][: LOOKED_AT + 1]


def _squeezed(text: str) -> str:
    """Without spaces: where a text has none between two tokens, people type none."""
    return "".join(text.casefold().split())


def words_of(mark: Mark) -> list[str]:
    """Of an entity, or of both ends of a relation."""
    item = mark.annotation.item
    text = CleanedText.unfolded(item.tokens, item.search_text, len(item.search_text))
    return [text.between(*place.place) for place in mark.ends() or (mark,)]
