"""The requests that the workspace sends: one for each operation on marks, which may come twice, and one that asks for them.

A mark's uid is in the body: those that came with a dataset may be any text.
"""

from collections.abc import Iterable
from typing import Any

from django.views.decorators.http import require_GET, require_POST

from annotation_service.http import Request
from datasets.models import Annotation, Entity, Mark, Relation
from ontologies.models import Ontology
from projects import access

from .. import workspace
from ..requests import answers_json, read_body

ENTITY, RELATION = Ontology.Kind.ENTITY, Ontology.Kind.RELATION


@require_POST
@answers_json
def add_entity(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str, start=int, end=int, proof=str)
    with access.annotating(request, pk, item_pk) as annotation:
        values["label"] = annotation.label(ENTITY, values["label"])
        return {"entity": _entity(annotation.add_entity(**values))}


@require_POST
@answers_json
def relabel_entity(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str, proof=str)
    with access.annotating(request, pk, item_pk) as annotation:
        values["label"] = annotation.label(ENTITY, values["label"])
        was = _written(annotation.standing(ENTITY, values["uid"]))
        return {"entity": _entity(annotation.relabel_entity(**values)), "was": was}


@require_POST
@answers_json
def remove_entity(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    uid = read_body(request, uid=str)["uid"]
    with access.annotating(request, pk, item_pk) as annotation:
        was = _written(annotation.standing(ENTITY, uid))
        annotation.remove_entity(uid)
        return {"removed": uid, "was": was}


@require_POST
@answers_json
def add_relation(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str, source=str, target=str, proof=str)
    with access.annotating(request, pk, item_pk) as annotation:
        values["label"] = annotation.label(RELATION, values["label"])
        return {"relation": _relation(annotation.add_relation(**values))}


@require_POST
@answers_json
def relabel_relation(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, uid=str, label=str, proof=str)
    with access.annotating(request, pk, item_pk) as annotation:
        values["label"] = annotation.label(RELATION, values["label"])
        was = _written(annotation.standing(RELATION, values["uid"]))
        return {"relation": _relation(annotation.relabel_relation(**values)), "was": was}


@require_POST
@answers_json
def remove_relation(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    uid = read_body(request, uid=str)["uid"]
    with access.annotating(request, pk, item_pk) as annotation:
        was = _written(annotation.standing(RELATION, uid))
        annotation.remove_relation(uid)
        return {"removed": uid, "was": was}


@require_POST
@answers_json
def done(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = read_body(request, done=bool)
    with access.annotating(request, pk, item_pk) as annotation:
        annotation.finish() if values["done"] else annotation.reopen()
        return {"done": values["done"]}


@require_GET
@answers_json
def current(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    """The user's marks as they are now: they may have another tab."""
    _, item = access.item_given(request, pk, item_pk)
    return workspace.marks_state(Annotation.visible_to(request.user, item))


def _written(marks: Iterable[Mark]) -> list[dict[str, Any]]:
    """Marks with the proof that brings them back, should their label be switched off meanwhile."""
    return [
        {"kind": mark._meta.model_name, "uid": mark.uid, "label": mark.label.uid, "proof": mark.proof(mark.label)}
        for mark in marks
    ]


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
