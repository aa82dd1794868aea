"""What constraint sets and preannotation sets have in common: rows that point to items of a project's ontologies."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q, QuerySet, UniqueConstraint

from annotation_service.blueprints import Blueprint
from annotation_service.db import execute, write
from annotation_service.inputs import Refused, clean_description, clean_title
from annotation_service.json_input import json_array, to_json
from annotation_service.models import User
from annotation_service.words import plural
from ontologies.models import Ontology, OntologyItem

from .. import documents

BATCH = 2000


def copied_label(column: str, kind: str = "entity") -> str:
    """SQL for the item of the copy's ontology that has the uid of the item in a column. It is a subquery because PostgreSQL may
    plan a join badly where statistics are missing: 100,000 relation preannotations took 157 s instead of 13 s."""
    return f"""(
        SELECT new.id FROM ontologies_ontologyitem old JOIN ontologies_ontologyitem new ON new.uid = old.uid
        WHERE old.id = {column} AND new.ontology_id = %({kind}_ontology)s
    )"""


def unique_rows(*fields: str) -> list[models.BaseConstraint]:
    """No two rows of a set have the same position, or the same values in these fields."""
    return [
        UniqueConstraint(fields=["resource_set", "position"], name="%(class)s_position"),
        UniqueConstraint(fields=["resource_set", *fields], name="%(class)s_once"),
    ]


class Row(models.Model):
    """What one entry of a document becomes. It points to ontology items, so it follows every rename, switch and move.

    Each model of rows has ``resource_set``, `unique_rows`, and

    * ``from_entry(entry)``: the row of an entry, still without a set and a position;
    * ``entries(rows, names)``: the entries of rows; ``names`` are the full names of labels by primary key;
    * ``copy_statements``: INSERT ... SELECT with `copied_label` and the parameters ``source`` and ``copy``;
    * ``label_fields``: all fields that point to ontology items, and ``names_relations`` if some are of the relation ontology.
    """

    copy_statements: ClassVar[tuple[str, ...]]
    label_fields: ClassVar[tuple[str, ...]]
    names_relations = False
    lists: Mapping[str, list[int]] = {}  # of a row that is not stored yet: the labels for its many-to-many fields

    position = models.PositiveIntegerField()

    class Meta:
        abstract = True
        ordering = ["resource_set", "position"]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.position + 1}"

    @classmethod
    def store(cls, resource_set: "ResourceSet", rows: list[Any]) -> None:
        for position, row in enumerate(rows):
            row.resource_set, row.position = resource_set, position
        cls._default_manager.bulk_create(rows, batch_size=BATCH)
        for field in cls._meta.many_to_many:
            listed: Any = field.remote_field.through
            pairs = ((row.pk, label) for row in rows for label in row.lists[field.name])
            listed.objects.bulk_create(
                (listed(**{field.m2m_column_name(): row, "ontologyitem_id": label}) for row, label in pairs),
                batch_size=BATCH,
            )


class ResourceSet(Blueprint):
    """Rows about the labels of an entity ontology or, if these name relations, of both ontologies.

    A blueprint names labels of blueprints, a project's copy those of the project's own ontologies.
    """

    class Kind(models.TextChoices):
        ENTITY = "entity", "Entities"
        RELATION = "relation", "Relations"

    noun: ClassVar[str]  # what a row is, such as “constraint”
    row_models: ClassVar[dict[str, Any]]  # by kind: models of `Row`

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
        with write():  # the ontologies as they are now, but without a lock while the document is read
            resource_set = cls(
                kind=kind,
                name=clean_title(name),
                description=clean_description(description),
                owner=owner,
                entity_ontology=entity_ontology.locked(),
                relation_ontology=relation_ontology and relation_ontology.locked(),
            )
        resource_set._check_ontologies()
        names = {kind: ontology.label_names(bare=True) for kind, ontology in resource_set.ontologies.items()}
        row_model = cls.row_models[kind]
        rows = documents.read(text, resource_set.format, names, row_model.from_entry)
        with write():
            for ontology in resource_set.ontologies.values():
                if ontology.locked().version != ontology.version:
                    raise Refused(f"“{ontology}” was changed while the document was read. Try again.")
            resource_set.save(force_insert=True)
            row_model.store(resource_set, rows)
        return resource_set

    def copy_to(
        self, project: Any = None, *, by: User, name: str = "", ontologies: Mapping[str, Ontology] | None = None
    ) -> Self:
        """A copy in the project or, without one, a new blueprint of the user.

        The copy uses the given ``ontologies``, by kind, instead of this set's: they must have all labels that the rows name,
        with the same uids.
        """
        self.check_enabled()
        with write():
            source = self.locked()
            theirs = {kind: (ontologies or {}).get(kind, own) for kind, own in source.ontologies.items()}
            copy = source.copy_row(by=by, project=project, name=name)
            copy.touch(entity_ontology=theirs["entity"], relation_ontology=theirs.get("relation"))
            copy._check_ontologies()
            source._check_labels(theirs)
            params = {
                "source": source.pk,
                "copy": copy.pk,
                "entity_ontology": copy.entity_ontology_id,
                "relation_ontology": copy.relation_ontology_id,
            }
            for statement in self.row_models[self.kind].copy_statements:
                execute(statement, params)
        return copy

    def _check_ontologies(self) -> None:
        names_relations = self.row_models[self.kind].names_relations
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

    def _check_labels(self, ontologies: Mapping[str, Ontology]) -> None:
        """Check that the ontologies have every label that the rows name, and lock them so that they keep it."""
        fields = self.row_models[self.kind].label_fields
        is_named = Q(*(("pk__in", self.rows().values(field)) for field in fields), _connector=Q.OR)
        for kind, own in self.ontologies.items():
            there = ontologies[kind].locked().items().values("uid")
            named = OntologyItem.objects.filter(is_named, ontology=own)
            if missing := named.exclude(uid__in=there).first():
                raise Refused(
                    f"“{self}” names the label “{missing.fullname}”, which “{ontologies[kind]}” does not have: the two were"
                    " not made for each other."
                )

    @staticmethod
    def erase_all(resource_sets: QuerySet[Any]) -> None:
        """Delete sets with their rows."""
        resource_sets.delete()
