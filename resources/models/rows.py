"""The rows of constraint sets and preannotation sets, stored and copied by sets of rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models import Q, QuerySet, UniqueConstraint

from annotation_service.db import execute
from ontologies.models import OntologyItem

if TYPE_CHECKING:
    from .sets import Resource

BATCH = 2000
Values = dict[str, Any]
"""A row by the keys of its document: a label is an item's key, a list of labels a list of keys or None."""


class Row(models.Model):
    """One object of a resource's document. Each of its keys is a field here: a text, a number, a label or a list of labels."""

    keys: ClassVar[tuple[str, ...]]  # in the order of the document
    relation_keys: ClassVar[frozenset[str]] = (
        frozenset()
    )  # those that name relation labels; all others name entity labels
    once: ClassVar[tuple[str, ...]]  # what no two rows have in common
    once_words: ClassVar[str]

    position = models.PositiveIntegerField()

    class Meta:
        abstract = True
        ordering = ["resource", "position"]
        constraints = [UniqueConstraint(fields=["resource", "position"], name="%(class)s_position")]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.position + 1}"

    # --- Fields ---

    @classmethod
    def lists(cls) -> list[Any]:
        """The fields that are lists of labels."""
        return [field for key in cls.keys if (field := cls._meta.get_field(key)).many_to_many]

    @classmethod
    def columns(cls) -> list[Any]:
        """The other fields of the document."""
        return [field for key in cls.keys if not (field := cls._meta.get_field(key)).many_to_many]

    @classmethod
    def label_kind(cls, key: str) -> str:
        """Whether a key names labels of the entity or of the relation ontology; the empty string for neither."""
        if cls._meta.get_field(key).related_model is not OntologyItem:
            return ""
        return "relation" if key in cls.relation_keys else "entity"

    @classmethod
    def labels_named(cls, resource: "Resource", kind: str) -> "QuerySet[OntologyItem]":
        """The labels of a kind that the rows of a resource name."""
        named = Q()
        for key in cls.keys:
            if cls.label_kind(key) == kind:
                field: Any = cls._meta.get_field(key)
                if field.many_to_many:
                    listed = through(field)._default_manager.filter(row__resource=resource)
                    named |= Q(pk__in=listed.values("label"))
                else:
                    named |= Q(pk__in=resource.rows().values(key))
        return OntologyItem.objects.filter(named)

    # --- Documents ---

    @classmethod
    def contradictions(cls, values: Values) -> Iterator[tuple[str, str]]:
        """Where the values of a row cannot go together: pairs of a key with its place in a list, and text."""
        yield from ()

    @classmethod
    def of(cls, resource: "Resource", position: int, values: Values) -> Self:
        columns = {field.attname: values[field.name] for field in cls.columns()}
        return cls(resource=resource, position=position, **columns)

    def document(self, lists: Mapping[str, list[int]], names: Mapping[int, str]) -> dict[str, Any]:
        """The object of the row; ``lists`` are the keys of its listed labels, ``names`` the full names of labels."""
        values: dict[str, Any] = {field.name: [names[pk] for pk in lists[field.name]] for field in self.lists()}
        for field in self.columns():
            value = getattr(self, field.attname)
            values[field.name] = names[value] if self.label_kind(field.name) else value
        return {key: values[key] for key in self.keys}

    # --- Storing ---

    @classmethod
    def store(cls, resource: "Resource", rows: Sequence[Values]) -> None:
        new = [cls.of(resource, position, values) for position, values in enumerate(rows)]
        stored = cls._default_manager.bulk_create(new, batch_size=BATCH)
        for field in cls.lists():
            listed = through(field)
            listed._default_manager.bulk_create(
                (
                    listed(row=row, position=position, label_id=pk)
                    for row, values in zip(stored, rows, strict=True)
                    for position, pk in enumerate(values[field.name] or ())
                ),
                batch_size=BATCH,
            )

    @classmethod
    def copy(cls, source: "Resource", target: "Resource") -> None:
        """Copy the rows inside the database. Positions match old rows with new ones; each label becomes the one with its uid in
        the target's ontology."""
        params = {
            "old": source.pk,
            "new": target.pk,
            "entity": target.entity_ontology_id,
            "relation": target.relation_ontology_id,
        }
        table = cls._meta.db_table
        columns, values, joins = [], [], ""
        for field in cls._meta.concrete_fields:
            if field.name in {"id", "resource"}:
                continue
            column = f'"{field.column}"'
            columns.append(column)
            if kind := cls.label_kind(field.name):
                values.append(f"new_{field.name}.id")
                joins += _same_label(f"r.{column}", field.name, kind)
            else:
                values.append(f"r.{column}")
        execute(
            f"INSERT INTO {table} (resource_id, {', '.join(columns)}) SELECT %(new)s, {', '.join(values)}"
            f" FROM {table} r{joins} WHERE r.resource_id = %(old)s ORDER BY r.position",
            params,
        )
        for field in cls.lists():
            listed = through(field)._meta.db_table
            execute(
                f"INSERT INTO {listed} (row_id, position, label_id) SELECT nr.id, l.position, new_label.id FROM {table} r"
                f" JOIN {table} nr ON nr.resource_id = %(new)s AND nr.position = r.position"
                f" JOIN {listed} l ON l.row_id = r.id{_same_label('l.label_id', 'label', cls.label_kind(field.name))}"
                " WHERE r.resource_id = %(old)s ORDER BY l.id",
                params,
            )


class ListedLabel(models.Model):
    """One label of a list, at its place."""

    position = models.PositiveIntegerField()
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    class Meta:
        abstract = True
        ordering = ["position"]
        constraints = [
            UniqueConstraint(fields=["row", "position"], name="%(class)s_position"),
            UniqueConstraint(fields=["row", "label"], name="%(class)s_label"),
        ]

    def __str__(self) -> str:
        return str(self.label)


def through(field: Any) -> type[Any]:
    """The model that keeps the labels of a list."""
    return field.remote_field.through


def _same_label(column: str, name: str, kind: str) -> str:
    """Joins ``new_<name>``, the item of the new ontology with the uid of the item that the column points to."""
    items = OntologyItem._meta.db_table
    return (
        f" JOIN {items} old_{name} ON old_{name}.id = {column}"
        f" JOIN {items} new_{name} ON new_{name}.ontology_id = %({kind})s AND new_{name}.uid = old_{name}.uid"
    )
