"""The page of a constraint set: its rules, searched, with what other rules add, its checks, and the dialogs in which labels are
picked; and the rules that reach a label, in its details.

Each change of rules answers with the event `constraintsChanged`, upon which the parts of the page fetch themselves again.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django_htmx.http import reswap, trigger_client_event

from annotation_service import access
from annotation_service.blueprints import Right
from annotation_service.db import snapshot
from annotation_service.edits import Conflict, fingerprint
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.paging import search_text
from ontologies.labels import Label, Labels
from ontologies.models import OntologyItem
from ontologies.usage import item_panels

from .constraint_kinds import ConstraintKind, Reach, ShownList
from .models import ConstraintRow, ConstraintSet, rules_of
from .rules import Lineage, Rule, Rules
from .views import LabelChoice, complain, dialog, offer, offer_undo, set_view, standing, uses, wanted

ASKED_SETS, SHOWN_SETS = 20, 5  # those that were changed last
SHOWN_RULES = 30
SHOWN_CHECKS = 200
LIMITS: dict[str, list[str] | None] = {"0": None, "1": []}

reads = set_view(ConstraintSet, access.readable, "GET")
acts = set_view(ConstraintSet, access.editable, "POST")
edits = set_view(ConstraintSet, access.editable, "GET", "POST")


def changed(answer: HttpResponse, constraints: ConstraintSet) -> HttpResponse:
    return trigger_client_event(answer, "constraintsChanged", {"version": constraints.version})


def gone(constraints: ConstraintSet, key: str) -> HttpResponse:
    """The page still shows a rule that somebody has removed."""
    text = f"The rule for “{constraints.rule_name(key)}” was removed meanwhile."
    answer = trigger_client_event(complain(HttpResponse(status=409), text), "closeDialog")
    return changed(reswap(answer, "none"), constraints)


# --- Rules as people read them -------------------------------------------------------------------------------------------


class ShownRule(NamedTuple):
    key: str  # see `models.ConstraintRow`
    number: int
    heads: list[Label]  # what its key is made of: the domain, after the relation if there is one
    below: int
    lists: list[ShownList]
    why: str = ""  # it was found, if it names no such label itself

    @property
    def was(self) -> str:
        """The fingerprint of all its lists."""
        return fingerprint({each.field: each.uids for each in self.lists})

    @property
    def name(self) -> str:
        return " from ".join(label.name for label in self.heads)

    @property
    def fullname(self) -> str:
        return " from ".join(label.fullname for label in self.heads)


def link_to_rule(set_pk: int, key: str, q: str = "") -> str:
    """Leads to a rule, on whichever page of the list, searched for ``q``, it stands."""
    query = urlencode({"rule": key} | ({"q": q} if q else {}))
    return f"{reverse('resources:page', args=[set_pk])}?{query}#rule-{key}"


class ShownRules:
    """Shows the rules of one set; ``labels`` are those of its ontologies, by their kind."""

    def __init__(self, kind: ConstraintKind, rules: Rules, labels: Mapping[str, Labels]) -> None:
        self.kind, self.rules, self.labels = kind, rules, labels
        self._by_pk = {pk: label for each in labels.values() for pk, label in each.by_pk.items()}
        self._below = Counter[str | None]()
        for label in reversed(labels["entity"]):
            self._below[label.parent_uid] += self._below[label.uid] + 1

    def found(self, text: str = "") -> list[tuple[Rule, str]]:
        """All rules in their order or, with a text, those that name labels with the text in their full names; then those that
        name types above such labels, and how."""
        wanted = unicodedata.normalize("NFC", text).casefold().strip()
        if not wanted:
            return [(rule, "") for rule in self.rules.rows]
        named, above = set[int](), dict[int, Label]()
        for labels in self.labels.values():
            for label in labels:
                if wanted in label.fullname.casefold():
                    own, *types = labels.lineage(label)
                    named.add(own)
                    for pk in types:
                        above.setdefault(pk, label)
        direct, inherited = [], []
        for rule in self.rules.rows:
            if not named.isdisjoint(rule.named()):
                direct.append((rule, ""))
            elif through := next((pk for pk in rule.named() if pk in above), None):
                why = f"names “{self._by_pk[through].name}”, which is above “{above[through].name}”"
                inherited.append((rule, why))
        return direct + inherited

    def _heads(self, rule: Rule) -> list[Label]:
        return [self._by_pk[label] for label in rule.key]

    def key(self, rule: Rule) -> str:
        return "-".join(label.uid for label in self._heads(rule))

    def shown(self, rule: Rule, why: str = "") -> ShownRule:
        heads = self._heads(rule)
        lists = self.kind.lists(rule, self.rules, self.labels["entity"])
        return ShownRule(self.key(rule), rule.position + 1, heads, self._below[heads[-1].uid], lists, why)


def _listing(constraints: ConstraintSet) -> ShownRules:
    return ShownRules(constraints.of_kind, rules_of([constraints]) or Rules([]), constraints.labels())


# --- Reading -------------------------------------------------------------------------------------------------------------


@reads
def page(request: Request, constraints: ConstraintSet) -> HttpResponse:
    context = uses(request, constraints) | _rules_context(request, constraints)
    return render(request, "resources/page.html", context)


@reads
def rules(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """The list of rules, with the facts and the buttons above it."""
    return render(request, "resources/_refreshed.html", _rules_context(request, constraints))


def _rules_context(request: Request, constraints: ConstraintSet) -> dict[str, Any]:
    query = search_text(request)
    listing = _listing(constraints)
    found = listing.found(query)
    at = next((at for at, (rule, _) in enumerate(found) if listing.key(rule) == request.GET.get("rule")), None)
    number = request.GET.get("page") if at is None else at // SHOWN_RULES + 1
    page = Paginator(found, SHOWN_RULES).get_page(number)
    return standing(request, constraints) | {
        "query": query,
        "total": len(listing.rules.rows),
        "page": page,
        "rules": [listing.shown(*each) for each in page.object_list],
    }


@reads
def checks(request: Request, constraints: ConstraintSet) -> HttpResponse:
    with snapshot():  # the labels are those of the rules that were checked
        mistakes, listing = constraints.mistakes(), _listing(constraints)
    shown = [(listing.shown(each.rule), each) for each in mistakes[:SHOWN_CHECKS]]
    found = [(rule.name, link_to_rule(constraints.pk, rule.key), mistake) for rule, mistake in shown]
    return render(request, "resources/_checks.html", {"checks": found, "total": len(mistakes)})


# --- Changing ------------------------------------------------------------------------------------------------------------


@acts
def remove(request: Request, constraints: ConstraintSet, key: str) -> HttpResponse:
    if not constraints.rules_with(key).exists():
        return gone(constraints, key)
    name = constraints.rule_name(key)
    try:
        constraints.remove_rule(key, was=request.POST.get("was"), by=request.user)
    except Conflict:
        text = f"Somebody changed the rule for “{name}” meanwhile. You see it as it is now: remove it again if you still want to."
        return changed(complain(HttpResponse(status=409), text), constraints)
    return changed(offer_undo(HttpResponse(), constraints, f"The rule for “{name}” was removed."), constraints)


@edits
def add(request: Request, constraints: ConstraintSet) -> HttpResponse:
    """Add a rule for the picked labels, first a relation, if its rules are about some; then lead on to its first list."""
    if request.method == "POST":
        key = request.POST.get("key", "")
        constraints.add_rule(key, by=request.user)
        (field, *_) = constraints.row_model.list_fields
        rule = constraints.rules_with(key).get()
        answer = dialog(request, _picking(request, constraints, rule, field))
        return changed(answer, constraints)
    return dialog(request, _adding(request, constraints))


def _adding(request: Request, constraints: ConstraintSet) -> dict[str, Any]:
    """What the dialog shows in which the label of a new rule is picked, after its relation."""
    url, labels = reverse("resources:add_rule", args=[constraints.pk]), constraints.labels()
    relation = labels["relation"].by_uid.get(request.GET.get("relation", "")) if "relation" in labels else None
    if "relation" in labels and relation is None:
        steps = (LabelChoice(label, "relation", label.uid) for label in wanted(request, labels["relation"]))
        return offer(request, steps) | {
            "heading": "Add a rule: for which relation?",
            "url": url,
            "target": "#dialog",
        }
    there = {rule.key for rule in constraints.rules_with_keys()}
    keys = (
        (label, f"{relation.uid}-{label.uid}" if relation else label.uid) for label in wanted(request, labels["entity"])
    )
    choices = (
        LabelChoice(label, "key", key, why_not="has a rule", link=link_to_rule(constraints.pk, key))
        if key in there
        else LabelChoice(label, "key", key)
        for label, key in keys
    )
    return offer(request, choices) | {
        "heading": f"“{relation.name}” leads from which label?" if relation else "Add a rule: for which label?",
        "url": f"{url}?relation={relation.uid}" if relation else url,
        "post_to": url,
        "target": "#dialog",
    }


@edits
def pick(request: Request, constraints: ConstraintSet, key: str, field: str) -> HttpResponse:
    """Put labels into a list of a rule, or take them out: in a dialog that stays open, or from the page."""
    if field not in constraints.row_model.list_fields:
        raise Http404
    status, toast = 200, ""
    try:
        if request.method == "POST":
            _change_list(request, constraints, key, field)
    except Conflict:
        status = 409
        toast = "Somebody changed this list meanwhile. You see it as it is now: do it again if you still want to."
    except Refused as error:
        status, toast = 422, str(error)
    rule = constraints.rules_with(key).first()  # only now, as it has become
    if rule is None:
        return gone(constraints, key)
    if request.method == "GET":
        return dialog(request, _picking(request, constraints, rule, field))
    answer = render(request, "resources/_choices.html", _picking(request, constraints, rule, field), status=status)
    if toast:
        complain(answer, toast)
    elif "limit" in request.POST:
        trigger_client_event(answer, "closeDialog")
    return changed(answer, constraints)


def _change_list(request: Request, constraints: ConstraintSet, key: str, field: str) -> None:
    wanted, by = request.POST, request.user
    if "add" in wanted:
        constraints.add_label(key, field, wanted["add"], limits="limits" in wanted, by=by)
    elif "drop" in wanted:
        constraints.drop_label(key, field, wanted["drop"], by=by)
    elif field == constraints.row_model.optional_list and wanted.get("limit") in LIMITS:
        was = {field: wanted["was"]} if "was" in wanted else None
        constraints.change_rule(key, was=was, by=by, **{field: LIMITS[wanted["limit"]]})
    else:
        raise Refused("Choose a label.")


def _picking(request: Request, constraints: ConstraintSet, rule: ConstraintRow, field: str) -> dict[str, Any]:
    """What the dialog shows in which labels are picked for a list."""
    state, labels = rule.state(), constraints.labels()["entity"]
    own, titles = state[field], constraints.of_kind.titles
    others = {uid: titles[name] for name, uids in state.items() if name != field for uid in uids or ()}
    listed = set(own or ())
    url = reverse("resources:pick", args=[constraints.pk, rule.key, field])
    choices = (
        LabelChoice(
            label,
            "drop" if label.uid in listed else "add",
            label.uid,
            label.uid in listed,
            f"stands in “{others[label.uid]}”" if label.uid in others else "",
        )
        for label in wanted(request, labels)
    )
    return offer(request, choices) | {
        "heading": f"“{constraints.rule_name(rule.key)}” {titles[field]}",
        "picks_for": field,
        "url": url,
        "post_to": url,
        "target": "#choices",
        "is_list": True,
        "starts_limit": own is None,
        "was": fingerprint(own),
    }


# --- In the details of a label ------------------------------------------------------------------------------------------


def reaches(kind: ConstraintKind, rules: Rules, line: Lineage) -> Iterator[Reach]:
    """What the rules say of a label, in their order. Rules that a nearer one replaces say nothing."""
    for row in rules.rows:
        yield from kind.reaches(row, rules, line)


def rules_panel(request: Request, item: OntologyItem) -> tuple[str, dict[str, Any]] | None:
    """What constraint sets say of a label, for those who may read the sets."""
    ontology = item.ontology
    if ontology.project and Right.READ not in ontology.project.rights_of(request.user):
        return None
    sets = ConstraintSet.objects.filter(Q(entity_ontology=ontology) | Q(relation_ontology=ontology))
    of_both = sets.select_related("entity_ontology", "relation_ontology").order_by("-updated_at", "-pk")[:ASKED_SETS]
    labels = ontology.labels() if of_both else Labels()  # which takes 40 ms after a change of 10,000 labels
    if item.pk not in labels.by_pk:  # or adding it was undone meanwhile
        return None
    line = labels.line(item.pk)
    shown = []
    for each in sorted(of_both, key=lambda each: (each.kind, each.name)):
        rules = rules_of([each])
        if found := list(reaches(each.of_kind, rules, line)) if rules else []:
            by_pk = {pk: label for its in each.labels().values() for pk, label in its.by_pk.items()}
            lines = [_reach(reach, item, by_pk) for reach in found[:SHOWN_RULES]]
            shown.append({"set": each, "lines": lines, "more": len(found) - len(lines)})
    if not shown:
        return None
    return "resources/_rules_of_label.html", {"sets": shown[:SHOWN_SETS], "more": len(shown[SHOWN_SETS:])}


def _reach(reach: Reach, item: OntologyItem, labels: Mapping[int, Label]) -> dict[str, Any]:
    return {
        "number": reach.rule.position + 1,
        "first": labels[reach.first] if reach.first else None,
        "words": reach.words,
        "labels": [labels[label] for label in reach.labels],
        "above": labels[reach.named] if reach.named != item.pk else None,
    }


item_panels.append(rules_panel)
