"""What a person marked in a dataset, as a list to search in: entities, or relations with the words at both ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from django.core import paginator
from django.db.models import F, Q, QuerySet
from django.http import QueryDict

from annotation_service.models import User
from annotation_service.paging import Column, Page
from datasets.cleaned import CleanedText
from datasets.item_lists import FilteredList, labels_named, with_labels
from datasets.models import MARKS, Entity, Item, Mark, Relation
from datasets.models.item import folded
from ontologies.labels import Label
from ontologies.models import Ontology, OntologyKind

PAGE_SIZE = 50
# Whether a mark has the words that are searched for is not known to the database: so many in items with them are looked at.
LOOKED_AT = 2_000
COLUMNS = [Column("number", "Item", None, number=True), Column("when", "Marked", None, big_first=True)]

# Annotations that nobody has begun hold copies of the given marks, too.
_MEANT = Q(annotation__started_at__isnull=False) | Q(batch__isnull=False)

_ENDS = {"entity": (), "relation": ("source", "target")}


@dataclass(frozen=True, kw_only=True)
class OwnMarks(FilteredList):
    """Somebody's accepted marks of one kind that match what is in an address: first those of the item that they worked on
    last. Without a ``kind`` they are entities."""

    names: ClassVar = ("kind", "q", "label", "sort")
    all_columns: ClassVar = COLUMNS
    usual_order: ClassVar = "-when"

    person: User
    ontologies: Sequence[Ontology]
    kind: str = ""

    @classmethod
    def of(cls, data: QueryDict, **whose: Any) -> "OwnMarks":
        found = cls.read(data, **whose)
        return found if found.kind in MARKS and found.all_ontologies() else replace(found, kind="")

    @property
    def model(self) -> type[Entity] | type[Relation]:
        return MARKS[self.kind or OntologyKind.ENTITY]

    @property
    def nouns(self) -> str:
        """For figures."""
        return f"{self.model.noun},{self.model.noun}s"

    def all_ontologies(self) -> list[Ontology]:
        return [ontology for ontology in self.ontologies if ontology.kind == self.model.kind]

    def _asked(self) -> Iterator[tuple[Any, str]]:
        yield self.q, f"of “{self.q}”"
        yield self.label, f"as “{self.label_name}”"

    def page(self, wanted: str | None) -> paginator.Page[Any]:
        """Of these marks, each with its words and its label."""
        if self.q:
            page: paginator.Page[Any] = paginator.Paginator(self._keys_with_words(), PAGE_SIZE).get_page(wanted)
        else:
            page = Page.of(self._matching().values_list("pk", flat=True), wanted, size=PAGE_SIZE)
        page.object_list = self._shown(list(page.object_list))
        return page

    def _shown(self, keys: list[int]) -> list[tuple[Mark, list[str], Label]]:
        long = ("original", "offsets", "extra_fields")
        marks = self.model._default_manager.select_related("annotation__item", *_ENDS[self.model.kind])
        found = marks.defer(*(f"annotation__item__{name}" for name in long)).in_bulk(keys)
        [ontology] = self.all_ontologies()
        labels = ontology.labels().by_pk
        return [(found[pk], words_of(found[pk]), labels[found[pk].label_id]) for pk in keys if pk in found]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more than the search has looked at."""
        return bool(self.q) and len(self._candidates) > LOOKED_AT

    def _matching(self) -> QuerySet[Any]:
        here = {"annotation__annotator": self.person, "annotation__item__dataset": self.dataset}
        marks = self.model._default_manager.filter(_MEANT, status=Mark.Status.ACCEPTED, **here)
        marks = marks.filter(annotation__item__removed_at=None)
        if self.label:
            marks = with_labels(marks, labels_named(self.label, self.all_ontologies()))
        return marks.order_by(*self._order())

    def _order(self) -> list[Any]:
        column, falls = self._sorted_by()
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
        return [f"{end}__{field}" for end in _ENDS[self.model.kind] for field in ("start", "end")] or ["start", "end"]

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
