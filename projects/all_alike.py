"""All alike in a project: what its annotators may have done at once, and on which of their items."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from annotation_service import jobs
from annotation_service.db import among, write
from annotation_service.inputs import Refused
from annotation_service.models import Job, User
from datasets.importing.document import Progress
from datasets.models.item import ItemQuerySet
from work.alike import preview as previews
from work.alike.asked import Asked, candidates
from work.alike.places import Place
from work.alike.preview import Preview
from work.alike.storing import Storing
from work.models import Batch
from work.models.batch import STORE
from work.own_items import OwnItems

from .models import Project

MAX_ITEMS = 100


def preview(project: Project, person: User, values: Mapping[str, Any]) -> Preview:
    dataset = project.dataset
    return previews.preview(Asked.of(dataset, values), dataset, _items(project, person, values), person)


def next_page(project: Project, person: User, values: Mapping[str, Any]) -> tuple[list[Place], str | None]:
    dataset, items = project.dataset, _items(project, person, values)
    return previews.next_page(Asked.of(dataset, values), dataset, items, person, values["after"])


def apply(project: Project, person: User, values: Mapping[str, Any]) -> Batch:
    """Do it as a batch: at once, or by a job if many items are to be looked through."""
    dataset = project.dataset
    asked = Asked.of(dataset, values)
    items = len(candidates(asked, _items(project, person, values), person))
    with write():
        batch = Batch.objects.create(
            dataset=dataset,
            person=person,
            verb=asked.verb,
            kind=asked.kind,
            label=asked.label.uid,
            words=asked.words,
            asked=dict(values),
        )
        job = batch.start_job(STORE, f"All alike: “{asked.words}”", items=items)
    if job:
        jobs.run_here(job)
        batch.refresh_from_db()
    return batch


def carry_out(batch: Batch, progress: Progress, job: Job) -> None:
    """Store what a batch is for, or the rest of it."""
    project = Project.objects.filter(dataset=batch.dataset).first()
    if project is None:
        raise Refused("The project was deleted.")

    def given() -> ItemQuerySet:
        batch.check_person()
        return Project.objects.get(dataset=batch.dataset).items_for(batch.person)  # by the rule that it has now

    Storing(batch, _items(project, batch.person, batch.asked), given).run(progress, job)


def _items(project: Project, person: User, values: Mapping[str, Any]) -> ItemQuerySet:
    """Of the items given to the person those that are meant: some, those of a filter, or all."""
    items = project.items_for(person)
    if "items" in values:
        keys = values["items"]
        if not all(type(key) is int for key in keys) or len(keys) > MAX_ITEMS:
            raise Refused(f"The items are at most {MAX_ITEMS} numbers.")
        items = items.filter(pk__in=among(keys))
    if "filter" in values:
        if "%00" in values["filter"]:
            raise Refused("The NUL character is not text.", place="$.filter")
        found = OwnItems.read(
            QueryDict(values["filter"]),
            dataset=project.dataset,
            given=items,
            person=person,
            ontologies=project.ontology_set.order_by("kind"),
        )
        items = found.matching()
    return items
