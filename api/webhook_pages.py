"""The pages of a project's webhooks: where what is told, and how that went."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from annotation_service.blueprints import Right
from annotation_service.events import EVENTS
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.paging import Page
from projects import access
from projects.forms import refusals_in

from .webhooks import Delivery, Webhook


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="Address",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/hook"}),
        help_text="Gets a POST request for each event. It must begin with https://.",
    )
    events = forms.MultipleChoiceField(
        choices=lambda: [(each.name, f"{each.name}: {each.about}") for _, each in sorted(EVENTS.items())],
        widget=forms.CheckboxSelectMultiple,
    )


def webhook_of(request: Request, project: int, pk: int) -> Webhook:
    """One of a project that the user manages."""
    found = access.project(request, project, Right.MANAGE)
    return get_object_or_404(Webhook.objects.select_related("project", "created_by"), project=found, pk=pk)


def delivery_of(request: Request, project: int, webhook: int, pk: int) -> Delivery:
    own = webhook_of(request, project, webhook)
    return get_object_or_404(Delivery.objects.select_related("webhook"), webhook=own, pk=pk)


def _to_page(webhook: Webhook) -> HttpResponse:
    return redirect("api:webhook", pk=webhook.project_id, webhook_pk=webhook.pk)


def _send(request: Request, webhook: Webhook, send: Callable[[], object]) -> HttpResponse:
    try:
        send()
        messages.success(request, "It is on its way.")
    except Refused as error:
        messages.error(request, str(error))
    return _to_page(webhook)


@require_http_methods(["GET", "POST"])
def webhooks(request: Request, pk: int) -> HttpResponse:
    """All of a project, and the form for another."""
    project = access.project(request, pk, Right.MANAGE)
    form = WebhookForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusals_in(form):
            made = Webhook.make(project, by=request.user, **form.cleaned_data)
            messages.success(request, "It is told from now on. Give the receiver its secret, and send a test event.")
            return _to_page(made)
    context = {"section": "projects", "project": project, "form": form, "webhooks": project.webhooks.all()}
    return render(request, "api/webhooks.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
def webhook(request: Request, pk: int, webhook_pk: int) -> HttpResponse:
    """One with its form and the log of what it was told; the log alone for a script that looks how it went on."""
    own = webhook_of(request, pk, webhook_pk)
    initial = {"url": own.url, "events": own.events}
    form = WebhookForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with refusals_in(form):
            own.change(**form.cleaned_data)
            messages.success(request, "Saved.")
            return _to_page(own)
    page = Page.of(own.deliveries.all(), request.GET.get("page"))
    # Soon, for somebody who waits: not what is tried again in hours.
    moves = own.is_on and any(each.next_at and each.attempts <= 1 for each in page)
    context: dict[str, Any] = {"section": "projects", "project": own.project, "webhook": own, "form": form}
    context |= {"page": page, "moves": moves}
    is_part = request.htmx and request.htmx.target == "deliveries"
    template = "api/_deliveries.html" if is_part else "api/webhook.html"
    return render(request, template, context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "POST"])
def secret(request: Request, pk: int, webhook_pk: int) -> HttpResponse:
    """The secret, for those who ask for it; a POST makes another."""
    own = webhook_of(request, pk, webhook_pk)
    if request.method == "POST":
        own.renew_secret()
    return render(request, "api/_secret.html", {"webhook": own, "is_new": request.method == "POST"})


@require_POST
def ping(request: Request, pk: int, webhook_pk: int) -> HttpResponse:
    own = webhook_of(request, pk, webhook_pk)
    return _send(request, own, own.ping)


@require_POST
def switch(request: Request, pk: int, webhook_pk: int) -> HttpResponse:
    own = webhook_of(request, pk, webhook_pk)
    if (wanted := request.POST.get("is_on")) in ("0", "1"):
        own.change(is_on=wanted == "1")
    return _to_page(own)


@require_http_methods(["GET", "POST"])
def delete(request: Request, pk: int, webhook_pk: int) -> HttpResponse:
    own = webhook_of(request, pk, webhook_pk)
    if request.method == "GET":
        return render(request, "api/_delete_webhook.html", {"webhook": own})
    own.erase()
    messages.success(request, "The webhook is deleted.")
    return HttpResponseClientRedirect(reverse("api:webhooks", args=[pk]))


@require_POST
def send_again(request: Request, pk: int, webhook_pk: int, delivery_pk: int) -> HttpResponse:
    delivery = delivery_of(request, pk, webhook_pk, delivery_pk)
    return _send(request, delivery.webhook, delivery.send_again)


_OF_ONE = "projects/<int:pk>/webhooks/<int:webhook_pk>/"
urls = [
    path("projects/<int:pk>/webhooks/", webhooks, name="webhooks"),
    path(_OF_ONE, webhook, name="webhook"),
    path(f"{_OF_ONE}secret/", secret, name="webhook_secret"),
    path(f"{_OF_ONE}ping/", ping, name="ping_webhook"),
    path(f"{_OF_ONE}switch/", switch, name="switch_webhook"),
    path(f"{_OF_ONE}delete/", delete, name="delete_webhook"),
    path(f"{_OF_ONE}deliveries/<int:delivery_pk>/again/", send_again, name="send_again"),
]
