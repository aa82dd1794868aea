"""The page on which a constraint set learns rules from marks: they are proposed, ticked, and added in one step."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation_service import access, words
from annotation_service.http import Request, refused
from annotation_service.inputs import Refused
from annotation_service.words import plural
from datasets.access import marked_datasets
from datasets.kinds import DatasetKind
from datasets.models import Dataset
from ontologies.labels import Label
from resources.models import ConstraintSet, rules_of
from resources.proposals import Proposal
from resources.rules import Rule, Rules
from resources.views import standing

from .evidence import Evidence, LearnedFrom
from .forms import LearnForm

GONE = "These marks are not there any more. Reload the page."
SHOWN_SOURCES = 200
SHOWN_EXAMPLES = 20
SHOWN_RULES = 200
SHOWN_CHOICES = 50  # more cannot be usual: each of these has 2 % of the marks


# --- Views ---------------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def learn(request: Request, pk: int) -> HttpResponse:
    """Propose rules or, if they are sent back, add those that are ticked."""
    constraints, form, lesson = _asked(request, pk)
    problem = ""
    if request.method == "POST":
        try:
            if lesson is None:
                raise Refused("Choose the marks to learn from.")
            count = constraints.add_rules(lesson.chosen(), by=request.user, verb="learn")
            messages.success(
                request, f"{plural(count, 'rule was,rules were')} learned. “Undo” takes them back together."
            )
            return redirect(constraints)
        except Refused as error:
            problem = str(error)
    context = standing(request, constraints) | {"form": form, "lesson": lesson, "problem": problem}
    return render(request, "work/learn.html", context, status=422 if problem or form.errors else 200)


@require_POST
def check(request: Request, pk: int) -> HttpResponse:
    """What the ticked rules would mean for the marks that they are learned from."""
    _, _, lesson = _asked(request, pk)
    if lesson is None:
        return refused(GONE)
    return render(request, "work/_lesson_foot.html", {"lesson": lesson})


@require_GET
def examples(request: Request, pk: int) -> HttpResponse:
    """Some of the marks behind a figure: of a type that a proposed rule lists."""
    _, _, lesson = _asked(request, pk)
    pair = lesson.pair(request.GET.get("rule", ""), request.GET.get("label", "")) if lesson else None
    if lesson is None or pair is None:
        return refused(GONE)
    rule, choice = pair
    found = lesson.evidence.examples(rule.domain.pk, choice.label.pk, rule.proposal.relation, SHOWN_EXAMPLES)
    context = {"rule": rule, "choice": choice, "examples": found, "dataset": lesson.evidence.dataset}
    return render(request, "work/_lesson_examples.html", context)


def _asked(request: Request, pk: int) -> "tuple[ConstraintSet, LearnForm, Lesson | None]":
    """The set, the form, and what can be learned from the marks that are chosen in it."""
    constraints = access.editable(request, ConstraintSet, pk)
    if not constraints.of_kind.learned_list:
        raise Http404
    form = _form(request, constraints)
    if not form.is_valid():
        return constraints, form, None
    dataset, _, source = form.cleaned_data["source"].partition("-")
    marks = access.readable(request, Dataset, int(dataset)), LearnedFrom(source)
    sent = request.POST if request.method == "POST" else None
    return constraints, form, Lesson(constraints, *marks, int(form.cleaned_data["levels"]), sent)


def _form(request: Request, constraints: ConstraintSet) -> LearnForm:
    choices: dict[str, list[tuple[str, str]]] = {"This project": [], "Projects": [], "Datasets": []}
    found = marked_datasets(request).select_related("project").order_by("-updated_at", "-pk")
    for dataset in found.defer("description")[:SHOWN_SOURCES]:
        if dataset.project_id is None:
            choices["Datasets"].append((f"{dataset.pk}-{LearnedFrom.GIVEN}", dataset.name))
            continue
        group = choices["This project" if dataset.project_id == constraints.project_id else "Projects"]
        group.append((f"{dataset.pk}-{LearnedFrom.DONE}", f"{dataset.project}: done by annotators"))
        if DatasetKind(dataset.kind).has_entities:
            group.append((f"{dataset.pk}-{LearnedFrom.GIVEN}", f"{dataset.project}: came with the dataset"))
    data = request.GET if "source" in request.GET else None
    return LearnForm(data, choices=[(name, group) for name, group in choices.items() if group])


# --- What is proposed ----------------------------------------------------------------------------------------------------


class ProposedLabel(NamedTuple):
    """A label that a proposed rule may list."""

    label: Label
    times: int
    is_ticked: bool
    note: str


class ProposedRule(NamedTuple):
    """A proposed rule, with the rule of the set that it would be added to, if there is one."""

    key: str
    relation: Label | None
    domain: Label
    choices: list[ProposedLabel]
    proposal: Proposal
    there: Rule | None
    is_ticked: bool
    is_new: bool
    """Whether it says something that the set does not say yet."""

    @property
    def ticked(self) -> list[Label]:
        return [choice.label for choice in self.choices if choice.is_ticked]

    @property
    def rest(self) -> int:
        """How many further labels were met, all of them rarely."""
        return len(self.proposal.listed) - len(self.choices)

    @property
    def number(self) -> int:
        return self.there.position + 1 if self.there else 0


class Lesson:
    """What marks teach a constraint set. ``sent`` is what was ticked on the page, if it was sent back."""

    def __init__(
        self, constraints: ConstraintSet, dataset: Dataset, source: LearnedFrom, levels: int, sent: Any = None
    ) -> None:
        self.kind, self.of_kind, self.sent = constraints.kind, constraints.of_kind, sent
        self.labels = constraints.labels()
        self.evidence = Evidence(constraints, dataset, source)
        self.observed = self.evidence.observed
        self.rules = rules_of([constraints]) or Rules([])
        self.there = {tuple(rule.key): rule for rule in self.rules.rows}
        self.proposals = self.of_kind.propose(self.observed, levels)

    @property
    def total(self) -> int:
        """How many pairs of entities or relations there are to learn from."""
        return self.of_kind.observed(self.observed).total()

    @property
    def why_nothing(self) -> str:
        """Why no rule is proposed, and what to do."""
        what = "relations" if self.kind == "relation" else "marks of two or more tokens"
        what += " with labels of this set’s ontologies"
        items = self.evidence.dataset.items()
        if self.evidence.source == LearnedFrom.GIVEN:
            return f"No {what} came with the dataset. Choose other marks, or add rules by hand."
        finished = items.filter(annotation__annotator__isnull=False, annotation__done_at__isnull=False)
        done = finished.distinct().count()
        count = f"{words.number(done)} of {plural(items.count(), 'item,items')} {'is' if done == 1 else 'are'} done"
        if not done:
            return (
                f"Nobody has finished an item yet: rules are learnt from finished items, and {count}. Mark some items and"
                " press “Done”, then come back."
            )
        return f"{count}, and they have no {what}. Finish more items, choose other marks, or add rules by hand."

    @property
    def long(self) -> int:
        return self.observed.long.total()

    @cached_property
    def shown(self) -> list[ProposedRule]:
        """The proposals in tree order, those that most marks speak for."""
        order = {label.pk: place for labels in self.labels.values() for place, label in enumerate(labels)}
        found = sorted(self.proposals, key=lambda each: -each.met)[:SHOWN_RULES]
        found.sort(key=lambda each: (order.get(each.relation or 0, 0), order[each.domain]))
        return list(map(self._shown, found))

    def _shown(self, proposal: Proposal) -> ProposedRule:
        domain = self.labels["entity"].by_pk[proposal.domain]
        relation = self.labels["relation"].by_pk[proposal.relation] if proposal.relation else None
        key = f"{relation.uid}-{domain.uid}" if relation else domain.uid
        there = self.there.get(proposal.key)
        choices = list(self._choices(proposal, key, there))
        usual = {label for label in proposal.usual if not self._excluding(proposal, label)}
        is_new = self._listed(there) is None or not all(self._is_allowed(there, label) for label in usual)
        is_contradicted = bool(proposal.usual) and not usual
        likely = proposal.is_likely and is_new and not is_contradicted
        ticked = key in self.sent.getlist("rule") if self.sent is not None else likely
        return ProposedRule(key, relation, domain, choices, proposal, there, ticked, is_new)

    def _choices(self, proposal: Proposal, key: str, there: Rule | None) -> Iterator[ProposedLabel]:
        sent = self.sent.getlist(f"list-{key}") if self.sent is not None else None
        for each in proposal.listed[:SHOWN_CHOICES]:
            label = self.labels["entity"].by_pk[each.label]
            excluding = self._excluding(proposal, each.label)
            note = "allowed already" if self._is_allowed(there, each.label) else ""
            if excluding:
                note = f"excluded by rule {words.number(excluding.position + 1)}"
            usual = each.is_usual and not excluding
            yield ProposedLabel(label, each.times, usual if sent is None else label.uid in sent, note)

    def _excluding(self, proposal: Proposal, label: int) -> Rule | None:
        """The rule of the set by which the label cannot stand inside the domain, whatever that may contain."""
        if proposal.relation is not None:
            return None
        lines = self.observed.lines
        found = self.rules.against_coexisting(lines[proposal.domain], lines[label])
        return found.row if found else None

    def _is_allowed(self, there: Rule | None, label: int) -> bool:
        """Whether a rule lists the label or a type above it."""
        return not set(self.observed.lines[label]).isdisjoint(self._listed(there) or ())

    def _listed(self, rule: Rule | None) -> Sequence[int] | None:
        """What a rule allows, None if it sets no limit."""
        return getattr(rule, self.of_kind.learned_list) if rule else None

    def pair(self, key: str, uid: str) -> tuple[ProposedRule, ProposedLabel] | None:
        """A proposed rule and a label that it may list."""
        found = ((rule, choice) for rule in self.shown for choice in rule.choices)
        return next(((rule, choice) for rule, choice in found if (rule.key, choice.label.uid) == (key, uid)), None)

    # --- What is ticked ---

    def chosen(self) -> dict[str, dict[str, list[str] | None]]:
        """The ticked rules, as `ConstraintSet.add_rules` takes them."""
        if not self.ticked:
            raise Refused("Tick the rules that are to be added.")
        return {each.key: {self.of_kind.learned_list: [label.uid for label in each.ticked]} for each in self.ticked}

    @cached_property
    def ticked(self) -> list[ProposedRule]:
        return [each for each in self.shown if each.is_ticked]

    @property
    def broken(self) -> int:
        """How many of the pairs or relations would break the rules of the set and the ticked ones."""
        rules = dict(self.there)
        for each in self.ticked:
            rules[each.proposal.key] = self._joined(each, [label.pk for label in each.ticked])
        return self.of_kind.broken(self.observed, Rules(rules.values()))

    def _joined(self, shown: ProposedRule, labels: list[int]) -> Rule:
        """The rule as it will be, when these labels have been added."""
        if shown.there is None:
            return self.of_kind.learned(shown.proposal, labels)
        joined: dict[str, Any] = {self.of_kind.learned_list: [*(self._listed(shown.there) or ()), *labels]}
        return replace(shown.there, **joined)
