"""What all kinds of blueprints, and projects' copies of them, have: they are listed, read, changed, copied and deleted; and the
histories of those that are edited step by step: changes are listed, taken back and done again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from annotation_service import access
from annotation_service.blueprints import PagedBlueprint
from annotation_service.db import write
from annotation_service.edits import fingerprint
from annotation_service.inputs import clean_title
from annotation_service.journal import Journaled, JournalRow, Step
from annotation_service.journal_views import SHOWN_STEPS
from annotation_service.models import Job, start_job
from annotation_service.paging import named
from datasets.models import Dataset
from ontologies.models import Ontology
from resources.models import ConstraintSet, PreannotationSet

from .operations import ApiSection, Call, Rows, attributes, check_match, project_of


class BlueprintKind(NamedTuple):
    """``one`` is what its key is called in paths, ``pages`` the namespace of its pages."""

    one: str
    noun: str
    model: type[PagedBlueprint]
    pages: str
    change: str = "BlueprintChange"


KINDS = {
    "ontologies": BlueprintKind("ontology", "an ontology", Ontology, "ontologies"),
    "constraints": BlueprintKind("constraints", "a constraint set", ConstraintSet, "resources"),
    "preannotations": BlueprintKind(
        "preannotations", "a preannotation set", PreannotationSet, "preannotations", "PreannotationsChange"
    ),
    "datasets": BlueprintKind("dataset", "a dataset", Dataset, "datasets"),
}


# --- Blueprints --------------------------------------------------------------------------------------------------------


def show_blueprint(thing: PagedBlueprint) -> dict[str, Any]:
    return {
        **attributes(thing, "id kind owner created_at updated_at"),
        **{name: getattr(thing, name) for name in thing.WORDS},
        "entity_ontology": getattr(thing, "entity_ontology_id", None),
        "relation_ontology": getattr(thing, "relation_ontology_id", None),
        "project": thing.project_id,
        "content": thing.content_in_words(),
    }


def seen_by(call: Call) -> dict[str, str]:
    """Fingerprints of what the program has seen of what it changes, as far as it tells that."""
    return {name: fingerprint(value) for name, value in call.sent.pop("was", {}).items()}


def list_things(call: Call, model: Any) -> Rows:
    found: QuerySet[Any] = named(access.all_readable(call, model), call.asked["q"] or "")
    return Rows(found.select_related("owner", "project"), lambda things: map(show_blueprint, things))


def get_thing(call: Call, model: Any, pk: int) -> Any:
    return show_blueprint(access.readable(call, model, pk))


def change_thing(call: Call, model: Any, pk: int) -> Any:
    thing = access.editable(call, model, pk)
    thing.edit(was=seen_by(call), **call.sent)
    return show_blueprint(access.readable(call, model, pk))


def copy_thing(call: Call, model: Any, pk: int) -> Job | dict[str, Any]:
    thing, name = access.duplicable(call, model, pk), clean_title(call.sent["name"])
    if thing.row_count > settings.JOB_ROWS:
        target = {"model": thing._meta.label, "pk": thing.pk, "name": name}
        return start_job("duplicate", title=f"Duplicate “{thing}”", by=call.user, target=target)
    return show_blueprint(thing.copy_to(by=call.user, name=name))


@contextmanager
def as_read(call: Call, model: Any, pk: int, show: Callable[..., dict[str, Any]], key: Any) -> Iterator[Any]:
    """A thing that is locked to be changed, if what is shown of a part of it has the “etag” that the program asks for."""
    thing = access.editable(call, model, pk)
    with write():
        locked = thing.locked_to_change()
        check_match(call, show(call, locked, key)["etag"])
        yield locked


def delete_thing(call: Call, model: Any, pk: int) -> None:
    access.editable(call, model, pk).erase()


# --- Histories ---------------------------------------------------------------------------------------------------------


def show_step(step: Step) -> dict[str, Any]:
    """The field of an item that came or went is “added” or “removed”."""
    field = step.field or ("added" if step.before is None else "removed")
    before, after = (step.before, step.after) if step.field else (None, None)
    return {"name": step.name, "field": field, "before": before, "after": after}


def show_change(change: JournalRow) -> dict[str, Any]:
    return attributes(change, "version kind verb title user at count stands")


def show_whole(change: JournalRow) -> dict[str, Any]:
    return show_change(change) | {"steps": list(map(show_step, change.steps(limit=SHOWN_STEPS)))}


def changed(thing: Journaled, count: int | None = None) -> dict[str, Any]:
    """How a change is answered: so many have changed, to which version, and what there is to be said of it."""
    row = thing.written
    number = count if count is not None else row.count if row else 0
    return {"changed": number, "version": thing.version, "remark": getattr(row, "remark", "")}


def list_changes(call: Call, thing: Journaled) -> Rows:
    """All that was done to it, the oldest first."""
    return Rows(thing.changes.select_related("user").defer("items"), lambda rows: map(show_change, rows), "version")


def get_change(call: Call, thing: Journaled, version: int) -> Any:
    return show_whole(get_object_or_404(thing.changes.select_related("user"), version=version))


def undo(call: Call, thing: Journaled) -> Any:
    """Take back what one has done last, or one’s change of a version."""
    return show_whole(thing.undo_offered(call.asked["version"], by=call.user))


def redo(call: Call, thing: Journaled) -> Any:
    """Do again what one has undone last."""
    return show_whole(thing.redo(by=call.user))


def revert(call: Call, thing: Journaled, version: int) -> Any:
    """Take back any change, whoever made it, unless a later one depends on it."""
    return show_whole(thing.revert(get_object_or_404(thing.changes, version=version), by=call.user))


def register_history(
    section: ApiSection, path: str, one: str, pages: str, reads: Callable[..., Any], acts: Callable[..., Any]
) -> None:
    """Those about what was done to something that is edited step by step. Its path begins with a key, by which it is fetched to
    be read or to be changed."""

    def of(fetch: Callable[..., Any], perform: Any) -> Any:
        def answer(call: Call, **args: Any) -> Any:
            key, *others = args.values()
            return perform(call, fetch(call, key), *others)

        return wraps(perform)(answer)

    changes, post = f"{path}/changes", partial(section.post, answer="Change")
    section.list(changes, "Change", name=f"list_{one}_changes")(of(reads, list_changes))
    about = f"One change with its steps: the first {SHOWN_STEPS}."
    section.get(f"{changes}/<int:version>", "Change", name=f"get_{one}_change", about=about)(of(reads, get_change))
    post(f"{path}/undo", query="version", pages=f"{pages}:undo", name=f"undo_{one}")(of(acts, undo))
    post(f"{path}/redo", pages=f"{pages}:redo", name=f"redo_{one}")(of(acts, redo))
    post(f"{changes}/<int:version>/revert", pages=f"{pages}:revert", name=f"revert_{one}")(of(acts, revert))


# --- The operations ----------------------------------------------------------------------------------------------------


def _keyed(kind: BlueprintKind, perform: Any) -> Any:
    return wraps(perform)(lambda call, **args: perform(call, kind.model, args.pop(kind.one), **args))


def _register(plural: str, kind: BlueprintKind) -> None:
    """The operations of one kind of blueprints."""
    one, noun, pages, of_one = kind.one, kind.noun, kind.pages, f"{plural}/<int:{kind.one}>"
    section = ApiSection(plural.capitalize())
    project_of[one] = lambda pk: kind.model._default_manager.filter(pk=pk).values_list("project_id", flat=True).first()

    keyed = partial(_keyed, kind)

    def listed(call: Call) -> Rows:
        return list_things(call, kind.model)

    about = f"List {plural} that can be read."
    section.list(plural, "Blueprint", "q", name=f"list_{plural}", about=about)(listed)
    about = f"Read what {noun} is: its content has addresses of its own."
    section.get(of_one, "Blueprint", name=f"get_{one}", about=about)(keyed(get_thing))
    at = {"name": f"change_{one}", "pages": f"{pages}:edit", "about": f"Change the name or description of {noun}."}
    section.patch(of_one, kind.change, "Blueprint", **at)(keyed(change_thing))
    about = f"Make a blueprint of {noun} that is one’s own; of a large one by a job."
    at = {"name": f"copy_{one}", "pages": f"{pages}:duplicate", "about": about}
    section.create(f"{of_one}/copies", "NewName", "Blueprint", long=True, **at)(keyed(copy_thing))
    about = f"Delete {noun}. A project’s copy goes with its project alone."
    section.delete(of_one, name=f"delete_{one}", pages=f"{pages}:delete", about=about)(keyed(delete_thing))


def _register_history(plural: str, kind: BlueprintKind) -> None:
    def reads(call: Call, pk: int) -> Any:
        return access.readable(call, kind.model, pk)

    def acts(call: Call, pk: int) -> Any:
        return access.editable(call, kind.model, pk)

    section, of_one = ApiSection(plural.capitalize()), f"{plural}/<int:{kind.one}>"
    register_history(section, of_one, kind.one, kind.pages, reads, acts)


for _plural, _kind in KINDS.items():
    _register(_plural, _kind)
for _plural, _kind in KINDS.items():
    if issubclass(_kind.model, Journaled):
        _register_history(_plural, _kind)
