"""The figures that the home page and the project pages show, also of people: each page a fixed number of grouped queries."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, QuerySet, When

from annotation_service import access as blueprint_access
from annotation_service.blueprints import Right
from annotation_service.http import PREANNOTATIONS, Request
from annotation_service.models import Job, JobState, User
from datasets.models import GIVEN, Annotation, Dataset, Entity, Mark, Relation, Upload
from ontologies.label_filters import unused
from ontologies.models import Ontology, OntologyKind
from resources.models import ConstraintSet, PreannotationSet, ResourceSet
from work.models import Comment, Source

from .assignment import item_counts
from .assignment.assigned import GivenCounts
from .comment_list import waiting_for
from .models import ItemCounts, Membership, Project
from .roles import ROLES, Role, getting_items, with_right

RECENT = 5
SHOWN = 20


@dataclass(frozen=True, slots=True)
class ProjectProgress:
    """Of ``total`` items somebody has ``touched`` so many; of these, so many are ``done``."""

    total: int
    touched: int = 0
    done: int = 0

    @property
    def begun(self) -> int:
        return self.touched - self.done

    @property
    def untouched(self) -> int:
        return self.total - self.touched

    @property
    def left(self) -> int:
        """How many are to be done. Who was given less later may have done more."""
        return max(0, self.total - self.done)

    @property
    def is_finished(self) -> bool:
        return 0 < self.total <= self.done


def home(request: Request) -> dict[str, Any]:
    user = request.user
    own = Project.objects.filter(membership__user=user, archived_at=None)
    projects = with_progress(finished_last(own, user)[:SHOWN], user)
    waiting = waiting_for(user, {project.pk: project.role for project in projects})
    for project in projects:
        project.waiting = waiting[project.pk]
    at_work = [JobState.QUEUED, JobState.RUNNING]
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


def finished_last(projects: QuerySet[Project], user: User) -> QuerySet[Project]:
    """The newest first, and those that are finished last: for annotators, those in which all that is given to them is done."""
    item_counts.refresh()
    counts = ItemCounts.objects.filter(project=OuterRef("pk"), done__gt=0)
    whole = Exists(counts.filter(done__gte=F("project__dataset__item_count")))
    annotated = Project.objects.filter(membership__in=Membership.objects.filter(user=user, role__in=getting_items()))
    finished = [project.pk for project in with_progress(annotated, user) if project.progress.is_finished]
    is_finished = Q(pk__in=finished) | Q(whole) & ~Q(pk__in=annotated.values("pk"))
    return projects.alias(is_finished=Case(When(is_finished, then=1), default=0)).order_by(
        "is_finished", "-created_at", "-pk"
    )


def with_progress(projects: Iterable[Project], user: User) -> list[Any]:
    """The projects with the user's ``role``, ``None`` for staff who are no member, their ``size`` in items, how many of these are
    ``given`` to the user, how many of those ``waits`` to be done, and the ``progress``: of all items or, for ``is_own``, of what
    is given to an annotator."""
    found: list[Any] = list(projects)
    own_roles = dict(Membership.objects.filter(project__in=found, user=user).values_list("project_id", "role"))
    counts = {row.project_id: row.figures for row in ItemCounts.objects.filter(project__in=found)}
    own = {pk for pk, role in own_roles.items() if ROLES[role].gets_items}
    given = GivenCounts(found, user)
    work = _work_of(user, own_roles) if own_roles else {}
    for project in found:
        project.role = ROLES.get(own_roles.get(project.pk, ""))
        project.is_own = project.pk in own
        size = project.size = given.sizes.get(project.pk, 0)
        annotates = project.role and Right.ANNOTATE in project.role.rights
        project.given = given.of(project.pk, user.pk) if annotates else 0
        mine = ProjectProgress(project.given, *work.get(project.pk, (0, 0)))
        project.waits = mine.left
        if project.is_own:
            project.progress = mine
        else:
            project.progress = ProjectProgress(size, *counts.get(project.pk, (0, 0)))
    return found


def _lacking(model: type[ResourceSet], there: Iterable[ResourceSet], ontologies: Collection[str]) -> list[str]:
    """The kinds of sets that a project could have besides those that are there."""
    found = {each.kind for each in there}
    return [kind for kind, rows in model.row_models.items() if kind not in found and rows.marks in ontologies]


def overview(project: Project, user: User) -> dict[str, Any]:
    """What every member sees: the project's resources and their own progress."""
    [mine] = with_progress([project], user)
    ontologies = {ontology.kind: ontology for ontology in project.ontology_set.with_size()}
    constraints, others = project.constraint_sets(), project.preannotation_sets()
    return {
        "mine": mine,
        "dataset": project.dataset,
        "entity_ontology": ontologies.get(OntologyKind.ENTITY),
        "relation_ontology": ontologies.get(OntologyKind.RELATION),
        "preannotations": others,
        "sources": Source.objects.filter(dataset__project=project),
        "constraints": constraints,
        "lacking": _lacking(ConstraintSet, constraints, ontologies),
        "lacking_preannotations": _lacking(PreannotationSet, others, ontologies) if PREANNOTATIONS.is_on else [],
    }


def marks(project: Project) -> dict[str, Any]:
    """How many marks annotators made or accepted, which labels they carry most, and how many came with the dataset."""
    accepted = _decided_in(project) & Q(annotation__item__removed_at=None, status=Mark.Status.ACCEPTED)
    labels = {label.pk: label for label in project.entity_ontology.labels()}
    used = list(Entity.objects.filter(accepted).values_list("label").annotate(n=Count("pk")).order_by("-n", "label"))
    return {
        "progress": _progress(project),
        "entities": sum(count for _, count in used),
        "relations": Relation.objects.filter(accepted).count(),
        "labels": [{"label": labels[pk], "count": count} for pk, count in used[:10]],
        "most": used[0][1] if used else 0,
        "unused": len(unused(labels.values(), project.entity_ontology.marks_by_uid())),
        "label_count": len(labels),
        **given_marks(project.dataset),
        "given_to": min(project.annotators_per_item or 0, project.annotators().count()),
    }


def _progress(project: Project) -> ProjectProgress:
    """Of all its items."""
    item_counts.refresh()
    counts = ItemCounts.objects.filter(project=project).first()
    return ProjectProgress(project.dataset.item_count, *(counts.figures if counts else (0, 0)))


def given_marks(dataset: Dataset) -> dict[str, int]:
    """How many marks came with the items of a dataset."""
    given = GIVEN & Q(annotation__item__in=dataset.items().order_by())
    return {
        "given_entities": Entity.objects.filter(given).count(),
        "given_relations": Relation.objects.filter(given).count(),
    }


def losses(project: Project) -> dict[str, Any]:
    """What goes when the project is deleted."""
    decided = _decided_in(project)
    return {
        "items": Dataset._base_manager.get(project=project.pk).item_count,  # also in the bin
        "marks": Entity.objects.filter(decided).count() + Relation.objects.filter(decided).count(),
        "comments": Comment.objects.filter(item__dataset__project=project).count(),
    }


def done_by(project: Project, user: User) -> int:
    done = Annotation.objects.filter(annotator=user, done_at__isnull=False)
    return done.filter(item__dataset__project=project, item__removed_at=None).count()


def _decided_in(project: Project) -> Q:
    """The marks that people made or decided about, unlike suggestions, those that came with the dataset, and the copies of these
    in items that nobody has begun."""
    own = Q(annotation__item__dataset__project=project, annotation__annotator__isnull=False)
    by_person = Q(annotation__started_at__isnull=False) | Q(batch__isnull=False)
    return own & by_person & ~Q(status=Mark.Status.SUGGESTED)


def _work_of(user: User, projects: Collection[int]) -> dict[int, tuple[int, int]]:
    """How many items of each project somebody has begun, and how many of these they have finished."""
    begun = Annotation.objects.filter(annotator=user, started_at__isnull=False)
    work = begun.filter(item__removed_at=None, item__dataset__project__in=projects)
    rows = work.values_list("item__dataset__project").annotate(Count("pk"), Count("done_at"))
    return {pk: (begun, done) for pk, begun, done in rows}


@dataclass
class Person:
    """A member, or a former one who has left marks, and what they have done in the project."""

    user: User
    membership: Membership | None = None
    given: int = 0
    touched: int = 0
    done: int = 0
    last_active: datetime | None = None

    @property
    def begun(self) -> int:
        """As in `ProjectProgress`: without what is done."""
        return self.touched - self.done

    @property
    def role(self) -> Role | None:
        return ROLES[self.membership.role] if self.membership else None

    @property
    def is_given_items(self) -> bool:
        return bool(self.role and self.role.gets_items)

    @property
    def folded(self) -> str:
        return self.user.username_folded

    @property
    def place(self) -> int:
        """Of the role, among all."""
        return [*ROLES.values()].index(self.role) if self.role else len(ROLES)

    @property
    def joined_at(self) -> datetime | None:
        return self.membership.joined_at if self.membership else None


def people(project: Project) -> tuple[list[Person], list[Person]]:
    """The members by role and name, and the former members, by name, who have begun items."""
    members = {each.user_id: each for each in project.members().select_related("user")}
    work = {row.pop("annotator"): row for row in _work(project)}
    former = User.objects.in_bulk(work.keys() - members.keys())
    given = GivenCounts([project])
    annotating = with_right(Right.ANNOTATE)
    found = [
        Person(each.user, each, given=given.of(project.pk, pk) if each.role in annotating else 0, **work.get(pk, {}))
        for pk, each in members.items()
    ]
    left = [Person(user, **work[pk]) for pk, user in former.items()]
    return sorted(found, key=lambda each: (each.place, each.folded)), sorted(left, key=lambda each: each.folded)


def _work(project: Project) -> Any:
    begun = Annotation.objects.filter(item__dataset__project=project, item__removed_at=None, started_at__isnull=False)
    by_person = begun.exclude(annotator=None).order_by().values("annotator")
    return by_person.annotate(touched=Count("pk"), done=Count("done_at"), last_active=Max("changed_at"))
