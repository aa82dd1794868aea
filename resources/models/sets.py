"""What constraint sets and preannotation sets have in common: rows that name labels of a project's ontologies."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models import Q, QuerySet, UniqueConstraint

from annotation_service.blueprints import Blueprint
from annotation_service.db import write
from annotation_service.inputs import Refused, clean_description, clean_title
from annotation_service.models import User
from annotation_service.words import plural
from ontologies.models import Ontology

from .. import documents
from .rows import Row, through


class Resource(Blueprint):
    """A list of rows about the labels of an entity ontology or, of kind relation, of both ontologies.

    Rows point to ontology items, so they follow every rename, switch and move. A blueprint names labels of blueprints, a
    project's copy those of the project's own ontologies.
    """

    class Kind(models.TextChoices):
        ENTITY = "entity", "Entities"
        RELATION = "relation", "Relations"

    row_words: ClassVar[str]  # one and many, such as "constraint,constraints"

    kind = models.CharField(max_length=8, choices=Kind)
    entity_ontology = models.ForeignKey(Ontology, on_delete=models.RESTRICT, related_name="entity_%(class)ss")
    relation_ontology = models.ForeignKey(
        Ontology, null=True, blank=True, on_delete=models.RESTRICT, related_name="relation_%(class)ss"
    )

    class Meta:
        abstract = True
        constraints = [
            UniqueConstraint(
                fields=["project", "kind"], condition=~Q(project=None), name="%(class)s_one_kind_a_project"
            )
        ]

    if TYPE_CHECKING:  # what each class of resources adds

        @staticmethod
        def row_models() -> dict[str, type[Row]]:
            """What the rows of each kind are."""

    # --- Reading ---

    @classmethod
    def format_name(cls, kind: str) -> str:
        """Such as “entity_constraints”: what the document of a kind is called."""
        return f"{kind}_{cls.row_words.partition(',')[2]}"

    @property
    def format(self) -> str:
        return self.format_name(self.kind)

    @property
    def called(self) -> str:
        """What it is, such as “entity constraints”."""
        return self.format.replace("_", " ")

    def rows(self) -> "QuerySet[Any]":
        """The rows in the order of their document."""
        model: Any = self.row_models()[self.kind]
        return model.objects.filter(resource=self).order_by("position")

    @property
    def row_count(self) -> int:
        return self.rows().count()

    def content_in_words(self) -> str:
        return plural(self.row_count, self.row_words)

    @property
    def ontologies(self) -> dict[str, Ontology]:
        """The ontologies by their kind."""
        both = {"entity": self.entity_ontology, "relation": self.relation_ontology}
        return {kind: ontology for kind, ontology in both.items() if ontology}

    def label_names(self) -> dict[int, str]:
        """The current full names of the labels, by primary key."""
        ontologies = Ontology.objects.filter(pk__in=[self.entity_ontology_id, self.relation_ontology_id])
        return {label.pk: label.fullname for ontology in ontologies for label in ontology.labels()}

    # --- Making ---

    @classmethod
    def check_enabled(cls) -> None:
        """Raises `Refused` if this installation makes no such resources."""

    @classmethod
    def create(
        cls,
        *,
        kind: str,
        text: str,
        name: str,
        owner: User,
        entity_ontology: Ontology,
        relation_ontology: Ontology | None = None,
        description: str = "",
    ) -> Self:
        """A new blueprint from a JSON document (see `documents.read`) that names labels of blueprint ontologies.

        Raises `Refused` with all that is wrong, and stores nothing.
        """
        cls.check_enabled()
        resource = cls(
            kind=kind,
            name=clean_title(name),
            description=clean_description(description),
            owner=owner,
            entity_ontology=_now(entity_ontology),
            relation_ontology=relation_ontology and _now(relation_ontology),
        )
        resource._check_ontologies()
        names = {kind: ontology.label_names(bare=True) for kind, ontology in resource.ontologies.items()}
        rows = documents.read(text, resource.format, cls.row_models()[kind], names)
        with write():
            for ontology in resource.ontologies.values():
                if ontology.locked().version != ontology.version:
                    raise Refused(f"“{ontology}” was changed while the document was read. Try again.")
            resource.save(force_insert=True)
            cls.row_models()[kind].store(resource, rows)
        return resource

    def copy_to(
        self, project: Any = None, *, by: User, name: str = "", ontologies: Mapping[int, Ontology] | None = None
    ) -> Self:
        """A copy in the project or, without one, a new blueprint of the user.

        ``ontologies`` maps the keys of this resource's ontologies to those that the copy shall use: they must have all labels
        that the rows name, with the same uids. Without it the copy uses the same ontologies.
        """
        self.check_enabled()
        to = ontologies or {}
        with write():
            source = self.locked()
            copy = source.twin(by=by, project=project, name=name)
            copy.touch(
                entity_ontology=to.get(source.entity_ontology_id, source.entity_ontology),
                relation_ontology=to.get(source.relation_ontology_id or 0, source.relation_ontology),
            )
            copy._check_ontologies()
            source._check_labels(copy)
            self.row_models()[self.kind].copy(source, copy)
        return copy

    def _check_ontologies(self) -> None:
        many = self.row_words.partition(",")[2]
        if self.kind == self.Kind.RELATION and not self.relation_ontology:
            raise Refused(f"Relation {many} need a relation ontology, too.")
        if self.kind == self.Kind.ENTITY and self.relation_ontology:
            raise Refused(f"Entity {many} take no relation ontology.")
        for kind, ontology in self.ontologies.items():
            if ontology.kind != kind:
                raise Refused(f"“{ontology}” is no {kind} ontology.")
            if ontology.project_id != self.project_id and self.project:
                raise Refused(f"“{ontology}” does not belong to the project “{self.project}”.")
            if ontology.project_id != self.project_id:
                raise Refused(
                    f"“{ontology}” belongs to the project “{ontology.project}”. Duplicate that ontology first."
                )

    def _check_labels(self, copy: Self) -> None:
        """Every label that the rows name is in the copy's ontologies, which are locked so that it stays there."""
        for kind, ontology in copy.ontologies.items():
            there = ontology.locked().items().values("uid")
            named = self.row_models()[self.kind].labels_named(self, kind)
            if missing := named.exclude(uid__in=there).first():
                raise Refused(
                    f"“{self}” names the label “{missing.fullname}”, which “{ontology}” does not have: the two were not"
                    " made for each other."
                )

    @staticmethod
    def erase_all(resources: "QuerySet[Any]") -> None:
        """Delete resources with their rows, by sets of rows."""
        for model in resources.model.row_models().values():
            rows = model._default_manager.filter(resource__in=resources)
            for field in model.lists():
                through(field)._default_manager.filter(row__in=rows)._raw_delete(resources.db)
            rows._raw_delete(resources.db)
        resources.model._default_manager.filter(copied_from__in=resources).update(copied_from=None)
        resources._raw_delete(resources.db)


def _now(ontology: Ontology) -> Ontology:
    """The ontology as it is stored now."""
    if found := Ontology.objects.filter(pk=ontology.pk).first():
        return found
    raise Refused(f"“{ontology}” was deleted meanwhile.")
