"""Copying the items and given marks of a dataset inside the database: no row passes through Python."""

from annotation_service.db import execute

from ..importing.storage import ITEM


def copy_items(source: int, target: int) -> None:
    """Copy the items of one dataset to another. Positions are kept: they match old rows with new ones."""
    execute(
        f"INSERT INTO datasets_item (dataset_id, position, {ITEM})"
        f" SELECT %(new)s, position, {ITEM} FROM datasets_item"
        " WHERE dataset_id = %(old)s AND removed_at IS NULL ORDER BY position",
        {"old": source, "new": target},
    )


def copy_given_marks(source: int, target: int, *, entity_ontology: int | None, relation_ontology: int | None) -> None:
    """Copy the marks that came with the dataset; each gets the label with its uid in the ontology of the copy."""
    params = {"old": source, "new": target, "entities": entity_ontology, "relations": relation_ontology}
    execute(
        "INSERT INTO datasets_annotation (item_id, annotator_id, started_at, done_at)"
        " SELECT ni.id, NULL, a.started_at, a.done_at FROM datasets_item oi"
        " JOIN datasets_annotation a ON a.item_id = oi.id AND a.annotator_id IS NULL"
        " JOIN datasets_item ni ON ni.dataset_id = %(new)s AND ni.position = oi.position"
        " WHERE oi.dataset_id = %(old)s AND oi.removed_at IS NULL ORDER BY oi.position",
        params,
    )
    old_and_new = (
        " FROM datasets_item oi JOIN datasets_annotation oa ON oa.item_id = oi.id AND oa.annotator_id IS NULL"
        " JOIN datasets_item ni ON ni.dataset_id = %(new)s AND ni.position = oi.position"
        " JOIN datasets_annotation na ON na.item_id = ni.id AND na.annotator_id IS NULL"
    )
    execute(
        "INSERT INTO datasets_entity"
        ' (annotation_id, label_id, uid, start, "end", status, created_at, updated_at)'
        ' SELECT na.id, nl.id, e.uid, e.start, e."end", e.status, e.created_at, e.updated_at'
        f"{old_and_new}"
        " JOIN datasets_entity e ON e.annotation_id = oa.id"
        " JOIN ontologies_ontologyitem ol ON ol.id = e.label_id"
        # A label that is missing fails the copy: no mark is left out silently.
        " LEFT JOIN ontologies_ontologyitem nl ON nl.ontology_id = %(entities)s AND nl.uid = ol.uid"
        " WHERE oi.dataset_id = %(old)s AND oi.removed_at IS NULL ORDER BY e.id",
        params,
    )
    execute(
        "INSERT INTO datasets_relation"
        " (annotation_id, source_id, target_id, label_id, uid, status, created_at, updated_at)"
        " SELECT na.id, ns.id, nt.id, nl.id, r.uid, r.status, r.created_at, r.updated_at"
        f"{old_and_new}"
        " JOIN datasets_relation r ON r.annotation_id = oa.id"
        " JOIN datasets_entity os ON os.id = r.source_id JOIN datasets_entity ot ON ot.id = r.target_id"
        " JOIN datasets_entity ns ON ns.annotation_id = na.id AND ns.uid = os.uid"
        " JOIN datasets_entity nt ON nt.annotation_id = na.id AND nt.uid = ot.uid"
        " JOIN ontologies_ontologyitem ol ON ol.id = r.label_id"
        " LEFT JOIN ontologies_ontologyitem nl ON nl.ontology_id = %(relations)s AND nl.uid = ol.uid"
        " WHERE oi.dataset_id = %(old)s AND oi.removed_at IS NULL ORDER BY r.id",
        params,
    )
