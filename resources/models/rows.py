"""The rows of sets: entries of documents that point to items of a project's ontologies."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Self, cast

from django.conf import settings
from django.db import models
from django.db.models import Index, OuterRef, QuerySet, Subquery, UniqueConstraint
from django.utils.functional import classproperty

from annotation_service import limits
from annotation_service.db import among, copy_rows
from annotation_service.inputs import Refused, check_text, whole_number
from annotation_service.words import number
from ontologies.counterparts import counterpart
from ontologies.models import OntologyItem

from ..constraint_kinds import ConstraintKind
from ..documents import Entry, SetKind
from ..entity_constraints import EntityConstraints
from ..relation_constraints import RelationConstraints
from ..rules import Rule, SetName

BATCH = 2000


def unique_rows(*fields: str) -> list[models.BaseConstraint]:
    """No two rows of a set have the same position, or the same values in these fields."""
    return [
        UniqueConstraint(fields=["resource_set", "position"], name="%(class)s_position"),
        UniqueConstraint(fields=["resource_set", *fields], name="%(class)s_once"),
    ]


class ResourceRow(models.Model):
    """What one entry of a document becomes. It points to ontology items, so it follows every rename, switch and move.

    Each model of rows has ``resource_set``, `unique_rows`, and fields named and ordered as in the documents.
    """

    kind: ClassVar[Any]  # a `SetKind`
    relation_field: ClassVar[str] = ""  # the one that points to the relation ontology, unlike the others, if any
    repeated: ClassVar[str]  # what a second row with the same values, lists aside, is called
    lists: Mapping[str, list[int]] = {}  # of a row that is not stored yet: the labels for its many-to-many fields

    position = models.PositiveIntegerField()

    class Meta:
        abstract = True
        ordering = ["resource_set", "position"]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.position + 1}"

    @classmethod
    @cache
    def content_fields(cls) -> list[Any]:
        fields = [*cls._meta.concrete_fields, *cls._meta.many_to_many]
        return [field for field in fields if field.editable and field.name not in ("id", "resource_set", "position")]

    @classproperty
    def label_fields(cls) -> tuple[str, ...]:
        return tuple(field.name for field in cls.content_fields() if field.is_relation)

    @classproperty
    def marks(cls) -> str:
        """The kind of marks that they are about."""
        return "relation" if cls.relation_field else "entity"

    @classmethod
    def ontology_kind(cls, field: str) -> str:
        """Of the ontology that a field points to."""
        return "relation" if field == cls.relation_field else "entity"

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        """The row of an entry, still without a set and a position."""
        read = [(field, entry.value(field, cls.ontology_kind(field.name))) for field in cls.content_fields()]
        values = {field.attname: value for field, value in read if not field.many_to_many}
        row = cls(**values)
        row.lists = {field.name: value or [] for field, value in read if field.many_to_many}
        row.check_entry(entry)
        if entry.is_valid:
            entry.check_once(cls.repeated, *values.values())
        return row

    def check_entry(self, entry: Entry) -> None:
        """Add the problems that only this model knows."""

    @classmethod
    def entries(cls, rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """The entries of rows; ``names`` are the full names of labels by primary key."""
        lists = cls.lists_of(rows)
        fields = [field for field in cls.content_fields() if not field.many_to_many]
        labels = [field.name for field in fields if field.is_relation]
        for entry in rows.values("pk", *(field.name for field in fields)).iterator():
            pk = entry.pop("pk")
            for label in labels:
                entry[label] = names[entry[label]]
            for name, listed in lists.items():
                entry[name] = [names[label] for label in listed[pk]]
            yield entry

    @classmethod
    def lists_of(cls, rows: QuerySet[Any], named_by: str = "id") -> dict[str, defaultdict[int, list[Any]]]:
        """The labels in the lists of rows, by the list's name and the key of the row."""
        lists = {field.name: defaultdict[int, list[Any]](list) for field in cls._meta.many_to_many}
        for field in cls._meta.many_to_many:
            row, listed = field.m2m_field_name(), cast(Any, field.remote_field).through.objects
            found = listed.filter(**{f"{row}__in": rows.order_by()}).order_by("pk")
            for pk, label in found.values_list(f"{row}_id", f"ontologyitem__{named_by}").iterator():
                lists[field.name][pk].append(label)
        return lists

    @classmethod
    def copy_all(cls, source: Any, copy: Any) -> None:
        """Copy the rows of a set into another one, with the labels of `label_map`."""
        labels = {field.name: counterpart(field.name) for field in cls.content_fields() if field.many_to_one}
        rows: QuerySet[Any] = cls._default_manager.filter(**{"resource_set": source}).order_by("position")
        copy_rows(rows, resource_set=copy.pk, **labels)
        for field in cls._meta.many_to_many:
            row, through = field.m2m_field_name(), cast(Any, field.remote_field).through
            listed = through.objects.filter(**{f"{row}__resource_set": source}).order_by("pk")
            copies = cls._default_manager.filter(**{"resource_set": copy, "position": OuterRef(f"{row}__position")})
            copy_rows(listed, **{row: Subquery(copies.values("pk")), "ontologyitem": counterpart("ontologyitem")})

    @classmethod
    def store(cls, resource_set: Any, rows: list[Any]) -> None:
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


# --- Constraints ---------------------------------------------------------------------------------------------------------

Lists = dict[str, list[str] | None]
"""The lists of a rule by their names, as uids of labels; the list that limits something may be missing, as None."""


class ConstraintRow(ResourceRow):
    """A row of a constraint set. It has a key, made of the uids of the labels that no other rule of its set has, so that it can
    be removed and come back. What it means is said by its `ConstraintKind`."""

    kind: ClassVar[ConstraintKind]
    optional_list: ClassVar[str] = ""  # the list that limits nothing where it is missing
    both_ways: ClassVar[str] = ""  # the list that holds whichever of two labels has the other in it
    limit_field: ClassVar[str] = ""  # the column that says whether it is there

    class Meta(ResourceRow.Meta):
        abstract = True

    @classproperty
    def key_fields(cls) -> tuple[str, ...]:
        return tuple(name for name in cls.label_fields if name not in cls.list_fields)

    @classproperty
    def list_fields(cls) -> tuple[str, ...]:
        return tuple(field.name for field in cls._meta.many_to_many)

    @property
    def key(self) -> str:
        return "-".join(getattr(self, field).uid for field in self.key_fields)

    def state(self) -> Lists:
        return next(self.states([self]))[1]

    @classmethod
    def states(cls, rows: Sequence[Self]) -> Iterator[tuple[Self, Lists]]:
        """Rows with their lists."""
        lists = cls.lists_of(cls._default_manager.filter(pk__in=among([row.pk for row in rows])), "uid")
        for row in rows:
            yield row, row._limited({field: listed[row.pk] for field, listed in lists.items()})

    def _limited(self, lists: Any) -> Any:
        return lists if getattr(self, self.limit_field, True) else {**lists, self.optional_list: None}

    def check_entry(self, entry: Entry) -> None:
        self.set_limit(entry.values)
        for name, place, why in self.repetitions(self.lists):
            entry.add_problem(f".{name}[{place}]", f"“{entry.values[name][place]}” {why}.")

    def set_limit(self, lists: Mapping[str, Any]) -> None:
        """Remember whether the optional list is there."""
        if self.limit_field:
            setattr(self, self.limit_field, lists.get(self.optional_list) is not None)

    @classmethod
    def entries(cls, rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for entry in super().entries(rows, names):
            if cls.limit_field and not entry.pop(cls.limit_field):
                del entry[cls.optional_list]
            yield entry

    @classmethod
    def rules(cls, rows: QuerySet[Any], of: SetName) -> Iterator[Rule]:
        """Stored rows as rules, in their order."""
        lists = cls.lists_of(rows)
        for row in rows:
            yield row.as_rule(of, row.position, {name: listed[row.pk] for name, listed in lists.items()})

    def as_rule(self, of: SetName, position: int, lists: Mapping[str, list[int]]) -> Rule:
        keys = {field: getattr(self, f"{field}_id") for field in self.key_fields}
        return self.kind.rule(set=of, position=position, **keys, **self._limited(lists))

    def check_lists(self, state: Lists, names: Mapping[str, str]) -> None:
        """Refuse lists that no document may have, either; ``names`` are those of labels by uid."""
        for name, place, why in self.repetitions(state):
            raise Refused(f"“{names.get((state[name] or [])[place])}” {why}.")

    @classmethod
    def repetitions(cls, lists: Mapping[str, Sequence[Any] | None]) -> Iterator[tuple[str, int, str]]:
        """A label stands once in all lists of a rule: the lists and places of those that stand in one already, and the words."""
        first: dict[Any, str] = {}
        for name, labels in lists.items():
            for place, label in enumerate(labels or ()):
                if label in first:
                    yield name, place, f"stands in “{cls.kind.titles[first[label]]}” already"
                elif label is not None:  # of a document, one that was not found
                    first[label] = name

    def store_list(self, field: str, labels: list[int]) -> None:
        """Store a list anew, in its order."""
        through: Any = type(self)._meta.get_field(field).remote_field.through  # type: ignore[union-attr]
        own = self._meta.get_field(field).m2m_column_name()  # type: ignore[union-attr]
        through.objects.filter(**{own: self.pk}).delete()
        through.objects.bulk_create(through(**{own: self.pk, "ontologyitem_id": label}) for label in labels)


class EntityConstraint(ConstraintRow):
    """``excludes``: types that cannot coexist or be nested with the domain. ``can_contain``: types that can be nested within it;
    none at all if the list is empty, and without a limit from this row if there is no list.

    A domain has one constraint: two would have to be read together, and the second is most likely a mistake.
    """

    kind = EntityConstraints()
    repeated = "A constraint for this domain"
    optional_list, limit_field, both_ways = "can_contain", "limits_contents", "excludes"

    resource_set = models.ForeignKey("ConstraintSet", on_delete=models.CASCADE, db_index=False)
    domain = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    excludes = models.ManyToManyField(OntologyItem, related_name="+")
    can_contain = models.ManyToManyField(OntologyItem, related_name="+")
    limits_contents = models.BooleanField(
        help_text="Whether only the types of can_contain can be nested within the domain."
    )

    class Meta(ConstraintRow.Meta):
        constraints = unique_rows("domain")


class RelationConstraint(ConstraintRow):
    """Which types the target of a relation may have if its source has the type ``domain``.

    A relation has one constraint for each domain, for the same reason as above.
    """

    kind = RelationConstraints()
    relation_field = "relation"
    repeated = "A constraint for this relation and domain"

    resource_set = models.ForeignKey("ConstraintSet", on_delete=models.CASCADE, db_index=False)
    relation = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    domain = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    range = models.ManyToManyField(OntologyItem, related_name="+")

    class Meta(ConstraintRow.Meta):
        constraints = unique_rows("relation", "domain")


# --- Preannotations: forms, the texts of entities, with the labels that they usually get ---------------------------------

MAX_OFFSET = 2_147_483_647
# Those in which a table of 100,000 rows is shown without sorting them.
_ORDERS = [
    Index(fields=["resource_set", "search_text", "position"], name="%(class)s_order"),
    Index(fields=["resource_set", "label", "search_text", "position"], name="%(class)s_by_label"),
]
RowState = dict[str, Any]
"""The position and the values of a row by their fields, labels as uids."""


class Preannotation(ResourceRow):
    """Its primary key names it in the journal, and it comes back with it. Where a row was removed, a position is free."""

    form_fields: ClassVar[tuple[str, ...]]

    search_text = models.TextField(editable=False)  # the forms, case-folded, one a line

    class Meta(ResourceRow.Meta):
        abstract = True

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        row = super().from_entry(entry)
        if entry.is_valid:
            row.fold()
        return row

    def fold(self) -> None:
        self.search_text = "\n".join(getattr(self, field) for field in self.form_fields).casefold()

    @classmethod
    def named(cls, state: Mapping[str, Any]) -> str:
        """What a row is called, such as “replace → pump”."""
        return " → ".join(state[field] for field in cls.form_fields)

    @classmethod
    def form_of(cls, label_field: str, state: Mapping[str, Any]) -> str:
        """The form that a label is for; of a relation all forms."""
        form = label_field.replace("label", "surface_form")
        return state[form] if form in cls.form_fields else cls.named(state)

    @classmethod
    def states(cls, rows: QuerySet[Any], uids: Mapping[int, str]) -> Iterator[tuple[int, RowState]]:
        """The primary keys and states of rows; ``uids`` are those of labels by primary key."""
        fields = [field.name for field in cls.content_fields()]
        for values in rows.values("pk", "position", *fields).iterator():
            pk = values.pop("pk")
            yield pk, values | {field: uids[values[field]] for field in cls.label_fields}

    @classmethod
    def cleaned(cls, values: Mapping[str, Any]) -> RowState:
        """Values of some fields as they are stored, offsets given as texts. Raises `Refused`."""
        clean = dict.fromkeys(cls.form_fields, _clean_form) | {"offset": _clean_offset}
        return {name: clean[name](value) if name in clean else value for name, value in values.items()}


def _clean_form(text: str) -> str:
    form = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not form:
        raise Refused("A form is needed: the text as it stands in items.")
    if len(form) > (most := settings.MAX_SURFACE_FORM_CHARACTERS):
        raise Refused(f"A form has at most {most} characters; this one has {number(len(form))}.")
    return check_text(form)


def _clean_offset(text: str) -> int:
    offset = whole_number(text.strip(), digits=10)
    if offset is None or offset > MAX_OFFSET:
        raise Refused(f"A whole number from 0 to {number(MAX_OFFSET)} was expected.")
    return offset


class EntityPreannotation(Preannotation):
    """A text may have several labels, but not the same one twice. It is kept as it is written, for texts of datasets are, too:
    “Pump” and “pump” are two."""

    kind = SetKind("Entities", "Which label a form usually gets.", "None: no entities are suggested")
    repeated = "This text with this label"
    form_fields = ("surface_form",)

    resource_set = models.ForeignKey("PreannotationSet", on_delete=models.CASCADE, db_index=False)
    surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    class Meta(Preannotation.Meta):
        constraints = unique_rows("surface_form", "label")
        indexes = _ORDERS


class RelationPreannotation(Preannotation):
    """``offset``: the grammatical offset between source and target, 0 if they are contiguous. Two rows differ in at least one
    field."""

    kind = SetKind("Relations", "Which relation two forms usually have.", "None: no relations are suggested")
    relation_field = "label"
    repeated = "The same preannotation"
    form_fields = ("source_surface_form", "target_surface_form")

    resource_set = models.ForeignKey("PreannotationSet", on_delete=models.CASCADE, db_index=False)
    source_surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    source_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    target_surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    target_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    offset = models.PositiveIntegerField()
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    class Meta(Preannotation.Meta):
        constraints = unique_rows(
            "source_surface_form", "source_label", "target_surface_form", "target_label", "offset", "label"
        )
        indexes = _ORDERS
