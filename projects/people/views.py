"""The page of a project's people, and what is done with members there."""

from typing import Any

from django.contrib import messages
from django.db.models import Case, When
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import words
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import fold
from annotation_service.paging import Page, search_text, sort_columns

from .. import access, roles
from ..members import Membership
from ..models import Project
from . import inviting, table
from .forms import EndForm, HandOverForm, MembersForm, RoleForm

A_PAGE = 50
HITS = 8


@require_GET
def page(request: Request, pk: int) -> HttpResponse:
    """The members, what they may do and have done, and the former ones."""
    project = access.project(request, pk, Right.READ)
    context = _context(request, project)
    if context["manages"]:
        context |= inviting.context_of(project)
    return render(request, "projects/people/page.html", context)


def _context(request: Request, project: Project, **more: Any) -> dict[str, Any]:
    query, wanted = search_text(request), request.GET.get("sort")
    columns = sort_columns(wanted, table.COLUMNS, default="role")
    [column] = [each for each in columns if each.direction]
    members, former = table.people(project)
    rights = project.rights_of(request.user)
    sign = "-" if column.direction == "descending" else ""
    shown = table.ordered(table.matching(members, query), f"{sign}{column.name}")
    context = {
        "section": "projects",
        "project": project,
        "manages": Right.MANAGE in rights,
        "keeps": Right.KEEP in rights,
        "own": next((person for person in members if person.user == request.user), None),
        "members": len(members),
        "former": table.matching(former, query),
        "page": Page.of_list(shown, request.GET.get("page"), size=A_PAGE),
        "columns": columns,
        "query": query,
        "form": MembersForm(project=project),
    }
    return context | more


@require_POST
def add(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    form, added, withdrawn = MembersForm(request.POST, project=project), [], 0
    if form.is_valid():
        try:
            withdrawn = project.add_members(
                form.cleaned_data["people"], role=form.cleaned_data["role"], by=request.user
            )
            added = form.cleaned_data["people"]
            form = MembersForm(project=project)
        except Refused as error:
            form.add_error("people", str(error))
    return render(
        request,
        "projects/people/_people.html",
        _context(request, project, form=form, added=words.listed(map(str, added)), withdrawn=withdrawn),
        status=422 if form.is_bound else 200,
    )


@require_http_methods(["GET", "POST"])
def change_role(request: Request, pk: int, member_pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    member = access.member(project, member_pk)
    form = RoleForm(request.POST if request.method == "POST" else None, initial={"role": member.role})
    if form.is_valid():
        try:
            project.change_role(member, form.cleaned_data["role"], by=request.user)
            messages.success(request, f"{member.user} is now {roles.ROLES[member.role].one}.")
            return _to_people(request, project)
        except Refused as error:
            form.add_error("role", str(error))
    context = {"project": project, "member": member, "form": form, **_lost(project, member)}
    return render(request, "projects/people/_role.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
def hand_over(request: Request, pk: int) -> HttpResponse:
    """Make another member a manager and step down, at once."""
    project = access.project(request, pk, Right.MANAGE)
    own = get_object_or_404(project.members(), user=request.user)
    form = HandOverForm(request.POST if request.method == "POST" else None, project=project, own=own)
    if form.is_valid():
        to = form.cleaned_data["to"]
        try:
            project.hand_over(own, to, form.cleaned_data["role"])
            messages.success(
                request,
                f"{to.user} is now {roles.ROLES[roles.MANAGER].one} of this project, and you are {roles.ROLES[own.role].one}.",
            )
            return _to_people(request, project)
        except Refused as error:
            form.add_error(None, str(error))
    context = {"project": project, "form": form, "unbegun_marks": project.count_unbegun_marks(request.user)}
    return render(request, "projects/people/_hand_over.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
def remove(request: Request, pk: int, member_pk: int) -> HttpResponse:
    """Says first what happens to the person's marks and items; the manager may have the marks deleted."""
    project = access.project(request, pk, Right.MANAGE)
    member = access.member(project, member_pk)
    form = EndForm(request.POST if request.method == "POST" else None, member=member)
    if form.is_valid():
        return _end(request, project, member, with_marks=form.deletes)
    return _ask(request, project, member, form=form)


@require_http_methods(["GET", "POST"])
def leave(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk)
    member = access.own_membership(request, project)
    return _end(request, project, member) if request.method == "POST" else _ask(request, project, member)


def _ask(request: Request, project: Project, member: Membership, **more: Any) -> HttpResponse:
    form = more.get("form")
    context = {"project": project, "member": member, "reason": project.reason_to_keep(member), **more}
    context |= {"work": project.count_work(member.user), **_lost(project, member)}
    status = 422 if form and form.is_bound else 200
    return render(request, "projects/people/_end.html", context, status=status)


def _lost(project: Project, member: Membership) -> dict[str, int]:
    """What somebody who annotates no more loses: items, and the marks that batches have put on items not begun."""
    return {
        "unbegun": table.unbegun(project, member),
        "unbegun_marks": project.count_unbegun_marks(member.user),
    }


def _end(request: Request, project: Project, member: Membership, *, with_marks: bool = False) -> HttpResponse:
    lost = project.count_unbegun_marks(member.user)
    leaves = member.user == request.user
    try:
        project.remove_member(member, with_marks=with_marks, by=None if leaves else request.user)
    except Refused as error:
        context = {"project": project, "member": member, "reason": str(error)}
        return render(request, "projects/people/_end.html", context, status=422)
    gone = f"You have left “{project}”." if leaves else f"{member.user} is no longer a member."
    kept = "The marks on items that were begun" if lost and not with_marks else "All marks"
    messages.success(request, f"{gone} {kept} are {'deleted' if with_marks else 'still there'}.")
    return _to_people(request, project)


def _to_people(request: Request, project: Project) -> HttpResponse:
    """To the page of the people or, for those who may not see it any more, to one that they may see."""
    rights = project.rights_of(request.user)
    if Right.READ in rights:
        return HttpResponseClientRedirect(reverse("projects:people", args=[project.pk]))
    return HttpResponseClientRedirect(project.get_absolute_url() if Right.SEE in rights else reverse("home"))


@require_GET
def find(request: Request) -> JsonResponse:
    """User names in which the typed letters occur, those that begin with them first: names and nothing else of anybody."""
    typed = fold(search_text(request))
    people = access.people_to_choose(request, whole_number(request.GET.get("project", "")))
    found = people.filter(username_folded__contains=typed) if typed else people.none()
    begins_first = Case(When(username_folded__startswith=typed, then=0), default=1)
    names = found.order_by(begins_first, "username_folded").values_list("username", flat=True)[:HITS]
    return JsonResponse({"names": list(names)})
