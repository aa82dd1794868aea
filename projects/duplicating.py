"""A new project like one that is there, with copies of what it has."""

from typing import Any

from django.conf import settings

from annotation_service.blueprints import Right
from annotation_service.db import store, write
from annotation_service.http import PREANNOTATIONS
from annotation_service.inputs import Refused, clean_title
from annotation_service.models import Job, User
from datasets.models import Contents
from resources.models import PreannotationSet

from .models import ItemCounts, Membership, Project
from .progress import losses
from .roles import MANAGER

# What a duplicate has of its own.
OWN = {"id", "name", "created_by", "created_at", "updated_at", "archived_at", "deleted_at"}


def rows_of(project: Project, contents: str) -> int:
    """How many rows a duplicate writes, roughly."""
    dataset = project.dataset
    if contents == Contents.NOTHING:
        return 0
    if contents == Contents.EVERYBODY:
        return dataset.row_count + losses(project)["marks"]
    return dataset.row_count


def is_large(project: Project, contents: str) -> bool:
    return rows_of(project, contents) > settings.JOB_ROWS


def duplicate(
    project: Project,
    *,
    name: str,
    by: User,
    people: bool = False,
    contents: str = Contents.NOTHING,
    job: Job | None = None,
) -> Project:
    """All or nothing: its words, settings and resources, and what is wished of its people, items and marks. What is said about
    items, and the batches in which marks were made, stay behind."""
    with write():
        source = project.locked_as_it_is()
        if Right.KEEP not in source.rights_of(by):
            raise Refused("You do not manage this project any more.")
        if contents == Contents.EVERYBODY:
            for own in (*source.ontology_set.order_by("kind"), source.dataset):
                own.locked()  # before the items, as everybody does
            source.lock_items()  # marks and their relations are copied as of one moment
        copy = Project.objects.create(name=clean_title(name), created_by=by, **_settings(source))
        ItemCounts.objects.create(project=copy)
        _copy_people(source, copy, by, all_of_them=people)
        _copy_resources(source, copy, by, contents)
        copy.assign_items()
        if job:
            job.finish(url=copy.get_absolute_url(), text=f"The project “{copy}” is ready.")
    return copy


def _settings(project: Project) -> dict[str, Any]:
    fields = (field for field in project._meta.concrete_fields if field.name not in OWN)
    return {field.attname: getattr(project, field.attname) for field in fields}


def _copy_people(source: Project, copy: Project, by: User, *, all_of_them: bool) -> None:
    members = source.membership_set.filter(user__is_active=True).exclude(user=by).order_by("pk")
    own = source.membership_set.filter(user=by).first() or Membership(user=by)
    own.role = MANAGER
    for member in [own, *(members if all_of_them else ())]:
        Membership.objects.create(project=copy, user=member.user, role=member.role, shortcuts=member.shortcuts)


def _copy_resources(source: Project, copy: Project, by: User, contents: str) -> None:
    copies: dict[Any, Any] = {own: own.copy_to(copy, by=by) for own in source.ontology_set.order_by("kind")}
    theirs = {own.pk: new for own, new in copies.items()}
    dataset = source.dataset
    copies[dataset] = dataset.copy_to(
        copy, by=by, ontologies=theirs, contents=contents, given_status=dataset.given_status
    )
    sets = [each for each in source.resources() if PREANNOTATIONS.is_on or not isinstance(each, PreannotationSet)]
    ontologies = {new.kind: new for new in theirs.values()}
    copies |= {own: own.copy_to(copy, by=by, ontologies=ontologies) for own in sets}
    for own, new in copies.items():
        store(new, copied_from=own.copied_from)  # a blueprint: projects know nothing of each other
    if any(isinstance(each, PreannotationSet) for each in sets):
        copy.match_preannotations(by=by)
