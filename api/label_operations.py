"""The labels of ontologies: trees are made of files, read, and changed."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict

from annotation_service import access
from annotation_service.blueprints import Right
from annotation_service.db import among, write
from annotation_service.edits import fingerprint
from annotation_service.inputs import Refused, check_size, decode
from annotation_service.words import listed
from ontologies import usage
from ontologies.checks import likely_mistakes
from ontologies.documents import notes_on
from ontologies.editor.answers import get_item
from ontologies.forms import LabelFileForm, OntologyForm, PasteForm, UpdateForm
from ontologies.label_files import DOWNLOADS, left_out
from ontologies.labels import Label
from ontologies.models import Ontology, OntologyItem
from ontologies.switches import Switch
from ontologies.updates import TreeUpdate
from ontologies.views import download_codebook, download_tree

from .blueprint_operations import as_read, changed, show_blueprint, show_step
from .forms import valid
from .operations import FILE, ApiSection, Call, Rows, attributes, time_of
from .problems import show_problems

OF_ONE = "ontologies/<int:ontology>"
SHOWN_PLANNED = 1000
READING = "file_name encoding language column_name column_path column_parent column_description column_example_terms column_color"
"""Parameters: how a file is read."""
ontologies = ApiSection("Ontologies")


def sent_with(call: Call) -> dict[str, Any]:
    """The values of the query that were given, as a form takes them."""
    return {name: str(value) for name, value in call.asked.items() if value not in (None, False)}


def read_file(call: Call, form: LabelFileForm) -> Any:
    """The same of a file with labels. Settings that its format does not have are refused, too."""
    values = valid(form)
    for choice, value in form.choices:
        if call.asked.get(choice.name) not in (None, value):
            raise Refused(f"Here it can be {listed(choice.choices, 20)}.", place=choice.name)
    return values


# --- Whole ontologies --------------------------------------------------------------------------------------------------


@ontologies.create(
    "ontologies", FILE, "NewOntology", query=f"name kind description {READING} dry_run", pages="ontologies:create"
)
def create_ontology(call: Call) -> Any:
    """Make an ontology of a file in any format that pages take, or an empty one.

    A dry run tells what the file was recognised as, and which settings its format has.
    """
    access.require_creator(call)
    source = "file" if call.sent.size else "empty"
    name = {"name": "?"} if call.asked["dry_run"] else {}
    form = OntologyForm(name | sent_with(call) | {"source": source}, {"file": call.sent})
    values = read_file(call, form)
    notes = (notes_on(values["items"]) + left_out(form.document)).strip()
    if call.asked["dry_run"]:
        chosen = [
            {"name": each.name, "label": each.label, "choices": list(each.choices), "value": value}
            for each, value in form.choices
        ]
        return {"recognised": form.seen, "labels": len(values["items"]), "notes": notes, "settings": chosen}
    words = {name: values[name] for name in ("kind", "name", "description", "items")}
    return show_blueprint(Ontology.create(owner=call.user, **words))


@ontologies.file(f"{OF_ONE}/download", query="format")
def download_ontology(call: Call, ontology: int) -> HttpResponseBase:
    """The tree as a file, as JSON unless another format is asked for: csv, skos or text."""
    formats = {format.name: format for format in DOWNLOADS}
    name = call.asked["format"] or "json"
    if name not in formats:
        raise Refused(f"There are the formats {', '.join(formats)}.", place="format")
    return download_tree(call, ontology, formats[name])


@ontologies.file(f"{OF_ONE}/codebook", query="branch off sentences")
def download_ontology_codebook(call: Call, ontology: int) -> HttpResponseBase:
    """The codebook as Markdown: labels with their descriptions, terms and example sentences."""
    return download_codebook(call, ontology)


@ontologies.list(f"{OF_ONE}/checks", "LabelCheck")
def list_ontology_checks(call: Call, ontology: int) -> Rows:
    """Likely mistakes in the tree, for people to judge."""
    tree = access.readable(call, Ontology, ontology)

    def show(checks: Sequence[Any]) -> Any:
        for each in checks:
            labels = [label.uid for label in each.labels]
            yield {"kind": each.kind, "text": each.text, "hint": each.is_hint, "labels": labels}

    return Rows(likely_mistakes(tree.labels()), show)


# --- Labels ------------------------------------------------------------------------------------------------------------


def show_labels(tree: Ontology, shown: Sequence[Label]) -> Iterator[dict[str, Any]]:
    labels = tree.labels()
    stored = OntologyItem.objects.filter(pk__in=among([label.pk for label in shown]))
    times = {pk: at for pk, *at in stored.values_list("pk", "created_at", "updated_at")}
    for label in shown:
        created, updated = times.get(label.pk, (None, None))
        told = label._asdict() | {"path": labels.path(label), "parent": label.parent_uid}
        del told["pk"], told["parent_uid"]
        told |= {"created_at": time_of(created), "updated_at": time_of(updated)}
        yield told | {"etag": f'"{fingerprint(told)}"'}


def show_label(call: Call, tree: Ontology, uid: str) -> dict[str, Any]:
    if (label := tree.labels().by_uid.get(uid)) is None:
        raise Http404("This label is not there.")
    (told,) = show_labels(tree, [label])
    call.etag = told["etag"]
    return told


@ontologies.list(f"{OF_ONE}/labels", "Label", query="find")
def list_labels(call: Call, ontology: int) -> Rows:
    """All labels in tree order, or those that somebody means with a text."""
    tree = access.readable(call, Ontology, ontology)
    found = tree.labels().find(call.asked["find"]) if call.asked["find"] else tree.labels()
    return Rows(found, lambda shown: show_labels(tree, shown))


@ontologies.get(f"{OF_ONE}/labels/<str:label>", "Label")
def get_label(call: Call, ontology: int, label: str) -> Any:
    """A label, by its uid."""
    return show_label(call, access.readable(call, Ontology, ontology), label)


@ontologies.get(f"{OF_ONE}/labels/<str:label>/usage", "LabelUsage")
def get_label_usage(call: Call, ontology: int, label: str) -> Any:
    """Who uses a label: marks, constraints and the like, here and in projects."""
    tree = access.readable(call, Ontology, ontology)
    seen = access.projects_seen_by(call.user, Right.READ)
    found = get_item(tree, label).usage(seen, tree.whose_marks(call.user))
    projects = [{"project": p.project_pk, "name": p.project_name, "counts": p.counts} for p in found.projects]
    return {"own": found.own, "projects": projects, "elsewhere": found.elsewhere}


@ontologies.create(f"{OF_ONE}/labels", "NewLabel", "Label", pages="ontologies:add_item ontologies:add_child")
def create_label(call: Call, ontology: int) -> Any:
    """Add a label, last below its parent or at the top. Sent again with the same uid, it is that label."""
    tree, sent = access.editable(call, Ontology, ontology), call.sent
    with write():
        parent = get_item(tree, sent["parent"]) if sent.get("parent") else None
        item = tree.add_item(sent["name"], parent=parent, uid=sent.get("uid", ""), by=call.user)
        told = {name: sent[name] for name in ("description", "example_terms", "color") if name in sent}
        item = _changed(item.again(), told, call)
        return show_label(call, item.ontology, item.uid)


@ontologies.patch(
    f"{OF_ONE}/labels/<str:label>",
    "LabelChange",
    "Label",
    pages="ontologies:rename ontologies:describe ontologies:example_terms ontologies:recolor ontologies:switch",
)
def change_label(call: Call, ontology: int, label: str) -> Any:
    """Rename, describe, recolour or switch a label. Each field is a step of the history.

    With If-Match only if it is still as it was read.
    """
    with as_read(call, Ontology, ontology, show_label, label) as locked:
        item = _changed(get_item(locked, label), call.sent, call)
        return show_label(call, item.ontology, label)


def _changed(item: OntologyItem, sent: dict[str, Any], call: Call) -> OntologyItem:
    by = call.user
    if "name" in sent:
        item = item.rename(sent["name"], by=by)
    if "description" in sent:
        item = item.describe(sent["description"], by=by)
    if "example_terms" in sent:
        item = item.set_example_terms(sent["example_terms"], by=by)
    if "color" in sent:
        item = item.recolor(sent["color"], branch=sent.get("branch", False), by=by)
    if "active" in sent:
        item = item.switch(sent["active"], reach=sent.get("reach", "together"), up=sent.get("up", False), by=by)
    return item


@ontologies.post(
    f"{OF_ONE}/label_lists",
    FILE,
    "LabelsAdded",
    query="parent dry_run",
    pages="ontologies:paste ontologies:paste_below",
)
def add_labels(call: Call, ontology: int) -> Any:
    """Add a list in one step: indented lines or paths, a table, or a JSON document, as on the page.

    What stands there already stays as it is, and what the list has below it is added there: sent again, nothing is added.
    """
    tree = access.editable(call, Ontology, ontology)
    parent = get_item(tree, call.asked["parent"]) if call.asked["parent"] else None
    check_size(call.sent.size, settings.MAX_PASTED_BYTES)
    text = MultiValueDict({"text": [decode(call.sent.read())]})
    items = valid(PasteForm(text, ontology=tree, parent=parent))["items"]
    planned = tree.preview_items(items, parent, alike=True)
    added: list[str] = []
    if not call.asked["dry_run"]:
        added = tree.add_items(items, parent=parent, by=call.user, alike=True)
    names = "level name exists called starts_off problem"
    return {
        "new": sum(not row.exists for row in planned),
        "existing": sum(row.exists for row in planned),
        "notes": notes_on(items).strip(),
        "planned": [attributes(row, names) for row in planned[:SHOWN_PLANNED]],
        "added": added,
        "version": tree.version,
    }


@ontologies.post(
    f"{OF_ONE}/updates", FILE, "LabelsUpdated", query=f"agreed {READING} dry_run", pages="ontologies:update"
)
def update_labels(call: Call, ontology: int) -> Any:
    """Change labels as a table says, such as a download as CSV that was edited: none is removed or moved.

    A dry run tells the steps and their digest; send that as “agreed” to have them done.
    """
    tree = access.editable(call, Ontology, ontology)
    rows = read_file(call, UpdateForm(sent_with(call), {"file": call.sent}, ontology=tree))["items"]
    foreseen = TreeUpdate(tree.labels(), rows)
    steps, digest = [*map(show_step, foreseen.steps())], foreseen.digest
    if not call.asked["dry_run"]:
        if call.asked["agreed"] is None:
            raise Refused("Give the digest of a dry run: nothing else is done than what it told.", place="agreed")
        tree.update_from(rows, by=call.user, agreed=call.asked["agreed"])
    return {
        "summary": foreseen.summary,
        "digest": digest,
        "total": len(steps),
        "steps": steps[:SHOWN_PLANNED],
        "notes": show_problems(foreseen.notes),
        "unnamed": foreseen.unnamed,
        "version": tree.version,
    }


# --- Several labels ----------------------------------------------------------------------------------------------------


@ontologies.post(f"{OF_ONE}/recolor", "LabelColors", "Changed", pages="ontologies:recolor_items")
def recolor_labels(call: Call, ontology: int) -> Any:
    """Give several labels a colour or, with “branch”, what is below them variations of it."""
    tree, sent = access.editable(call, Ontology, ontology), call.sent
    count = tree.recolor_items(sent["labels"], sent["color"], branch=sent.get("branch", False), by=call.user)
    return changed(tree, count)


@ontologies.post(f"{OF_ONE}/separate_colors", "SomeLabels", "Changed", pages="ontologies:separate_colors")
def separate_label_colors(call: Call, ontology: int) -> Any:
    """Give labels that stand beside each other and look alike colours that can be told apart."""
    tree = access.editable(call, Ontology, ontology)
    return changed(tree, tree.separate_colors(call.sent["labels"], by=call.user))


@ontologies.post(f"{OF_ONE}/switch", "LabelSwitch", "Changed", query="dry_run", pages="ontologies:switch_items")
def switch_labels(call: Call, ontology: int) -> Any:
    """Switch labels on or off, in one step. What is below one that goes off goes off, too; marks stay.

    “reach” tells what comes on with a label, and “up” that those above it come on, too.
    """
    tree, sent = access.editable(call, Ontology, ontology), call.sent
    uids, active, reach, up = sent["labels"], sent["active"], sent.get("reach", "together"), sent.get("up", False)
    if call.asked["dry_run"]:
        would = Switch(tree.events(uids), uids, active, reach, up)
        marks = usage.count(among(would.keys), marks_of=tree.kind)
        told = {"changed": would.count, "version": tree.version, "remark": would.remark}
        return told | {"marks": marks, "above": would.above}
    return changed(tree, tree.switch_items(uids, active, reach=reach, up=up, by=call.user))


@ontologies.post(f"{OF_ONE}/add_terms", "LabelTerms", "Changed", pages="ontologies:add_terms")
def add_label_terms(call: Call, ontology: int) -> Any:
    """Add example terms to several labels."""
    tree = access.editable(call, Ontology, ontology)
    return changed(tree, tree.add_example_terms(call.sent["labels"], call.sent["example_terms"], by=call.user))


@ontologies.post(f"{OF_ONE}/move", "LabelMove", "Changed", pages="ontologies:move")
def move_labels(call: Call, ontology: int) -> Any:
    """Move labels with what is below them: below another, or to the top; last there, or before or after a sibling.

    Only where the installation allows it.
    """
    tree, sent = access.editable(call, Ontology, ontology), call.sent
    places = {name: get_item(tree, sent[name]) for name in ("to", "before", "after") if sent.get(name)}
    return changed(tree, len(tree.move_items(sent["labels"], by=call.user, **places)))
