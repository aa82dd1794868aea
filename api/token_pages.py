"""The page of one's tokens, on which programs are let in and shut out again."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation_service.blueprint_views import NameField
from annotation_service.http import Request
from projects import access
from projects.forms import refusals_in

from .models import Scope, Token

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "A year", "": "Until it is revoked"}
SHOWN = 200


class TokenForm(forms.Form):
    name = NameField(help_text="What it is for, such as “nightly export”.")
    scope = forms.ChoiceField(choices=Scope.choices, label="May", initial=Scope.READ)
    project: Any = forms.ModelChoiceField(
        None,
        required=False,
        empty_label="All that I may see",
        label="Where",
        help_text="In one project, or everywhere.",
    )
    lasts = forms.ChoiceField(choices=list(LIFETIMES.items()), required=False, label="Lasts", initial="90")

    def __init__(self, request: Request) -> None:
        super().__init__(request.POST if request.method == "POST" else None)
        chosen: Any = self.fields["project"]
        chosen.queryset = access.projects(request.user).order_by("name", "pk")

    def values(self) -> dict[str, Any]:
        """What `Token.make` takes."""
        values = dict(self.cleaned_data)
        days = values.pop("lasts")
        return {**values, "expires_at": timezone.now() + timedelta(days=int(days)) if days else None}


@require_http_methods(["GET", "POST"])
def tokens(request: Request) -> HttpResponse:
    """One's tokens. A new one is shown this once."""
    form, made, secret = TokenForm(request), None, ""
    if form.is_valid():
        with refusals_in(form):
            made, secret = Token.make(request.user, **form.values())
            request.method = "GET"
            form = TokenForm(request)
    own = Token.objects.filter(user=request.user).select_related("project")[:SHOWN]
    context = {"section": "account", "form": form, "tokens": own, "made": made, "secret": secret}
    return render(request, "api/tokens.html", context, status=422 if form.is_bound else 200)


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    token = get_object_or_404(Token, pk=pk, user=request.user)
    token.revoke()
    messages.success(request, f"“{token}” lets nobody in any more.")
    return redirect("api:tokens")
