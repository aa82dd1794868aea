"""Finding an item: the list of a person's own items, the way through it, and what they left for later."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import push_url

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import Item
from projects import access
from projects.models import Project
from work.own_items import HAS, STATES, OwnItems
from work.own_rows import work_on

MOST_SKIPPED = 1000


def own_items(project: Project, person: User, data: QueryDict, *, later: Sequence[int] = ()) -> OwnItems:
    """The items given to somebody, as the filter in an address wants them; ``later`` is what they left for later."""
    dataset = project.dataset
    return OwnItems.of(
        data,
        dataset=dataset,
        given=project.items_for(person),
        given_count=dataset.item_count if project.gives_all_to(person) else None,
        person=person,
        ontologies=project.ontology_set.order_by("kind"),
        later=later,
    )


def item_address(shown: OwnItems, project: Project, key: int) -> str:
    """Of the workspace; the way from it leads through the list."""
    query = shown.query_string()
    return reverse("annotations:item", args=[project.pk, key]) + (f"?{query}" if query else "")


def shown_items(request: Request, project: Project) -> OwnItems:
    """The user's items, as the filter in the address wants them."""
    return own_items(project, request.user, request.GET, later=skipped(request, project))


@require_GET
def items(request: Request, pk: int) -> HttpResponse:
    """The list as a page. The workspace, which names the item that is open, gets the page of the table on which that stands."""
    project = access.project(request, pk, Right.LOOK)
    if number := whole_number(request.GET.get("number", ""), digits=9):
        return _jump(request, project, number)
    shown = shown_items(request, project)
    open_item = whole_number(request.GET.get("at", ""))
    at = shown.given.filter(pk=open_item).first() if open_item else None
    page = shown.page(request.GET.get("page"), at=at)
    # The links of the table are made from the address without empty values.
    query = shown.query_string(page=page.number)
    request.GET = QueryDict(query)
    texts = Item.objects.defer("original", "offsets", "extra_fields").in_bulk(list(page.object_list))
    found = [texts[key] for key in page.object_list if key in texts]
    excerpts = [item.excerpt(shown.q) for item in found]
    context = {"project": project, "filter": shown, "page": page, "at": at, **choices(shown)}
    context["rows"] = list(zip(found, excerpts, work_on(found, shown), strict=True))
    if not (request.htmx and request.htmx.target == "items"):
        context["calibration_left"] = project.calibration_left(request.user)
        return render(request, "annotations/items.html", {"section": "projects", **context})
    response = render(request, "annotations/_items.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response if at else push_url(response, f"{request.path}?{query}" if query else request.path)


def choices(shown: OwnItems) -> dict[str, Any]:
    """What the form of the filter offers, and the one beside it, which leads to an item by its number."""
    return {"states": STATES.items(), "has": HAS.items(), "last": shown.given.last(), "later": shown.left_for_later()}


def _jump(request: Request, project: Project, number: int) -> HttpResponse:
    """To the item with a number or, if it is not given to the person, to the one that follows it, if any."""
    given = project.items_for(request.user)
    found = given.filter(position__gte=number - 1).first()
    if found is None:
        last = given.last()
        where = f"the last is {words.number(last.number)}." if last else "none is given to you."
        messages.error(request, f"There is no item {words.number(number)}; {where}")
        return redirect("annotations:items", pk=project.pk)
    if found.number != number:
        what = f"There is no item {words.number(number)} among yours. This is item {words.number(found.number)}."
        messages.info(request, what)
    return redirect("annotations:item", pk=project.pk, item_pk=found.pk)


@require_GET
def place(request: Request, pk: int, item_pk: int) -> JsonResponse:
    """At which place of the list an item stands: asked for after the page, because counting takes longer than everything else."""
    project, item = access.item_given(request, pk, item_pk)
    shown = shown_items(request, project)
    found, count = shown.place_and_count(item)
    return JsonResponse({"place": found, "count": count})


# --- The next one --------------------------------------------------------------------------------------------------------


@require_POST
def skip(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Leave an item for later: the next undone item is another one as long as there is one. Kept until the person signs out."""
    project, item = access.item_given(request, pk, item_pk)
    others = [key for key in skipped(request, project) if key != item.pk]
    _keep_skipped(request, project, [*others, item.pk])
    return HttpResponse(status=204)


@require_POST
def take_up(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """Have an item that was left for later come in its turn again."""
    project, item = access.item_given(request, pk, item_pk)
    others = [key for key in skipped(request, project) if key != item.pk]
    _keep_skipped(request, project, others)
    return HttpResponse()


def _keep_skipped(request: Request, project: Project, items: list[int]) -> None:
    request.session["skipped"] = {**request.session.get("skipped", {}), str(project.pk): items[-MOST_SKIPPED:]}


def skipped(request: Request, project: Project) -> list[int]:
    """What the person left for later, the oldest first."""
    return request.session.get("skipped", {}).get(str(project.pk), [])


def next_undone(shown: OwnItems, after: int | None) -> int | None:
    """The next item of the list that its person has not done, from a position on and then from the beginning. What was left for
    later comes last."""
    item = Item.with_removed.filter(dataset=shown.dataset, position=after).first() if after is not None else None
    return shown.undone().first_behind(item)
