"""What constraint sets and preannotation sets have in common: rows that name labels, documents, copies and a journal."""

from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet, UniqueConstraint, Value

from annotation_service.blueprints import Existing, PagedBlueprint
from annotation_service.db import among, count_of, write
from annotation_service.inputs import Problems, Refused, clean_description, clean_title
from annotation_service.journal import Journaled
from annotation_service.json_input import json_array, to_json
from annotation_service.models import User
from annotation_service.words import plural
from ontologies.counterparts import counterparts, label_map
from ontologies.labels import Labels
from ontologies.models import Ontology, OntologyItem

from .. import documents


class ResourceSetQuerySet(models.QuerySet["ResourceSet"]):
    def with_size(self) -> Self:
        """Adds ``size``, the number of rows."""
        counts = (count_of(rows.objects.all(), "resource_set") for rows in self.model.row_models.values())
        return self.annotate(size=sum(counts, Value(0)))


class ResourceSet(Journaled, PagedBlueprint):
    """Rows about the labels of an entity ontology or, if these name relations, of both ontologies.

    A blueprint names labels of blueprints, a project's copy those of the project's own ontologies.
    """

    keeps_inactive: ClassVar[bool] = False  # whether documents may name labels that are switched off
    noun: ClassVar[str]  # what a row is, such as “constraint”
    row_words: ClassVar[str]  # what rows are called on pages: see `plural`
    row_models: ClassVar[dict[str, Any]]  # by kind: models of `ResourceRow`
    warnings: Problems  # of the document that `create` has just read

    kind = models.CharField(max_length=20)  # one of ``row_models``
    entity_ontology = models.ForeignKey(Ontology, on_delete=models.RESTRICT, related_name="+")
    relation_ontology = models.ForeignKey(Ontology, null=True, blank=True, on_delete=models.RESTRICT, related_name="+")

    objects = Existing.from_queryset(ResourceSetQuerySet)()  # type: ignore[misc]

    class Meta:
        abstract = True
        constraints = [
            UniqueConstraint(
                fields=["project", "kind"], condition=~Q(project=None), name="%(class)s_one_kind_a_project"
            )
        ]

    # --- Reading ---

    @classmethod
    def kinds(cls) -> dict[str, str]:
        return {kind: rows.kind.title for kind, rows in cls.row_models.items()}

    def get_kind_display(self) -> str:
        return self.kinds()[self.kind]

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

    @property
    def row_model(self) -> Any:
        return self.row_models[self.kind]

    def rows(self) -> QuerySet[Any]:
        """The rows in the order of their document."""
        return self.row_model.objects.filter(resource_set=self).order_by("position")

    @property
    def row_count(self) -> int:
        return self.rows().count()

    def room_for(self, more: int) -> int:
        """How many rows there are, if so many more are allowed."""
        count = self.row_count
        if count + more > settings.MAX_RESOURCE_ROWS:
            rows = plural(settings.MAX_RESOURCE_ROWS, self.row_words)
            raise Refused(f"A set has at most {rows}.")
        return count

    def row_names(self, keys: Collection[str]) -> dict[str, str]:
        """What rows are called, by their keys in the journal; those that are gone, too."""
        raise NotImplementedError

    def content_in_words(self) -> str:
        return plural(self.row_count, self.row_words)

    @property
    def ontologies(self) -> dict[str, Ontology]:
        """The ontologies by their kind."""
        both = {"entity": self.entity_ontology, "relation": self.relation_ontology}
        return {kind: ontology for kind, ontology in both.items() if ontology}

    def labels(self) -> dict[str, Labels]:
        """All labels of its ontologies, by their kind."""
        return {kind: ontology.labels() for kind, ontology in self.ontologies.items()}

    def labels_for(self, field: str) -> Labels:
        """Those that a field of its rows can have."""
        return self.labels()[self.row_model.ontology_kind(field)]

    def names_by_uid(self) -> dict[str, str]:
        return {label.uid: label.name for labels in self.labels().values() for label in labels}

    def hold_labels(self, kind: str, uids: Collection[str]) -> dict[str, OntologyItem]:
        """Labels of the ontology of a kind, which stay there until the transaction ends."""
        labels = self.labels()[kind].by_uid
        items = OntologyItem.objects.filter(pk__in=among({labels[uid].pk for uid in uids if uid in labels}))
        if len(items) < len(set(uids)):
            raise Refused("One of these labels is not there any more: adding it was undone. Reload the page.")
        OntologyItem.hold_all(items)
        return {item.uid: item for item in items}

    def json_document(self) -> Iterator[str]:
        """The document with the labels’ current full names, an entry a line. It can be uploaded again."""
        return json_array(map(to_json, self.entries()))

    def entries(self) -> Iterator[dict[str, Any]]:
        """The entries of its document."""
        stored = Ontology.objects.filter(pk__in=[self.entity_ontology_id, self.relation_ontology_id])
        names = {label.pk: label.fullname for ontology in stored for label in ontology.labels()}
        entries: Iterator[dict[str, Any]] = self.row_model.entries(self.rows(), names)
        return entries

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
        **fields: Any,
    ) -> Self:
        """A new blueprint from a JSON document (see `documents.read`) that names labels of blueprint ontologies; ``fields`` are
        those that only sets of its class have.

        Raises `Refused` with all that is wrong, and stores nothing.
        """
        cls.feature.check()
        with write():  # the ontologies as they are now, but without a lock while the document is read
            resource_set = cls(
                kind=kind,
                name=clean_title(name),
                description=clean_description(description),
                owner=owner,
                entity_ontology=entity_ontology.locked(),
                relation_ontology=relation_ontology and relation_ontology.locked(),
                **fields,
            )
        rows = resource_set.read(source)
        with write():
            for ontology in resource_set.ontologies.values():
                if ontology.locked().version != ontology.version:
                    raise Refused(f"“{ontology}” was changed while the document was read. Try again.")
            resource_set.save(force_insert=True)
            resource_set.row_model.store(resource_set, rows)
            resource_set.change_class(resource_set, "create").store(owner, count=len(rows))
        return resource_set

    def read(self, source: str | IO[bytes]) -> list[Any]:
        """The rows of a document, not stored, for a set that need not be stored, either. Keeps the ``warnings`` about it; raises
        `Refused` with all that is wrong."""
        self._check_ontologies()
        names = {kind: ontology.label_names(bare=True) for kind, ontology in self.ontologies.items()}
        to_row = self.row_model.from_entry
        rows, self.warnings = documents.read(source, self.format, names, to_row, keep_inactive=self.keeps_inactive)
        return rows

    def copy_to(
        self, project: Any = None, *, by: User, name: str = "", ontologies: Mapping[str, Ontology] | None = None
    ) -> Self:
        """A copy in the project or, without one, a new blueprint of the user.

        The copy uses the given ``ontologies``, by kind, instead of this set's: they must have all labels that the rows name. A
        blueprint that is made of a project's copy uses the blueprints that its ontologies come from.
        """
        self.feature.check()
        with write():
            source = self.locked()
            theirs: dict[str, Any] = source.ontologies
            if self.project and not project:
                theirs = {kind: ontology.copied_from or ontology for kind, ontology in theirs.items()}
            theirs |= {kind: ontology for kind, ontology in (ontologies or {}).items() if kind in theirs}
            copy = source.copy_row(by=by, project=project, name=name)
            copy.touch(entity_ontology=theirs["entity"], relation_ontology=theirs.get("relation"), version=0)
            copy._check_ontologies()
            with label_map(source.labels_in({kind: ontology.locked() for kind, ontology in theirs.items()})):
                self.row_model.copy_all(source, copy)
        return copy

    def _check_ontologies(self) -> None:
        names_relations = bool(self.row_model.relation_field)
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
        fields = self.row_model.label_fields
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
        yield self.changes.order_by("-version")
        for field in self.row_model._meta.many_to_many:
            yield field.remote_field.through.objects.filter(**{f"{field.m2m_field_name()}__in": self.rows().order_by()})
        yield self.rows()
