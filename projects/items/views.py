"""The page with all items of a project, for those who read everybody's marks."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET
from django_htmx.http import push_url

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from datasets.models import Item
from work.models.figures import refresh

from .. import access
from ..models import HandChange, Project
from .filters import HAS, PAGE_SIZE, ProjectItems
from .rows import columns_of, rows_of

# After so long the page is shown with the figures that are there; the worker goes on.
COUNT_SECONDS = 1


@require_GET
def items(request: Request, pk: int) -> HttpResponse:
    """The table with its filter; a filter request gets the table alone."""
    project = access.project(request, pk, Right.READ)
    if number := whole_number(request.GET.get("number", ""), digits=9):
        return _jump(request, project, number)
    shown, rights = ProjectItems.of(project, request.GET).without_selection(), project.rights_of(request.user)
    is_counted = refresh(shown.dataset.pk, COUNT_SECONDS)
    page = shown.page(request.GET.get("page"))
    # The links of the table are made from the address without empty values.
    query = shown.query_string(page=page.number)
    request.GET = QueryDict(query)
    path = f"{request.path}?{query}" if query else request.path
    context = {
        "section": "projects",
        "project": project,
        "filter": shown,
        "page": page,
        "path": path,
        "is_counted": is_counted,
        "manages": Right.MANAGE in rights,
        "keeps": Right.KEEP in rights,
        "change": HandChange.objects.filter(project=project).defer("before").first(),
    }
    context |= _rows(shown, list(page.object_list))
    if request.htmx and request.htmx.target == "items":
        response = push_url(render(request, "projects/items/_table.html", context), path)
    else:
        response = render(request, "projects/items/page.html", context | _choices(shown))
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _rows(shown: ProjectItems, keys: list[int]) -> dict[str, Any]:
    people = columns_of(shown.project)
    texts = Item.objects.select_related("work").defer("original", "offsets", "extra_fields").in_bulk(keys)
    found = rows_of(shown.project, [texts[key] for key in keys if key in texts], with_marks=bool(people))
    return {
        "rows": [(row, row.item.excerpt(shown.q), [row.share(person.pk) for person in people]) for row in found],
        "people": people,
    }


def _choices(shown: ProjectItems) -> dict[str, Any]:
    """What the form of the filter offers, and the one beside it, which leads to an item by its number."""
    members = shown.project.membership_set.select_related("user").order_by("user__username_folded")
    people = [member.user for member in members]
    return {
        "states": shown.states(),
        "has": [(value, choice.words) for value, choice in HAS.items()],
        "members": people if shown.who is None or shown.who in people else [*people, shown.who],
        "last": shown.project.all_items().last(),
    }


def _jump(request: Request, project: Project, number: int) -> HttpResponse:
    """To the row of the item with a number or, if there is none, of the one that follows it, on its page of the whole table."""
    items = project.all_items()
    found = items.filter(position__gte=number - 1).first() or items.last()
    if found is None:
        return redirect("projects:items", pk=project.pk)
    if found.number != number:
        what = f"There is no item {words.number(number)}. This is item {words.number(found.number)}."
        messages.info(request, what)
    page = items.filter(position__lt=found.position).count() // PAGE_SIZE + 1
    return redirect(f"{reverse('projects:items', args=[project.pk])}?page={page}#item-{found.number}")


@require_GET
def details(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Who has an item, in which state and since when, with the way to everybody's marks on it."""
    project, item = access.item_to_read(request, pk, item_pk)
    [row] = rows_of(project, [item], with_marks=True)
    shares = sorted(row.shares(), key=lambda share: not share.marks)
    context: dict[str, Any] = {"project": project, "row": row, "item": item}
    context["touched"] = [share for share in shares if share.since or share.marks]
    context["untouched"] = [share for share in shares if not (share.since or share.marks)]
    return render(request, "projects/items/_details.html", context)
