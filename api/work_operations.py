"""What people mark: read, written one by one and as a whole set, and done on many items at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation_service.blueprints import Right
from annotation_service.db import among
from annotation_service.inputs import Refused
from annotations import batches, requests
from annotations.mark_sets import put_marks
from annotations.own_lists import own_items
from datasets.models import Annotation, Item, Layer
from projects import access, all_alike, bundle
from projects.models import Project
from work.models import Batch, Comment, Flag
from work.own_items import work_on

from .models import Scope
from .operations import ApiSection, Call, Rows, attributes, check_match, time_of

OF_PROJECT, OF_ITEM = "projects/<int:project>", "projects/<int:project>/items/<int:item>"
# No transaction that stores marks takes longer: what was stored before that is seen by whoever asks now.
LONGEST_WRITE = timedelta(minutes=10)
FEW_CHANGES = 5_000  # since some time, which are looked up by their keys

# --- Read --------------------------------------------------------------------------------------------------------------


def etag_of(annotation: Annotation | None) -> str:
    return f'"{annotation.revision if annotation else 0}"'


def shown_marks(names: Mapping[int, str], found: Sequence[Annotation]) -> Iterator[dict[str, Any]]:
    """As in ``annotations.json`` of a bundle, each with its item; given what labels are called there."""
    keys = Annotation.objects.filter(pk__in=among([each.pk for each in found if each.pk]))
    marks = bundle.marks_in(keys, names, left_out=Q())
    for each in found:
        yield {
            **attributes(each, "item_id annotator layer done_at changed_at revision"),
            "external_id": each.item.external_id or None,
            "text_version": each.item.text_version,
            "started_at": time_of(each.started_at) if each.layer == Layer.OWN else None,
            **marks.get(each.pk, {"entities": [], "relations": []}),
        }


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.replace(" ", "+"))  # a plus of an address
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused("This must be a time, such as 2026-11-28T10:00:00Z.", place="changed_since") from None


def _rows_of(project: Project, found: QuerySet[Annotation]) -> Rows:
    names = bundle.names_of(project.ontology_set.all())
    rows = found.select_related("item", "annotator").only(
        *("layer", "started_at", "done_at", "changed_at", "revision", "annotator__username"),
        *("item__position", "item__external_id", "item__text_version"),
    )
    return Rows(rows, partial(shown_marks, names), "item__position pk")


work = ApiSection("Annotating", changes=Scope.ANNOTATE)


@work.list(f"{OF_PROJECT}/annotations", "Annotation", query="annotator layer done changed_since external_id unbegun")
def list_annotations(call: Call, project: int) -> Rows:
    """Everybody’s marks in a project, as far as they can be read.

    What batches and the history have put into items that their person has not begun comes with “unbegun=1”: it can go without a
    trace, so that it does not go together with “changed_since”.

    The header “Next-Changed-Since” of the first page is what to ask with next for all that changed since: nothing is missed, and
    what changed shortly before comes twice.
    """
    now, asked = timezone.now(), call.asked
    found = access.project(call, project, Right.READ, instead=Right.LOOK)
    rows = access.annotations(call, found)
    if name := asked["annotator"]:
        rows = rows.filter(annotator=access.annotators_work(call, project, name)[1])
    same = {"layer": asked["layer"], "item__external_id": asked["external_id"]}
    rows = rows.filter(**{name: value for name, value in same.items() if value})
    if asked["done"] is not None:
        rows = rows.filter(done_at__isnull=not asked["done"])
    since = asked["changed_since"]
    if since and asked["unbegun"]:
        raise Refused("What nobody has begun may be gone without a trace: read it whole.", place="unbegun")
    if not asked["unbegun"]:
        rows = rows.exclude(layer=Layer.OWN, started_at=None)
    if since:
        changed = Q(touched_at__gte=_moment(since))
        recent = list(Annotation.objects.filter(changed).values_list("pk", flat=True)[: FEW_CHANGES + 1])
        # Where few have changed, in all projects, they need not be looked for among all items of this one.
        rows = rows.filter(changed if len(recent) > FEW_CHANGES else Q(pk__in=among(recent)))
    if asked["cursor"] is None:
        call.told["Next-Changed-Since"] = time_of(now - LONGEST_WRITE) or ""
    return _rows_of(found, rows)


@work.list(f"{OF_ITEM}/annotations", "Annotation")
def list_annotations_of_item(call: Call, project: int, item: int) -> Rows:
    """The same of one item."""
    found = access.project(call, project, Right.READ, instead=Right.LOOK)
    items = found.all_items() if access.reads_marks(call, found) else found.items_for(call.user)
    return _rows_of(found, access.annotations(call, found).filter(item=get_object_or_404(items, pk=item)))


def show_one(call: Call, project: Project, item: Item, found: Annotation | None) -> dict[str, Any]:
    """Before somebody has begun there is nothing, or what came with the item."""
    call.etag = etag_of(found)
    found = found or Annotation(item=item, layer=Layer.GIVEN, revision=0, started_at=None)
    return next(shown_marks(bundle.names_of(project.ontology_set.all()), [found]))


@work.get(f"{OF_ITEM}/annotations/me", "Annotation", scope=Scope.ANNOTATE)
def get_own_annotation(call: Call, project: int, item: int) -> Any:
    """One’s own marks on an item or, before the first change, what came with it. The ETag is for “If-Match”."""
    of, found = access.item_given(call, project, item)
    return show_one(call, of, found, Annotation.visible_to(call.user, found))


@work.put(f"{OF_ITEM}/annotations/me", "OwnMarks", "Annotation")
def put_own_annotation(call: Call, project: int, item: int) -> Any:
    """Let these be one’s marks on an item, by the fewest changes; if one is refused, nothing is changed.

    A mark is known by its id or, where that is new, by what it says. What is suggested and not sent stays suggested. “If-Match”
    refuses it if the marks are not those that you have read. At most 150 marks are changed at once: send a part first, if it is
    more.
    """
    return put_annotation(call, project, item, Layer.OWN)


def put_annotation(call: Call, project: int, item: int, layer: str) -> Any:
    with requests.desks[layer].write(call, project, item) as annotation:
        check_match(call, f'"{annotation.revision - 1}"')
        put_marks(annotation, **call.sent)
    of, found = requests.desks[layer].item(call, project, item)
    return show_one(call, of, found, requests.desks[layer].read(call.user, found))


@work.get(f"{OF_ITEM}/annotations/<str:person>", "Annotation")
def get_annotation(call: Call, project: int, item: int, person: str) -> Any:
    """Somebody’s marks on an item or, before their first change, what came with it."""
    of, who = access.annotators_work(call, project, person)
    found = get_object_or_404(access.items_to_read(call, of, who), pk=item)
    return show_one(call, of, found, Annotation.visible_to(who, found))


@work.list(f"{OF_PROJECT}/my-items", "OwnItem", scope=Scope.ANNOTATE, query="state has label batch q external_id")
def list_own_items(call: Call, project: int) -> Rows:
    """The items that are given to the token’s person, in their order. The next one to do is that of “state=undone&limit=1”."""
    found, asked = access.project(call, project, Right.LOOK), QueryDict(mutable=True)
    names = ("state", "has", "label", "batch", "q")
    asked.update({name: str(call.asked[name]) for name in names if call.asked[name]})
    shown = own_items(found, call.user, asked)
    items = shown.matching()
    if external_id := call.asked["external_id"]:
        items = items.filter(external_id=external_id)

    def show(some: Sequence[Item]) -> Iterator[dict[str, Any]]:
        for item, work in zip(some, work_on(some, shown), strict=True):
            yield {
                **attributes(item, "id number original tokens text_version"),
                **attributes(work, "state changed_at marks suggestions"),
                "external_id": item.external_id or None,
                "flags": [flag.kind for flag in work.flags],
                "open_comments": work.comments,
            }

    return Rows(items, show, "position")


# --- Marks one by one --------------------------------------------------------------------------------------------------

# By names, as pages have them, too: what performs it, the kind of the mark, the path, the body and what it is about.
MARK_VERBS: dict[str, tuple[Callable[..., Any], str, str, str, str]] = {
    "add_entity": (requests.add, "entity", "entities", "NewEntity", "Mark tokens. Sent twice, it is stored once."),
    "relabel_entity": (requests.relabel, "entity", "entities/label", "MarkLabel", "Give a mark a label; accept it."),
    "resize_entity": (requests.resize, "", "entities/span", "EntitySpan", "Let a mark have other tokens."),
    "remove_entity": (
        requests.remove,
        "entity",
        "entities/removal",
        "MarkId",
        "Remove a mark; reject a suggested one.",
    ),
    "add_relation": (requests.add, "relation", "relations", "NewRelation", "Relate two marks."),
    "relabel_relation": (requests.relabel, "relation", "relations/label", "MarkLabel", "Give a relation a label."),
    "reverse_relation": (requests.reverse, "", "relations/direction", "RelationEnds", "Turn a relation round."),
    "remove_relation": (requests.remove, "relation", "relations/removal", "MarkId", "Remove a relation."),
    "suggest_entity": (requests.suggest, "entity", "entities/suggestion", "SuggestedEntity", "Undecide a suggestion."),
    "suggest_relation": (
        requests.suggest,
        "relation",
        "relations/suggestion",
        "SuggestedRelation",
        "Undecide a suggested relation.",
    ),
    "done": (requests.done, "", "done", "DoneState", "Let one’s work on an item be done, or not any more."),
}


def _versioned(sent: dict[str, Any], item: int) -> dict[str, Any]:
    """A program that names no version of the text means that of now."""
    version = Item.objects.filter(pk=item).values_list("text_version", flat=True).first()
    return {"text_version": version, **sent} if version else sent


def change_mark(call: Call, project: int, item: int, *, verb: str, layer: str) -> Any:
    view, kind, *_ = MARK_VERBS[verb]
    of_kind = {"kind": kind} if kind else {}
    answer = view.perform(call, _versioned(call.sent, item), project, item, layer=layer, **of_kind)  # type: ignore[attr-defined]
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


def change_marks(call: Call, project: int, item: int, *, layer: str) -> Any:
    requests.desks[layer].item(call, project, item)
    verbs = MARK_VERBS if layer == Layer.OWN else GOLD_VERBS
    steps = []
    for number, sent in enumerate(call.sent["operations"]):
        if (name := sent.pop("do")) not in verbs:
            raise Refused("There is no such operation here.", place=f"$.operations[{number}].do")
        view, kind, *_ = verbs[name]
        about = {"pk": project, "item_pk": item, "layer": layer} | ({"kind": kind} if kind else {})
        steps.append((view.perform, about, _versioned(sent, item)))  # type: ignore[attr-defined]
    return {"answers": requests.in_turn(call, steps)}


GOLD_VERBS = {name: row for name, row in MARK_VERBS.items() if name != "done" and "suggest" not in name}


def mark_operations(section: ApiSection, layer: str, path: str, pages: str, prefix: str = "") -> None:
    """Those of a layer, below a path."""
    for verb, (_, _, end, body, about) in (MARK_VERBS if layer == Layer.OWN else GOLD_VERBS).items():
        name = f"mark_{verb}" if verb == "done" else verb.replace("_", f"_{prefix}", 1)
        register = section.create if verb.startswith("add") else section.post
        register(f"{path}/{end}", body, "MarkChange", pages=f"{pages}:{verb}", name=name, about=about)(
            partial(change_mark, verb=verb, layer=layer)
        )
    about, name = "Several of these, in their order: each is stored and answered by itself.", f"change_{prefix}marks"
    of_several = {"pages": f"{pages}:operations", "name": name, "about": about}
    section.post(f"{path}/operations", "MarkOperations", "MarkAnswers", **of_several)(
        partial(change_marks, layer=layer)
    )


mark_operations(work, Layer.OWN, OF_ITEM, "annotations")


@work.post(f"{OF_ITEM}/history", pages="annotations:suggest_history")
def suggest_history(call: Call, project: int, item: int) -> None:
    """Suggest what was marked before, as the project wants it."""
    requests.suggest_from_history(call, project, item)


@work.get(f"{OF_PROJECT}/words", "LabelledBefore", query="text")
def get_words(call: Call, project: int) -> Any:
    """How often these words have each label, by uid: in one’s own marks, and in everybody’s where the project shows that."""
    return requests.labelled_before(call, project, call.asked["text"] or "")


# --- Flags and comments ------------------------------------------------------------------------------------------------


@work.post(f"{OF_ITEM}/flags", "FlagState", "OwnFlags", pages="annotations:flag")
def set_flag(call: Call, project: int, item: int) -> Any:
    """Set one of one’s flags on an item, with a word of why, or take it away."""
    is_set, values = call.sent.pop("is_set"), call.sent
    with access.annotating(call, project, item) as found:
        Flag.put(found, call.user, **values) if is_set else Flag.take_away(found, call.user, kind=values["kind"])
        return {"flags": requests.flags_of([found], call.user)[found.pk]}


@work.create(f"{OF_ITEM}/comments", "NewComment", "NewId", pages="annotations:comment")
def comment(call: Call, project: int, item: int) -> Any:
    """Say something about one’s own work on an item, or about a mark of it."""
    with access.annotating(call, project, item) as found:
        return {"id": Comment.begin(found, call.user, by=call.user, **call.sent).pk}


@work.create(f"{OF_ITEM}/annotations/<str:person>/comments", "NewComment", "NewId", pages="annotations:comment_on")
def comment_on(call: Call, project: int, item: int, person: str) -> Any:
    """Say something about somebody else’s work, for those who review it."""
    with access.commenting_on(call, project, person, item) as (found, who):
        return {"id": Comment.begin(found, who, by=call.user, **call.sent).pk}


# --- Many items at once ------------------------------------------------------------------------------------------------


def show_batch(batch: Batch) -> dict[str, Any]:
    left_out = {"url", "undo", "redo"}
    return {name: value for name, value in batches.state_of(batch).items() if name not in left_out}


@work.list(f"{OF_PROJECT}/batches", "Batch", scope=Scope.ANNOTATE)
def list_batches(call: Call, project: int) -> Rows:
    """What the token’s person has had done on many items at once."""
    return Rows(access.batches(call, project)[1], lambda found: map(show_batch, found))


@work.create(
    f"{OF_PROJECT}/batches",
    "NewBatch",
    "BatchMade",
    query="dry_run",
    pages="annotations:alike_preview annotations:alike_places annotations:alike_apply",
)
def create_batch(call: Call, project: int) -> Any:
    """Do something with all alike, on all of one’s items or some. With “dry_run=1” the answer shows where; more places come with
    “after”, the “next” of those before."""
    found, values = access.project(call, project, Right.ANNOTATE), call.sent
    if call.asked["dry_run"]:
        look = batches.more_places if "after" in values else batches.previewed
        return look(call, found, values)
    return {"batch": show_batch(all_alike.apply(found, call.user, values))}


OF_BATCH = f"{OF_PROJECT}/batches/<int:batch>"


@work.get(OF_BATCH, "Batch", scope=Scope.ANNOTATE)
def get_batch(call: Call, project: int, batch: int) -> Any:
    """How far a batch is."""
    return show_batch(access.batch(call, project, batch))


@work.post(f"{OF_BATCH}/undo", answer="Batch", pages="annotations:undo_batch annotations:confirm_undo")
def undo_batch(call: Call, project: int, batch: int) -> Any:
    """Undo a batch, where nobody has changed anything since."""
    access.batch(call, project, batch).start_undo()
    return show_batch(access.batch(call, project, batch))


@work.post(f"{OF_BATCH}/redo", answer="Batch", pages="annotations:redo_batch")
def redo_batch(call: Call, project: int, batch: int) -> Any:
    """Do what was undone once more, as a new batch."""
    return show_batch(batches.done_again(call, project, batch))
