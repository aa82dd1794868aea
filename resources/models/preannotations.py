"""Preannotations: forms of entities, and pairs of them, with the labels that they usually get."""

from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any, Self

from django.db import models
from django.db.models import QuerySet

from annotation_service import access, csv_tables
from annotation_service.db import among, store, write
from annotation_service.http import PREANNOTATIONS
from annotation_service.inputs import Refused
from annotation_service.models import User
from ontologies.pasted_lists import from_fullnames

from .. import documents
from .journal import RowChange
from .rows import EntityPreannotation, RelationPreannotation, RowState
from .sets import ResourceSet


class PreannotationSet(ResourceSet):
    """Made, copied and put into projects only with the setting ``PREANNOTATION_RESOURCES``. What is there already is kept, shown
    in Django admin and exported with its project all the same."""

    feature = PREANNOTATIONS
    noun = "preannotation"
    row_words = "preannotation,preannotations"
    namespace = "preannotations"
    row_models = {"entity": EntityPreannotation, "relation": RelationPreannotation}
    change_class = RowChange

    ignore_case = models.BooleanField(default=False, help_text="Whether “Pump” in a text is an occurrence of “pump”.")
    # That of the rows when they were matched with the items of the project; null before that.
    matched_version = models.PositiveIntegerField(null=True, editable=False)

    WORDS = ResourceSet.WORDS | {"ignore_case": bool}

    class Meta(ResourceSet.Meta):
        pass

    # --- Reading ---

    @property
    def is_matched(self) -> bool:
        """Whether the suggestions in its project are those of its rows as they are."""
        return self.matched_version == self.version

    def states(self, pks: Collection[int]) -> Iterator[tuple[int, RowState]]:
        """The primary keys and states of those rows that are there."""
        uids = {label.pk: label.uid for labels in self.labels().values() for label in labels}
        return self.row_model.states(self.rows().filter(pk__in=among(pks)), uids)

    def state(self, pk: int) -> RowState:
        for _, state in self.states([pk]):
            return state
        raise Refused("This row was removed meanwhile.")

    def row_names(self, keys: Collection[str]) -> dict[str, str]:
        """Those that are gone are called by the forms that they had last."""
        model = self.row_model
        rows = self.rows().filter(pk__in=among([int(key) for key in keys]))
        names = {str(values["pk"]): model.named(values) for values in rows.values("pk", *model.form_fields)}
        gone = set(keys) - names.keys()
        removals = self.changes.filter(items__has_any_keys=list(gone)) if gone else ()
        for change in removals:
            for key in gone & change.items.keys():
                state = change.items[key][0] or change.items[key][1]
                if set(model.form_fields) <= state.keys():
                    names.setdefault(key, model.named(state))
        return names

    def csv_document(self) -> Iterator[str]:
        """The same as `json_document` as a table, a row at a time."""
        return csv_tables.written([field.name for field in self.row_model.content_fields()], self.entries())

    # --- Making ---

    def lacking(self, source: str | IO[bytes]) -> dict[str, list[str]]:
        """The full names of the labels that a document names and the ontologies lack, by the kind of the ontology; the set need
        not be stored."""
        kinds = {field: self.row_model.ontology_kind(field) for field in self.row_model.label_fields}
        names = {kind: ontology.label_names(bare=True) for kind, ontology in self.ontologies.items()}
        return documents.lacking(source, self.format, names, kinds)

    @classmethod
    def create(cls, *, source: str | IO[bytes], owner: User, add_labels: bool = False, **options: Any) -> Self:
        """With ``add_labels`` after adding the labels that the ontologies lack: one step in the history of each, which can be
        undone when nothing uses them."""
        if not add_labels:
            return super().create(source=source, owner=owner, **options)
        cls.feature.check()
        of = {name: options.get(name) for name in ("kind", "entity_ontology", "relation_ontology")}
        with write():
            draft = cls(**of)
            draft._check_ontologies()
            for kind, names in draft.lacking(source).items():
                ontology = draft.ontologies[kind]
                if not access.can_edit(owner, ontology):
                    raise Refused(
                        f"Only its owner can add labels to “{ontology}”. Duplicate it, or leave these rows out."
                    )
                ontology.add_items(from_fullnames(names), by=owner)
            return super().create(source=source, owner=owner, **options)

    def copy_row(self, **options: Any) -> Self:
        copy = super().copy_row(**options)
        store(copy, matched_version=None)
        return copy

    # --- Changing ---

    def edit(self, *, was: Mapping[str, str] | None = None, **words: Any) -> None:
        """Whether case is ignored changes what the rows suggest, as their own changes do."""
        with write():
            ignored = self.locked_to_change().ignore_case
            super().edit(was=was, **words)
            now = self.locked()
            if now.ignore_case != ignored:
                now.touch(version=now.version + 1)

    def add_row(self, values: RowState, *, by: User) -> None:
        with self.changing("add", by=by) as change:
            change.add(values)

    def change_row(self, pk: int, values: RowState, *, by: User, was: Mapping[str, str] | None = None) -> None:
        """Give some fields of a row other values. ``was`` are fingerprints of those that the person saw: see `edits`."""
        with self.changing("change", by=by) as change:
            change.set(pk, values, was)

    def remove_rows(self, rows: QuerySet[Any], *, by: User, agreed: int | None = None) -> int:
        """Remove rows; returns how many. Raises `Refused` if somebody has ``agreed`` to another number than would go now."""
        with self.changing("remove", by=by) as change:
            change.remove(rows.values_list("pk", flat=True))
            if agreed not in (None, len(change.items)):
                raise Refused("Meanwhile it has become another number of rows.")
        return len(change.items)
