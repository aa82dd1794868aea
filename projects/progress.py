"""The figures that the home page and the project pages show: each page a fixed number of grouped queries."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from annotation_service import access as blueprint_access
from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.models import Job, User
from datasets.models import Annotation, Dataset, Entity, Mark, Relation, Upload
from ontologies.models import Ontology
from resources.models import ConstraintSet

from .models import Assignment, Membership, Project
from .roles import ROLES

RECENT = 5


def home(request: Request) -> dict[str, Any]:
    user = request.user
    projects = with_progress(Project.objects.filter(membership__user=user).order_by("-created_at")[:20], user)
    at_work = [Job.State.QUEUED, Job.State.RUNNING]
    context: dict[str, Any] = {
        "annotated": [project for project in projects if project.role.gets_items],
        "looked_after": [project for project in projects if not project.role.gets_items],
        "jobs": Job.objects.filter(by=user, state__in=at_work).order_by("-pk")[:RECENT],
        "unfinished": Upload.unfinished_of(user).select_related("dataset", "job").exclude(job__state__in=at_work),
    }
    if blueprint_access.can_create(user):
        ontologies = blueprint_access.blueprints(request, Ontology).filter(owner=user)
        datasets = blueprint_access.blueprints(request, Dataset).filter(owner=user)
        context |= {
            "ontologies": ontologies.with_size().order_by("-updated_at")[:RECENT],  # type: ignore[attr-defined]
            "datasets": datasets.order_by("-updated_at")[:RECENT],
        }
    return context


def with_progress(projects: Iterable[Project], user: User) -> list[Any]:
    """The projects with the user's ``role``, ``None`` for staff who are no member, their ``size`` in items, how many of these are
    ``given`` to the user, and how many of those are ``done``."""
    found: list[Any] = list(projects)
    own_roles = dict(Membership.objects.filter(project__in=found, user=user).values_list("project_id", "role"))
    sizes = dict(Dataset.objects.filter(project__in=found).values_list("project_id", "item_count"))
    mine = {"annotator": user, "item__dataset__project__in": found}
    assigned = _counts(Assignment.objects.filter(**mine), "item__dataset__project")
    done = _counts(_done().filter(**mine), "item__dataset__project")
    for project in found:
        project.role = ROLES.get(own_roles.get(project.pk, ""))
        project.size = sizes.get(project.pk, 0)
        given = sizes if project.annotators_per_item is None else assigned
        project.given = given.get(project.pk, 0) if project.role and Right.ANNOTATE in project.role.rights else 0
        project.done = done.get(project.pk, 0)
    return found


def overview(project: Project, user: User) -> dict[str, Any]:
    """What every member sees: the project's resources and their own progress."""
    [mine] = with_progress([project], user)
    ontologies = {ontology.kind: ontology for ontology in project.ontology_set.with_size()}
    constraints = project.constraint_sets()
    return {
        "mine": mine,
        "dataset": project.dataset,
        "entity_ontology": ontologies.get(Ontology.Kind.ENTITY),
        "relation_ontology": ontologies.get(Ontology.Kind.RELATION),
        "resources": [each for each in project.resources() if not isinstance(each, ConstraintSet)],
        "constraints": constraints,
        "lacking": [kind for kind in sorted(ontologies) if kind not in {each.kind for each in constraints}],
    }


def people(project: Project) -> list[Any]:
    """The members, by role and name, with whether each ``gets_items``, and with ``given``, ``done``, ``begun``, ``last_seen``."""
    members: list[Any] = list(project.membership_set.select_related("user").order_by("role", "user__username"))
    work = (
        Annotation.objects.filter(item__dataset__project=project, item__removed_at=None)
        .exclude(annotator=None)
        .values("annotator")
        .annotate(begun=Count("pk"), finished=Count("done_at"), last=Max(Coalesce("done_at", "started_at")))
    )
    by_person = {row["annotator"]: row for row in work}
    size = project.dataset.item_count
    live = Assignment.objects.filter(item__dataset__project=project, item__removed_at=None)
    assigned = _counts(live, "annotator") if project.annotators_per_item else {}
    for member in members:
        row = by_person.get(member.user_id, {"begun": 0, "finished": 0, "last": None})
        member.gets_items = ROLES[member.role].gets_items
        member.begun, member.done, member.last_seen = row["begun"], row["finished"], row["last"]
        member.given = size if project.annotators_per_item is None else assigned.get(member.user_id, 0)
    return members


def marks(project: Project) -> dict[str, Any]:
    """How many marks annotators made or accepted, which labels they carry most, and how many came with the dataset."""
    accepted = _marks_made_in(project) & Q(annotation__item__removed_at=None, status=Mark.Status.ACCEPTED)
    labels = {label.pk: label for label in project.entity_ontology.labels()}
    used = list(Entity.objects.filter(accepted).values_list("label").annotate(n=Count("pk")).order_by("-n", "label"))
    return {
        "items_done": _done().filter(item__dataset__project=project).values("item").distinct().count(),
        "item_count": project.dataset.item_count,
        "entities": sum(count for _, count in used),
        "relations": Relation.objects.filter(accepted).count(),
        "labels": [{"label": labels[pk], "count": count} for pk, count in used[:10]],
        "most": used[0][1] if used else 0,
        "unused": sum(label.active for label in labels.values()) - sum(labels[pk].active for pk, _ in used),
        "label_count": len(labels),
        **given_marks(project.dataset),
        "given_to": min(project.annotators_per_item or 0, project.annotators().count()),
    }


def given_marks(dataset: Dataset) -> dict[str, int]:
    """How many marks came with the items of a dataset."""
    of_live_items = {"annotation__annotator": None, "annotation__item__in": dataset.items().order_by()}
    return {
        "given_entities": Entity.objects.filter(**of_live_items).count(),
        "given_relations": Relation.objects.filter(**of_live_items).count(),
    }


def losses(project: Project) -> dict[str, Any]:
    """What goes when the project is deleted."""
    made = _marks_made_in(project)
    return {
        "items": project.dataset.item_count,
        "marks": Entity.objects.filter(made).count() + Relation.objects.filter(made).count(),
    }


def done_by(project: Project, user: User) -> int:
    return _done().filter(item__dataset__project=project, annotator=user).count()


def _marks_made_in(project: Project) -> Q:
    """The marks of people, unlike those that came with the dataset."""
    return Q(annotation__item__dataset__project=project, annotation__annotator__isnull=False)


def _done() -> QuerySet[Annotation]:
    return Annotation.objects.filter(item__removed_at=None, done_at__isnull=False, annotator__isnull=False)


def _counts(rows: QuerySet[Any], field: str) -> dict[int, int]:
    """How many rows there are for each value of a field."""
    return dict(rows.values_list(field).annotate(n=Count("pk")))
