"""What somebody does with an invitation: accept it, make an account by it, or decline it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation_service import attempts, words
from annotation_service.accounts import InvitedForm
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import User

from .. import access, roles
from ..invitations import Invitation
from ..progress import with_progress


@login_not_required
@require_http_methods(["GET", "POST"])
def invitation(request: Request, token: str) -> HttpResponse:
    """The page behind the link of an invitation."""
    found = access.invitation_with(token)
    if not Invitation.objects.usable().filter(pk=found.pk).exists():
        return render(request, "projects/people/closed.html", {"invitation": found}, status=410)
    if request.method == "POST" and "decline" in request.POST:
        return _decline(request, found)
    if request.user.is_authenticated:
        return _accept(request, found) if request.method == "POST" else _show(request, found)
    return _sign_up(request, found)


@require_POST
def answer(request: Request, pk: int) -> HttpResponse:
    """To an invitation that is shown on the home page, because it was sent to an address of the person."""
    found = get_object_or_404(access.invitations_to(request.user), pk=pk)
    return _decline(request, found) if "decline" in request.POST else _accept(request, found)


def _show(request: Request, invitation: Invitation, **more: Any) -> HttpResponse:
    form = more.get("form")
    member = invitation.project.members().filter(user=request.user.pk).first()
    has_account = not invitation.is_link and User.objects.with_address(invitation.address).exists()
    context = {"invitation": invitation, "has_account": has_account, "member": member, **more}
    return render(request, "projects/people/invitation.html", context, status=422 if form and form.is_bound else 200)


def _accept(request: Request, invitation: Invitation) -> HttpResponse:
    try:
        invitation.accept(request.user)
    except Refused as error:
        messages.error(request, str(error))
        return redirect("home")
    return _welcome(request, invitation)


def _decline(request: Request, invitation: Invitation) -> HttpResponse:
    try:
        invitation.decline()
        messages.success(request, f"You have declined the invitation to “{invitation.project}”.")
    except Refused as error:
        messages.error(request, str(error))
    return redirect("home" if request.user.is_authenticated else "account_login")


def _sign_up(request: Request, invitation: Invitation) -> HttpResponse:
    form = InvitedForm(request.POST if request.method == "POST" else None, address=invitation.address)
    if request.method == "POST":
        attempts.count(request, [("signup", None)])
        if form.is_valid() and (person := _made(form, invitation)):
            login(request, person)
            return _welcome(request, invitation)
    return _show(request, invitation, form=form)


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
