from typing import Any

from django.http import Http404

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.jobs import Progress, kind
from annotation_service.models import Job, User, new_file
from datasets.models import Dataset
from datasets.suggesting.matching import JOB as MATCH
from ontologies.models import Ontology
from resources.models import FORMATS

from . import access, bundle
from .models import Project


@kind("create_project")
def create_project(job: Job, progress: Progress) -> None:
    """Copy large blueprints into a new project. The right to use them was checked when the job was started."""
    target = job.target
    models: dict[str, Any] = {"dataset": Dataset, "entity_ontology": Ontology, "relation_ontology": Ontology}
    sets = {name: model for name, (model, _) in FORMATS.items()}
    blueprints = {name: model.objects.filter(pk=target.get(name)).first() for name, model in (models | sets).items()}
    if any(target.get(name) and not blueprint for name, blueprint in blueprints.items()):
        raise Refused("A blueprint was deleted before it could be copied. Create the project anew.")
    progress(0, 0, "copying")
    Project.create(
        by=job.by,
        job=job,
        resources=[found for name in sets if (found := blueprints.pop(name))],
        annotators=list(User.objects.filter(pk__in=target["annotators"])),
        **blueprints,
        keep_violations=target.get("keep_violations", False),
        **{name: target[name] for name in ("name", "description", "guidelines", "annotators_per_item")},
    )


def may_watch(request: Request, job: Job) -> None:
    """Whoever manages the project."""
    access.project(request, job.target["project"], Right.MANAGE)


@kind(MATCH, may_watch)
def match_preannotations(job: Job, progress: Progress) -> None:
    _project(job).suggest(progress=progress, job=job)


def may_download(request: Request, job: Job) -> None:
    """Whoever started it, while they manage the project."""
    if job.by_id != request.user.pk:
        raise Http404
    access.project(request, job.target["project"], Right.MANAGE)


@kind("bundle", may_download)
def make_bundle(job: Job, progress: Progress) -> None:
    project = _project(job)
    with new_file() as (name, target):
        manifest = bundle.write(project, target, progress)
        target.flush()
        job.finish(file=name, name=bundle.file_name(project), text=bundle.in_words(manifest))


def _project(job: Job) -> Project:
    if project := Project.objects.filter(pk=job.target["project"]).first():
        return project
    raise Refused("The project was deleted.")
