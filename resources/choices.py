"""The dialog in which a label is picked."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from annotation_service.http import Request
from ontologies.labels import Label, Labels

SHOWN_CHOICES = 200


class Choice(NamedTuple):
    """A label in a dialog: ``name`` and ``value`` are sent if it is picked, unless there is a reason ``why_not``. Then it
    may have a ``link`` instead."""

    label: Label
    name: str
    value: str
    is_picked: bool = False
    why_not: str = ""
    link: str = ""


def wanted(request: Request, labels: Labels) -> Iterable[Label]:
    """Those that are looked for."""
    text = _searched(request)
    return labels.find_best_first(text) if text.strip() else labels


def _searched(request: Request) -> str:
    return (request.POST if request.method == "POST" else request.GET).get("q", "")[: settings.MAX_SEARCH_CHARACTERS]


def offer(request: Request, found: Iterable[Choice]) -> dict[str, Any]:
    """What the dialog shows of these choices."""
    left = iter(found)
    return {"choices": list(islice(left, SHOWN_CHOICES)), "more": sum(1 for _ in left), "searched": _searched(request)}


def dialog(request: Request, context: dict[str, Any]) -> HttpResponse:
    """The dialog or, while somebody searches in it, its labels."""
    return render(request, f"resources/{'_choices' if 'q' in request.GET else '_pick'}.html", context)
