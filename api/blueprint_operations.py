"""What all kinds of blueprints, and projects' copies of them, have: they are listed, read, changed, copied and deleted."""

from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet

from annotation_service import access
from annotation_service.blueprints import PagedBlueprint
from annotation_service.edits import fingerprint
from annotation_service.inputs import clean_title
from annotation_service.models import Job, start_job
from annotation_service.paging import named
from datasets.models import Dataset
from ontologies.models import Ontology
from resources.models import ConstraintSet, PreannotationSet

from .models import Scope
from .operations import Call, Rows, operation, project_of, time_of


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


def show_blueprint(thing: PagedBlueprint) -> dict[str, Any]:
    return {
        "id": thing.pk,
        **{name: getattr(thing, name) for name in thing.WORDS},
        "kind": thing.kind,  # type: ignore[attr-defined]
        "owner": thing.owner.username,
        "entity_ontology": getattr(thing, "entity_ontology_id", None),
        "relation_ontology": getattr(thing, "relation_ontology_id", None),
        "project": thing.project_id,
        "content": thing.content_in_words(),
        "created_at": time_of(thing.created_at),
        "updated_at": time_of(thing.updated_at),
    }


def list_things(call: Call, model: Any) -> Rows:
    found: QuerySet[Any] = named(access.all_readable(call, model), call.asked["q"] or "")
    return Rows(found.select_related("owner", "project"), lambda things: map(show_blueprint, things))


def get_thing(call: Call, model: Any, pk: int) -> Any:
    return show_blueprint(access.readable(call, model, pk))


def change_thing(call: Call, model: Any, pk: int) -> Any:
    thing = access.editable(call, model, pk)
    seen = {name: fingerprint(value) for name, value in call.sent.pop("was", {}).items()}
    thing.edit(was=seen, **call.sent)
    return show_blueprint(access.readable(call, model, pk))


def copy_thing(call: Call, model: Any, pk: int) -> Job | dict[str, Any]:
    thing, name = access.duplicable(call, model, pk), clean_title(call.sent["name"])
    if thing.row_count > settings.JOB_ROWS:
        target = {"model": thing._meta.label, "pk": thing.pk, "name": name}
        return start_job("duplicate", title=f"Duplicate “{thing}”", by=call.user, target=target)
    return show_blueprint(thing.copy_to(by=call.user, name=name))


def delete_thing(call: Call, model: Any, pk: int) -> None:
    access.editable(call, model, pk).erase()


def _register(plural: str, kind: BlueprintKind) -> None:
    """The operations of one kind of blueprints."""
    one, of_one, say = kind.one, f"{plural}/<int:{kind.one}>", plural.capitalize()
    at = partial(operation, section=say, answer="Blueprint")

    def keyed(perform: Any) -> Any:
        return lambda call, **args: perform(call, kind.model, args[one])

    listed = at(
        "GET",
        plural,
        Scope.READ,
        name=f"list_{plural}",
        query="q limit cursor",
        about=f"List {plural} that can be read.",
    )
    listed(lambda call: list_things(call, kind.model))
    about = f"Read what {kind.noun} is: its content has addresses of its own."
    at("GET", of_one, Scope.READ, name=f"get_{one}", about=about)(keyed(get_thing))
    at(
        "PATCH",
        of_one,
        Scope.MANAGE,
        name=f"change_{one}",
        body=kind.change,
        pages=f"{kind.pages}:edit",
        about=f"Change the name or description of {kind.noun}.",
    )(keyed(change_thing))
    at(
        "POST",
        f"{of_one}/copies",
        Scope.MANAGE,
        name=f"copy_{one}",
        body="NewName",
        status=201,
        may_take_long=True,
        pages=f"{kind.pages}:duplicate",
        about=f"Make a blueprint of {kind.noun} that is one’s own; of a large one by a job.",
    )(keyed(copy_thing))
    operation(
        "DELETE",
        of_one,
        Scope.MANAGE,
        section=say,
        name=f"delete_{one}",
        pages=f"{kind.pages}:delete",
        about=f"Delete {kind.noun}. A project’s copy goes with its project alone.",
    )(keyed(delete_thing))
    project_of[one] = lambda pk: kind.model._default_manager.filter(pk=pk).values_list("project_id", flat=True).first()


for _plural, _kind in KINDS.items():
    _register(_plural, _kind)
