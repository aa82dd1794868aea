"""What a person marked in a dataset, as a list to search in: entities, or relations with the words at both ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.http import QueryDict

from annotation_service.models import User
from annotation_service.paging import Column, Page, sort_columns
from datasets.cleaned import CleanedText
from datasets.items.listing import labels_named, with_labels
from datasets.models import MARKS, Dataset, Entity, Item, Mark, Relation
from datasets.models.item import folded
from ontologies.labels import Label
from ontologies.models import Ontology

PAGE_SIZE = 50
# Whether a mark has the words that are searched for is not known to the database: so many in items with them are looked at.
LOOKED_AT = 2_000
COLUMNS = [Column("number", "Item", None, number=True), Column("when", "Marked", None, big_first=True)]

# Annotations that nobody has begun hold copies of the given marks, too.
_MEANT = Q(annotation__started_at__isnull=False) | Q(batch__isnull=False)

_ENDS = {"entity": (), "relation": ("source", "target")}


@dataclass(frozen=True)
class OwnMarks:
    """Somebody's accepted marks of one kind that match what is in an address: first those of the item that they worked on
    last."""

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
    def _model(self) -> type[Entity] | type[Relation]:
        return MARKS[self.kind]

    @property
    def nouns(self) -> str:
        """For figures."""
        return f"{self.noun},{self.noun}s"

    @property
    def ontology(self) -> Ontology:
        return next(ontology for ontology in self.ontologies if ontology.kind == self.kind)

    def query_string(self, page: int = 1) -> str:
        values = {"kind": self._named_kind, "q": self.q, "label": self.label, "sort": self.sort}
        values |= {"page": str(page) if page > 1 else ""}
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

    # --- Marks ---

    def page(self, wanted: str | None) -> Page:
        """Of these marks, each with its words and its label."""
        keys = self._keys_with_words() if self.q else self._matching().values_list("pk", flat=True)
        page = Page.of_list(keys, wanted, size=PAGE_SIZE) if self.q else Page.of(keys, wanted, size=PAGE_SIZE)
        page.object_list = self._shown(list(page.object_list))
        return page

    def _shown(self, keys: list[int]) -> list[tuple[Mark, list[str], Label]]:
        long = ("original", "offsets", "extra_fields")
        marks = self._model._default_manager.select_related("annotation__item", *_ENDS[self.kind])
        found = marks.defer(*(f"annotation__item__{name}" for name in long)).in_bulk(keys)
        labels = self.ontology.labels().by_pk
        return [(found[pk], words_of(found[pk]), labels[found[pk].label_id]) for pk in keys if pk in found]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more than the search has looked at."""
        return bool(self.q) and len(self._candidates) > LOOKED_AT

    def _matching(self) -> QuerySet[Any]:
        here = {"annotation__annotator": self.person, "annotation__item__dataset": self.dataset}
        marks = self._model._default_manager.filter(_MEANT, status=Mark.Status.ACCEPTED, **here)
        marks = marks.filter(annotation__item__removed_at=None)
        if self.label:
            marks = with_labels(marks, labels_named(self.label, [self.ontology]))
        return marks.order_by(*self._order())

    def _order(self) -> list[Any]:
        column = next(column for column in self.columns if column.direction)
        falls = column.direction == "descending"
        if column.name == "number":
            names = ("annotation__item__position", *self._places, "pk")
            return [f"-{name}" if falls else name for name in names]
        time = F("annotation__changed_at")
        if falls:
            return [time.desc(nulls_last=True), "-annotation__item_id", "-pk"]
        return [time.asc(nulls_first=True), "annotation__item_id", "pk"]

    @property
    def _places(self) -> list[str]:
        """The fields of where its words stand."""
        return [f"{end}__{field}" for end in _ENDS[self.kind] for field in ("start", "end")] or ["start", "end"]

    @cached_property
    def _candidates(self) -> list[tuple[Any, ...]]:
        """Those in items that contain the words, each with its item and the places of its words."""
        marks = self._matching().filter(annotation__item__search_text__contains=folded(self.q))
        return list(marks.values_list("pk", "annotation__item", *self._places)[: LOOKED_AT + 1])

    def _keys_with_words(self) -> list[int]:
        wanted, candidates = _squeezed(self.q), self._candidates[:LOOKED_AT]
        items = Item.objects.filter(pk__in={item for _, item, *_ in candidates})
        tokens = dict(items.order_by().values_list("pk", "tokens"))

        def has_words(item: int, places: list[int]) -> bool:
            said = zip(places[::2], places[1::2], strict=True)
            return any(wanted in _squeezed("".join(tokens[item][start : end + 1])) for start, end in said)

        return [pk for pk, item, *places in candidates if item in tokens and has_words(item, places)]


def _squeezed(text: str) -> str:
    """Without spaces: where a text has none between two tokens, people type none."""
    return "".join(text.casefold().split())


def words_of(mark: Mark) -> list[str]:
    """Of an entity, or of both ends of a relation."""
    item = mark.annotation.item
    text = CleanedText.unfolded(item.tokens, item.search_text, len(item.search_text))
    return [text.between(*place.place) for place in mark.ends() or (mark,)]
