"""What sets of constraints and preannotations hold: their rules and rows, which are read, changed, checked and learned."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.datastructures import MultiValueDict

from annotation_service import access
from annotation_service.db import among, write
from annotation_service.edits import fingerprint
from annotation_service.inputs import Refused
from datasets.access import marked_datasets
from ontologies.labels import Label
from ontologies.models import Ontology
from resources.forms import PreannotationSetForm, ResourceSetForm
from resources.matrix import say
from resources.models import ConstraintRow, ConstraintSet, Lists, PreannotationSet, ResourceSet
from resources.views import download_csv, download_json
from work.evidence import LearnedFrom
from work.views import Lesson, ProposedRule

from .blueprint_operations import as_read, changed, show_blueprint
from .forms import refusal_of
from .label_operations import sent_with
from .models import Scope
from .operations import FILE, ApiSection, Call, Rows
from .problems import show_problems

CONSTRAINTS, PREANNOTATIONS = "constraints/<int:constraints>", "preannotations/<int:preannotations>"
constraints, preannotations = ApiSection("Constraints"), ApiSection("Preannotations")


def show_ref(label: Label) -> dict[str, str]:
    return {"uid": label.uid, "fullname": label.fullname}


def all_labels(thing: ResourceSet) -> dict[str, Label]:
    """By their uids."""
    return {label.uid: label for labels in thing.labels().values() for label in labels}


# --- Whole sets --------------------------------------------------------------------------------------------------------

_OF_NEW = "name kind description entity_ontology relation_ontology dry_run"


def _create(call: Call, form_class: type[ResourceSetForm]) -> Any:
    access.require_creator(call)
    form_class.model.feature.check()
    sent = sent_with(call) | {"source": "file" if call.sent.size else "empty"}
    form = form_class(sent, {"file": call.sent}, ontologies=access.blueprints(call, Ontology))
    if call.asked["dry_run"]:
        if not form.examine() or form.warnings is None:
            raise refusal_of(form)
        return {"rows": form.row_count, "warnings": show_problems(form.warnings.first), "total": form.warnings.total}
    if (new := form.save(call.user)) is None:
        raise refusal_of(form)
    return show_blueprint(new)


@constraints.create("constraints", FILE, "NewSet", query=_OF_NEW, pages="resources:create")
def create_constraints(call: Call) -> Any:
    """Make a set of constraints of a JSON document, or an empty one. A dry run tells what looks like a mistake in it."""
    return _create(call, ResourceSetForm)


@preannotations.create(
    "preannotations", FILE, "NewSet", query=f"{_OF_NEW} ignore_case add_labels", pages="preannotations:create"
)
def create_preannotations(call: Call) -> Any:
    """Make a set of preannotations of a JSON document or a table, or an empty one."""
    return _create(call, PreannotationSetForm)


@constraints.file(f"{CONSTRAINTS}/download")
def download_constraints(call: Call, constraints: int) -> HttpResponseBase:
    """The set as a JSON document, which can be uploaded again."""
    return download_json(call, constraints, ConstraintSet)


@preannotations.file(f"{PREANNOTATIONS}/download", query="format")
def download_preannotations(call: Call, preannotations: int) -> HttpResponseBase:
    """The set as a JSON document or, with the format csv, as a table."""
    wanted = call.asked["format"] or "json"
    if wanted not in ("json", "csv"):
        raise Refused("There are the formats json, csv.", place="format")
    return (
        download_csv(call, preannotations) if wanted == "csv" else download_json(call, preannotations, PreannotationSet)
    )


# --- Rules -------------------------------------------------------------------------------------------------------------


def show_rules(thing: ConstraintSet, rows: Sequence[ConstraintRow]) -> Iterator[dict[str, Any]]:
    labels = all_labels(thing)
    for row, lists in thing.row_model.states(rows):
        told = {"key": row.key, "number": row.position + 1}
        told |= {field: show_ref(labels[getattr(row, field).uid]) for field in row.key_fields}
        for field, uids in lists.items():
            told[field] = None if uids is None else [show_ref(labels[uid]) for uid in uids]
        yield told | {"etag": f'"{fingerprint(lists)}"'}


def show_rule(call: Call, thing: ConstraintSet, key: str) -> dict[str, Any]:
    (told,) = show_rules(thing, [get_object_or_404(thing.rules_with(key))])
    call.etag = told["etag"]
    return told


def _lists(thing: ConstraintSet, sent: Mapping[str, Any]) -> Lists:
    """The lists that are sent, if rules of this kind have such."""
    known = thing.row_model.list_fields
    if unknown := next((name for name in sent if name not in known), None):
        raise Refused(f"These rules have no such list; they have {' and '.join(known)}.", place=f"$.{unknown}")
    if wrong := next((name for name in sent if sent[name] is None and name != thing.row_model.optional_list), None):
        raise Refused("A list was expected: here it cannot be missing.", place=f"$.{wrong}")
    return dict(sent)


@constraints.list(f"{CONSTRAINTS}/rules", "Rule")
def list_rules(call: Call, constraints: int) -> Rows:
    """All rules in their order."""
    thing = access.readable(call, ConstraintSet, constraints)
    return Rows(thing.rules_with_keys(), lambda rows: show_rules(thing, rows), "position")


@constraints.get(f"{CONSTRAINTS}/rules/<str:rule>", "Rule")
def get_rule(call: Call, constraints: int, rule: str) -> Any:
    """A rule, by its key."""
    return show_rule(call, access.readable(call, ConstraintSet, constraints), rule)


@constraints.create(f"{CONSTRAINTS}/rules", "NewRule", "Rule", pages="resources:add_rule")
def create_rule(call: Call, constraints: int) -> Any:
    """Add a rule for a label, of relations for a relation and the label that it leads from."""
    thing, sent = access.editable(call, ConstraintSet, constraints), call.sent
    key = "-".join(filter(None, (sent.pop("relation", ""), sent.pop("domain"))))
    with write():
        thing.add_rule(key, by=call.user, **_lists(thing, sent))
        return show_rule(call, thing, key)


@constraints.patch(f"{CONSTRAINTS}/rules/<str:rule>", "RuleChange", "Rule", pages="resources:pick")
def change_rule(call: Call, constraints: int, rule: str) -> Any:
    """Give a rule other lists. With If-Match only if it is still as it was read."""
    with as_read(call, ConstraintSet, constraints, show_rule, rule) as locked:
        lists: Any = _lists(locked, call.sent)
        locked.change_rule(rule, by=call.user, **lists)
        return show_rule(call, locked, rule)


@constraints.put(f"{CONSTRAINTS}/rules/<str:rule>/<str:list>/<str:label>", answer="Rule")
def add_to_rule(call: Call, constraints: int, rule: str, list: str, label: str) -> Any:
    """Put a label into a list of a rule, whatever else has happened to the list."""
    thing = access.editable(call, ConstraintSet, constraints)
    _lists(thing, {list: []})
    with write():
        thing.add_label(rule, list, label, limits=True, by=call.user)
        return show_rule(call, thing, rule)


@constraints.delete(f"{CONSTRAINTS}/rules/<str:rule>/<str:list>/<str:label>", answer="Rule")
def take_from_rule(call: Call, constraints: int, rule: str, list: str, label: str) -> Any:
    """Take a label out of a list of a rule, whatever else has happened to the list."""
    thing = access.editable(call, ConstraintSet, constraints)
    _lists(thing, {list: []})
    with write():
        thing.drop_label(rule, list, label, by=call.user)
        return show_rule(call, thing, rule)


@constraints.delete(f"{CONSTRAINTS}/rules/<str:rule>", answer="Changed", pages="resources:remove_rule")
def delete_rule(call: Call, constraints: int, rule: str) -> Any:
    """Remove a rule. With If-Match only if it is still as it was read."""
    with as_read(call, ConstraintSet, constraints, show_rule, rule) as locked:
        call.etag = ""
        locked.remove_rule(rule, by=call.user)
    return changed(locked)


@constraints.post(f"{CONSTRAINTS}/pairs", "RulePair", "Changed", pages="resources:set_cell")
def set_rule_pair(call: Call, constraints: int) -> Any:
    """Say of two labels what the table of the rules says in a cell. A rule comes with its first label and goes with its last."""
    thing, sent = access.editable(call, ConstraintSet, constraints), call.sent
    if bool(sent.get("relation")) != bool(thing.relation_ontology):
        raise Refused("A relation is needed for rules of relations, and for no others.", place="$.relation")
    say(thing, sent, sent, sent["wanted"], by=call.user)
    return changed(thing)


@constraints.list(f"{CONSTRAINTS}/checks", "RuleCheck")
def list_rule_checks(call: Call, constraints: int) -> Rows:
    """What looks like a mistake in the rules, for people to judge."""
    thing = access.readable(call, ConstraintSet, constraints)
    uids = {label.pk: label.uid for label in all_labels(thing).values()}

    def show(mistakes: Sequence[Any]) -> Iterator[dict[str, Any]]:
        for each in mistakes:
            key = "-".join(uids[pk] for pk in each.rule.key)
            yield {"rule": key, "number": each.rule.position + 1, "place": each.place, "text": each.text}

    return Rows(thing.mistakes(), show)


# --- Rules that are learned from marks ---------------------------------------------------------------------------------


def _lesson(call: Call, constraints: int, asked: Mapping[str, Any], sent: Any = None) -> tuple[ConstraintSet, Lesson]:
    thing = access.editable(call, ConstraintSet, constraints)
    if not thing.of_kind.learned_list:
        raise Http404("No rules of this kind are learned.")
    datasets = marked_datasets(call)
    if call.token.project_id:  # for which nothing else is open
        datasets = datasets.filter(project=call.token.project_id)
    dataset = datasets.filter(pk=asked["dataset"]).first()
    if dataset is None:
        raise Refused("Choose a dataset with marks that you may read.", place="dataset")
    marks, levels = LearnedFrom(asked.get("marks") or LearnedFrom.DONE), asked.get("levels") or 1
    return thing, Lesson(thing, dataset, marks, levels, sent)


def _show_proposed(each: ProposedRule) -> dict[str, Any]:
    labels = [
        {**show_ref(choice.label), "times": choice.times, "chosen": choice.is_ticked, "note": choice.note}
        for choice in each.choices
    ]
    return {
        "key": each.key,
        "relation": each.relation and show_ref(each.relation),
        "domain": show_ref(each.domain),
        "labels": labels,
        "chosen": each.is_ticked,
        "new": each.is_new,
    }


@constraints.get(f"{CONSTRAINTS}/proposals", "Proposals", scope=Scope.MANAGE, query="dataset marks levels")
def get_rule_proposals(call: Call, constraints: int) -> Any:
    """Rules that the marks of a dataset speak for, with how often each label was met."""
    if call.asked["dataset"] is None:
        raise Refused("Choose a dataset with marks.", place="dataset")
    _, lesson = _lesson(call, constraints, call.asked)
    shown = list(map(_show_proposed, lesson.shown))
    return {"total": lesson.total, "rules": shown, "why_nothing": "" if shown else lesson.why_nothing}


@constraints.post(
    f"{CONSTRAINTS}/proposals", "ChosenProposals", "Learned", query="dry_run", pages="work:learn work:check_lesson"
)
def learn_rules(call: Call, constraints: int) -> Any:
    """Add proposed rules in one step: those named, with these labels, or else those that are proposed as chosen.

    A dry run tells how many of the marks would break the rules.
    """
    ticked = None
    if (rules := call.sent.get("rules")) is not None:
        lists = {f"list-{rule['key']}": rule["labels"] for rule in rules}
        ticked = MultiValueDict({"rule": [rule["key"] for rule in rules], **lists})
    thing, lesson = _lesson(call, constraints, call.sent, ticked)
    chosen = lesson.chosen()
    count = len(chosen) if call.asked["dry_run"] else thing.add_rules(chosen, by=call.user, verb="learn")
    return {"learned": count, "marks": lesson.total, "broken": lesson.broken, "version": thing.version}


# --- Rows of preannotations --------------------------------------------------------------------------------------------


def show_rows(thing: PreannotationSet, keys: Sequence[int]) -> Iterator[dict[str, Any]]:
    labels, states = all_labels(thing), dict(thing.states(keys))
    for pk in keys:
        if state := states.get(pk):
            told = {name: value for name, value in state.items() if name != "position"}
            for field in thing.row_model.label_fields:
                told[field] = show_ref(labels[told[field]])
            yield {"id": pk, "number": state["position"] + 1, **told, "etag": f'"{fingerprint(told)}"'}


def show_row(call: Call, thing: PreannotationSet, row: int) -> dict[str, Any]:
    if (told := next(show_rows(thing, [row]), None)) is None:
        raise Http404("This row is not there.")
    call.etag = told["etag"]
    return told


def _values(thing: PreannotationSet, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What is sent, as the verbs take it, if rows of this kind have such fields."""
    known = [field.name for field in thing.row_model.content_fields()]
    if unknown := next((name for name in sent if name not in known), None):
        raise Refused(f"These rows have no such field; they have {', '.join(known)}.", place=f"$.{unknown}")
    return {name: str(value) for name, value in sent.items()}


@preannotations.list(f"{PREANNOTATIONS}/rows", "PreannotationRow")
def list_preannotation_rows(call: Call, preannotations: int) -> Rows:
    """All rows in their order."""
    thing = access.readable(call, PreannotationSet, preannotations)
    return Rows(thing.rows(), lambda rows: show_rows(thing, [row.pk for row in rows]), "position")


@preannotations.get(f"{PREANNOTATIONS}/rows/<int:row>", "PreannotationRow")
def get_preannotation_row(call: Call, preannotations: int, row: int) -> Any:
    """A row, by its id."""
    return show_row(call, access.readable(call, PreannotationSet, preannotations), row)


@preannotations.create(
    f"{PREANNOTATIONS}/rows", "NewPreannotationRow", "PreannotationRow", pages="preannotations:add_row"
)
def create_preannotation_row(call: Call, preannotations: int) -> Any:
    """Add a row, last."""
    thing = access.editable(call, PreannotationSet, preannotations)
    offset = {"offset": 0} if thing.row_model.relation_field else {}
    thing.add_row(_values(thing, offset | call.sent), by=call.user)
    return show_row(call, thing, int(next(iter(thing.written.items))))


@preannotations.patch(
    f"{PREANNOTATIONS}/rows/<int:row>", "PreannotationRowChange", "PreannotationRow", pages="preannotations:cell"
)
def change_preannotation_row(call: Call, preannotations: int, row: int) -> Any:
    """Give a row other values. With If-Match only if it is still as it was read."""
    with as_read(call, PreannotationSet, preannotations, show_row, row) as locked:
        locked.change_row(row, _values(locked, call.sent), by=call.user)
        return show_row(call, locked, row)


@preannotations.post(f"{PREANNOTATIONS}/rows/remove", "SomeRows", "Changed", pages="preannotations:remove_rows")
def remove_preannotation_rows(call: Call, preannotations: int) -> Any:
    """Remove rows in one step: those of them that are still there."""
    thing = access.editable(call, PreannotationSet, preannotations)
    rows = thing.rows().filter(pk__in=among(call.sent["rows"])).order_by()
    return changed(thing, thing.remove_rows(rows, by=call.user))
