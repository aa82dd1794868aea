"""The work in a project in the format of another program: what came with the items, what was decided, what people have marked."""

import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from typing import IO, Any
from urllib.parse import quote

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation_service import http, words
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.models import Job, User, new_file, start_job
from datasets.exports import Whose, count_losses, export_name, export_of, write_export, write_manifest, write_member
from datasets.formats import format_named
from datasets.formats.dataset_format import Export
from datasets.models import Annotation, Layer
from datasets.views.exporting import ExportForm, show_export

from . import access, progress
from .models import Project

ALL, GIVEN, GOLD = "all", "given", "gold"


def whose_choices(project: Project) -> list[tuple[str, str]]:
    """Whose marks can be written: a name as the command takes it, and what people read."""
    choices = [(ALL, "Everybody’s: a zip archive with a file for each person"), (GIVEN, "What came with the dataset")]
    if project.dataset.decided_items().exists():
        choices.append((GOLD, "The gold: what was decided"))
    return choices + [(f"@{person.username}", str(person)) for person in people_in(project)]


def people_in(project: Project) -> list[User]:
    """Those who have begun items."""
    begun = Annotation.objects.filter(annotator=OuterRef("pk"), item__dataset=project.dataset, started_at__isnull=False)
    return list(project.people().filter(Exists(begun)).order_by("username"))


def exports_of(project: Project, chosen: Mapping[str, Any]) -> Iterator[tuple[str, Export]]:
    """What is to be written, by the names of the people; with one export it has no name. Within a `snapshot`."""
    dataset, whose = project.dataset, chosen["whose"]
    if whose in (GIVEN, GOLD):
        voices = {"": Whose(Layer.GIVEN if whose == GIVEN else Layer.GOLD)}
    else:
        people = [each for each in people_in(project) if whose in (ALL, f"@{each.username}")]
        names = {"" if whose != ALL else each.username: each.pk for each in people}
        voices = {name: Whose(Layer.OWN, pk, chosen["suggested"]) for name, pk in names.items()}
    if not voices and whose != ALL:
        raise Refused(f"“{words.cut(whose, 60)}” has begun no item. Say {ALL}, {GIVEN}, {GOLD}, or @USER.")
    if not voices:
        raise Refused("Nobody has begun an item yet, so there are no marks to write.")
    for name, voice in voices.items():
        yield name, export_of(dataset, voice.items(dataset, done=chosen["done"]), voice)


def losses_of(project: Project, chosen: Mapping[str, Any]) -> list[str]:
    format = format_named(chosen["format"])
    with snapshot():
        counted = [(name, count_losses(format, export)) for name, export in exports_of(project, chosen)]
    return [f"{name}: {loss}" if name else loss for name, losses in counted for loss in losses]


def write_work(project: Project, chosen: Mapping[str, Any], target: IO[bytes]) -> list[str]:
    """Write a file or, of everybody, a zip archive with one for each; returns what was lost."""
    format = format_named(chosen["format"])
    with snapshot():
        exports = dict(exports_of(project, chosen))
        if "" in exports:
            write_export(format, exports[""], target)
        else:
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for name, export in exports.items():
                    write_member(archive, format, export, folder(name))
                write_manifest(archive, format, exports)
    return [f"{name}: {loss}" if name else loss for name, export in exports.items() for loss in export.losses()]


def folder(user_name: str) -> str:
    """The name of somebody's file in an archive, without what no file may be called."""
    return re.sub(r'^\.+|[\\/:*?"<>|%\0-\x1f]', lambda found: quote(found[0], safe="").replace(".", "%2E"), user_name)


def file_name(project: Project, chosen: Mapping[str, Any]) -> str:
    name, whose = export_name(format_named(chosen["format"]), project.name), chosen["whose"].removeprefix("@")
    stem, _, extension = name.rpartition(".")
    return f"{stem}-{folder(whose)}.{'zip' if whose == ALL else extension}"


@require_http_methods(["GET", "POST"])
def export_work(request: Request, pk: int) -> HttpResponseBase:
    project = access.project(request, pk, Right.KEEP)
    form = ExportForm(request.POST if request.method == "POST" else request.GET, whose_choices(project))
    if request.method == "GET" or not form.is_valid():
        return _dialog(request, form, project)
    try:
        made = export_or_start(request, project, form.cleaned_data)
    except Refused as error:
        form.add_error("whose", error)
        return _dialog(request, form, project)
    return redirect("job", pk=made.pk) if isinstance(made, Job) else made


def export_or_start(request: Request, project: Project, chosen: Mapping[str, Any]) -> HttpResponseBase | Job:
    """The file or, of many rows, the job that writes it."""
    if rows_of(project) > settings.JOB_ROWS:
        target = {"project": project.pk, **chosen}
        return start_job("export_work", title=f"Export “{project}”", by=request.user, target=target)
    return http.download(request, lambda target: write_work(project, chosen, target), file_name(project, chosen))


def rows_of(project: Project) -> int:
    return int(progress.losses(project)["marks"] + project.dataset.item_count)


def _dialog(request: Request, form: ExportForm, project: Project) -> HttpResponse:
    return show_export(request, form, project.name, rows_of(project), partial(losses_of, project))


def finish_export(job: Job, project: Project) -> None:
    """The work of the job."""
    with new_file() as (name, target):
        losses = write_work(project, job.target, target)
        target.flush()
        job.finish(file=name, name=file_name(project, job.target), text="; ".join(losses) or "Nothing is lost.")
