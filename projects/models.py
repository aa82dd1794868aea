from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from annotation_service import limits, words
from annotation_service.access import people_with
from annotation_service.blueprints import Blueprint, Described, Existing, Right, purge_at_once
from annotation_service.db import store, write
from annotation_service.http import PREANNOTATIONS
from annotation_service.inputs import Refused, clean_description, clean_prose, clean_title
from annotation_service.models import Job, User
from datasets.models import Contents, Dataset, Mark
from datasets.models.broken import judge_of
from datasets.models.item import BIN
from datasets.models.judged import broken_in, places_of
from ontologies.models import Ontology, OntologyKind
from resources.models import RESOURCE_SETS, ConstraintSet, PreannotationSet, ResourceSet

from .assignment.assigned import Assignment, Withheld
from .assignment.by_hand import HandChange
from .assignment.item_counts import ItemCounts
from .assignment.rule import AssignmentRule
from .members import FormerMember, HasMembers, Invitation, Membership, no_shortcuts
from .roles import ANNOTATOR, ARCHIVE_RIGHTS, MANAGER

# What a project has copies of, what is used after what uses it.
COPIED: tuple[type[Blueprint], ...] = (Ontology, *RESOURCE_SETS, Dataset)
# What is deleted together with projects: the apps above add theirs.
GO_WITH_PROJECTS: list[type[models.Model]] = [Membership, FormerMember, Invitation, ItemCounts, HandChange]
# What a duplicate has, whatever else it takes: the apps above add functions that get the project and its duplicate.
goes_with_duplicates: list[Callable[["Project", "Project"], None]] = []
# What a duplicate has of its own.
NOT_DUPLICATED = {
    "id",
    "name",
    "created_by",
    "created_at",
    "updated_at",
    "archived_at",
    "deleted_at",
    "next_below",
    "review_key",
}
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


def clean_choice(field: str, choices: type[models.TextChoices], value: str) -> str:
    if value not in choices.values:
        raise Refused(f"{field}: choose one of {', '.join(map(repr, choices.values))}.")
    return value


class BrokenRules(Refused):
    """Marks of a dataset break the constraints of the project that it is for."""


class Project(HasMembers):
    """People who annotate one dataset with one or two ontologies: copies that belong to the project.

    An archived one is read by everybody and changed by nobody. One in the bin has a ``deleted_at``, as its copies have:
    `Existing` finds neither for anybody. The copies of one that is deleted for good leave it, and go in steps.
    """

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

    class Agreed(models.TextChoices):
        """By how many of those who are done with an item a mark must be made to be taken over into its gold without asking."""

        ALL = "all", "All of them"
        MAJORITY = "majority", "More than half of them"
        LEAST = "least", "At least so many"

    WORDS = {
        **Described.WORDS,
        "guidelines": clean_guidelines,
        "history": partial(clean_choice, "Suggestions from marks", History),
        "counted": partial(clean_choice, "Counts of labels", Counted),
    }

    task = models.CharField(max_length=22, choices=Task)
    guidelines = models.TextField(blank=True, max_length=limits.MAX_GUIDELINES_CHARACTERS)
    history = models.CharField(max_length=9, choices=History, blank=True)
    counted = models.CharField(max_length=9, choices=Counted, blank=True)
    # How items are reviewed that several people are done with; `agreed_least` goes with `Agreed.LEAST`.
    agreed = models.CharField(max_length=8, choices=Agreed, default=Agreed.ALL)
    agreed_least = models.PositiveSmallIntegerField(default=2)
    given_voice = models.BooleanField(default=False)
    is_blind = models.BooleanField(default=False)
    reviews_own = models.BooleanField(default=False)
    shows_decisions = models.BooleanField(default=False)
    # By which rule, constraints and labels the disputed items were found.
    review_key = models.CharField(max_length=24, blank=True, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    archived_at = models.DateTimeField(null=True, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = Existing()

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

    @property
    def agreed_in_words(self) -> str:
        """By whom marks must be made to be taken over without asking."""
        if self.agreed == self.Agreed.LEAST:
            return f"at least {words.plural(self.agreed_least, 'person,people')}"
        return {self.Agreed.ALL: "all who are done", self.Agreed.MAJORITY: "more than half of them"}[
            self.Agreed(self.agreed)
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
        rule = AssignmentRule(annotators_per_item, overlap, calibration)
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
                project.share_out()
            if any(isinstance(each, PreannotationSet) for each in resources):
                project.match_preannotations(by=by)
            if job:
                job.finish(url=project.get_absolute_url(), text=f"The project “{project}” is ready.")
        return project

    def duplicate(
        self,
        *,
        name: str,
        by: User,
        people: bool = False,
        contents: str = Contents.NOTHING,
        job: Job | None = None,
    ) -> "Project":
        """A new project like this one, all or nothing: with copies of its words, settings and resources, and of what is wished of
        its people, items and marks. What is said about items, and the batches in which marks were made, stay behind."""
        with write():
            source = self.locked_as_it_is()
            if Right.KEEP not in source.rights_of(by):
                raise Refused("You do not manage this project any more.")
            if contents == Contents.EVERYBODY:
                for own in (*source.ontology_set.order_by("kind"), source.dataset):
                    own.locked()  # before the items, as everybody does
                source.lock_items()  # marks and their relations are copied as of one moment
            fields = [field.attname for field in self._meta.concrete_fields if field.name not in NOT_DUPLICATED]
            settings = {field: getattr(source, field) for field in fields}
            copy = Project.objects.create(name=clean_title(name), created_by=by, **settings)
            ItemCounts.objects.create(project=copy)
            source._copy_people(copy, by, all_of_them=people)
            source._copy_resources(copy, by, contents)
            for copy_along in goes_with_duplicates:
                copy_along(source, copy)
            copy.share_out()
            if job:
                job.finish(url=copy.get_absolute_url(), text=f"The project “{copy}” is ready.")
        return copy

    def _copy_people(self, copy: "Project", by: User, *, all_of_them: bool) -> None:
        members = self.membership_set.filter(user__is_active=True).exclude(user=by).order_by("pk")
        own = self.membership_set.filter(user=by).first() or Membership(user=by)
        own.role = MANAGER
        for member in [own, *(members if all_of_them else ())]:
            Membership.objects.create(project=copy, user=member.user, role=member.role, shortcuts=member.shortcuts)

    def _copy_resources(self, copy: "Project", by: User, contents: str) -> None:
        copies: dict[Any, Any] = {own: own.copy_to(copy, by=by) for own in self.ontology_set.order_by("kind")}
        theirs = {own.pk: new for own, new in copies.items()}
        dataset = self.dataset
        copies[dataset] = dataset.copy_to(
            copy, by=by, ontologies=theirs, contents=contents, given_status=dataset.given_status
        )
        sets = [each for each in self.resources() if PREANNOTATIONS.is_on or not isinstance(each, PreannotationSet)]
        ontologies = {new.kind: new for new in theirs.values()}
        copies |= {own: own.copy_to(copy, by=by, ontologies=ontologies) for own in sets}
        for own, new in copies.items():
            store(new, copied_from=own.copied_from)  # a blueprint: projects know nothing of each other
        if any(isinstance(each, PreannotationSet) for each in sets):
            copy.match_preannotations(by=by)

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
            self._follow_set(type(blueprint), by=by)
        return copy

    def put_labels(self, blueprint: Ontology, *, by: User, agreed: int | None = None) -> int:
        """Add the labels of an ontology that the project's own does not have, or a copy of it if the project has none of its
        kind; returns how many labels came. Nothing is removed."""
        with write():
            own = self.locked().ontology_set.filter(kind=blueprint.kind).first()
            if own:
                return len(own.put_labels(blueprint, by=by, agreed=agreed))
            return self.use(blueprint, by=by).row_count

    def put_set(self, blueprint: ResourceSet, *, by: User) -> Job | None:
        """Add a copy of constraints or preannotations, in the place of those of their kind if there are any. Marks stay as they
        are; preannotations are matched with the items: at once, or by the job that is returned."""
        with write():
            project = self.locked()
            project._drop(type(blueprint), blueprint.kind)
            project._copy(blueprint, by=by)
            return project._follow_set(type(blueprint), by=by)

    def take_set_away(self, model: type[ResourceSet], kind: str, *, by: User) -> Job | None:
        """Delete the project's copy, of preannotations with the suggestions that nobody touched: at once, or by the job that is
        returned. Nothing else changes."""
        with write():
            project = self.locked()
            project._drop(model, kind)
            return project._follow_set(model, by=by)

    def _follow_set(self, model: type[Blueprint], *, by: User) -> Job | None:
        return self.match_preannotations(by=by) if issubclass(model, PreannotationSet) else None

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

    # --- The life cycle: archived and restored, put into the bin and taken out of it, deleted for good ---

    @property
    def gone_at(self) -> datetime | None:
        """When a project in the bin is deleted for good."""
        return self.deleted_at + BIN if self.deleted_at else None

    @property
    def days_left(self) -> int:
        """So many days it can be brought back, the last one included."""
        return max(0, (self.gone_at - timezone.now()).days + 1) if self.gone_at else 0

    def reason_not_to_change(self) -> str:
        """Why nobody may change anything in it, or the empty string."""
        if self.archived_at is None:
            return ""
        keepers = people_with[Right.KEEP]
        return f"The project “{self}” is archived: it can be read, but not changed. Its {keepers} can restore it."

    def rights_of(self, user: Any) -> frozenset[Right]:
        return self.rights_now(super().rights_of(user))

    def rights_now(self, rights: frozenset[Right]) -> frozenset[Right]:
        """What is left of the rights of a role."""
        if self.deleted_at:
            return frozenset()
        if self.is_blind and Right.MANAGE not in rights:
            rights -= {Right.READ}  # who marked what is not known to those who review
        return rights & ARCHIVE_RIGHTS if self.archived_at else rights

    def locked_as_it_is(self) -> Self:
        """For what may be done in an archived project, too."""
        return super().locked()

    def locked(self) -> Self:
        """As every other write wants it: refused if it is archived."""
        project = self.locked_as_it_is()
        if reason := project.reason_not_to_change():
            raise Refused(reason)
        return project

    def set_review(self, **values: Any) -> None:
        """Let it be reviewed in another way: `agreed`, and the fields below."""
        with write():
            store(self.locked(), **values)

    def archive(self) -> None:
        """Let nobody change anything any more. Waits for those who are saving marks."""
        with write():
            project = self.locked()
            project.lock_items()
            store(self, archived_at=timezone.now())

    def restore(self) -> None:
        """Let people work in an archived project again, each with the rights that they had."""
        with write():
            project = self.locked_as_it_is()
            store(self, archived_at=None)
            project.assign_items()  # people may have left the service meanwhile

    def put_into_bin(self) -> None:
        """Take it away from everybody, at once, with everything that it has."""
        with write():
            self.locked_as_it_is()
            now = timezone.now()
            for model in COPIED:
                model._default_manager.filter(project=self.pk).update(deleted_at=now)
            store(self, deleted_at=now)

    def take_out_of_bin(self) -> None:
        """Give it back to everybody, as it was."""
        with write():
            self._lock_in_bin()
            for model in COPIED:
                model._base_manager.filter(project=self.pk).update(deleted_at=None)
            store(self, deleted_at=None)
            if not self.archived_at:
                self.assign_items()  # people may have left the service meanwhile

    def part_with(self, membership: Membership) -> None:
        """End the membership of somebody who leaves the service, in an archived project and in the bin, too: there the items are
        assigned anew when it comes back."""
        with write():
            project = type(self)._base_manager.select_for_update(no_key=True).filter(pk=self.pk).first()
            if project is None:
                return
            if reason := project.reason_to_keep(membership):
                where = " in the bin" if project.deleted_at else " in the archive" if project.archived_at else ""
                raise Refused(f"In “{project}”{where}: {reason}")
            project.end_membership(membership)
            if not project.deleted_at and not project.archived_at:
                project.assign_items()

    def erase_from_bin(self, *, deleted_until: datetime | None = None) -> None:
        """Delete it for good, unless somebody has taken it out of the bin meanwhile."""
        with write():
            self._lock_in_bin(deleted_until)
            self.erase()

    def _lock_in_bin(self, deleted_until: datetime | None = None) -> None:
        binned = type(self)._base_manager.select_for_update(no_key=True)
        if not binned.filter(pk=self.pk, deleted_at__lte=deleted_until or timezone.now()).exists():
            raise Refused(f"“{self}” is no longer in the bin.")

    def erase(self) -> None:
        """Delete it for good, from the bin or from where it is, with its copies, marks and assignments."""
        with write():
            if not type(self)._base_manager.select_for_update(no_key=True).filter(pk=self.pk).exists():
                raise Refused(f"“{self}” was deleted meanwhile.")
            for copied in COPIED:
                copied.mark_deleted(copied._base_manager.filter(project=self.pk))
            type(self)._base_manager.filter(pk=self.pk)._raw_delete(self._state.db)
            purge_at_once()
            for model in GO_WITH_PROJECTS:  # after items: whoever locks both locks items first
                model._base_manager.filter(project=self.pk)._raw_delete(self._state.db)


def _check_kinds(dataset: Dataset, entity_ontology: Ontology, relation_ontology: Ontology | None) -> None:
    if not entity_ontology.is_entity:
        raise Refused(f"“{entity_ontology}” is a relation ontology; an entity ontology was expected.")
    if relation_ontology and relation_ontology.is_entity:
        raise Refused(f"“{relation_ontology}” is an entity ontology; a relation ontology was expected.")
    if dataset.relation_ontology and not relation_ontology:
        raise Refused(f"The marks of “{dataset}” are relations, too: choose a relation ontology that has their labels.")
