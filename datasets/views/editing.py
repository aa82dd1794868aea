from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from annotation_service import access, words
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused, whole_number

from .. import extra_fields
from ..extra_fields import Field
from ..item_lists import ItemFilter
from ..models import Dataset
from .browsing import item_of


@require_http_methods(["GET", "POST"])
def remove(request: Request, pk: int) -> HttpResponse:
    """Say first how many items and marks would go, and ask again if it has become another number when somebody agrees.

    A selection may be too long for an address, so a POST without an agreed ``count`` asks as well.
    """
    dataset = access.editable(request, Dataset, pk)
    chosen = _chosen(request, dataset)
    if chosen is None:
        return refused("Choose the items first.")
    items, agreed = chosen.items(), whole_number(request.POST.get("count", ""))
    if agreed:
        try:
            removed = dataset.remove(items, by=request.user, agreed=agreed)
        except Refused as error:
            if items.count() == agreed:
                return refused(str(error))
        else:
            last = dataset.bin().filter(removed_by=request.user)[0]
            together = ItemFilter(dataset=dataset, bin="1", removed=str(last.removed_at))
            url = f"{reverse('datasets:restore', args=[pk])}?{together.query_string()}&all=1"
            done = f"{words.plural(removed, 'item is,items are')} in the bin."
            return items_changed(done, {"label": "Restore", "url": url})
    first, count = items.first(), items.count()
    if first is None:
        return refused("None of these items is in the dataset any more.")
    changed = agreed is not None
    context = {"dataset": dataset, "filter": chosen, "first": first, "count": count, "changed": changed}
    context |= {"marks": dataset.marks_of(items)}
    return render(request, "datasets/_remove.html", context, status=409 if changed else 200)


@require_POST
def restore(request: Request, pk: int) -> HttpResponse:
    dataset = access.editable(request, Dataset, pk)
    chosen = _chosen(request, dataset)
    if chosen is None or not chosen.bin:
        return refused("Choose items of the bin first.")
    try:
        restored = dataset.restore(chosen.items())
    except Refused as error:
        return refused(error)
    if not restored:
        return refused("None of these items is in the bin any more.")
    theirs = "its" if restored == 1 else "their"
    return items_changed(f"{words.plural(restored, 'item is,items are')} back with all {theirs} marks.")


def _chosen(request: Request, dataset: Dataset) -> ItemFilter | None:
    """The selected items or, with ``all``, every item that matches the filter in the address."""
    asked = request.GET.copy()
    for name in ("items", "all"):
        asked.setlist(name, asked.getlist(name) + request.POST.getlist(name))
    chosen = ItemFilter.of(dataset, asked)
    return chosen if chosen.selected or asked.get("all") == "1" else None


def items_changed(text: str, action: dict[str, str] | None = None) -> HttpResponse:
    """Show a message, perhaps with a button, reload the items and close the dialog."""
    toast = {"text": text, "kind": "success"} | ({"action": action} if action else {})
    answer = trigger_client_event(HttpResponse(), "toast", toast)
    return trigger_client_event(trigger_client_event(answer, "itemsChanged", {}), "closeDialog", {})


@require_http_methods(["GET", "POST"])
def edit_item(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Edit the external id and the extra fields; the text never changes. What was typed stays in the form until it is stored."""
    item = item_of(access.editable(request, Dataset, pk), item_pk)
    form: dict[str, Any] = {"external_id": item.external_id, "fields": Field.all_of(item.extra_fields)}
    seen = {name: fingerprint(getattr(item, name)) for name in ("external_id", "extra_fields")}
    status = 200
    if request.method == "POST":
        seen = {name: request.POST.get(f"was_{name}") or now for name, now in seen.items()}
        if (external_id := request.POST.get("external_id", "")) != item.external_id:
            form["external_id"] = external_id.strip()
        try:
            form["fields"] = extra_fields.read_lines(request.POST.get("fields", ""))
            values = extra_fields.to_object(form["fields"], known=item.extra_fields)
            item.edit(external_id=form["external_id"], extra_fields=values, was=seen)
            return items_changed(f"Item {words.number(item.number)} is saved.")
        except Conflict as conflict:
            status = 409
            form["theirs"] = {name: Field.of(name, value).value for name, value in conflict.fields.items()}
            seen |= {name: fingerprint(value) for name, value in conflict.fields.items()}
        except Refused as error:
            status, form["problems"] = 422, error.problems
    return render(request, "datasets/_edit_item.html", {"form": form | {"seen": seen}, "item": item}, status=status)
