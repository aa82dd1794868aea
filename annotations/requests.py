"""The JSON requests that the workspace sends: one for each operation on marks, which may come twice, one that asks for them, and
those that keep what somebody likes.

A mark's uid is in the body: those that came with a dataset may be any text.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from annotation_service.blueprints import Right
from annotation_service.comfort import with_defaults
from annotation_service.http import Request
from annotation_service.inputs import Refused, check_size, decode
from annotation_service.json_input import parse_json
from datasets.models import Annotation, Entity, Mark, Relation
from projects import access

from . import offers

MAX_BODY = 10_000
MAX_BODY_DEPTH = 4
OPTIONAL = {"proof"}  # empty, if it is left out
MARKS: dict[str, type[Mark]] = {"entity": Entity, "relation": Relation}
PLACES: dict[str, dict[str, type]] = {"entity": {"start": int, "end": int}, "relation": {"source": str, "target": str}}
_GONE = {
    True: "This item was removed, or it is no longer given to you.",
    False: "This project was deleted, or you are not a member of it any more.",
}
_NAMES = {str: "a text", int: "a whole number", bool: "true or false"}


def answers_json(view: Callable[..., dict[str, Any]]) -> Callable[..., JsonResponse]:
    """Turn what a view returns into JSON, and every refusal into its reason. Each answer of a project tells where the labels and
    rules of now are, so that the workspace offers what a manager allowed a moment ago."""

    @wraps(view)
    def answer(request: Request, **kwargs: Any) -> JsonResponse:
        try:
            # A page that outlived a change of accounts in its browser must not write into the other person's work.
            if request.headers.get("X-Annotator", str(request.user.pk)) != str(request.user.pk):
                raise PermissionDenied("Somebody else signed in in this browser. Reload the page.")
            values = view(request, **kwargs)
            return JsonResponse({**values, "urls": offers.addresses(kwargs["pk"])} if "pk" in kwargs else values)
        except Refused as error:
            return JsonResponse({"error": str(error)}, status=422)
        except PermissionDenied as error:
            return JsonResponse({"error": str(error)}, status=403)
        except Http404:
            return JsonResponse({"error": _GONE["item_pk" in kwargs]}, status=404)

    return answer


@require_POST
@answers_json
def add(request: Request, pk: int, item_pk: int, kind: str) -> dict[str, Any]:
    values = _read_body(request, uid=str, label=str, proof=str, **PLACES[kind])
    with access.annotating(request, pk, item_pk) as item:
        annotation = Annotation.start(item, request.user)
        add = annotation.add_entity if kind == "entity" else annotation.add_relation
        label = annotation.label(kind, values.pop("label"))
        return {kind: _shown(add(label=label, restore_token=values.pop("proof"), **values))}


@require_POST
@answers_json
def relabel(request: Request, pk: int, item_pk: int, kind: str) -> dict[str, Any]:
    values = _read_body(request, uid=str, label=str, proof=str)
    with access.annotating(request, pk, item_pk) as item:
        annotation = Annotation.start(item, request.user)
        mark = annotation.mark(MARKS[kind], values["uid"])
        was = _restorable(mark)
        mark.relabel(annotation.label(kind, values["label"]), values["proof"])
        return {kind: _shown(mark), "was": was}


@require_POST
@answers_json
def suggest(request: Request, pk: int, item_pk: int, kind: str) -> dict[str, Any]:
    """Undo what was decided about a suggestion."""
    values = _read_body(request, uid=str, label=str)
    with access.annotating(request, pk, item_pk) as item:
        annotation = Annotation.start(item, request.user)
        mark = annotation.mark(MARKS[kind], values["uid"])
        mark.suggest_again(annotation.label(kind, values["label"]))
        return {kind: _shown(mark)}


@require_POST
@answers_json
def resize(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = _read_body(request, uid=str, start=int, end=int, proof=str)
    with access.annotating(request, pk, item_pk) as item:
        mark = Annotation.start(item, request.user).mark(Entity, values["uid"])
        was = _restorable(mark)
        mark.resize(values["start"], values["end"], values["proof"])
        return {"entity": _shown(mark), "was": was}


@require_POST
@answers_json
def remove(request: Request, pk: int, item_pk: int, kind: str) -> dict[str, Any]:
    """Removed twice, it is gone once."""
    uid = _read_body(request, uid=str)["uid"]
    with access.annotating(request, pk, item_pk) as item:
        annotation = Annotation.start(item, request.user)
        annotation.check_open()
        mark = annotation.marks(MARKS[kind]).filter(uid=uid).first()
        was = _restorable(mark) if mark else []
        if mark:
            mark.remove()
        return {"removed": uid, "was": was}


@require_POST
@answers_json
def done(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    values = _read_body(request, done=bool)
    with access.annotating(request, pk, item_pk) as item:
        annotation = Annotation.start(item, request.user)
        annotation.finish() if values["done"] else annotation.reopen()
        return values


@require_GET
@answers_json
def current(request: Request, pk: int, item_pk: int) -> dict[str, Any]:
    """The user's marks as they are now: they may have another tab."""
    _, item = access.item_given(request, pk, item_pk)
    return marks_state(Annotation.visible_to(request.user, item))


@require_POST
@answers_json
def set_shortcut(request: Request, pk: int) -> dict[str, Any]:
    values = _read_body(request, kind=str, key=str, label=str)
    membership = access.own_membership(request, access.project(request, pk, Right.ANNOTATE))
    membership.set_shortcut(**values)
    return {"shortcuts": membership.shortcuts}


@require_POST
@answers_json
def choose_comfort(request: Request) -> dict[str, Any]:
    request.user.choose_comfort(**_read_body(request, name=str, value=str))
    return {"comfort": with_defaults(request.user.comfort)}


def marks_state(annotation: Annotation | None) -> dict[str, Any]:
    state: dict[str, Any] = {"done": annotation is not None and annotation.done_at is not None}
    for name, model in (("entities", Entity), ("relations", Relation)):
        fields = {"uid": "uid", **model.place_fields, "label": "label__uid", "status": "status"}
        marks = model._default_manager.filter(annotation=annotation).exclude(status=Mark.Status.REJECTED).order_by("pk")
        rows = marks.values_list(*fields.values()) if annotation else ()
        state[name] = [dict(zip(fields, row, strict=True)) for row in rows]
    return state


def _read_body(request: Request, **fields: type) -> dict[str, Any]:
    """The body's values: exactly the given fields, of the given types. Raises `Refused`."""
    check_size(int(request.META.get("CONTENT_LENGTH") or 0), MAX_BODY)
    check_size(len(request.body), MAX_BODY)
    values = parse_json(decode(request.body), MAX_BODY_DEPTH)
    if not isinstance(values, dict):
        raise Refused("An object was expected.", place="$")
    for name in values:
        if name not in fields:
            raise Refused(f"There is no field “{name[:100]}”.", place="$")
    for name, kind in fields.items():
        if name in OPTIONAL:
            values.setdefault(name, "")
        if name not in values:
            raise Refused(f"The field “{name}” is missing.", place="$")
        # type(), because True is an int too.
        if type(values[name]) is not kind:
            raise Refused(f"This must be {_NAMES[kind]}.", place=f"$.{name}")
    return values


def _restorable(mark: Mark) -> list[dict[str, Any]]:
    """What goes with a mark, with the tokens that bring it back, should a label be switched off meanwhile."""
    return [
        {"kind": each.kind, "uid": each.uid, "label": each.label.uid, "proof": each.restore_token(each.label)}
        for each in mark.with_relations()
    ]


def _shown(mark: Mark) -> dict[str, Any]:
    place = dict(zip(mark.place_fields, mark.place, strict=True))
    return {"uid": mark.uid, **place, "label": mark.label.uid, "status": mark.status}
