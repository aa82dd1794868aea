import logging
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.contrib.sessions.backends.base import UpdateError
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import escape_uri_path
from django.views import defaults
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import trigger_client_event

from . import access, words
from .blueprints import PagedBlueprint
from .db import Trouble, trouble
from .file_formats import by_noun
from .http import Request, download
from .middleware import too_large
from .models import Job, JobState, kept_file
from .paging import named, search_text
from .templatetags.help import Answer

log = logging.getLogger(__name__)
RETRY_AFTER, RETRY_SLOW_AFTER = 5, 60  # seconds
TITLES = {Trouble.FULL: "No room left on the server", Trouble.SLOW: "Too much at once"}
HELP = {"manager": "For project managers", "everybody": "For everybody", "annotator": "For annotators"}


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer for an error that nobody has caught: 507 for a full disk, 503 if the database is away, else 500."""
    error = sys.exc_info()[1]
    reason = trouble(error)
    if reason is None:
        return defaults.server_error(request)
    address = escape_uri_path(request.path)  # as in the address bar: no line of the log is forged
    log.warning("%s %s: %s: %s", request.method, address, reason.name, " ".join(str(error).split()))
    response: HttpResponse
    if request.headers.get("Accept") == "application/json":
        response = JsonResponse({"error": reason.value})
    elif "HX-Request" in request.headers:
        response = HttpResponse(reason.value, content_type="text/plain")  # which static/js/app.js shows
    else:
        passes = reason in {Trouble.LOST, Trouble.BUSY}
        context = {"reason": reason, "title": TITLES.get(reason, "One moment"), "passes": passes}
        response = HttpResponse(render_to_string("503.html", _sent(request) | context))
    response.status_code = 507 if reason is Trouble.FULL else 503
    response["Retry-After"] = str(RETRY_SLOW_AFTER if reason is Trouble.SLOW else RETRY_AFTER)
    response.trouble = reason  # type: ignore[attr-defined]
    response._has_been_logged = True  # type: ignore[attr-defined] # or Django adds a traceback
    return response


def _sent(request: HttpRequest) -> dict[str, object]:
    """What somebody sent by a form, so that they can send it again: not files, and no passwords."""
    if "_post" not in vars(request) or any("password" in name for name in request.POST):
        return {"method": request.method}
    fields = [(name, value) for name, values in request.POST.lists() for value in values]
    return {
        "method": request.method,
        "address": request.get_full_path(),
        "fields": fields,
        "files": list(request.FILES),
    }


@require_GET
def help_page(request: Request) -> HttpResponse:
    """Questions and answers for everybody, beginning with those of one's own role."""
    names = list(HELP) if access.can_create(request.user) else reversed(HELP)
    return render(
        request, "help/page.html", {"section": "help", "parts": [_help_part(request, name) for name in names]}
    )


def _help_part(request: Request, name: str) -> dict[str, Any]:
    questions: list[Answer] = []  # filled by the answers
    answers = render_to_string(f"help/_{name}.html", {"questions": questions, "formats": by_noun()}, request)
    return {"name": name, "title": HELP[name], "answers": answers, "questions": questions}


@require_GET
def show_job(request: Request, pk: int) -> HttpResponse:
    job = access.job(request, pk)
    if "page" in job.target:  # what the job works for has a page that shows it, too
        return redirect(job.target["page"])
    if job.state == JobState.DONE and "url" in job.result:
        announce_once(request, job)
        return redirect(job.result["url"])
    return render(request, "jobs/job.html", _context(job))


@require_GET
def job_progress(request: Request, pk: int) -> HttpResponse:
    """The progress alone, asked for every second; once the job is over, the page is loaded again and nothing is asked any more:
    a second load would take the message from the first."""
    job = access.job(request, pk)
    answer = render(request, "jobs/_progress.html", _context(job))
    return trigger_client_event(answer, "reload", after="swap") if job.is_over else answer


@require_POST
def cancel_job(request: Request, pk: int) -> HttpResponse:
    access.job(request, pk).request_cancel()
    return redirect("job", pk=pk)


@require_GET
def job_file(request: Request, pk: int) -> HttpResponseBase:
    job = access.job(request, pk)
    path = kept_file(job.result.get("file", ""))
    if job.state != JobState.DONE or not path.is_file():
        raise Http404("The file is kept for a day. Make it again.")
    return download(request, path, job.result["name"])


def announce_once(request: Request, job: Job) -> None:
    """Leave the message of a finished job for the next page, unless this session has had it already."""
    announced = request.session.get("announced_jobs", [])
    if job.result.get("text") and job.pk not in announced:
        request.session["announced_jobs"] = [*announced[-49:], job.pk]
        messages.success(request, job.result["text"])
        with suppress(DatabaseError, UpdateError):  # then it is told once more: without room, reading works on
            request.session.save()
        request.session.modified = False


def bad_request(request: Request, exception: Exception) -> HttpResponse:
    """What Django refuses to read: too much text in a form, or what only scripts send."""
    if isinstance(exception, RequestDataTooBig):
        most = words.size(settings.MAX_PASTED_BYTES)
        return too_large(request, f"A text can have {most} at most. Go back and send it as a file instead.")
    return defaults.bad_request(request, exception)


def _context(job: Job) -> dict[str, object]:
    problems = [{"place": place, "text": text} for place, text in job.errors.get("problems", [])]
    return {"job": job, "problems": problems}


# --- The command palette: each app adds what can be found of its own to `finders` ---------------------------------------------

MOST = 6
"""Hits of each kind."""


class Hit(NamedTuple):
    kind: str  # the heading that it stands below
    title: str
    note: str  # tells it from others of the same title
    url: str
    color: str = ""


Finder = Callable[[Request, str], Iterable[Hit]]
finders: list[Finder] = []


def blueprints_and_copies(kind: str, model: type[PagedBlueprint]) -> Finder:
    """Finds, by their names, the blueprints and projects' copies of a model that the user may look at, the last changed first."""

    def find(request: Request, text: str) -> Iterable[Hit]:
        found = named(access.all_readable(request, model), text).select_related("project", "owner")
        for thing in found.order_by("-updated_at", "-pk")[:MOST]:
            note = f"in the project “{thing.project}”" if thing.project else f"blueprint of {thing.owner}"
            yield Hit(kind, thing.name, note, thing.get_absolute_url())

    return find


def find_help(request: Request, text: str) -> Iterable[Hit]:
    """Answers whose question, or the further words to find them by, contain all of the text."""
    wanted = text.casefold().split()
    parts = [_help_part(request, name) for name in HELP]
    found = [answer for part in parts for answer in part["questions"] if all(word in answer.words for word in wanted)]
    return [Hit("Help", answer.question, "", f"{reverse('help')}#{answer.anchor}") for answer in found[:MOST]]


@require_GET
def find(request: Request) -> JsonResponse:
    text = search_text(request)
    hits = [hit._asdict() for finder in [*finders, find_help] for hit in finder(request, text)] if text else []
    return JsonResponse({"hits": hits})
