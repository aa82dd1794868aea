"""The figures that the home page and the project pages show: each page a fixed number of grouped queries."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from annotation_service import access
from annotation_service.http import Request
from annotation_service.models import Job, User
from datasets.models import Annotation, Dataset, Entity, Mark, Relation, Upload
from ontologies.models import Ontology

from . import roles
from .access import projects as projects_seen
from .models import Assignment, Membership, Project

RECENT = 5


def home(request: Request) -> dict[str, Any]:
    user = request.user
    own = projects_seen(request).filter(pk__in=Membership.objects.filter(user=user).values("project"))
    projects = with_progress(own.order_by("-created_at")[:20], user)
    at_work = [Job.State.QUEUED, Job.State.RUNNING]
    context: dict[str, Any] = {
        "managed": [p for p in projects if p.role == roles.MANAGER],
        "annotated": [p for p in projects if p.role == roles.ANNOTATOR],
        "jobs": Job.objects.filter(by=user, state__in=at_work).order_by("-pk")[:RECENT],
        "unfinished": Upload.unfinished_of(user).select_related("dataset", "job").exclude(job__state__in=at_work),
    }
    if access.can_create(user):
        ontologies = access.blueprints(request, Ontology).filter(owner=user)
        datasets = access.blueprints(request, Dataset).filter(owner=user)
        context |= {
            "ontologies": ontologies.with_size().order_by("-updated_at")[:RECENT],  # type: ignore[attr-defined]
            "datasets": datasets.order_by("-updated_at")[:RECENT],
        }
    return context


def with_progress(projects: Iterable[Project], user: User) -> list[Any]:
    """The projects with ``role``, ``None`` for staff who are no member, and how much of what the user was given is done:
    ``given``, ``done``."""
    found: list[Any] = list(projects)
    own_roles = dict(Membership.objects.filter(project__in=found, user=user).values_list("project_id", "role"))
    sizes = dict(Dataset.objects.filter(project__in=found).values_list("project_id", "item_count"))
    dealt = dict(_counts(Assignment.objects.filter(annotator=user), "item__dataset__project", found))
    done = dict(_counts(_done().filter(annotator=user), "item__dataset__project", found))
    for project in found:
        project.role = own_roles.get(project.pk)
        everything = project.annotators_per_item is None
        project.given = (sizes if everything else dealt).get(project.pk, 0) if project.role else 0
        project.done = done.get(project.pk, 0)
    return found


def overview(project: Project, user: User) -> dict[str, Any]:
    """What every member sees: the project's resources and their own progress."""
    [mine] = with_progress([project], user)
    ontologies = {ontology.kind: ontology for ontology in project.ontology_set.with_size()}
    return {
        "mine": mine,
        "is_member": project.membership_set.filter(user=user).exists(),
        "dataset": project.dataset,
        "entity_ontology": ontologies.get(Ontology.Kind.ENTITY),
        "relation_ontology": ontologies.get(Ontology.Kind.RELATION),
    }


def people(project: Project) -> list[Any]:
    """The members with ``given``, ``done``, ``begun`` and ``last_seen``; annotators first, then managers."""
    members: list[Any] = list(project.membership_set.select_related("user").order_by("role", "user__username"))
    work = (
        Annotation.objects.filter(item__dataset__project=project, item__removed_at=None)
        .exclude(annotator=None)
        .values("annotator")
        .annotate(begun=Count("pk"), finished=Count("done_at"), last=Max("started_at"), last_done=Max("done_at"))
    )
    by_person = {row["annotator"]: row for row in work}
    size = project.dataset.item_count
    dealt = dict(
        Assignment.objects.filter(item__dataset__project=project, item__removed_at=None)
        .values_list("annotator")
        .annotate(n=Count("pk"))
    )
    for member in members:
        row = by_person.get(member.user_id, {"begun": 0, "finished": 0, "last": None, "last_done": None})
        member.begun, member.done = row["begun"], row["finished"]
        member.given = size if project.annotators_per_item is None else dealt.get(member.user_id, 0)
        member.last_seen = max(filter(None, (row["last"], row["last_done"])), default=None)
    return members


def marks(project: Project) -> dict[str, Any]:
    """How many marks annotators made or accepted, which labels they carry most, and how many came with the dataset."""
    ours = Q(
        annotation__item__dataset__project=project,
        annotation__item__removed_at=None,
        annotation__annotator__isnull=False,
        status=Mark.Status.ACCEPTED,
    )
    labels = {label.pk: label for label in project.entity_ontology.labels()}
    used = list(Entity.objects.filter(ours).values_list("label").annotate(n=Count("pk")).order_by("-n", "label"))
    return {
        "items_done": _done().filter(item__dataset__project=project).values("item").distinct().count(),
        "item_count": project.dataset.item_count,
        "entities": sum(count for _, count in used),
        "relations": Relation.objects.filter(ours).count(),
        "labels": [{"label": labels[pk], "count": count} for pk, count in used[:10]],
        "most": used[0][1] if used else 0,
        "unused": sum(label.active for label in labels.values()) - sum(labels[pk].active for pk, _ in used),
        "label_count": len(labels),
        **given_marks(project.dataset),
        "given_to": min(project.annotators_per_item or 0, project.membership_set.filter(role=roles.ANNOTATOR).count()),
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
    ours = Q(annotation__item__dataset__project=project) & ~Q(annotation__annotator=None)
    return {
        "items": project.dataset.item_count,
        "marks": Entity.objects.filter(ours).count() + Relation.objects.filter(ours).count(),
    }


def done_by(project: Project, user: User) -> int:
    return _done().filter(item__dataset__project=project, annotator=user).count()


def _done() -> QuerySet[Annotation]:
    return Annotation.objects.filter(item__removed_at=None).exclude(done_at=None).exclude(annotator=None)


def _counts(rows: QuerySet[Any], project: str, projects: list[Project]) -> QuerySet[Any, Any]:
    return rows.filter(**{f"{project}__in": projects}).values_list(project).annotate(n=Count("pk"))
