from collections.abc import Sequence
from typing import TypeVar

from django.conf import settings
from django.db import models
from django.db.models import QuerySet
from django.urls import reverse

from annotation_service import limits, words
from annotation_service.blueprints import Described, purge_at_once
from annotation_service.db import store, write
from annotation_service.inputs import Refused, clean_description, clean_prose, clean_title
from annotation_service.models import Job, User
from datasets.models import Dataset, Mark
from datasets.models.broken import judge_of
from datasets.models.judged import broken_in, places_of
from ontologies.models import Ontology, OntologyKind
from resources.models import RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet

from .assignment.assigned import Assignment, Withheld
from .assignment.hand_change import HandChange
from .assignment.item_counts import ItemCounts
from .invitations import Invitation
from .lifecycle import HasLifeCycle, goes_with_projects
from .members import FormerMember, Membership, no_shortcuts
from .roles import ANNOTATOR, MANAGER
from .rule import Rule

B = TypeVar("B", Ontology, ResourceSet, ConstraintSet)

__all__ = [
    "Assignment",
    "FormerMember",
    "HandChange",
    "Invitation",
    "ItemCounts",
    "Membership",
    "Project",
    "Withheld",
    "no_shortcuts",
]


def clean_guidelines(text: str) -> str:
    return clean_prose(text, limits.MAX_GUIDELINES_CHARACTERS)


def clean_history(whose: str) -> str:
    return _one_of(Project.History, whose, "Suggestions from marks")


def clean_counted(whose: str) -> str:
    return _one_of(Project.Counted, whose, "Counts of labels")


def _one_of(choices: type[models.TextChoices], value: str, field: str) -> str:
    if value not in choices.values:
        raise Refused(f"{field}: choose one of {', '.join(map(repr, choices.values))}.")
    return value


class BrokenRules(Refused):
    """Marks of a dataset break the constraints of the project that it is for."""


class Project(HasLifeCycle):
    """People who annotate one dataset with one or two ontologies: copies that belong to the project."""

    class Task(models.TextChoices):
        ENTITIES = "entities", "Entities"
        ENTITIES_AND_RELATIONS = "entities_and_relations", "Entities and relations"

    class History(models.TextChoices):
        """From whose marks suggestions are made."""

        NOBODY = "", "Nothing"
        OWN = "own", "Words that the annotator has marked before"
        EVERYBODY = "everybody", "Words that anybody has marked before"

    class Counted(models.TextChoices):
        """Whose marks annotators see counted where it says how words were labelled before."""

        OWN = "", "The annotator’s own marks, and those of the dataset"
        EVERYBODY = "everybody", "Everybody’s marks"

    WORDS = {
        **Described.WORDS,
        "guidelines": clean_guidelines,
        "history": clean_history,
        "counted": clean_counted,
    }

    task = models.CharField(max_length=22, choices=Task)
    guidelines = models.TextField(blank=True, max_length=limits.MAX_GUIDELINES_CHARACTERS)
    history = models.CharField(max_length=9, choices=History, blank=True)
    counted = models.CharField(max_length=9, choices=Counted, blank=True)
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
        return self.ontology_set.get(kind=OntologyKind.ENTITY)

    @property
    def relation_ontology(self) -> Ontology | None:
        return self.ontology_set.filter(kind=OntologyKind.RELATION).first()

    def resources(self) -> list[ResourceSet]:
        """Its constraints and preannotations."""
        return [
            found for model in RESOURCE_SETS for found in model._default_manager.filter(project=self).order_by("kind")
        ]

    def constraint_sets(self) -> QuerySet[ConstraintSet]:
        return ConstraintSet.objects.filter(project=self).order_by("kind")

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
        overlap: int = 0,
        calibration: int = 0,
        keep_violations: bool = False,
        given_marks: str = Mark.Status.SUGGESTED,
        job: Job | None = None,
    ) -> "Project":
        """A project with copies of the blueprints, all in one transaction; its creator becomes its manager.

        Refused if marks of the dataset break constraints among the resources, unless they are to be kept as they are. What came
        with the dataset is suggested to annotators or, by ``given_marks``, accepted already.
        """
        _check_kinds(dataset, entity_ontology, relation_ontology)
        rule = Rule(annotators_per_item, overlap, calibration)
        rule.check()
        with write():
            project = cls.objects.create(
                name=clean_title(name),
                description=clean_description(description),
                guidelines=clean_guidelines(guidelines),
                task=cls.Task.ENTITIES_AND_RELATIONS if relation_ontology else cls.Task.ENTITIES,
                created_by=by,
                **rule.values,
            )
            ItemCounts.objects.create(project=project)
            members = dict.fromkeys([by, *annotators], ANNOTATOR) | {by: MANAGER}
            Membership.objects.bulk_create(
                Membership(project=project, user=u, role=role) for u, role in members.items()
            )
            copies = {o.kind: o.copy_to(project, by=by) for o in (entity_ontology, relation_ontology) if o}
            theirs = {own.pk: copies[own.kind] for own in dataset.given_ontologies()}
            dataset.copy_to(project, by=by, ontologies=theirs, given_status=given_marks)
            for resource in resources:
                project._copy(resource, by=by)
            if not keep_violations:
                project._check_given_marks()
            if rule.annotators_per_item:
                project.assign_items()
            if any(isinstance(each, PreannotationSet) for each in resources):
                project.match_preannotations(by=by)
            if job:
                job.finish(url=project.get_absolute_url(), text=f"The project “{project}” is ready.")
        return project

    def _check_given_marks(self) -> None:
        items = [*self.dataset.items().values_list("pk", flat=True)]
        judge = judge_of(self.dataset.pk)
        broken = list(broken_in(judge, items)) if judge else []
        if judge and broken:
            _, [first] = next(places_of(judge, broken, 1))
            times = words.plural(sum(row.count for row in broken), "time,times")
            number = words.number(items.index(first.annotation.item_id) + 1)
            raise BrokenRules(
                f"Marks of the dataset break the constraints {times}, the first in item {number}:"
                f" {first.violation.in_words(judge.name_of)} Choose other constraints, or keep the marks as they are."
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
        purge_at_once()

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


def _check_kinds(dataset: Dataset, entity_ontology: Ontology, relation_ontology: Ontology | None) -> None:
    if not entity_ontology.is_entity:
        raise Refused(f"“{entity_ontology}” is a relation ontology; an entity ontology was expected.")
    if relation_ontology and relation_ontology.is_entity:
        raise Refused(f"“{relation_ontology}” is an entity ontology; a relation ontology was expected.")
    if dataset.relation_ontology and not relation_ontology:
        raise Refused(f"The marks of “{dataset}” are relations, too: choose a relation ontology that has their labels.")


goes_with_projects += [(each, "project") for each in (Membership, FormerMember, Invitation, ItemCounts, HandChange)]
