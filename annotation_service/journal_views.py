"""The history of what is edited step by step, and taking its steps back."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django_htmx.http import reswap, retarget, trigger_client_event

from . import access
from .http import Request
from .inputs import Refused, whole_number
from .journal import Journaled, JournalRow, Step

View = Callable[..., HttpResponse]

SHOWN_CHANGES = 30
SHOWN_STEPS = 500
SHOWN_IN_SHORT = 3


def history_urls(
    reads: Callable[[View], View], acts: Callable[[View], View], changed: Callable[[HttpResponse, Any], HttpResponse]
) -> list[URLPattern]:
    """The addresses of a history, for an app that says how a thing is fetched to be read or changed, and how its page learns that
    it has changed."""

    def takes_back(view: View) -> View:
        def answer(request: Request, thing: Journaled, **options: Any) -> HttpResponse:
            return changed(view(request, thing, **options), thing)

        return acts(answer)

    return [
        path("undo/", takes_back(undo), name="undo"),
        path("redo/", takes_back(redo), name="redo"),
        path("history/", reads(history), name="history"),
        path("history/<int:version>/", reads(step), name="step"),
        path("history/<int:version>/revert/", takes_back(revert), name="revert"),
    ]


class HistoryEntry(NamedTuple):
    """A row of the history, with the first steps of its before and after."""

    change: JournalRow
    steps: list[Step]

    def in_short(self) -> list[Step]:
        """What the row shows without being opened; its head names the only item that was added or removed."""
        is_named = self.change.count == 1 and not any(step.field or step.in_short for step in self.steps)
        return [] if self.change.takes_back or is_named else self.steps[:SHOWN_IN_SHORT]

    def more(self) -> int:
        """How many items it does not show."""
        return 0 if self.change.takes_back or not self.steps else max(0, self.change.count - SHOWN_IN_SHORT)

    def is_cut(self) -> bool:
        shown = self.in_short()
        return self.more() > 0 or len(self.steps) > len(shown) > 0 or any(step.is_cut() for step in shown)


def history(request: Request, thing: Any) -> HttpResponse:
    """The dialog or, from a further step on, what follows in it."""
    start = whole_number(request.GET.get("start", ""), digits=9) or 0
    found = thing.history(start=start, size=SHOWN_CHANGES + 1)
    context = {
        "thing": thing,
        "entries": [HistoryEntry(*each) for each in found[:SHOWN_CHANGES]],
        "next": start + SHOWN_CHANGES if len(found) > SHOWN_CHANGES else None,
        "editable": access.can_edit(request.user, thing),
    }
    return render(request, f"journal/{'_history_entries' if start else '_history'}.html", context)


def step(request: Request, thing: Journaled, version: int) -> HttpResponse:
    """What one operation did: all of it, or to as many items as are shown at once."""
    change = _change(thing, version)
    context = {"steps": change.steps(limit=SHOWN_STEPS), "more": max(0, len(change.items) - SHOWN_STEPS)}
    return render(request, "journal/_steps.html", context)


def undo(request: Request, thing: Journaled) -> HttpResponse:
    """Undo the step that a toast has offered to undo or, without its version, the user's newest."""
    version = whole_number(request.GET.get("version", ""), digits=9) or 0
    return _taken_back(thing.undo_offered(version, by=request.user))


def redo(request: Request, thing: Journaled) -> HttpResponse:
    return _taken_back(thing.redo(by=request.user))


def _taken_back(done: JournalRow) -> HttpResponse:
    return trigger_client_event(HttpResponse(), "toast", {"text": done.outcome(), "kind": "success"})


def revert(request: Request, thing: Journaled, version: int) -> HttpResponse:
    """Revert one operation; answer with the history, or with the reason why not."""
    change = _change(thing, version)
    try:
        thing.revert(change, by=request.user)
    except Refused as error:
        context = {"change": change, "reason": error}
        return render(request, "journal/_not_reverted.html", context, status=422)
    return retarget(reswap(history(request, thing), "innerHTML"), "#dialog")


def _change(thing: Journaled, version: int) -> Any:
    return get_object_or_404(thing.changes.select_related("user"), version=version)
