"""One page of the item table."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import Count

from annotation_service.paging import Column, Page
from annotation_service.words import Excerpt

from ..models import Dataset, Entity, Item, Relation
from ..statistics import label_counts
from .filters import ItemFilter

PAGE_SIZE = 50


class Row(NamedTuple):
    item: Item
    excerpt: Excerpt
    entities: int
    relations: int


@dataclass(frozen=True, slots=True)
class ItemTable:
    page: Page[Item]
    rows: list[Row]
    columns: dict[str, Column]
    """Those that are not empty, beside the text."""

    @classmethod
    def of(cls, shown: ItemFilter, wanted: str | None) -> "ItemTable":
        dataset, page = shown.dataset, _page(shown, wanted)
        used_entities, used_relations = label_counts(dataset)  # without items in the bin
        entities = _mark_counts(Entity, page.object_list) if used_entities or shown.bin else {}
        relations = _mark_counts(Relation, page.object_list) if used_relations or shown.bin else {}
        rows = [
            Row(item, item.excerpt(shown.q), entities.get(item.pk, 0), relations.get(item.pk, 0))
            for item in page.object_list
        ]
        kind = Dataset.Kind(dataset.kind)
        left_out = {
            "external": kind == Dataset.Kind.STANDARD and not any(item.external_id for item in page.object_list),
            "entities": not (kind.has_entities or entities),
            "relations": not (kind.has_relations or relations),
            "removed": not shown.bin,
        }
        return cls(page, rows, {column.name: column for column in shown.columns if not left_out.get(column.name)})


def _page(shown: ItemFilter, wanted: str | None) -> Page[Item]:
    """Find the keys first: sorting and searching are slower when the database carries the texts along."""
    everything = shown.is_empty and not shown.bin
    count = shown.dataset.item_count if everything else None
    page = Page.of(shown.items().only("pk"), wanted, size=PAGE_SIZE, count=count, scan=not everything)
    texts = Item.with_removed.select_related("removed_by").defer("offsets", "search_text", "extra_fields")
    found = texts.in_bulk([item.pk for item in page.object_list])
    return replace(page, object_list=[found[item.pk] for item in page.object_list if item.pk in found])


def _mark_counts(model: type[Entity] | type[Relation], items: list[Item]) -> dict[int, int]:
    given = model._default_manager.filter(annotation__annotator=None, annotation__item__in=[item.pk for item in items])
    return dict(given.order_by().values_list("annotation__item").annotate(count=Count("pk")))
