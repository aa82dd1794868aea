from collections.abc import Sequence
from typing import Any, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import QuerySet, UniqueConstraint
from django.urls import reverse
from django.utils import timezone

from annotation_service import limits, words
from annotation_service.blueprints import AT_ONCE, Blueprint, Described, Right, purge_deleted
from annotation_service.db import store, write
from annotation_service.inputs import Refused, clean_description, clean_prose, clean_title
from annotation_service.models import Job, User
from datasets.models import Dataset
from datasets.models.violations import Broken, broken_in
from ontologies.models import Ontology
from resources.models import RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet, rules_of

from . import roles
from .assignment import Assignment
from .counting import ItemCounts
from .roles import ANNOTATOR, MANAGER
from .suggesting import SuggestsMarks

NEEDS_MANAGER = "A project needs a manager. Add another one first."
B = TypeVar("B", Ontology, ResourceSet, ConstraintSet)

__all__ = ["Assignment", "ItemCounts", "Membership", "Project"]


def clean_guidelines(text: str) -> str:
    return clean_prose(text, limits.MAX_GUIDELINES_CHARACTERS)


class BrokenRules(Refused):
    """Marks of a dataset break the constraints of the project that it is for."""


class Project(SuggestsMarks):
    """People who annotate one dataset with one or two ontologies: copies that belong to the project."""

    class Task(models.TextChoices):
        ENTITIES = "entities", "Entities"
        ENTITIES_AND_RELATIONS = "entities_and_relations", "Entities and relations"

    WORDS = {**Described.WORDS, "guidelines": clean_guidelines}

    task = models.CharField(max_length=22, choices=Task)
    guidelines = models.TextField(blank=True, max_length=limits.MAX_GUIDELINES_CHARACTERS)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-created_at"]

    def get_absolute_url(self) -> str:
        return reverse("projects:page", args=[self.pk])

    # --- Reading ---

    @property
    def dataset(self) -> Dataset:
        return self.dataset_set.get()

    @property
    def entity_ontology(self) -> Ontology:
        return self.ontology_set.get(kind=Ontology.Kind.ENTITY)

    @property
    def relation_ontology(self) -> Ontology | None:
        return self.ontology_set.filter(kind=Ontology.Kind.RELATION).first()

    def resources(self) -> list[ResourceSet]:
        """Its constraints and preannotations."""
        return [
            found for model in RESOURCE_SETS for found in model._default_manager.filter(project=self).order_by("kind")
        ]

    def constraint_sets(self) -> QuerySet[ConstraintSet]:
        return ConstraintSet.objects.filter(project=self).order_by("kind")

    def annotators(self) -> QuerySet[Any, int]:
        members = self.membership_set.filter(role__in=roles.getting_items()).order_by("pk")
        return members.values_list("user_id", flat=True)

    def rights_of(self, user: Any) -> frozenset[Right]:
        """What somebody may do in the project; nothing at all, for a stranger."""
        if not user.is_authenticated:
            return frozenset()
        return roles.rights_of(user, self.membership_set.filter(user=user).values_list("role", flat=True).first())

    # --- Making ---

    @classmethod
    def create(
        cls,
        *,
        name: str,
        by: User,
        dataset: Dataset,
        entity_ontology: Ontology,
        relation_ontology: Ontology | None = None,
        resources: Sequence[ResourceSet] = (),
        description: str = "",
        guidelines: str = "",
        annotators: Sequence[User] = (),
        annotators_per_item: int | None = None,
        keep_violations: bool = False,
        job: Job | None = None,
    ) -> "Project":
        """A project with copies of the blueprints, all in one transaction; its creator becomes its manager.

        Refused if marks of the dataset break constraints among the resources, unless they are to be kept as they are.
        """
        _check_kinds(dataset, entity_ontology, relation_ontology)
        with write():
            project = cls.objects.create(
                name=clean_title(name),
                description=clean_description(description),
                guidelines=clean_guidelines(guidelines),
                task=cls.Task.ENTITIES_AND_RELATIONS if relation_ontology else cls.Task.ENTITIES,
                annotators_per_item=annotators_per_item,
                created_by=by,
            )
            ItemCounts.objects.create(project=project)
            members = dict.fromkeys([by, *annotators], ANNOTATOR) | {by: MANAGER}
            Membership.objects.bulk_create(
                Membership(project=project, user=u, role=role) for u, role in members.items()
            )
            copies = {o.kind: o.copy_to(project, by=by) for o in (entity_ontology, relation_ontology) if o}
            theirs = {own.pk: copies[own.kind] for own in dataset.given_ontologies()}
            dataset.copy_to(project, by=by, ontologies=theirs)
            for resource in resources:
                project._copy(resource, by=by)
            if not keep_violations:
                project._check_given_marks()
            project.assign_items()
            if any(isinstance(each, PreannotationSet) for each in resources):
                project.match_preannotations(by=by)
            if job:
                job.finish(url=project.get_absolute_url(), text=f"The project “{project}” is ready.")
        return project

    def broken(self) -> list[Broken]:
        """The marks that break the constraints: those that came with the dataset, and each annotator's accepted ones."""
        rules = rules_of(self.constraint_sets())
        return list(broken_in(rules, self.dataset.pk)) if rules else []

    def _check_given_marks(self) -> None:
        if broken := self.broken():
            first, times = broken[0], words.plural(len(broken), "time,times")
            number = [*self.dataset.items().values_list("pk", flat=True)].index(first.item) + 1
            names = {label.pk: label.name for ontology in self.ontology_set.all() for label in ontology.labels()}
            raise BrokenRules(
                f"Marks of the dataset break the constraints {times}, the first in item {words.number(number)}:"
                f" {first.violation.in_words(names.__getitem__)} Choose other constraints, or keep the marks as they are."
            )

    def use(self, blueprint: B, *, by: User) -> B:
        """Add a copy of a relation ontology to a project that was made without one, or of constraints or preannotations."""
        with write():
            copy = self.locked()._copy(blueprint, by=by)
            if isinstance(blueprint, PreannotationSet):
                self.match_preannotations(by=by)
        return copy

    def put_constraints(self, blueprint: ConstraintSet, *, by: User) -> ConstraintSet:
        """Add a copy of a constraint set, in the place of the one of its kind if there is one. Marks stay as they are."""
        with write():
            project = self.locked()
            project._drop(ConstraintSet, blueprint.kind)
            return project._copy(blueprint, by=by)

    def take_constraints_away(self, kind: str) -> None:
        """Delete the project's copy of constraints; nothing else changes."""
        with write():
            self.locked()._drop(ConstraintSet, kind)

    def put_preannotations(self, blueprint: PreannotationSet, *, by: User) -> Job | None:
        """Add a copy of a preannotation set, in the place of the one of its kind if there is one, and match it with the items:
        at once, or by a job."""
        with write():
            project = self.locked()
            project._drop(PreannotationSet, blueprint.kind)
            project._copy(blueprint, by=by)
            return project.match_preannotations(by=by)

    def take_preannotations_away(self, kind: str, *, by: User) -> Job | None:
        """Delete the project's copy of preannotations with the suggestions that nobody touched: at once, or by a job."""
        with write():
            project = self.locked()
            project._drop(PreannotationSet, kind)
            return project.match_preannotations(by=by)

    def _drop(self, model: type[ResourceSet], kind: str) -> None:
        model.mark_deleted(model._default_manager.filter(project=self, kind=kind))
        purge_deleted(AT_ONCE)

    def _copy(self, blueprint: B, *, by: User) -> B:
        """A copy of an ontology or of a resource about the labels of the project's ontologies; at most one of each kind."""
        if type(blueprint)._default_manager.filter(project=self, kind=blueprint.kind).exists():
            raise Refused(f"The project “{self}” has its {blueprint.kind_in_words} already.")
        if isinstance(blueprint, ResourceSet):
            own = {ontology.kind: ontology for ontology in self.ontology_set.all()}
            if blueprint.ontologies.keys() - own.keys():
                raise Refused(f"“{blueprint}” is about relations: the project needs a relation ontology first.")
            return blueprint.copy_to(self, by=by, ontologies=own)
        copy = blueprint.copy_to(self, by=by)
        store(self, task=self.Task.ENTITIES_AND_RELATIONS)
        return copy

    def erase(self) -> None:
        """Delete the project with its copies, marks and assignments."""
        with write():
            self.locked()
            copied: tuple[type[Blueprint], ...] = (Ontology, *RESOURCE_SETS, Dataset)
            for model in copied:
                model.mark_deleted(model._default_manager.filter(project=self))
            Membership.objects.filter(project=self)._raw_delete(self._state.db)
            Project.objects.filter(pk=self.pk)._raw_delete(self._state.db)
            purge_deleted(AT_ONCE)
            ItemCounts.objects.filter(project=self.pk)._raw_delete(self._state.db)  # after items: see its docstring

    # --- People ---

    def add_members(self, people: Sequence[User], role: str = ANNOTATOR) -> None:
        """Make people members of the project, all or none."""
        with write():
            project = self.locked()
            members = set(project.membership_set.filter(user__in=people).values_list("user__username", flat=True))
            if members:
                raise Refused(f"{', '.join(sorted(members))} is a member of this project already.")
            Membership.objects.bulk_create(Membership(project=project, user=person, role=role) for person in people)
            project.assign_items()

    def remove_member(self, membership: "Membership") -> None:
        """End a membership. The person's marks stay in the project; items not begun go to the others."""
        with write():
            project = self.locked()
            if reason := project.reason_to_keep(membership):
                raise Refused(reason)
            membership.delete()
            project.assign_items()

    def reason_to_keep(self, membership: "Membership") -> str:
        """Why a membership cannot be ended, or the empty string."""
        managers = self.membership_set.filter(role__in=roles.with_right(Right.MANAGE))
        return "" if managers.exclude(pk=membership.pk).exists() else NEEDS_MANAGER


def _check_kinds(dataset: Dataset, entity_ontology: Ontology, relation_ontology: Ontology | None) -> None:
    if not entity_ontology.is_entity:
        raise Refused(f"“{entity_ontology}” is a relation ontology; an entity ontology was expected.")
    if relation_ontology and relation_ontology.is_entity:
        raise Refused(f"“{relation_ontology}” is an entity ontology; a relation ontology was expected.")
    if dataset.relation_ontology and not relation_ontology:
        raise Refused(f"The marks of “{dataset}” are relations, too: choose a relation ontology that has their labels.")


def no_shortcuts() -> dict[str, dict[str, str]]:
    return {kind: {} for kind in Ontology.Kind.values}


class Membership(models.Model):
    SHORTCUT_KEYS = frozenset("1234567890")

    project = models.ForeignKey(Project, on_delete=models.RESTRICT, db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    role = models.CharField(max_length=9, choices=roles.choices)
    joined_at = models.DateTimeField(default=timezone.now)
    # The uids of labels by the keys that apply them, for each kind of ontology.
    shortcuts = models.JSONField(default=no_shortcuts, editable=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["project", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user}, {self.get_role_display().lower()} of {self.project}"

    def set_shortcut(self, kind: str, key: str, label: str) -> None:
        """Let a key apply a label, which no other key applies then; without a label it applies none."""
        if kind not in Ontology.Kind.values:
            raise Refused(f"Shortcuts are for labels of these kinds: {', '.join(Ontology.Kind.values)}.")
        if key not in self.SHORTCUT_KEYS:
            raise Refused("A shortcut is one of the keys 1 to 9 and 0.")
        if label and not any(each.items().filter(uid=label) for each in self.project.ontology_set.filter(kind=kind)):
            raise Refused("The project has no such label. Reload the page.")
        with write():
            locked = Membership.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
            if locked is None:
                raise Refused(f"You are not a member of “{self.project}” any more.")
            others = {k: each for k, each in locked.shortcuts[kind].items() if k != key and each != label}
            store(self, shortcuts={**locked.shortcuts, kind: {**others, **({key: label} if label else {})}})
