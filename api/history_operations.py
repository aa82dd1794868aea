"""The histories of what is edited step by step: its changes are listed, taken back and done again."""

from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404

from annotation_service import access
from annotation_service.journal import Journaled, JournalRow, Step
from annotation_service.journal_views import SHOWN_STEPS

from .blueprint_operations import KINDS, BlueprintKind
from .models import Scope
from .operations import Call, Rows, operation, time_of


def show_step(step: Step) -> dict[str, Any]:
    """The field of an item that came or went is “added” or “removed”."""
    field = step.field or ("added" if step.before is None else "removed")
    before, after = (step.before, step.after) if step.field else (None, None)
    return {"name": step.name, "field": field, "before": before, "after": after}


def show_change(change: JournalRow) -> dict[str, Any]:
    return {
        "version": change.version,
        "kind": change.kind,
        "verb": change.verb,
        "title": change.title,
        "user": change.user.username,
        "at": time_of(change.at),
        "count": change.count,
        "stands": change.stands,
    }


def show_whole(change: JournalRow) -> dict[str, Any]:
    return show_change(change) | {"steps": list(map(show_step, change.steps(limit=SHOWN_STEPS)))}


def changed(thing: Journaled, count: int | None = None) -> dict[str, Any]:
    """How a change is answered: so many have changed, to which version, and what there is to be said of it."""
    row = thing.written
    number = count if count is not None else row.count if row else 0
    return {"changed": number, "version": thing.version, "remark": getattr(row, "remark", "")}


def list_changes(call: Call, model: Any, pk: int) -> Rows:
    changes = access.readable(call, model, pk).changes.select_related("user").defer("items")
    return Rows(changes, lambda rows: map(show_change, rows), "version")


def get_change(call: Call, model: Any, pk: int, version: int) -> Any:
    thing = access.readable(call, model, pk)
    return show_whole(get_object_or_404(thing.changes.select_related("user"), version=version))


def undo(call: Call, model: Any, pk: int) -> Any:
    thing = access.editable(call, model, pk)
    return show_whole(thing.undo_offered(call.asked["version"], by=call.user))


def redo(call: Call, model: Any, pk: int) -> Any:
    return show_whole(access.editable(call, model, pk).redo(by=call.user))


def revert(call: Call, model: Any, pk: int, version: int) -> Any:
    thing = access.editable(call, model, pk)
    return show_whole(thing.revert(get_object_or_404(thing.changes, version=version), by=call.user))


def _register(plural: str, kind: BlueprintKind) -> None:
    """The operations of the history of one kind of blueprints."""
    of_one = f"{plural}/<int:{kind.one}>"
    at = partial(operation, section=plural.capitalize(), answer="Change")

    def keyed(perform: Any) -> Any:
        return lambda call, **args: perform(call, kind.model, args.pop(kind.one), **args)

    at(
        *("GET", f"{of_one}/changes", Scope.READ),
        name=f"list_{kind.one}_changes",
        query="limit cursor",
        about="All that was done to it, the oldest first.",
    )(keyed(list_changes))
    at(
        *("GET", f"{of_one}/changes/<int:version>", Scope.READ),
        name=f"get_{kind.one}_change",
        about=f"One change with its steps: the first {SHOWN_STEPS}.",
    )(keyed(get_change))
    at(
        *("POST", f"{of_one}/undo", Scope.MANAGE),
        name=f"undo_{kind.one}",
        query="version",
        pages=f"{kind.pages}:undo",
        about="Take back what one has done last, or one’s change of a version.",
    )(keyed(undo))
    at(
        *("POST", f"{of_one}/redo", Scope.MANAGE),
        name=f"redo_{kind.one}",
        pages=f"{kind.pages}:redo",
        about="Do again what one has undone last.",
    )(keyed(redo))
    at(
        *("POST", f"{of_one}/changes/<int:version>/revert", Scope.MANAGE),
        name=f"revert_{kind.one}",
        pages=f"{kind.pages}:revert",
        about="Take back any change, whoever made it, unless a later one depends on it.",
    )(keyed(revert))


for _plural, _kind in KINDS.items():
    if issubclass(_kind.model, Journaled):
        _register(_plural, _kind)
