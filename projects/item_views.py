"""The page with all items of a project; giving those that are chosen to people, or taking them away, after a preview."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request, refused, show_table
from annotation_service.inputs import Refused, whole_number
from annotation_service.jobs import Progress
from annotation_service.models import Job, User, start_job
from datasets.item_lists import PAGE_SIZE
from datasets.models import Item
from datasets.views.pages import items_changed
from work.models.item_work import refresh

from . import access
from .forms import toasts_refusals
from .item_table import HAS, ProjectItems, columns_of, rows_of
from .models import HandChange, Project

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
        "corrects": manages and shown.dataset.get_absolute_url(),
        "keeps": Right.KEEP in rights,
        "change": HandChange.last_of(project),
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
    context["manages"] = Right.MANAGE in project.rights_of(request.user)
    context["touched"] = [share for share in shares if share.since or share.marks]
    context["untouched"] = [share for share in shares if not (share.since or share.marks)]
    return render(request, "projects/items/_details.html", context)


@require_POST
@toasts_refusals
def by_hand(request: Request, pk: int, verb: str) -> HttpResponse:
    """Say what would happen, for the people chosen so far, and do it when somebody agrees to so many items."""
    project = access.project(request, pk, Right.MANAGE)
    chosen = _chosen(request, project)
    if chosen is None:
        return refused("Choose the items first.")
    refresh(chosen.dataset.pk, COUNT_SECONDS)
    items, agreed = chosen.without_order().items(), whole_number(request.POST.get("count", ""))
    count = items.order_by().count()
    if not count:
        return refused("None of these items is in the project any more.")
    able = list(project.working() if verb == "give" else project.all_annotating())
    people = [person for person in able if str(person.pk) in request.POST.getlist("people")]
    changed = agreed not in (None, count)
    context: dict[str, Any] = {"project": project, "filter": chosen, "count": count, "verb": verb}
    context |= {"able": able, "people": people, "changed": changed}
    if people and "agree" in request.POST and not changed:
        return _done(change_or_start(chosen, verb, count, people, by=request.user))
    if people:
        context["foreseen"] = project.foresee_by_hand(verb, items, people)
    return render(request, "projects/items/_by_hand.html", context, status=409 if changed else 200)


@require_POST
@toasts_refusals
def undo(request: Request, pk: int) -> HttpResponse:
    """Undo what was done last, if it is still what the user has seen."""
    project = access.project(request, pk, Right.MANAGE)
    change_pk = whole_number(request.POST.get("change", "")[:18]) or 0
    return _done(undo_or_start(project, change_pk, by=request.user))


def _done(done: str | Job) -> HttpResponse:
    if isinstance(done, Job):
        return HttpResponseClientRedirect(reverse("job", args=[done.pk]))
    return items_changed(done)


def undo_or_start(project: Project, change_pk: int, *, by: User) -> str | Job:
    """What was done or, if there are many items, the job that does it."""
    if not project.is_large():
        return project.undo_by_hand(change_pk, by=by)
    target = {"project": project.pk, "change": change_pk}
    return start_job("undo_by_hand", title=f"Undo in “{project}”", by=by, target=target)


def _chosen(request: Request, project: Project) -> ProjectItems | None:
    """The selected items or, with ``all``, every item that matches the filter in the address."""
    asked = request.GET.copy()
    asked.setlist("items", request.POST.getlist("items"))
    chosen = ProjectItems.of(project, asked)
    return chosen if chosen.selected or request.POST.get("all") == "1" else None


def change_or_start(chosen: ProjectItems, verb: str, count: int, people: list[User], *, by: User) -> str | Job:
    """Give or take the chosen items, of which somebody has seen that they are so many: at once or, in a project with many, by a
    job."""
    project = chosen.project
    if not project.is_large():
        return project.change_by_hand(verb, chosen.without_order().items(), people, by=by).in_words(people)
    target = {"project": project.pk, "verb": verb, "filter": chosen.query_string(), "count": count}
    target |= {"people": [person.pk for person in people]}
    title = {"give": "Give items of", "take": "Take away items of"}[verb]
    return start_job("by_hand", title=f"{title} “{project}”", by=by, target=target)


def carry_out(project: Project, job: Job, progress: Progress) -> None:
    """What `change_or_start` asked for, if it is about as many items."""
    target = job.target
    if "items" in target:  # a worker that was killed has begun with it
        project.carry_out_by_hand(target["verb"], target, job.by, job, progress)
        return
    progress(0, 0, "assigning")
    chosen = ProjectItems.of(project, QueryDict(target["filter"])).without_order()
    refresh(project.dataset.pk, COUNT_SECONDS)
    if chosen.items().count() != target["count"]:
        raise Refused("Meanwhile it has become another number of items. Choose them again in the table of items.")
    people = list(User.objects.filter(pk__in=target["people"]).order_by("username"))
    project.change_by_hand(target["verb"], chosen.items(), people, by=job.by, job=job, report=progress)
