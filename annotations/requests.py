"""The JSON requests that the workspace sends: one for each operation on marks, which may come twice, one that asks for them, one
that asks how words were labelled before, those about flags and comments, and those that keep what somebody likes.

A mark's uid is in the body: those that came with a dataset may be any text.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_GET, require_POST

from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.http import Request, refused_beside
from annotation_service.inputs import Problem, Refused, check_size, decode
from annotation_service.json_input import parse_json
from annotation_service.models import User, with_defaults
from annotation_service.words import number
from datasets.models import MARKS, Annotation, Entity, Item, Layer, Mark, Relation
from projects import access
from projects.comment_list import show_comment
from projects.models import Project
from work.models import Comment, Flag
from work.suggestions import history
from work.suggestions.history import labels_before

from . import offers

MAX_BODY = 10_000
MAX_BODY_DEPTH = 4
MAX_LONG_BODY = 200_000
MAX_OPERATIONS = 50  # at once
MAX_WORDS = 500  # longer ones do not come twice
PLACES: dict[str, dict[str, Any]] = {"entity": {"start": int, "end": int}, "relation": {"source": str, "target": str}}
# A field of the type `T | None` may be left out.
MAYBE_PLACES = {kind: {name: type_ | None for name, type_ in place.items()} for kind, place in PLACES.items()}
_GONE = {
    True: "This item was removed, or it is no longer given to you.",
    False: "This project was deleted, or you are not a member of it any more.",
}
_NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"}
Answer = dict[str, Any]


def answers_json(view: Callable[..., Answer]) -> Callable[..., JsonResponse]:
    """Turn what a view returns into JSON, and every refusal into its reason. Each answer of a project tells where the labels and
    rules of now are, so that the workspace offers what a manager allowed a moment ago."""

    @wraps(view)
    def answer(request: Request, **kwargs: Any) -> JsonResponse:
        # A page that outlived a change of accounts in its browser must not write into the other person's work.
        if request.headers.get("X-Annotator", str(request.user.pk)) != str(request.user.pk):
            return JsonResponse({"error": "Somebody else signed in in this browser. Reload the page."}, status=401)
        values, status = _answer_of(view, request, **kwargs)
        if "pk" in kwargs and (status == 200 or "revision" in values):
            values["urls"] = offers.addresses(kwargs["pk"])
        return JsonResponse(values, status=status)

    return answer


def _answer_of(view: Callable[..., Answer], *args: Any, **kwargs: Any) -> tuple[Answer, int]:
    """What a view returns or the reason why it refuses, with the status that says so."""
    try:
        values = view(*args, **kwargs)
        return values, 422 if "error" in values else 200
    except Refused as error:
        return {"error": str(error)}, 422
    except PermissionDenied as error:
        return {"error": str(error)}, 403
    except Http404:
        return {"error": _GONE["item_pk" in kwargs]}, 404


class Desk(NamedTuple):
    """Whose marks of an item requests are about. Each function is called with the request and the keys of project and item."""

    item: Callable[[Request, int, int], tuple[Project, Item]]
    write: Callable[[Request, int, int], AbstractContextManager[Annotation]]
    """Locks the item and gives its annotation, with the next revision."""
    read: Callable[[User, Item], Annotation | None]


@contextmanager
def _own(request: Request, pk: int, item_pk: int) -> Iterator[Annotation]:
    with access.annotating(request, pk, item_pk) as item:
        yield Annotation.start(item, request.user)


# By the layer in the address. The apps above add theirs.
desks: dict[str, Desk] = {Layer.OWN: Desk(access.item_given, _own, Annotation.visible_to)}


def changes_marks(
    *, places: Mapping[str, Mapping[str, Any]] = MappingProxyType({}), **fields: Any
) -> Callable[[Callable[..., Answer]], Callable[..., JsonResponse]]:
    """A request that calls the function with an annotation of an item, as a rule the user's own (see `Desk`), and with the fields
    of the body; ``places`` are those that depend on the kind of the mark.

    The answer, a refusal too, has the state of the annotation after it. A client may send the ``revision`` that it knows: if that
    is not the one of before the request, something else has changed the marks since, and the answer says so. The
    ``text_version`` is that of the text whose words it is about; a page from before texts could be corrected names none.
    """

    def decorate(change: Callable[..., Answer]) -> Callable[..., JsonResponse]:
        def perform(request: Request, body: Any, pk: int, item_pk: int, layer: str = Layer.OWN, **kind: str) -> Answer:
            of_kind = {**places.get(kind.get("kind", ""), {}), "revision": int | None, "text_version": int | None}
            values = _checked(body, **fields, **of_kind)
            known, version = values.pop("revision", None), values.pop("text_version", 0)
            annotation: Annotation | None
            try:
                with desks[layer].write(request, pk, item_pk) as annotation:
                    item = annotation.item
                    if (version or 1) != item.text_version:
                        _move(annotation, values, version)
                    answer = change(annotation, **kind, **values)
                before = annotation.revision - 1
            except Refused as error:
                annotation = desks[layer].read(request.user, item)
                answer = {"error": str(error)}
                before = _revision(annotation)
            state = {**_state(annotation), "text_version": item.text_version}
            return {**answer, **state, "changed": known not in (None, before)}

        @require_POST
        @answers_json
        @wraps(change)
        def view(request: Request, **kwargs: Any) -> Answer:
            return perform(request, _body(request), **kwargs)

        view.perform = perform  # type: ignore[attr-defined]
        return view

    return decorate


def _move(annotation: Annotation, values: dict[str, Any], version: int) -> None:
    """Let a request that is about words of another version of the text be about the same words in that of now. Raises `Refused`
    where they were corrected: nothing is done to words that its author has not seen."""
    alignment = annotation.item.alignment_from(version)
    if {"start", "end"} <= values.keys():
        place = alignment.unchanged(values["start"], values["end"])
        values.update(zip(("start", "end"), place or (), strict=False))
        is_there = place is not None
    else:
        named = [values[name] for name in ("uid", "source", "target") if name in values]
        marks = annotation.entity_set.filter(Q(uid__in=named) | Q(outgoing__uid__in=named) | Q(incoming__uid__in=named))
        is_there = all(alignment.was_there(*place) for place in marks.values_list("start", "end"))
    if not is_there:
        raise Refused("The text of this item was corrected meanwhile, and these words are not in it any more.")
    if values.get("done"):
        raise Refused("The text of this item was corrected meanwhile. Look at it before it is done.")


@changes_marks(uid=str, label=str, proof=str | None, places=PLACES)
def add(annotation: Annotation, kind: str, uid: str, label: str, proof: str = "", **place: Any) -> Answer:
    add = annotation.add_entity if kind == "entity" else annotation.add_relation
    return {kind: _shown(add(uid=uid, label=annotation.label(kind, label), restore_token=proof, **place))}


@changes_marks(uid=str, label=str, proof=str | None)
def relabel(annotation: Annotation, kind: str, uid: str, label: str, proof: str = "") -> Answer:
    mark = annotation.mark(MARKS[kind], uid)
    was = _restorable(mark)
    mark.relabel(annotation.label(kind, label), proof)
    return {kind: _shown(mark), "was": was}


@changes_marks(uid=str, label=str, places=MAYBE_PLACES)
def suggest(annotation: Annotation, kind: str, uid: str, label: str, **place: Any) -> Answer:
    """Undo what was decided about a suggestion; with its place, if that was changed or the mark is gone."""
    if place:
        if missing := PLACES[kind].keys() - place.keys():
            raise Refused(f"The field “{missing.pop()}” is missing.", place="$")
        place = annotation.span(**place) if kind == "entity" else annotation.ends(**place)
    mark = annotation.suggest_again(MARKS[kind], uid=uid, label=annotation.label(kind, label), **place)
    return {kind: _shown(mark)}


@changes_marks(uid=str, start=int, end=int, proof=str | None)
def resize(annotation: Annotation, uid: str, start: int, end: int, proof: str = "") -> Answer:
    mark = annotation.mark(Entity, uid)
    was = _restorable(mark)
    mark.resize(start, end, proof)
    return {"entity": _shown(mark), "was": was}


@changes_marks(uid=str, proof=str | None, source=str | None, target=str | None)
def reverse(annotation: Annotation, uid: str, proof: str = "", source: str = "", target: str = "") -> Answer:
    """Whoever names the ends as they shall be may send it twice."""
    relation = annotation.mark(Relation, uid)
    was = _restorable(relation)
    ends = (source, target) if source or target else relation.place[::-1]
    relation.reverse(*ends, restore_token=proof)
    return {"relation": _shown(relation), "was": was}


@changes_marks(uid=str)
def remove(annotation: Annotation, kind: str, uid: str) -> Answer:
    """Removed twice, it is gone once."""
    annotation.check_open()
    mark = annotation.marks(MARKS[kind]).filter(uid=uid).first()
    was = _restorable(mark) if mark else []
    if mark:
        mark.remove()
    return {"removed": uid, "was": was}


@changes_marks(done=bool)
def done(annotation: Annotation, done: bool) -> Answer:
    annotation.finish() if done else annotation.reopen()
    return {}


@require_POST
@answers_json
def operations(request: Request, pk: int, item_pk: int, layer: str = Layer.OWN) -> Answer:
    """Several operations on an item, each named by the ``path`` at which it could be sent alone and by the ``body`` that it would
    have there. Each is stored and answered by itself, in their order, with its status; but the item is not done if one of those
    before was refused."""
    desks[layer].item(request, pk, item_pk)  # also where nothing is sent
    rows = read_body(request, most=MAX_LONG_BODY, operations=list)["operations"]
    if len(rows) > MAX_OPERATIONS:
        raise Refused(f"Send at most {MAX_OPERATIONS} operations at once.", place="$.operations")
    return {"answers": in_turn(request, [_operation(request, number, row) for number, row in enumerate(rows)])}


MarkStep = tuple[Callable[..., Answer], dict[str, Any], dict[str, Any]]
"""What performs an operation, what it is about, and its body."""


def in_turn(request: Request, steps: Sequence[MarkStep]) -> list[Answer]:
    """The answers of several operations on an item, each with its status."""
    answers: list[Answer] = []
    for perform, kwargs, body in steps:
        if answers and "revision" in answers[-1]:  # what the next one would know
            body.setdefault("revision", answers[-1]["revision"])
        if body.get("done") is True and any(each["status"] != 200 for each in answers):
            answer, status = {"error": "A change before it was refused, so the item is not done."}, 422
        else:
            answer, status = _answer_of(perform, request, body, **kwargs)
        answers.append({**answer, "status": status})
    return answers


def _operation(request: Request, number: int, row: Any) -> MarkStep:
    place = f"$.operations[{number}]"
    try:
        values = _checked(row, path=str, body=dict)
        match = resolve(request.path.removesuffix("operations/") + values["path"])
        return match.func.perform, match.kwargs, values["body"]  # type: ignore[attr-defined]
    except Refused as error:
        raise Refused([Problem(place + each.place[1:], each.text) for each in error.problems]) from error
    except (Resolver404, AttributeError) as error:
        raise Refused("There is no such operation.", place=f"{place}.path") from error


@require_GET
@answers_json
def current(request: Request, pk: int, item_pk: int, layer: str = Layer.OWN) -> Answer:
    """The marks as they are now: the user may have another tab."""
    with snapshot():
        _, item = desks[layer].item(request, pk, item_pk)
        state = marks_states([desks[layer].read(request.user, item)])[0]
    return {**state, "text_version": item.text_version}


@require_POST
@answers_json
def text(request: Request, pk: int, item_pk: int, layer: str = Layer.OWN) -> Answer:
    """The text and the marks as they are now, who corrected it last, and where words of earlier versions of it stand now: each is
    asked for by its version, first and last token, and null if it is not there any more."""
    spans = read_body(request, most=MAX_LONG_BODY, spans=list)["spans"]
    if not all(isinstance(span, list) and [*map(type, span)] == [int, int, int] for span in spans):
        raise Refused("This must be a list of versions, each with two tokens.", place="$.spans")
    with snapshot():
        _, item = desks[layer].item(request, pk, item_pk)
        state = marks_states([desks[layer].read(request.user, item)])[0]
        alignments = {version: item.alignment_from(version) for version in {version for version, *_ in spans}}
        correction = item.corrections.select_related("by").first()
    return {
        **state,
        "item": text_of(item),
        "by": str(correction.by) if correction else "",
        "spans": [alignments[version].unchanged(start, end) for version, start, end in spans],
    }


def text_of(item: Item) -> Answer:
    """What is read: tokens, between them a character that none has, and the numbers of those with no space before them. If that
    is not the original, also this and the places of the tokens in it."""
    tokens, gaps = item.cleaned
    separator = next(each for each in map(chr, count(ord(" "))) if not any(each in token for token in tokens))
    is_original = str(item.cleaned) == item.original
    return {
        "pk": item.pk,
        "number": item.number,
        "text_version": item.text_version,
        "tokens": separator.join(tokens),
        "separator": separator,
        "glued": [number for number, gap in enumerate(gaps) if not gap],
        "original": None if is_original else item.original,
        "offsets": None if is_original else item.offsets,
    }


@require_POST
@answers_json
def suggest_history(request: Request, pk: int, item_pk: int) -> Answer:
    """Asked for when the item is opened."""
    suggest_from_history(request, pk, item_pk)
    return {}


def suggest_from_history(request: Request, pk: int, item_pk: int) -> None:
    """Suggest in an item what was marked before, as its project wants it."""
    project, item = access.item_given(request, pk, item_pk)
    everybody = project.history == project.History.EVERYBODY
    if project.history and (found := history.find(item, request.user, project.entity_ontology, everybody=everybody)):
        with access.annotating(request, pk, item_pk) as item:
            history.suggest(item, request.user, found)


@require_GET
@answers_json
def words(request: Request, pk: int) -> Answer:
    return labelled_before(request, pk, request.GET.get("text", ""))


def labelled_before(request: Request, pk: int, text: str) -> Answer:
    """How these words were labelled before. Of what others marked, annotators see only what the project lets them."""
    project = access.project(request, pk, Right.ANNOTATE, instead=Right.REVIEW)
    if len(text) > MAX_WORDS:
        raise Refused(f"Ask for at most {number(MAX_WORDS)} characters.")
    before = labels_before(text, project.entity_ontology, request.user)
    sees_all = project.counted == project.Counted.EVERYBODY or access.reads_marks(request, project)
    return (before if sees_all else before._replace(project=Counter()))._asdict()


@require_POST
@answers_json
def set_shortcut(request: Request, pk: int) -> Answer:
    values = read_body(request, kind=str, key=str, label=str)
    membership = access.own_membership(request, access.project(request, pk, Right.ANNOTATE))
    membership.set_shortcut(**values)
    return {"shortcuts": membership.shortcuts}


@require_POST
@answers_json
def choose_comfort(request: Request) -> Answer:
    request.user.choose_comfort(**read_body(request, name=str, value=str))
    return {"comfort": with_defaults(request.user.comfort)}


def marks_states(annotations: Sequence[Annotation | None]) -> list[Answer]:
    """The marks of each of several annotations, with a fixed number of queries."""
    states = [{**_state(each), "entities": [], "relations": []} for each in annotations]
    by_pk = {each.pk: state for each, state in zip(annotations, states, strict=True) if each}
    for name, model in (("entities", Entity), ("relations", Relation)) if by_pk else ():
        fields = {"uid": "uid", **model.place_fields, "label": "label__uid", "status": "status"}
        fields |= {"by": "suggested_by__name", "score": "score"}
        marks = model._default_manager.filter(annotation__in=by_pk).exclude(status=Mark.Status.REJECTED).order_by("pk")
        for annotation, *row in marks.values_list("annotation", *fields.values()):
            by_pk[annotation][name].append({k: v for k, v in zip(fields, row, strict=True) if v is not None})
    return states


def _state(annotation: Annotation | None) -> Answer:
    return {"done": annotation is not None and annotation.done_at is not None, "revision": _revision(annotation)}


def _revision(annotation: Annotation | None) -> int:
    return annotation.revision if annotation else 0


def read_body(request: Request, most: int = MAX_BODY, depth: int = MAX_BODY_DEPTH, **fields: Any) -> dict[str, Any]:
    """The body's values: exactly the given fields, of the given types, without those that are left out. Raises `Refused`."""
    return _checked(_body(request, most, depth), **fields)


def _body(request: Request, most: int = MAX_BODY, depth: int = MAX_BODY_DEPTH) -> Any:
    check_size(int(request.META.get("CONTENT_LENGTH") or 0), most)
    check_size(len(request.body), most)
    return parse_json(decode(request.body), depth)


def _checked(values: Any, **fields: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise Refused("An object was expected.", place="$")
    for name in values:
        if name not in fields:
            raise Refused(f"There is no field “{name[:100]}”.", place="$")
    for name, kind in fields.items():
        wanted, *optional = get_args(kind) or [kind]
        if name not in values and not optional:
            raise Refused(f"The field “{name}” is missing.", place="$")
        # type(), because True is an int too.
        if name in values and type(values[name]) is not wanted:
            raise Refused(f"This must be {_NAMES[wanted]}.", place=f"$.{name}")
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


@require_POST
@answers_json
def flag(request: Request, pk: int, item_pk: int) -> Answer:
    """Set one of the user's flags, with a word of why, or take it away."""
    values = read_body(request, kind=str, is_set=bool, why=str | None)
    is_set = values.pop("is_set")
    with access.annotating(request, pk, item_pk) as item:
        Flag.put(item, request.user, **values) if is_set else Flag.take_away(item, request.user, kind=values["kind"])
        return {"flags": flags_of([item], request.user)[item.pk]}


@require_POST
def comment(request: Request, pk: int, item_pk: int) -> HttpResponse:
    """On one's own work."""
    try:
        with access.annotating(request, pk, item_pk) as item:
            new = Comment.begin(item, request.user, by=request.user, **_said(request))
    except Refused as error:
        return refused_beside(error)
    return show_comment(request, pk, new.pk)


@require_POST
def comment_on(request: Request, pk: int, who: str, item_pk: int) -> HttpResponse:
    """On somebody else's work, by those who read it."""
    try:
        with access.commenting_on(request, pk, who, item_pk) as (item, person):
            new = Comment.begin(item, person, by=request.user, **_said(request))
    except Refused as error:
        return refused_beside(error)
    return show_comment(request, pk, new.pk)


def flags_of(items: Sequence[Item], person: User | None) -> dict[int, list[dict[str, str]]]:
    """Those of each item, in the order of their kinds."""
    flags: dict[int, list[dict[str, str]]] = {item.pk: [] for item in items}
    kinds = Flag.Kind.values
    for flag in sorted(Flag.objects.filter(item__in=items, person=person), key=lambda flag: kinds.index(flag.kind)):
        flags[flag.item_id].append({"kind": flag.kind, "name": flag.get_kind_display(), "why": flag.why})
    return flags


def comments_on(items: Sequence[Item], person: User | None) -> dict[int, list[Any]]:
    """Those on each item, the open ones first."""
    comments: dict[int, list[Any]] = {item.pk: [] for item in items}
    found = Comment.objects.filter(item__in=items, person=person).with_words().order_by("pk")
    for comment in sorted(found, key=lambda comment: not comment.is_open):
        comments[comment.item_id].append(comment)
    return comments


def _said(request: Request) -> dict[str, str]:
    return {name: request.POST.get(name, "") for name in ("text", "kind", "uid")}
