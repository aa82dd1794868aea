"""The requests that the workspace sends: one for each operation on marks. Each may come twice.

A mark's uid is in the body: those that came with a dataset may be any text.
"""

from typing import Any

from django.views.decorators.http import require_POST

from annotation_service import access
from annotation_service.http import Request
from datasets.models import Entity, Relation
from ontologies.models import Ontology

from ..requests import answers_json, read_body

ENTITY, RELATION = Ontology.Kind.ENTITY, Ontology.Kind.RELATION


@require_POST
@answers_json
def add_entity(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str, start=int, end=int)
    with access.annotating(request, pk, item_pk) as annotation:
        values["label"] = annotation.label(ENTITY, values["label"])
        return {"entity": _entity(annotation.add_entity(**values))}


@require_POST
@answers_json
def relabel_entity(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str)
    with access.annotating(request, pk, item_pk) as annotation:
        return {"entity": _entity(annotation.relabel_entity(values["uid"], annotation.label(ENTITY, values["label"])))}


@require_POST
@answers_json
def remove_entity(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    uid = read_body(request, uid=str)["uid"]
    with access.annotating(request, pk, item_pk) as annotation:
        annotation.remove_entity(uid)
        return {"removed": uid}


@require_POST
@answers_json
def add_relation(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str, source=str, target=str)
    with access.annotating(request, pk, item_pk) as annotation:
        values["label"] = annotation.label(RELATION, values["label"])
        return {"relation": _relation(annotation.add_relation(**values))}


@require_POST
@answers_json
def relabel_relation(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str)
    with access.annotating(request, pk, item_pk) as annotation:
        label = annotation.label(RELATION, values["label"])
        return {"relation": _relation(annotation.relabel_relation(values["uid"], label))}


@require_POST
@answers_json
def remove_relation(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    uid = read_body(request, uid=str)["uid"]
    with access.annotating(request, pk, item_pk) as annotation:
        annotation.remove_relation(uid)
        return {"removed": uid}


@require_POST
@answers_json
def done(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, done=bool)
    with access.annotating(request, pk, item_pk) as annotation:
        annotation.finish() if values["done"] else annotation.reopen()
        return {"done": values["done"]}


def _entity(entity: Entity) -> dict[str, Any]:
    return {
        "uid": entity.uid,
        "start": entity.start,
        "end": entity.end,
        "label": entity.label.uid,
        "status": entity.status,
    }


def _relation(relation: Relation) -> dict[str, Any]:
    return {
        "uid": relation.uid,
        "source": relation.source.uid,
        "target": relation.target.uid,
        "label": relation.label.uid,
        "status": relation.status,
    }
