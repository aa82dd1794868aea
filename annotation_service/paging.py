"""Lists in pages: sorted, searched, and quick at the last page, too.

A view makes a page of a query set in its final order and hands it to its template as ``page``, where
``components/_pager.html``, included with ``item_words`` for what the rows are, draws the controls::

    columns = sort_columns(request.GET.get("sort"), COLUMNS)
    page = Page.of(access.blueprints(request, Ontology).order_by(*order(columns)), request.GET.get("page"))

With ``count``, when the number of rows is known, nothing is counted. With ``scan``, for a search of keys that must look at every
row, the ``AHEAD`` keys behind the page are read, too, and nothing is counted if they end there. Every row is then looked at about
once: where many are found, so many are found long before the end; where few are, the end is reached.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from django.conf import settings
from django.core import paginator
from django.db.models import F, QuerySet
from django.http import HttpRequest

from .inputs import whole_number

AHEAD = 1000
Rows = TypeVar("Rows", bound=QuerySet[Any])


class Cut(Protocol):
    """What pages are cut out of: a query set, or what behaves like one."""

    def __getitem__(self, cut: slice, /) -> Any: ...
    def count(self) -> int: ...
    def reverse(self) -> Any: ...


class Page(paginator.Page):
    """What ``components/_pager.html`` shows."""

    @classmethod
    def of(
        cls,
        rows: Cut,
        wanted: str | None,
        *,
        size: int = 25,
        count: int | None = None,
        scan: bool = False,
    ) -> Self:
        """The wanted page of the rows. Beyond the end it is the last page, and the first one for what is no number."""
        number = whole_number((wanted or "")[:9]) or 1
        start, found = (number - 1) * size, []
        if scan:
            found = list(rows[start : start + size + AHEAD])
            if len(found) < size + AHEAD and (found or number == 1):
                count = start + len(found)
        pager: paginator.Paginator[Any] = paginator.Paginator(rows, size)  # type: ignore[arg-type]
        pager.count = rows.count() if count is None else count
        number = min(number, pager.num_pages)
        page = cls(found[:size], number, pager)
        if pager.count and not found:
            start, end = (number - 1) * size, page.end_index()
            if start > pager.count // 2:  # walk from the nearer end
                page.object_list = list(rows.reverse()[pager.count - end : pager.count - start])[::-1]
            else:
                page.object_list = list(rows[start:end])
        return page


def search_text(request: HttpRequest) -> str:
    """What the search field of a list holds, cut at the limit."""
    return request.GET.get("q", "").strip()[: settings.MAX_SEARCH_CHARACTERS]


def named(rows: Rows, text: str, *columns: str) -> Rows:
    """The rows whose name, or one of these columns, contains the text. Case does not matter, in any script: the databases would
    differ in that."""
    wanted = unicodedata.normalize("NFC", text).casefold().strip()
    if not wanted:
        return rows
    texts = rows.values_list("pk", *(columns or ("name",)))
    return rows.filter(pk__in=[pk for pk, *values in texts if any(wanted in value.casefold() for value in values)])


@dataclass(frozen=True, slots=True)
class Column:
    """A column by which a list can be sorted: ``name`` stands in the address, ``order`` is a field or an expression.

    Columns with ``big_first`` (figures, dates) fall at the first click, the others rise. ``components/_columns.html`` draws
    the head of the table.
    """

    name: str
    label: str
    order: Any
    number: bool = False
    big_first: bool = False
    direction: str = ""
    """``ascending``, ``descending``, or empty if the list is not sorted by this column."""

    @property
    def next(self) -> str:
        """The value of ``sort`` that a click asks for."""
        falls = self.direction == "ascending" if self.direction else self.big_first
        return f"-{self.name}" if falls else self.name


def sort_columns(wanted: str | None, columns: Sequence[Column], default: str = "-changed") -> list[Column]:
    """The columns, with the direction of the one that the list is sorted by."""
    names = {column.name for column in columns}
    if not wanted or wanted.removeprefix("-") not in names:
        wanted = default
    direction = "descending" if wanted.startswith("-") else "ascending"
    name = wanted.removeprefix("-")
    return [replace(column, direction=direction if column.name == name else "") for column in columns]


def order(columns: Sequence[Column]) -> list[Any]:
    """What `order_by` takes; rows that are alike stand in a fixed order, so that none is on two pages."""
    for column in columns:
        if column.direction:
            expression = F(column.order) if isinstance(column.order, str) else column.order
            return [expression.asc() if column.direction == "ascending" else expression.desc(), "-pk"]
    return ["-pk"]
