from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import trigger_client_event

from . import access
from .downloads import download
from .http import Request
from .models import Job, kept_file


@require_GET
def show_job(request: Request, pk: int) -> HttpResponse:
    job = access.job(request, pk)
    if "page" in job.target:  # what the job works for has a page that shows it, too
        return redirect(job.target["page"])
    if job.state == Job.State.DONE and "url" in job.result:
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
    if job.state != Job.State.DONE or not path.is_file():
        raise Http404("The file is kept for a day. Make it again.")
    return download(request, path, job.result["name"])


def announce_once(request: Request, job: Job) -> None:
    """Leave the message of a finished job for the next page, unless this session has had it already."""
    announced = request.session.get("announced_jobs", [])
    if job.result.get("text") and job.pk not in announced:
        request.session["announced_jobs"] = [*announced[-49:], job.pk]
        messages.success(request, job.result["text"])


def _context(job: Job) -> dict[str, object]:
    problems = [{"place": place, "text": text} for place, text in job.errors.get("problems", [])]
    return {"job": job, "problems": problems}
