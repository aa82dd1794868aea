"""The page of a preannotation set: its rows as a table, which are changed where they stand and in dialogs.

Each change answers with the event `rowsChanged`, upon which the page fetches its table again; after that of a single row, which
keeps its place, with `rowChanged`: then only what says how things stand is fetched.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Case, Count, Q, QuerySet, When
from django.db.models.functions import Lower
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django_htmx.http import replace_url, reswap, retarget, trigger_client_event

from annotation_service import access
from annotation_service.db import among
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request, show_table
from annotation_service.inputs import Refused, whole_number
from annotation_service.paging import Column, Page, order, sort_columns
from annotation_service.words import plural
from ontologies.labels import Label

from . import views
from .models import PreannotationSet
from .models.rows import RowState
from .views import LabelChoice, complain, dialog, offer, offer_undo, set_view, uses, wanted

TEMPLATES = "resources/preannotations"
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

reads = set_view(PreannotationSet, access.readable, "GET")
acts = set_view(PreannotationSet, access.editable, "POST")
edits = set_view(PreannotationSet, access.editable, "GET", "POST")


# --- The table -----------------------------------------------------------------------------------------------------------


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


@reads
def page(request: Request, thing: PreannotationSet) -> HttpResponse:
    """The page or, for its search and after a change, the rows and what says how things stand."""
    table = Table(thing, request.GET)
    found = table.page()
    query = table.query_string(page=found.number if found.number > 1 else "")
    context = views.standing(request, thing) | {"base": thing.get_absolute_url(), "table": table, "page": found}
    parts = f"{TEMPLATES}/_refreshed.html", f"{TEMPLATES}/page.html"
    answer = show_table(
        request, query, *parts, context, choices=partial(uses, request, thing), target="rows", is_pushed=False
    )
    if request.htmx.target == "rows" and request.htmx.trigger == "filter":  # else the address may be that of a dialog
        replace_url(answer, context["path"])
    return answer


@reads
def standing(request: Request, thing: PreannotationSet) -> HttpResponse:
    """What says how things stand, without the table."""
    return render(request, f"{TEMPLATES}/_standing.html", views.standing(request, thing))


# --- A row ---------------------------------------------------------------------------------------------------------------


@reads
def row(request: Request, thing: PreannotationSet, row_pk: int) -> HttpResponse:
    """The row as it is, for who gives up editing it; ``at`` is the field that gets the focus."""
    return _row(request, thing, row_pk, at=request.GET.get("at", ""))


@edits
def cell(request: Request, thing: PreannotationSet, row_pk: int, field: str) -> HttpResponse:
    """Edit a value in its row, or pick another label in a dialog; then the row again, with what is wrong."""
    shown = _shown(thing, row_pk)
    cells = [each for each in shown.cells if each.field == field]
    if not cells:
        raise Http404
    if request.method == "GET":
        return (
            _picking(request, thing, shown, *cells) if cells[0].label else _row(request, thing, row_pk, editing=field)
        )
    value, was = request.POST.get("value", ""), request.POST.get("was") or request.GET.get("was")
    try:
        thing.change_row(row_pk, {field: value}, was={field: was} if was else None, by=request.user)
    except Conflict as conflict:
        (theirs,) = conflict.fields.values()
        return _not_changed(request, thing, row_pk, field, value, 409, theirs)
    except Refused as error:
        return _not_changed(request, thing, row_pk, field, value, 422, str(error))
    answer = reswap(retarget(_row(request, thing, row_pk, at=field), f"#row-{row_pk}"), "outerHTML")
    return trigger_client_event(trigger_client_event(answer, "closeDialog"), "rowChanged")


def _not_changed(
    request: Request, thing: PreannotationSet, row_pk: int, field: str, typed: str, status: int, reason: Any
) -> HttpResponse:
    """Where it was typed: the reason or, of a conflict, the value that somebody else has stored."""
    shown = _shown(thing, row_pk)
    (cell,) = (each for each in shown.cells if each.field == field)
    if status == 409:
        now = cell.label.fullname if cell.label else cell.value
        reason = f"Somebody changed this meanwhile, to “{now}”. {'Pick' if cell.label else 'Save'} again to replace it."
    if cell.label:
        answer = retarget(_picking(request, thing, shown, cell), "#dialog")
        answer.status_code = status
        return complain(answer, reason)
    return _row(request, thing, row_pk, editing=field, typed=typed, reason=reason, status=status)


def _shown(thing: PreannotationSet, row_pk: int) -> ShownRow:
    for shown in Table(thing, QueryDict()).shown([row_pk]):
        return shown
    raise Refused("This row was removed meanwhile.")


def _row(request: Request, thing: PreannotationSet, row_pk: int, status: int = 200, **editing: str) -> HttpResponse:
    context = {"row": _shown(thing, row_pk), "editable": access.can_edit(request.user, thing)}
    context["base"] = thing.get_absolute_url()
    return render(request, f"{TEMPLATES}/_row.html", context | editing, status=status)


def _picking(request: Request, thing: PreannotationSet, shown: ShownRow, cell: Cell) -> HttpResponse:
    url = f"{thing.get_absolute_url()}rows/{shown.pk}/{cell.field}/"
    labels = wanted(request, thing.labels_for(cell.field))
    found = (_choice(label, "value", "chosen now" if label == cell.label else "") for label in labels)
    heading = f"{cell.title} of “{shown.name}”"
    context = {"heading": heading, "url": url, "post_to": f"{url}?was={cell.was}", "target": "#dialog"}
    return dialog(request, offer(request, found) | context)


def _choice(label: Label, name: str, why_not: str = "") -> LabelChoice:
    return LabelChoice(label, name, label.uid, why_not=why_not or ("" if label.active else "switched off"))


# --- New rows ------------------------------------------------------------------------------------------------------------


@edits
def add(request: Request, thing: PreannotationSet) -> HttpResponse:
    """The dialog for a new row. Labels are picked in the same dialog, to which they lead back; they stay for the next row."""
    sent = request.POST if request.method == "POST" else request.GET
    model = thing.row_model
    names = [field.name for field in model.content_fields()]
    values = {name: sent.get(name, "") or ("0" if name == "offset" else "") for name in names}
    missing = [field for field in model.label_fields if not values[field]]
    picked = request.GET.get("pick", "")
    if request.method == "GET" and picked in missing:
        return _picking_for_new(request, thing, values, picked)
    if request.method == "GET":
        return _new(request, thing, values)
    if missing and all(values[field].strip() for field in model.form_fields):
        return _picking_for_new(request, thing, values, missing[0])
    try:
        thing.add_row(values, by=request.user)
    except Refused as error:
        return _new(request, thing, values, reason=str(error), status=422)
    answer = _new(request, thing, values | dict.fromkeys(model.form_fields, ""))
    return changed(offer_undo(answer, thing, f"“{model.named(values)}” was added."), thing)


def _new(
    request: Request, thing: PreannotationSet, values: dict[str, str], reason: str = "", status: int = 200
) -> HttpResponse:
    table, labels = Table(thing, QueryDict()), thing.labels()
    fields = [
        {
            "name": column.name,
            "title": column.label,
            "value": values[column.name],
            "is_label": column.name in table.model.label_fields,
            "label": labels[table.model.ontology_kind(column.name)].by_uid.get(values[column.name]),
        }
        for column in table.columns[1:]
    ]
    empty = [field["name"] for field in fields if not field["value"]]
    context = {"resource": thing, "fields": fields, "reason": reason, "at": empty[0] if empty else ""}
    return render(request, f"{TEMPLATES}/_add.html", context, status=status)


def _picking_for_new(request: Request, thing: PreannotationSet, values: dict[str, str], field: str) -> HttpResponse:
    found = (_choice(label, field) for label in wanted(request, thing.labels_for(field)))
    kept = {name: value for name, value in values.items() if name != field}
    title = next(column.label for column in Table(thing, QueryDict()).columns if column.name == field)
    form = thing.row_model.form_of(field, values)
    heading = f"{title} of “{form}”" if form else title
    url = f"{thing.get_absolute_url()}rows/add/?{urlencode(kept | {'pick': field})}"
    return dialog(request, offer(request, found) | {"heading": heading, "url": url, "target": "#dialog"})


# --- Removing ------------------------------------------------------------------------------------------------------------


@acts
def remove(request: Request, thing: PreannotationSet) -> HttpResponse:
    """Say first how many rows would go, and ask again if it has become another number when somebody agrees."""
    asked = request.GET.copy()
    for name in ("items", "all"):
        asked.setlist(name, request.POST.getlist(name))
    table = Table(thing, asked)
    rows, agreed = table.chosen(), whole_number(request.POST.get("count", ""))
    count = rows.count()
    if not count:
        raise Refused("None of these rows is there any more." if table.selected else "Choose the rows first.")
    if agreed == count:
        thing.remove_rows(rows, agreed=count, by=request.user)
        answer = offer_undo(HttpResponse(), thing, f"{plural(count, 'row was,rows were')} removed.")
        return changed(trigger_client_event(answer, "closeDialog"), thing)
    first = next(table.shown(list(rows.order_by("position").values_list("pk", flat=True)[:1])))
    context = {"resource": thing, "table": table, "count": count, "first": first, "changed": agreed is not None}
    return render(request, f"{TEMPLATES}/_remove.html", context, status=409 if agreed else 200)


def changed(answer: HttpResponse, thing: PreannotationSet) -> HttpResponse:
    return trigger_client_event(answer, "rowsChanged")
