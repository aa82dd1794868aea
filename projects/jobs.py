from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from django.http import Http404
from django.utils import timezone

from annotation_service.access import can_create
from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.jobs import Progress, cleanup, in_use, kind, purge
from annotation_service.models import Job, User, kept_file, new_file
from annotation_service.words import plural
from datasets.models import Dataset, Mark
from datasets.models.item import BIN
from ontologies.models import Ontology
from resources.models import FORMATS
from work.alike.undoing import undo
from work.models import Batch, Source
from work.models.batch import STORE, UNDO
from work.models.source import WITHDRAW
from work.placing import JOB as MATCH

from . import access, all_alike, bundle, item_views, work_export
from .assignment.by_hand import KEPT
from .assignment.rule import AssignmentRule
from .bundle_import import import_bundle
from .models import HandChange, Project


@kind("create_project")
def create_project(job: Job, progress: Progress) -> None:
    """Copy large blueprints into a new project. Whoever makes projects may use all of them."""
    _check_creator(job)
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
        **{name: target.get(name, 0) for name in ("overlap", "calibration")},
        given_marks=target.get("given_marks", Mark.Status.SUGGESTED),
    )


@kind("duplicate_project")
def duplicate_project(job: Job, progress: Progress) -> None:
    _check_creator(job)
    progress(0, 0, "copying")
    target = job.target
    project_of(job).duplicate(by=job.by, job=job, **{name: target[name] for name in ("name", "people", "contents")})


@purge
def empty_bin(seconds: float) -> int:
    """Delete for good what has been in the bin for long enough: its rows go in the steps that follow."""
    until = timezone.now() - BIN
    old = Project._base_manager.filter(deleted_at__lte=until).first()
    if old is None:
        return 0
    with suppress(Refused):  # somebody has taken it out just now
        old.erase_from_bin(deleted_until=until)
    return 1


def may_watch(request: Request, job: Job) -> None:
    """Whoever manages the project."""
    access.project(request, job.target["project"], Right.MANAGE)


@kind("assign", may_watch)
def assign(job: Job, progress: Progress) -> None:
    project = project_of(job)
    if not project.is_changing:
        progress(0, 0, "assigning")  # the last moment at which it can be cancelled
    if rule := job.target.get("rule"):
        project.set_rule(AssignmentRule(**rule), by=job.by, job=job, report=progress)
    elif job.target.get("pairs"):
        project.even_pairs(by=job.by, job=job, report=progress)
    else:
        text, url = "The items are shared out.", project.get_absolute_url()
        project.share_out(progress, finish=lambda: job.finish(text=text, url=url))


@kind("by_hand", may_watch)
def give_or_take(job: Job, progress: Progress) -> None:
    item_views.carry_out(project_of(job), job, progress)


@kind("undo_by_hand", may_watch)
def undo_by_hand(job: Job, progress: Progress) -> None:
    progress(0, 0, "assigning")
    project_of(job).undo_by_hand(job.target["change"], by=job.by, job=job, report=progress)


@cleanup
def go_on_sharing_out() -> None:
    """Where another rule has taken the place of one in a part of a project, and the job is not there any more."""
    for project in Project.objects.filter(next_below__gte=0, archived_at=None):
        if not Job.objects.filter(target__project=project.pk, kind="assign", finished_at=None).exists():
            with suppress(Refused), write():  # archived since a moment
                project.locked().assign_items()


@cleanup
def forget_hand_changes() -> None:
    """Delete what cannot be undone any more."""
    with write():
        HandChange.objects.filter(at__lt=timezone.now() - KEPT).delete()


@kind(MATCH, may_watch)
def match_preannotations(job: Job, progress: Progress) -> None:
    project_of(job).suggest(progress=progress, job=job)


@kind(WITHDRAW, may_watch)
def withdraw_suggestions(job: Job, progress: Progress) -> None:
    """Of a source that was switched off."""
    source = Source.objects.filter(pk=job.target["source"], dataset__project=project_of(job)).first()
    if source is None or source.is_on:
        raise Refused("The source is on again.")
    gone = source.withdraw(progress=progress)
    job.finish(url=source.get_absolute_url(), text=f"{plural(gone, 'suggestion,suggestions')} of “{source}” went.")


def reads(request: Request, job: Job) -> None:
    """Whoever reads the project."""
    access.project(request, job.target["project"], Right.READ)


def started_with(right: Right) -> Callable[[Request, Job], None]:
    """Whoever started it, while they have a right in the project."""

    def check(request: Request, job: Job) -> None:
        if job.by_id != request.user.pk:
            raise Http404
        access.project(request, job.target["project"], right)

    return check


@kind("bundle", started_with(Right.KEEP))
def make_bundle(job: Job, progress: Progress) -> None:
    project = project_of(job)
    with new_file() as (name, target):
        manifest = bundle.write(project, target, progress)
        target.flush()
        job.finish(file=name, name=bundle.file_name(project), text=bundle.in_words(manifest))


@kind("export_work", started_with(Right.KEEP))
def export_work(job: Job, progress: Progress) -> None:
    progress(0, 0, "writing")
    work_export.finish_export(job, project_of(job))


@kind("import_bundle")
def make_project_of_bundle(job: Job, progress: Progress) -> None:
    _check_creator(job)
    people, path = job.target["people"], kept_file(job.target["file"])
    accounts = User.objects.in_bulk(people.values())
    if not path.is_file() or accounts.keys() != {*people.values()}:
        raise Refused("The file or an account is not there any more. Upload the bundle again.")
    with path.open("rb") as file:
        matched = {name: accounts[pk] for name, pk in people.items()}
        import_bundle(file, manager=job.by, people=matched, progress=progress, job=job)
    path.unlink(missing_ok=True)


@in_use
def bundles_to_import() -> Iterator[str]:
    yield from Job.objects.filter(kind="import_bundle", finished_at=None).values_list("target__file", flat=True)


@kind(STORE, started_with(Right.ANNOTATE))
def store_batch(job: Job, progress: Progress) -> None:
    all_alike.carry_out(_batch(job), progress, job)


@kind(UNDO, started_with(Right.ANNOTATE))
def undo_batch(job: Job, progress: Progress) -> None:
    undo(_batch(job), progress, job)


def _check_creator(job: Job) -> None:
    if not can_create(job.by):
        raise Refused("Only project managers can do this.")


def _batch(job: Job) -> Batch:
    if batch := Batch.objects.select_related("dataset", "person").filter(pk=job.target["batch"]).first():
        return batch
    raise Refused("The project was deleted.")


def project_of(job: Job) -> Project:
    if project := Project.objects.filter(pk=job.target["project"]).first():
        return project
    raise Refused("The project was deleted.")
