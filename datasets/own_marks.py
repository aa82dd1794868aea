"""What a person marked in a dataset, as a list to search in: entities, or relations with the words at both ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.http import QueryDict

from annotation_service.db import among, looked_up, whole
from annotation_service.models import User
from annotation_service.paging import Column, Page, sort_columns
from ontologies.labels import Label
from ontologies.models import Ontology

from .cleaned import CleanedText
from .items.kept import kept_items
from .items.own import labels_named
from .models import MARKS, Annotation, Dataset, Entity, Item, Mark, Relation
from .models.item import folded

PAGE_SIZE = 50
# Nobody turns more pages than these; to count 200,000 marks takes 80 ms.
MOST = 5_000
# Whether a mark has the words that are searched for is not known to the database.
LOOKED_AT = 2_000
# So many marks with a label are looked at, or with one in which words are searched for.
FEW, FEW_WITH_WORDS = 30_000, 5_000
# In so many of the person's items marks are looked for first, then in twice as many.
ITEMS_AT_ONCE = 1000
COLUMNS = [Column("number", "Item", None, number=True), Column("when", "Marked", None, big_first=True)]

# Annotations that nobody has begun hold copies of the given marks, too.
_MEANT = Q(annotation__started_at__isnull=False) | Q(batch__isnull=False)


_ENDS = {"entity": (), "relation": ("source", "target")}


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
        return cls(**whose, **values | {"kind": values["kind"] if values["kind"] in kinds else Ontology.Kind.ENTITY})

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
        return "" if self.kind == Ontology.Kind.ENTITY else self.kind

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

    def _order(self) -> list[Any]:
        column = self._sorted_by()
        falls = column.direction == "descending"
        if column.name == "number":
            places = [name for place in self._places for name in place]
            return [f"-{name}" if falls else name for name in ("annotation__item__position", *places, "pk")]
        time = F("annotation__changed_at")
        return (
            [time.desc(nulls_last=True), "-annotation__item_id", "-pk"]
            if falls
            else [time.asc(nulls_first=True), "annotation__item_id", "pk"]
        )

    @property
    def _places(self) -> list[tuple[str, str]]:
        """The fields of where its words stand."""
        return [(f"{end}__start", f"{end}__end") for end in _ENDS[self.kind]] or [("start", "end")]

    # Two ways to the marks. Where few can match, these are looked at; the person's, in their order, only if that soon has enough
    # of them. The databases take the second way always, unless the first one is spelled out: 20 against 150 ms. On the second way
    # they do not even see the order: without statistics PostgreSQL would begin with all items, which takes it 400 ms.

    def _walk(self, most: int, items: Sequence[int] | None = None, **more: Any) -> list[tuple[int, ...]]:
        """So many of the person's marks, in some items or in all, as `_rows` has them."""
        marks = self._model._default_manager.filter(_MEANT, status=Mark.Status.ACCEPTED, **more)
        if self.label:
            marks = marks.alias(its_label=F("label_id") + 0).filter(its_label__in=among(self._labels))
        column, kept, found = self._sorted_by(), kept_items(self.dataset), list[tuple[int, ...]]()
        own, falls = Annotation.objects.filter(annotator=self.person), column.direction == "descending"
        order = self._items_of(own if items is None else own.filter(item__in=among(items)))
        within: Any = itemgetter(slice(3, None), 0) if column.name == "number" else itemgetter(0)
        start, size = 0, ITEMS_AT_ONCE
        while len(found) < most and (some := order[start : start + size]):
            places = {item: place for place, item in enumerate(some) if item in kept.there}
            annotations = whole(own.filter(looked_up("item", places)).values_list("pk", flat=True))
            rows = sorted(self._rows(marks.filter(looked_up("annotation", annotations))), key=within, reverse=falls)
            found += sorted(rows, key=lambda row: places[row[2]])
            start, size = start + size, 2 * size
        return found[:most]

    def _rows(self, marks: QuerySet[Any]) -> QuerySet[Any, tuple[int, ...]]:
        """Their keys, annotations and items, and where their words stand."""
        places = (name for place in self._places for name in place)
        return marks.values_list("pk", "annotation", "annotation__item", *places)

    def _items_of(self, own: QuerySet[Annotation]) -> Any:
        """In their order."""
        column, kept = self._sorted_by(), kept_items(self.dataset)
        falls = column.direction == "descending"
        if column.name == "number":
            items = set(whole(own.values_list("item", flat=True)))
            return list(filter(items.__contains__, reversed(kept.by_number) if falls else kept.by_number))
        time = F("changed_at")
        by_time = time.desc(nulls_last=True) if falls else time.asc(nulls_first=True)
        return own.order_by(by_time, "-item_id" if falls else "item_id").values_list("item", flat=True)

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
        items = Item.with_removed.filter(pk__in=among({item for _, _, item, *_ in candidates}))
        tokens = dict(items.order_by().values_list("pk", "tokens"))
        return [
            pk
            for pk, _, item, *places in candidates
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
        items = list(self._items_with_words()[: LOOKED_AT + 1])
        if len(items) <= LOOKED_AT:
            return self._walk(LOOKED_AT + 1, items)
        has_words: dict[str, Any] = {"annotation__item__search_text__contains": folded(self.q)}
        if (marks := self._few_labelled(FEW_WITH_WORDS)) is None:
            return self._walk(LOOKED_AT + 1, **has_words)
        return list(self._rows(marks.filter(**has_words))[: LOOKED_AT + 1])

    def _items_with_words(self) -> QuerySet[Any, int]:
        """Looked for in the items of the person alone, if these are few: SQLite reads twice as many of the others meanwhile."""
        own = Annotation.objects.filter(annotator=self.person)
        if 2 * own.count() > self.dataset.item_count:
            return self.dataset.items().containing(self.q).order_by().values_list("pk", flat=True)
        own = own.alias(its_dataset=F("item__dataset") + 0).filter(its_dataset=self.dataset.pk, item__removed_at=None)
        return own.filter(item__search_text__contains=folded(self.q)).values_list("item", flat=True)


def _squeezed(text: str) -> str:
    """Without spaces: where a text has none between two tokens, people type none."""
    return "".join(text.casefold().split())


def words_of(mark: Mark) -> list[str]:
    """Of an entity, or of both ends of a relation."""
    item = mark.annotation.item
    text = CleanedText.unfolded(item.tokens, item.search_text, len(item.search_text))
    return [text.between(*place.place) for place in mark.ends() or (mark,)]
