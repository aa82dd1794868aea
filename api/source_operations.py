"""Where suggestions come from: programs that bring theirs, what became of it, and switching a source off."""

from collections.abc import Iterable
from typing import Any

from django.core.files import File
from django.shortcuts import get_object_or_404

from annotation_service.blueprints import Right
from annotation_service.inputs import blocks, lines_of
from annotation_service.models import Job
from projects import access
from projects.models import Project
from projects.source_pages import labelled_figures
from work.models import Source

from .operations import FILE, ApiSection, Call, Rows, attributes

SOURCES = "projects/<int:project>/sources"
SOURCE = f"{SOURCES}/<str:source>"
MAX_LINE = 5_000_000  # characters
sources = ApiSection("Sources of suggestions")


def _source(found: Project, name: str) -> Source:
    return get_object_or_404(Source, dataset=found.dataset, name=name)


def show_source(source: Source) -> dict[str, Any]:
    return attributes(source, "name kind version is_on created_at updated_at")


@sources.list(SOURCES, "Source")
def list_sources(call: Call, project: int) -> Rows:
    """List what suggests marks in a project: the history, preannotations, and programs."""
    found = access.project(call, project, Right.READ)
    return Rows(Source.objects.filter(dataset=found.dataset), lambda some: map(show_source, some))


@sources.get(SOURCE, "SourceFigures")
def get_source(call: Call, project: int, source: str) -> Any:
    """Read what became of the suggestions of a source, label by label."""
    found = access.project(call, project, Right.READ)
    own = _source(found, source)
    labels = [
        {"label": label.fullname, "uid": label.uid, **figures._asdict()}
        for label, figures in labelled_figures(found, own)
    ]
    return {**show_source(own), "labels": sorted(labels, key=lambda each: str(each["label"]))}


@sources.patch(SOURCE, "SourceChange", "Source", long=True, pages="projects:switch_source")
def change_source(call: Call, project: int, source: str) -> Any:
    """Switch a source off, with which all go that it has suggested and nobody has decided about; or on."""
    own = _source(access.project(call, project, Right.MANAGE), source)
    job: Job | None = own.switch(call.sent["is_on"], by=call.user)
    own.refresh_from_db()
    return job or show_source(own)


@sources.put(f"{SOURCE}/suggestions", FILE, "Suggested", query="model_version finish")
def put_suggestions(call: Call, project: int, source: str) -> Any:
    """Suggest marks, some items at a time, a line of JSON for each.

    A line is ``{"external_id", "entities": [{"id", "start", "end", "label", "score"}], "relations": [{"source_id", "target_id",
    "label", "score"}]}``, with tokens, or with the characters ``start_char`` and ``end_char``. It has all that is suggested on
    its item: what the source has suggested there before goes, unless somebody has decided about it. What was rejected is not
    suggested again. What stands there already, be it of another source, counts as unchanged and stays with whom it is of. Each
    suggestion that is not made is told with its line, its place and the reason; after more than 10,000 of them nothing more is
    read. Sent again it changes nothing. With ``finish=1`` all of a version has come: what is left of older ones goes.
    """
    found = access.project(call, project, Right.MANAGE)
    own = Source.of(found.dataset, source)
    outcome = own.suggest(_lines(call.sent), version=call.asked["model_version"] or "", by=call.user)
    left = own.finish(by=call.user) if call.asked["finish"] else 0
    refused = [each._asdict() for each in sorted(outcome.refused)]
    return {**attributes(outcome, "made unchanged"), "withdrawn": outcome.withdrawn + left, "refused": refused}


def _lines(file: File) -> Iterable[str]:
    """Those of a body; one that is too long is cut, and refused as no JSON."""
    file.seek(0)
    return (text or "{" * bool(length) for _, text, length in lines_of(blocks(file), MAX_LINE))
