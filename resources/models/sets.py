"""What constraint sets and preannotation sets have in common: rows that name labels, documents and copies."""

from collections.abc import Iterator, Mapping
from typing import IO, Any, ClassVar, Self

from django.db import models
from django.db.models import Q, QuerySet, UniqueConstraint

from annotation_service.blueprints import Blueprint
from annotation_service.db import execute, write
from annotation_service.inputs import Problems, Refused, clean_description, clean_title
from annotation_service.json_input import json_array, to_json
from annotation_service.models import User
from annotation_service.words import plural
from ontologies.covering import counterparts, label_map
from ontologies.models import Ontology, OntologyItem

from .. import documents


class ResourceSet(Blueprint):
    """Rows about the labels of an entity ontology or, if these name relations, of both ontologies.

    A blueprint names labels of blueprints, a project's copy those of the project's own ontologies.
    """

    class Kind(models.TextChoices):
        ENTITY = "entity", "Entities"
        RELATION = "relation", "Relations"

    keeps_inactive: ClassVar[bool] = False  # whether documents may name labels that are switched off
    noun: ClassVar[str]  # what a row is, such as “constraint”
    row_models: ClassVar[dict[str, Any]]  # by kind: models of `Row`
    warnings: Problems  # of the document that `create` has just read

    kind = models.CharField(max_length=20, choices=Kind)
    entity_ontology = models.ForeignKey(Ontology, on_delete=models.RESTRICT, related_name="+")
    relation_ontology = models.ForeignKey(Ontology, null=True, blank=True, on_delete=models.RESTRICT, related_name="+")

    class Meta:
        abstract = True
        constraints = [
            UniqueConstraint(
                fields=["project", "kind"], condition=~Q(project=None), name="%(class)s_one_kind_a_project"
            )
        ]

    @classmethod
    def check_enabled(cls) -> None:
        """Raises `Refused` if this installation makes no such sets."""

    # --- Reading ---

    @classmethod
    def format_of(cls, kind: str) -> str:
        """The name of the documents of a kind, such as “entity_constraints”."""
        return f"{kind}_{cls.noun}s"

    @property
    def format(self) -> str:
        return self.format_of(self.kind)

    @property
    def kind_in_words(self) -> str:
        """What it is, such as “entity constraints”."""
        return self.format.replace("_", " ")

    def rows(self) -> QuerySet[Any]:
        """The rows in the order of their document."""
        return self.row_models[self.kind].objects.filter(resource_set=self).order_by("position")

    @property
    def row_count(self) -> int:
        return self.rows().count()

    def content_in_words(self) -> str:
        return plural(self.row_count, f"{self.noun},{self.noun}s")

    @property
    def ontologies(self) -> dict[str, Ontology]:
        """The ontologies by their kind."""
        both = {"entity": self.entity_ontology, "relation": self.relation_ontology}
        return {kind: ontology for kind, ontology in both.items() if ontology}

    def json_document(self) -> Iterator[str]:
        """The document with the labels’ current full names, an entry a line. It can be uploaded again."""
        stored = Ontology.objects.filter(pk__in=[self.entity_ontology_id, self.relation_ontology_id])
        names = {label.pk: label.fullname for ontology in stored for label in ontology.labels()}
        return json_array(map(to_json, self.row_models[self.kind].entries(self.rows(), names)))

    # --- Making ---

    @classmethod
    def create(
        cls,
        *,
        kind: str,
        source: str | IO[bytes],
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
        with write():  # the ontologies as they are now, but without a lock while the document is read
            resource_set = cls(
                kind=kind,
                name=clean_title(name),
                description=clean_description(description),
                owner=owner,
                entity_ontology=entity_ontology.locked(),
                relation_ontology=relation_ontology and relation_ontology.locked(),
            )
        rows = resource_set.read(source)
        with write():
            for ontology in resource_set.ontologies.values():
                if ontology.locked().version != ontology.version:
                    raise Refused(f"“{ontology}” was changed while the document was read. Try again.")
            resource_set.save(force_insert=True)
            resource_set.row_models[kind].store(resource_set, rows)
            resource_set.note_creation(len(rows))
        return resource_set

    def read(self, source: str | IO[bytes]) -> list[Any]:
        """The rows of a document, not stored, for a set that need not be stored, either. Keeps the ``warnings`` about it; raises
        `Refused` with all that is wrong."""
        self._check_ontologies()
        names = {kind: ontology.label_names(bare=True) for kind, ontology in self.ontologies.items()}
        to_row = self.row_models[self.kind].from_entry
        rows, self.warnings = documents.read(source, self.format, names, to_row, keep_inactive=self.keeps_inactive)
        return rows

    def note_creation(self, count: int) -> None:
        """Keep what a journal says about it."""

    def copy_to(
        self, project: Any = None, *, by: User, name: str = "", ontologies: Mapping[str, Ontology] | None = None
    ) -> Self:
        """A copy in the project or, without one, a new blueprint of the user.

        The copy uses the given ``ontologies``, by kind, instead of this set's: they must have all labels that the rows name.
        """
        self.check_enabled()
        with write():
            source = self.locked()
            theirs = {kind: (ontologies or {}).get(kind, own) for kind, own in source.ontologies.items()}
            copy = source.copy_row(by=by, project=project, name=name)
            copy.touch(entity_ontology=theirs["entity"], relation_ontology=theirs.get("relation"))
            copy._check_ontologies()
            with label_map(source.labels_in({kind: ontology.locked() for kind, ontology in theirs.items()})):
                for statement in self.row_models[self.kind].copy_statements():
                    execute(statement, {"source": source.pk, "copy": copy.pk})
        return copy

    def _check_ontologies(self) -> None:
        names_relations = bool(self.row_models[self.kind].relation_field)
        if names_relations and not self.relation_ontology:
            raise Refused(f"{self.kind_in_words.capitalize()} need a relation ontology, too.")
        if self.relation_ontology and not names_relations:
            raise Refused(f"{self.kind_in_words.capitalize()} take no relation ontology.")
        for kind, ontology in self.ontologies.items():
            if ontology.kind != kind:
                raise Refused(f"“{ontology}” is no {kind} ontology.")
            if ontology.project_id != self.project_id and self.project:
                raise Refused(f"“{ontology}” does not belong to the project “{self.project}”.")
            if ontology.project_id != self.project_id:
                raise Refused(
                    f"“{ontology}” belongs to the project “{ontology.project}”. Duplicate that ontology first."
                )

    def labels_in(self, ontologies: Mapping[str, Ontology]) -> dict[int, int]:
        """For the key of every label that the rows name, that of the one which stands for it in other ontologies, given by kind.
        Raises `Refused` if they do not have all."""
        fields = self.row_models[self.kind].label_fields
        is_named = Q(*(("pk__in", self.rows().values(field)) for field in fields), _connector=Q.OR)
        labels: dict[int, int] = {}
        for kind, own in self.ontologies.items():
            if kind not in ontologies:
                raise Refused(
                    f"“{self}” is about {kind}s: it needs {'an entity' if kind == 'entity' else 'a relation'} ontology."
                )
            named = OntologyItem.objects.filter(is_named, ontology=own)
            labels |= counterparts(named, own, ontologies[kind], f"“{self}” names")
        return labels

    def content(self) -> Iterator[QuerySet[Any]]:
        for field in self.row_models[self.kind]._meta.many_to_many:
            yield field.remote_field.through.objects.filter(**{f"{field.m2m_field_name()}__in": self.rows().order_by()})
        yield self.rows()
