"""Who a token lets in, and the long work that goes on."""

from typing import Any

from django.db.models import Q
from django.http.response import HttpResponseBase

from annotation_service import access
from annotation_service.models import Job
from annotation_service.views import job_file

from .models import Scope
from .operations import ApiSection, Call, Rows, attributes, project_of, show_job

jobs = ApiSection("Jobs")
project_of["job"] = lambda pk: Job.objects.filter(pk=pk).values_list("target__project", flat=True).first()


@jobs.get("me", "Me")
def me(call: Call) -> Any:
    """Who the token lets in, and what for."""
    token = call.token
    return {
        "user": call.user.username,
        "creates_projects": access.can_create(call.user),
        "staff": call.user.is_staff,
        "token": {**attributes(token, "name scope expires_at"), "project": token.project_id},
    }


@jobs.list("jobs", "Job")
def list_jobs(call: Call) -> Rows:
    """The jobs that the person has started, the oldest first; none of projects that they are not in any more."""
    seen = Q(target__project__isnull=True) | Q(target__project__in=access.projects_seen_by(call.user))
    return Rows(Job.objects.filter(seen, by=call.user), lambda jobs: map(show_job, jobs))


@jobs.get("jobs/<int:job>", "Job")
def get_job(call: Call, job: int) -> Job:
    """How far a job is. With the header “Prefer: wait=10” the answer waits until it is over, for 10 seconds at most."""
    return access.job(call, job)


@jobs.file("jobs/<int:job>/file")
def get_job_file(call: Call, job: int) -> HttpResponseBase:
    """What a job has made to be downloaded."""
    return job_file(call, job)


@jobs.post("jobs/<int:job>/cancel", answer="Job", scope=Scope.ANNOTATE, pages="cancel_job")
def cancel_job(call: Call, job: int) -> Job:
    """Stop a job: before it has begun to save."""
    found = access.job(call, job)
    found.request_cancel()
    found.refresh_from_db()
    return found
