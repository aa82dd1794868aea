"""The people of a project: the page of them, what is done with members there, inviting, and accepting or declining."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.paginator import Paginator
from django.db import IntegrityError
from django.db.models import Case, QuerySet, When
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service import attempts, words
from annotation_service.accounts import InvitedForm
from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import Refused, whole_number
from annotation_service.models import User, fold
from annotation_service.paging import Column, search_text, sort_columns

from . import access, progress, roles
from .forms import EndForm, HandOverForm, InviteForm, LinkForm, MembersForm, RoleForm, refusals_in, toasts_refusals
from .members import Invitation, Membership
from .models import Project
from .progress import with_progress

A_PAGE = 50
HITS = 8
PEOPLE_COLUMNS = (
    Column("name", "Name", "folded"),
    Column("role", "Role", "place"),
    Column("joined", "Joined", "joined_at", big_first=True),
    Column("given", "Given", "given", number=True, big_first=True),
    Column("begun", "Begun", "begun", number=True, big_first=True),
    Column("done", "Done", "done", number=True, big_first=True),
    Column("active", "Last activity", "last_active", big_first=True),
)


@require_GET
def people_page(request: Request, pk: int) -> HttpResponse:
    """The members, what they may do and have done, and the former ones."""
    project = access.project(request, pk, Right.READ)
    context = _context(request, project)
    if context["manages"]:
        context |= _invitations_context(project)
    return render(request, "projects/people/page.html", context)


def _context(request: Request, project: Project, **more: Any) -> dict[str, Any]:
    query, wanted = search_text(request), request.GET.get("sort")
    columns = sort_columns(wanted, PEOPLE_COLUMNS, default="role")
    [column] = [each for each in columns if each.direction]
    members, former = progress.people(project)
    rights = project.rights_of(request.user)
    shown = _ordered(_matching(members, query), column)
    context = {
        "section": "projects",
        "project": project,
        "manages": Right.MANAGE in rights,
        "keeps": Right.KEEP in rights,
        "own": next((person for person in members if person.user == request.user), None),
        "members": len(members),
        "former": _matching(former, query),
        "page": Paginator(shown, A_PAGE).get_page(request.GET.get("page")),
        "columns": columns,
        "query": query,
        "form": MembersForm(project=project),
    }
    return context | more


def _ordered(people: list[progress.Person], column: Column) -> list[progress.Person]:
    """By a column, those without a value last; those who are alike by name."""
    by_name = sorted(people, key=lambda person: person.folded)
    known = [person for person in by_name if getattr(person, column.order) is not None]
    known.sort(key=lambda person: getattr(person, column.order), reverse=column.direction == "descending")
    return known + [person for person in by_name if getattr(person, column.order) is None]


def _matching(people: list[progress.Person], text: str) -> list[progress.Person]:
    """Those whose names or whose role contain the text, in any case and script."""
    wanted = fold(text)
    return [
        person
        for person in people
        if wanted in person.folded
        or wanted in fold(person.user.get_full_name())
        or wanted in fold(person.role.label if person.role else "")
    ]


@require_POST
def add(request: Request, pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    form, added, withdrawn = MembersForm(request.POST, project=project), [], 0
    if form.is_valid():
        people, role = form.cleaned_data["people"], form.cleaned_data["role"]
        with refusals_in(form, "people"):
            withdrawn = project.add_members(people, role=role, by=request.user)
            form, added = MembersForm(project=project), people
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
        with refusals_in(form, "role"):
            project.change_role(member, form.cleaned_data["role"], by=request.user)
            messages.success(request, f"{member.user} is now {roles.ROLES[member.role].one}.")
            return _to_people(request, project)
    context = {"project": project, "member": member, "form": form, **lost_with(project, member)}
    return render(request, "projects/people/_role.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
def hand_over(request: Request, pk: int) -> HttpResponse:
    """Make another member a manager and step down, at once."""
    project = access.project(request, pk, Right.MANAGE)
    own = get_object_or_404(project.members(), user=request.user)
    form = HandOverForm(request.POST if request.method == "POST" else None, project=project, own=own)
    if form.is_valid():
        to = form.cleaned_data["to"]
        with refusals_in(form):
            project.hand_over(own, to, form.cleaned_data["role"])
            messages.success(
                request,
                f"{to.user} is now {roles.ROLES[roles.MANAGER].one} of this project, and you are {roles.ROLES[own.role].one}.",
            )
            return _to_people(request, project)
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
    context |= {"work": project.count_work(member.user), **lost_with(project, member)}
    status = 422 if form and form.is_bound else 200
    return render(request, "projects/people/_end.html", context, status=status)


def lost_with(project: Project, member: Membership) -> dict[str, int]:
    """What somebody who annotates no more loses: items, and the marks that batches have put on items not begun."""
    return {
        "unbegun": project.count_unbegun(member.user),
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
    people = access.people_to_choose(request, whole_number(request.GET.get("project", "")))
    return JsonResponse({"names": names_with(search_text(request), people)})


def names_with(text: str, people: QuerySet[User]) -> list[str]:
    typed = fold(text)
    found = people.filter(username_folded__contains=typed) if typed else people.none()
    begins_first = Case(When(username_folded__startswith=typed, then=0), default=1)
    return list(found.order_by(begins_first, "username_folded").values_list("username", flat=True)[:HITS])


CLOSED_FOR = timedelta(days=30)  # how long those are listed that cannot be accepted any more
MOST_INVITATIONS = 500


@require_GET
def invitations(request: Request, pk: int) -> HttpResponse:
    return _show_invitations(request, access.project(request, pk, Right.MANAGE))


@require_POST
def invite_by_mail(request: Request, pk: int) -> HttpResponse:
    """Write to each address. One that is invited already gets another link, and the first one ends."""
    project = access.project(request, pk, Right.MANAGE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _show_invitations(request, project, form=form)
    addresses, role = form.cleaned_data["addresses"], form.cleaned_data["role"]
    try:
        made = invite(request, project, addresses, role)
    except Refused as error:
        form.add_error("addresses", error)
        return _show_invitations(request, project, form=form)
    send_invitations(request, project, made)
    return _show_invitations(request, project, sent=[invitation.address for invitation, _ in made])


def invite(request: Request, project: Project, addresses: Collection[str], role: str) -> list[tuple[Invitation, str]]:
    """Invitations and their tokens, for all addresses or none; how many somebody sends is limited."""
    to_each = [("invite_address", fold(address)) for address in addresses]
    attempt = attempts.count(request, [("invite", str(request.user.pk))] * len(addresses) + to_each)
    try:
        with write():
            return [Invitation.make(project, role=role, by=request.user, address=address) for address in addresses]
    except Refused:
        attempt.rollback()
        raise


def send_invitations(request: Request, project: Project, made: Iterable[tuple[Invitation, str]]) -> None:
    """All at once: a mail server may limit how many connections one client has."""
    get_connection().send_messages([_mail(request, project, *each) for each in made])


@require_POST
def invite_by_link(request: Request, pk: int) -> HttpResponse:
    """Make a link, which is shown this once."""
    project = access.project(request, pk, Right.MANAGE)
    form = LinkForm(request.POST)
    if form.is_valid():
        with refusals_in(form, "role"):
            _, token = Invitation.make(project, role=form.cleaned_data["role"], by=request.user)
            return _show_invitations(request, project, link=address_of(request, token))
    return _show_invitations(request, project, link_form=form)


@require_POST
@toasts_refusals
def revoke_invitation(request: Request, pk: int, invitation_pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    invitation = get_object_or_404(access.invitations(project), pk=invitation_pk)
    invitation.revoke()
    return _show_invitations(request, project)


@require_POST
@toasts_refusals
def answer_request(request: Request, pk: int, invitation_pk: int) -> HttpResponse:
    """Of somebody who has an invitation that was sent to another address: the form names who was shown."""
    project = access.project(request, pk, Right.MANAGE)
    invitation = get_object_or_404(access.invitations(project), pk=invitation_pk)
    person = whole_number(request.POST.get("person", "")) or 0
    invitation.answer(person, lets_in="confirm" in request.POST, by=request.user)
    if "confirm" in request.POST:
        messages.success(request, f"{invitation.asked_by} is now a member.")
        return _to_people(request, project)
    return _show_invitations(request, project)


def _invitations_context(project: Project) -> dict[str, Any]:
    """What the page shows of invitations: the open ones and, for a month, those that are closed."""
    found = access.invitations(project).filter(expires_at__gt=timezone.now() - CLOSED_FOR)
    usable = set(found.usable().values_list("pk", flat=True))
    listed: list[Any] = list(found[:MOST_INVITATIONS])
    for each in listed:
        each.is_usable = each.pk in usable
    return {
        "invitations": listed,
        "invite_form": InviteForm(),
        "link_form": LinkForm(),
        "days": settings.INVITATION_DAYS,
        "has_mail": bool(settings.EMAIL_HOST),
    }


def _show_invitations(request: Request, project: Project, form: InviteForm | None = None, **more: Any) -> HttpResponse:
    context = {"project": project, **_invitations_context(project), **({"invite_form": form} if form else {}), **more}
    wrong = any(each.is_bound and each.errors for each in (context["invite_form"], context["link_form"]))
    return render(request, "projects/people/_invitations.html", context, status=422 if wrong else 200)


def address_of(request: Request, token: str) -> str:
    return request.build_absolute_uri(reverse("projects:invitation", args=[token]))


def _mail(request: Request, project: Project, invitation: Invitation, token: str) -> EmailMessage:
    context = {"project": project, "invitation": invitation, "link": address_of(request, token)}
    body = render_to_string("projects/people/invitation.txt", {**context, "host": request.get_host()})
    message = EmailMessage(f"Annotation Service: invitation to “{project}”", body, to=[invitation.address])
    message.about = invitation.by  # type: ignore[attr-defined] # as in mails of accounts
    return message


@login_not_required
@require_http_methods(["GET", "POST"])
def invitation(request: Request, token: str) -> HttpResponse:
    """The page behind the link of an invitation."""
    found = access.invitation_with(token)
    if not Invitation.objects.usable().filter(pk=found.pk).exists():
        return render(request, "projects/people/closed.html", {"invitation": found}, status=410)
    if not request.user.is_authenticated and "decline" not in request.POST:
        return _sign_up(request, found) if settings.LOCAL_ACCOUNTS else _show_invitation(request, found)
    return _answer(request, found) or _show_invitation(request, found)


@require_POST
def answer_invitation(request: Request, pk: int) -> HttpResponse:
    """To an invitation that is shown on the home page, because it was sent to an address of the person."""
    return _answer(request, get_object_or_404(access.invitations_to(request.user), pk=pk)) or redirect("home")


def _show_invitation(request: Request, invitation: Invitation, **more: Any) -> HttpResponse:
    member = invitation.project.members().filter(user=request.user.pk).first()
    has_account = not invitation.is_link and User.objects.with_address(invitation.address).exists()
    is_for = request.user.is_authenticated and invitation.is_for(request.user)
    context = {"invitation": invitation, "has_account": has_account, "member": member, "is_for": is_for, **more}
    status = 422 if request.method == "POST" else 200
    return render(request, "projects/people/invitation.html", context, status=status)


def _answer(request: Request, invitation: Invitation) -> HttpResponse | None:
    """``None`` for somebody who has only looked: nothing is accepted but by saying so."""
    if not {"accept", "decline"}.intersection(request.POST):
        return None
    try:
        if "decline" in request.POST:
            invitation.decline()
            messages.success(request, f"You have declined the invitation to “{invitation.project}”.")
        elif invitation.accept(request.user):
            return _welcome(request, invitation)
        else:
            messages.success(
                request,
                f"You have asked to join “{invitation.project}”. You find it here as soon as {invitation.by} or another"
                f" of its {roles.ROLES[roles.MANAGER].plural} has let you in.",
            )
    except Refused as error:
        messages.error(request, str(error))
    return redirect("home" if request.user.is_authenticated else "account_login")


def _sign_up(request: Request, invitation: Invitation) -> HttpResponse:
    form = InvitedForm(request.POST if "accept" in request.POST else None, address=invitation.address)
    if form.is_bound:
        attempts.count(request, [("signup", None)])
        if form.is_valid() and (person := _made(form, invitation)):
            login(request, person)
            return _welcome(request, invitation)
    return _show_invitation(request, invitation, form=form)


def _made(form: InvitedForm, invitation: Invitation) -> User | None:
    """The account, which is a member of the project, or nothing of both."""
    try:
        with write():
            person = form.save()
            invitation.accept(person)
            return person
    except Refused as error:
        form.add_error(None, str(error))
    except (ValidationError, IntegrityError):
        form.add_error(None, "Somebody else has just taken this name or address. Choose another one.")
    return None


def _welcome(request: Request, invitation: Invitation) -> HttpResponse:
    [project] = with_progress([invitation.project], request.user)
    welcome = f"Welcome to “{project}”. You are {roles.ROLES[invitation.role].one} in it."
    if project.is_own:
        items = words.plural(project.progress.left, "item,items") if project.progress.left else "no items"
        welcome += f" You have {items} to annotate."
    messages.success(request, welcome)
    return redirect("projects:page", pk=invitation.project_id)
