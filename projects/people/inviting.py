"""Inviting people to a project: by mail, or by a link that the manager sends."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from annotation_service import attempts
from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused
from annotation_service.models import fold

from .. import access
from ..invitations import Invitation
from ..models import Project
from .forms import InviteForm, LinkForm

CLOSED_FOR = timedelta(days=30)  # how long those are listed that cannot be accepted any more
MOST = 500


@require_GET
def invitations(request: Request, pk: int) -> HttpResponse:
    return _show(request, access.project(request, pk, Right.MANAGE))


@require_POST
def by_mail(request: Request, pk: int) -> HttpResponse:
    """Write to each address. One that is invited already gets another link, and the first one ends."""
    project = access.project(request, pk, Right.MANAGE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _show(request, project, form=form)
    addresses, role = form.cleaned_data["addresses"], form.cleaned_data["role"]
    to_each = [("invite_address", fold(address)) for address in addresses]
    attempt = attempts.count(request, [("invite", str(request.user.pk))] * len(addresses) + to_each)
    try:
        with write():  # all or none
            made = [Invitation.make(project, role=role, by=request.user, address=address) for address in addresses]
    except Refused as error:
        attempt.rollback()
        form.add_error("addresses", error)
        return _show(request, project, form=form)
    # All at once: a mail server may limit how many connections one client has.
    get_connection().send_messages([_mail(request, project, *each) for each in made])
    return _show(request, project, sent=[invitation.address for invitation, _ in made])


@require_POST
def by_link(request: Request, pk: int) -> HttpResponse:
    """Make a link, which is shown this once."""
    project = access.project(request, pk, Right.MANAGE)
    form = LinkForm(request.POST)
    if form.is_valid():
        try:
            _, token = Invitation.make(project, role=form.cleaned_data["role"], by=request.user)
            return _show(request, project, link=_address(request, token))
        except Refused as error:
            form.add_error("role", error)
    return _show(request, project, link_form=form)


@require_POST
def revoke(request: Request, pk: int, invitation_pk: int) -> HttpResponse:
    project = access.project(request, pk, Right.MANAGE)
    invitation = get_object_or_404(access.invitations(project), pk=invitation_pk)
    try:
        invitation.revoke()
    except Refused as error:
        return refused(error)
    return _show(request, project)


def context_of(project: Project) -> dict[str, Any]:
    """What the page shows of invitations: the open ones and, for a month, those that are closed."""
    found = access.invitations(project).filter(expires_at__gt=timezone.now() - CLOSED_FOR)
    usable = set(found.usable().values_list("pk", flat=True))
    listed: list[Any] = list(found[:MOST])
    for each in listed:
        each.is_usable = each.pk in usable
    return {
        "invitations": listed,
        "invite_form": InviteForm(),
        "link_form": LinkForm(),
        "days": settings.INVITATION_DAYS,
        "has_mail": bool(settings.EMAIL_HOST),
    }


def _show(request: Request, project: Project, form: InviteForm | None = None, **more: Any) -> HttpResponse:
    context = {"project": project, **context_of(project), **({"invite_form": form} if form else {}), **more}
    wrong = any(each.is_bound and each.errors for each in (context["invite_form"], context["link_form"]))
    return render(request, "projects/people/_invitations.html", context, status=422 if wrong else 200)


def _address(request: Request, token: str) -> str:
    return request.build_absolute_uri(reverse("projects:invitation", args=[token]))


def _mail(request: Request, project: Project, invitation: Invitation, token: str) -> EmailMessage:
    context = {"project": project, "invitation": invitation, "link": _address(request, token)}
    body = render_to_string("projects/people/invitation.txt", {**context, "host": request.get_host()})
    return EmailMessage(f"Annotation Service: invitation to “{project}”", body, to=[invitation.address])
