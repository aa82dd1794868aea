"""Constraints (which entities can stand together, and which of them a relation may connect) and preannotations (texts of
entities, and pairs of them, with the labels that they usually get)."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import IO, Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, UniqueConstraint, Value
from django.db.models.functions import Coalesce

from annotation_service.blueprints import Blueprint, Existing
from annotation_service.db import execute, write
from annotation_service.inputs import Problems, Refused, clean_description, clean_title
from annotation_service.journal import Entries, Journaled
from annotation_service.json_input import json_array, to_json
from annotation_service.models import User
from annotation_service.words import plural
from ontologies import usage
from ontologies.covering import counterparts, label_map
from ontologies.labels import Labels
from ontologies.models import Ontology, OntologyItem

from .. import documents
from ..checks import Mistake, inactive, likely_mistakes
from ..rules import EntityRule, RelationRule, Rules, SetName
from .journal import RuleChange, rule_name
from .rows import EntityConstraint, EntityPreannotation, RelationConstraint, RelationPreannotation, Rule, State


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


class ConstraintSetQuerySet(models.QuerySet["ConstraintSet"]):
    def with_size(self) -> Self:
        """Adds ``size``, the number of rules."""
        counts = (
            rows.objects.filter(resource_set=OuterRef("pk"))
            .order_by()
            .values("resource_set")
            .annotate(n=Count("pk"))
            .values("n")
            for rows in ConstraintSet.row_models.values()
        )
        return self.annotate(size=sum((Coalesce(Subquery(count), 0) for count in counts), Value(0)))


class ConstraintSet(Journaled, ResourceSet):
    """Its rows are called rules. They are named by their keys, and their labels by uids: see `Rule`."""

    keeps_inactive = True
    noun = "constraint"
    row_models = {"entity": EntityConstraint, "relation": RelationConstraint}
    change_class = RuleChange

    objects = Existing.from_queryset(ConstraintSetQuerySet)()  # type: ignore[misc]

    class Meta(ResourceSet.Meta):
        pass

    # --- Reading ---

    @property
    def row_model(self) -> type[Rule]:
        model: type[Rule] = self.row_models[self.kind]
        return model

    def content_in_words(self) -> str:
        return plural(self.row_count, "rule,rules")

    def labels(self) -> dict[str, Labels]:
        """All labels of its ontologies, by their kind."""
        return {kind: ontology.labels() for kind, ontology in self.ontologies.items()}

    def rules_with_keys(self) -> QuerySet[Any]:
        """All rules, with the labels that their keys are made of."""
        return self.rows().select_related(*self.row_model.key_fields)

    def rules_with(self, key: str) -> QuerySet[Any]:
        """The rule with a key, if it is there, with the labels that this is made of."""
        fields = [f"{field}__uid" for field in self.row_model.key_fields]
        uids = key.split("-")
        rows = self.rules_with_keys()
        return rows.filter(**dict(zip(fields, uids, strict=True))) if len(uids) == len(fields) else rows.none()

    def names_by_uid(self) -> dict[str, str]:
        return {label.uid: label.name for labels in self.labels().values() for label in labels}

    def rule_name(self, key: str) -> str:
        return rule_name(self.names_by_uid(), key)

    def rules(self) -> Iterator[EntityRule | RelationRule]:
        """The rows as rules, in their order."""
        rows: Iterator[EntityRule | RelationRule]
        rows = self.row_models[self.kind].rules(self.rows(), SetName(self.pk, self.name))
        return rows

    def content(self) -> Iterator[QuerySet[Any]]:
        yield self.changes.order_by("-version")
        yield from super().content()

    def mistakes(self) -> list[Mistake]:
        """Likely mistakes in the rules, in their order."""
        rows, labels = list(self.rules()), self.labels()
        return sorted([*likely_mistakes(rows, labels), *inactive(rows, labels)], key=lambda each: each.position)

    # --- Making ---

    def read(self, source: str | IO[bytes]) -> list[Any]:
        rows, of = super().read(source), SetName(0, self.name)
        rules = [row.as_rule(of, position, row.lists) for position, row in enumerate(rows)]
        for mistake in likely_mistakes(rules, self.labels()):
            place = f"item {mistake.position + 1}, $[{mistake.position}]{mistake.place}"
            self.warnings.add(place, mistake.text)
        return rows

    def note_creation(self, count: int) -> None:
        RuleChange(self, "create").store(self.owner, count=count)

    def copy_to(
        self, project: Any = None, *, by: User, name: str = "", ontologies: Mapping[str, Ontology] | None = None
    ) -> Self:
        """A blueprint that is made of a project's copy names the labels of the blueprints that its ontologies come from."""
        if self.project and not project:
            origins: dict[str, Any] = {kind: ontology.copied_from for kind, ontology in self.ontologies.items()}
            ontologies = {kind: origin for kind, origin in origins.items() if origin} | dict(ontologies or {})
        with write():
            copy = super().copy_to(project, by=by, name=name, ontologies=ontologies)
            copy.touch(version=0)
        return copy

    # --- Changing ---

    def add_rule(self, key: str, *, by: User, **lists: list[str] | None) -> None:
        """A new rule, last; lists that are not given are empty, or missing where they may be."""
        with self.changing("add", by=by) as change:
            change.add(key, lists)

    def change_rule(
        self, key: str, *, by: User, was: Mapping[str, str] | None = None, **lists: list[str] | None
    ) -> None:
        """Give a rule other lists. ``was`` are fingerprints of those that the person saw: see `edits`."""
        with self.changing("change", by=by) as change:
            change.set(key, lists, was)

    def add_label(self, key: str, field: str, uid: str, *, by: User) -> None:
        """Put a label into a list of a rule, last, whatever else has happened to the list."""
        with self.changing("change", by=by) as change:
            uids = change.state(key)[field]
            if uids is None:
                raise Refused(f"Somebody took the limit of “{self.rule_name(key)}” away. Set it again first.")
            if uid not in uids:
                change.set(key, {field: [*uids, uid]})

    def drop_label(self, key: str, field: str, uid: str, *, by: User) -> None:
        """Take a label out of a list of a rule, whatever else has happened to the list."""
        with self.changing("change", by=by) as change:
            if uids := change.state(key)[field]:
                change.set(key, {field: [other for other in uids if other != uid]})

    def remove_rule(self, key: str, *, by: User) -> None:
        with self.changing("remove", by=by) as change:
            change.remove(key)

    def add_rules(self, new: Mapping[str, State], *, by: User, verb: str = "add") -> int:
        """Add several rules in one step. Where one stands already, its lists get the labels that they do not have; returns how
        many rules are new or have changed."""
        with self.changing(verb, by=by) as change:
            there = {row.key: row.state() for row in self.rules_with_keys() if row.key in new}
            for key, lists in new.items():
                if key in there:
                    change.set(key, {name: _joined(there[key][name], added) for name, added in lists.items()})
                else:
                    change.add(key, lists)
        return len(change.items)

    def put_back(self, change: RuleChange, entries: Entries) -> None:
        # From the last to the first and back: so each of several rules gets the position that it had.
        added = [(after["position"], key) for key, (before, after) in entries.items() if before is None]
        for _, key in sorted(added, reverse=True):
            change.remove(key)
        removed = [(before["position"], key, before) for key, (before, after) in entries.items() if after is None]
        for position, key, state in sorted(removed):
            change.add(key, {name: uids for name, uids in state.items() if name != "position"}, position)
        for key, (before, after) in entries.items():
            if before is not None and after is not None:
                change.set(key, before)


def _joined(there: list[str] | None, added: list[str] | None) -> list[str] | None:
    if there is None or added is None:
        return there if added is None else added
    return [*there, *(uid for uid in added if uid not in there)]


def rules_about(sets: Iterable[ConstraintSet], ontologies: Mapping[str, Ontology]) -> Rules | None:
    """What constraint sets allow together, with the labels of other ontologies; None if there are none. Raises `Refused` if these
    do not have all labels that the sets name."""
    chosen = [(each, each.labels_in(ontologies)) for each in sets]
    return Rules(rule.of_labels(labels) for each, labels in chosen for rule in each.rules()) if chosen else None


def rules_of(sets: Iterable[ConstraintSet]) -> Rules | None:
    """What constraint sets allow together; None if there are none. Kept in memory until one of them changes."""
    versions = tuple((each.pk, each.name, each.updated_at) for each in sets)
    return _rules(versions) if versions else None


@lru_cache(maxsize=100)
def _rules(versions: tuple[tuple[int, str, datetime], ...]) -> Rules:
    sets = ConstraintSet.objects.in_bulk(pk for pk, _, _ in versions)
    return Rules(rule for pk, _, _ in versions if pk in sets for rule in sets[pk].rules())  # one may be gone by now


class PreannotationSet(ResourceSet):
    """Made, copied and put into projects only with the setting ``PREANNOTATION_RESOURCES``. What is there already is kept, shown
    in Django admin and exported with its project all the same."""

    noun = "preannotation"
    row_models = {"entity": EntityPreannotation, "relation": RelationPreannotation}

    @classmethod
    def check_enabled(cls) -> None:
        if not settings.PREANNOTATION_RESOURCES:
            raise Refused("Preannotation resources are switched off in this installation.")


RESOURCE_SETS: tuple[type[ResourceSet], ...] = (ConstraintSet, PreannotationSet)
FORMATS = {model.format_of(kind): (model, kind) for model in RESOURCE_SETS for kind in model.row_models}
"""The model and the kind for the documents of each format."""

for model in RESOURCE_SETS:
    usage.ontology_uses += [(model, "entity_ontology"), (model, "relation_ontology")]
    for rows in model.row_models.values():
        usage.item_uses.append(
            usage.ItemUse(rows, f"{model.noun}s", rows.label_fields, "resource_set", "resource_set__project")
        )
