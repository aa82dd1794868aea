"""The page with all items of a project, for those who read everybody's marks."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request, show_table
from annotation_service.inputs import whole_number
from datasets.item_lists import PAGE_SIZE
from datasets.models import Item
from work.models.item_work import refresh

from .. import access
from ..models import HandChange, Project
from .filters import HAS, ProjectItems
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
    page = shown.page(request.GET.get("page"), Item.objects.select_related("work"))
    people = columns_of(project)
    found = rows_of(project, list(page.object_list), people, with_marks=bool(people))
    manages = Right.MANAGE in rights
    context = {
        "section": "projects",
        "project": project,
        "filter": shown,
        "columns": shown.columns,
        "page": page,
        "rows": [(row.item, row.item.excerpt(shown.q), row) for row in found],
        "people": people,
        "everything": request.path,
        "is_counted": is_counted,
        "manages": manages,
        "selects": manages,
        "keeps": Right.KEEP in rights,
        "change": HandChange.objects.filter(project=project).defer("before").first(),
    }
    query, choices = shown.query_string(page=page.number), partial(_choices, shown)
    return show_table(
        request, query, "projects/items/_table.html", "projects/items/page.html", context, choices=choices
    )


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
    [row] = rows_of(project, [item], [], with_marks=True)
    shares = sorted(row.shares(), key=lambda share: not share.marks)
    context: dict[str, Any] = {"project": project, "row": row, "item": item}
    context["touched"] = [share for share in shares if share.since or share.marks]
    context["untouched"] = [share for share in shares if not (share.since or share.marks)]
    return render(request, "projects/items/_details.html", context)
