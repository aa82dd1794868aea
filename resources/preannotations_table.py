"""The rows of a preannotation set as a table: searched, sorted, in pages, and chosen for removal."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Case, Count, Q, QuerySet, When
from django.db.models.functions import Lower
from django.http import QueryDict

from annotation_service.db import among
from annotation_service.edits import fingerprint
from annotation_service.inputs import whole_number
from annotation_service.paging import Column, Page, order, sort_columns
from ontologies.labels import Label

from .models import PreannotationSet
from .models.preannotation_rows import RowState

PAGE_SIZE = 50
MAX_SELECTED = 10_000
TITLES = {
    "surface_form": "Form",
    "source_surface_form": "Source",
    "source_label": "Source label",
    "target_surface_form": "Target",
    "target_label": "Target label",
    "offset": "Offset",
}


class Cell(NamedTuple):
    """``value`` is that of the row: of a label its uid."""

    field: str
    title: str
    value: Any
    label: Label | None = None

    @property
    def was(self) -> str:
        """The fingerprint of the value: see `edits`."""
        return fingerprint(self.value)


class ShownRow(NamedTuple):
    pk: int
    number: int
    name: str
    cells: list[Cell]


class Table:
    """What an address asks for. ``q`` is looked for in forms and in names of labels."""

    def __init__(self, thing: PreannotationSet, data: QueryDict) -> None:
        self.thing, self.model, self.labels = thing, thing.row_model, thing.labels()
        self.q = data.get("q", "").strip()[: settings.MAX_SEARCH_CHARACTERS]
        self.columns = sort_columns(
            data.get("sort"), [Column("number", "No.", "position", number=True), *self._columns()], "number"
        )
        self.wanted = data.get("page")
        keys = [whole_number(key) for key in ",".join(data.getlist("items")).split(",")]
        self.selected = [key for key in keys if key is not None][:MAX_SELECTED]
        self.all_chosen = data.get("all") == "1"

    def _columns(self) -> Iterator[Column]:
        for field in self.model.content_fields():
            title = TITLES.get(field.name) or ("Relation" if self.thing.kind == "relation" else "Label")
            first = field.name == self.model.form_fields[0]
            by = "search_text" if first else field.name if field.name == "offset" else Lower(field.name)
            yield Column(field.name, title, by, number=field.name == "offset")

    @property
    def sorted_by(self) -> Column:
        return next(column for column in self.columns if column.direction)

    def query_string(self, **others: Any) -> str:
        """The query string of its address, without empty values."""
        sort = self.sorted_by
        wanted = {"q": self.q, "sort": f"{'-' * (sort.direction == 'descending')}{sort.name}"}
        if wanted["sort"] == "number":
            del wanted["sort"]
        return urlencode({name: value for name, value in (wanted | others).items() if value})

    # --- Rows ---

    def rows(self) -> QuerySet[Any]:
        """Those that are looked for, in no order."""
        rows, wanted = self.thing.rows().order_by(), self.q.casefold()
        if not wanted:
            return rows
        found = Q(search_text__contains=wanted)
        labels = {label.pk for each in self.labels.values() for label in each if wanted in label.fullname.casefold()}
        for field in self.model.label_fields if labels else ():
            found |= Q(**{f"{field}__in": among(labels)})
        return rows.filter(found)

    def chosen(self) -> QuerySet[Any]:
        """Those that are to be removed."""
        return self.rows() if self.all_chosen else self.thing.rows().filter(pk__in=among(self.selected)).order_by()

    def page(self) -> Page:
        """A page of keys and then the rows of them: sorting is slower when the database carries everything along."""
        column = self.sorted_by
        if column.name in self.model.label_fields:
            page = self._page_by_label(column)
        else:
            keys = self.rows().order_by(*order(self.columns)).values_list("pk", flat=True)
            page = Page.of(keys, self.wanted, size=PAGE_SIZE, scan=bool(self.q))
        page.object_list = list(self.shown(list(page.object_list)))
        return page

    def _page_by_label(self, column: Column) -> Page:
        """By the names of labels, which are in memory. Only the rows of those on the page are sorted: 100,000 with their names
        take the database 0.3 s."""
        names = self.labels[self.model.ontology_kind(column.name)].by_pk
        rows = self.rows()
        counts = dict(rows.values_list(column.name).annotate(n=Count("pk")))
        groups = sorted(
            counts,
            key=lambda pk: (names[pk].name.casefold(), names[pk].fullname),
            reverse=column.direction == "descending",
        )
        ends = list(accumulate(counts[label] for label in groups))
        pager = Paginator(range(ends[-1] if ends else 0), PAGE_SIZE)
        number = pager.get_page(self.wanted).number
        start, end = (number - 1) * PAGE_SIZE, min(number * PAGE_SIZE, pager.count)
        first = bisect_right(ends, start)
        labels = groups[first : bisect_left(ends, end) + 1]
        skipped = ends[first - 1] if first else 0
        by_label = Case(*(When(**{column.name: label}, then=place) for place, label in enumerate(labels)))
        found = rows.filter(**{f"{column.name}__in": labels}).order_by(by_label, "search_text", "position")
        return Page(found.values_list("pk", flat=True)[start - skipped : end - skipped], number, pager)

    def shown(self, keys: Sequence[int]) -> Iterator[ShownRow]:
        """Rows with these keys, in this order; those that are gone are left out."""
        states = dict(self.thing.states(keys))
        for key in keys:
            if state := states.get(key):
                cells = [self._cell(column, state) for column in self.columns[1:]]
                yield ShownRow(key, state["position"] + 1, self.model.named(state), cells)

    def _cell(self, column: Column, state: RowState) -> Cell:
        value = state[column.name]
        if column.name not in self.model.label_fields:
            return Cell(column.name, column.label, value)
        return Cell(column.name, column.label, value, self.labels[self.model.ontology_kind(column.name)].by_uid[value])
