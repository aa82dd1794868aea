"""Preannotations: texts of entities, and pairs of them, with the labels that they usually get."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import QuerySet

from annotation_service import limits
from annotation_service.inputs import Refused
from ontologies.models import OntologyItem

from ..documents import Entry
from .sets import ResourceSet, Row, copied_label, unique_rows

RELATION_FIELDS = ("source_surface_form", "source_label", "target_surface_form", "target_label", "offset", "label")


class EntityPreannotation(Row):
    """A text may have several labels, but not the same one twice. It is kept as it is written, for texts of datasets are, too:
    “Pump” and “pump” are two."""

    resource_set = models.ForeignKey("PreannotationSet", on_delete=models.CASCADE, db_index=False)
    surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    label_fields = ("label",)
    copy_statements = (
        f"""
        INSERT INTO resources_entitypreannotation (resource_set_id, position, surface_form, label_id)
        SELECT %(copy)s, position, surface_form, {copied_label("label_id")}
        FROM resources_entitypreannotation WHERE resource_set_id = %(source)s ORDER BY position
        """,
    )

    class Meta(Row.Meta):
        constraints = unique_rows("surface_form", "label")

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        surface_form, label = entry.text("surface_form"), entry.label("label")
        if entry.is_valid:
            entry.check_once("This text with this label", surface_form, label)
        return cls(surface_form=surface_form, label_id=label)

    @staticmethod
    def entries(rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for entry in rows.values("surface_form", "label").iterator():
            yield entry | {"label": names[entry["label"]]}


class RelationPreannotation(Row):
    """``offset``: the grammatical offset between source and target, 0 if they are contiguous. Two rows differ in at least one
    field."""

    resource_set = models.ForeignKey("PreannotationSet", on_delete=models.CASCADE, db_index=False)
    source_surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    source_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    target_surface_form = models.CharField(max_length=limits.MAX_SURFACE_FORM_CHARACTERS)
    target_label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")
    offset = models.PositiveIntegerField()
    label = models.ForeignKey(OntologyItem, on_delete=models.RESTRICT, related_name="+")

    label_fields = ("source_label", "target_label", "label")
    names_relations = True
    copy_statements = (
        f"""
        INSERT INTO resources_relationpreannotation (resource_set_id, position, source_surface_form, source_label_id,
            target_surface_form, target_label_id, "offset", label_id)
        SELECT %(copy)s, position, source_surface_form, {copied_label("source_label_id")},
            target_surface_form, {copied_label("target_label_id")}, "offset", {copied_label("label_id", "relation")}
        FROM resources_relationpreannotation WHERE resource_set_id = %(source)s ORDER BY position
        """,
    )

    class Meta(Row.Meta):
        constraints = unique_rows(*RELATION_FIELDS)

    @classmethod
    def from_entry(cls, entry: Entry) -> Self:
        values = {
            "source_surface_form": entry.text("source_surface_form"),
            "source_label_id": entry.label("source_label"),
            "target_surface_form": entry.text("target_surface_form"),
            "target_label_id": entry.label("target_label"),
            "offset": entry.whole_number("offset"),
            "label_id": entry.label("label", "relation"),
        }
        if entry.is_valid:
            entry.check_once("The same preannotation", *values.values())
        return cls(**values)

    @staticmethod
    def entries(rows: QuerySet[Any], names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for entry in rows.values(*RELATION_FIELDS).iterator():
            yield entry | {field: names[entry[field]] for field in RelationPreannotation.label_fields}


class PreannotationSet(ResourceSet):
    """Made, copied and put into projects only with the setting ``PREANNOTATION_RESOURCES``. What is there already is kept, shown
    in Django admin and exported with its project all the same."""

    noun = "preannotation"
    row_models = {"entity": EntityPreannotation, "relation": RelationPreannotation}

    @classmethod
    def check_enabled(cls) -> None:
        if not settings.PREANNOTATION_RESOURCES:
            raise Refused("Preannotation resources are switched off in this installation.")
