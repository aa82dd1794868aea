"""The assignment on a project’s page, and its rule: the form, who would get and lose what by another one, who would share how
much with whom, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.models import Job, User, start_job
from datasets.models import Dataset

from . import access
from .assignment.dealing import deal, shared_items
from .assignment.giving import Planned
from .assignment.groups import groups_of, with_groups
from .assignment.rule import NUMBERS, AssignmentRule
from .forms import refusals_in, toasts_refusals
from .models import Project
from .progress import Person

BEFORE = "assignment_before"  # in the session: the last rule that its user has replaced, by project
SHOWN = 10
MOST_IN_TABLE = 30


class NumberField(forms.IntegerField):
    """A field of the rule. Whatever is wrong with its number, it says which ones it takes."""

    def __init__(self, field: str, help_text: str) -> None:
        numbers = NUMBERS[field]
        super().__init__(
            required=False,
            min_value=numbers.least,
            max_value=numbers.most,
            label=numbers.name,
            help_text=help_text,
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), str(numbers)),
        )


class AssignmentForm(forms.Form):
    """Empty fields: everybody gets every item."""

    annotators_per_item = NumberField(
        "annotators_per_item",
        "Empty: every annotator gets every item. A number: items are dealt out evenly.",
    )
    overlap = NumberField(
        "overlap",
        "So many percent of the items go to everybody instead, evenly spread, so that you can compare people.",
    )
    calibration = NumberField(
        "calibration",
        "So many items at the beginning go to everybody. Whoever has not done these gets no others yet.",
    )

    @property
    def rule(self) -> AssignmentRule:
        """What was filled in, when it is valid."""
        return AssignmentRule(**{name: self.cleaned_data[name] for name in AssignmentForm.base_fields})

    def clean_overlap(self) -> int:
        share = self.cleaned_data["overlap"] or 0
        if share and "annotators_per_item" in self.cleaned_data and not self.cleaned_data["annotators_per_item"]:
            raise forms.ValidationError(
                "Everybody gets every item: say how many annotators each of the others goes to."
            )
        return share

    def clean_calibration(self) -> int:
        return self.cleaned_data["calibration"] or 0


@dataclass(frozen=True)
class Pairs:
    """How many items each two of some people share."""

    people: Sequence[User]
    shared: dict[int, dict[int, int]]

    @classmethod
    def of_new(cls, dataset: Dataset, people: Sequence[User], rule: AssignmentRule) -> "Pairs":
        """Those of a project that is not made yet."""
        keys = [person.pk for person in people]
        groups = groups_of(with_groups(dataset.items(), rule, rule))
        plan, everybody = deal(groups, keys, rule.annotators_per_item or 0), frozenset(keys)
        shares = ((group, some, count) for group, counts in plan.items() for some, count in counts.items())
        return cls(people, shared_items(((group.then_given(everybody, some), n) for group, some, n in shares), keys))

    @property
    def counts(self) -> list[int]:
        return [self.shared[one.pk][other.pk] for one, other in combinations(self.people, 2)]

    @property
    def range(self) -> tuple[int, int] | None:
        """The least and the most; ``None`` without a pair."""
        return (min(self.counts), max(self.counts)) if len(self.people) > 1 else None

    @property
    def rows(self) -> list[tuple[User, list[int | None]]]:
        """Of the table; of very many people nothing can be seen in one."""
        people = self.people if len(self.people) <= MOST_IN_TABLE else ()
        return [(one, [None if one == other else self.shared[one.pk][other.pk] for other in people]) for one in people]


def card(request: Request, project: Project, people: list[Person]) -> dict[str, Any]:
    """What the project's page says of its assignment; ``people`` are its members."""
    own = [person for person in people if person.is_given_items or person.touched]
    left = project.calibration_left_by_person()
    before = request.session.get(BEFORE, {}).get(str(project.pk))
    return {
        "rows": [(person, left[person.user.pk]) for person in own[:SHOWN]],
        "count": len(own),
        "by_hand": project.count_by_hand(),
        "back": before and before != project.rule.values and _query(before),
    }


@require_http_methods(["GET", "POST"])
def change(request: Request, pk: int) -> HttpResponse:
    """Change the rule; whatever is filled in, the preview follows."""
    project = access.project(request, pk, Right.MANAGE)
    asked = request.POST if request.method == "POST" else request.GET
    form = AssignmentForm(asked if "calibration" in asked else _values(project.rule))
    context: dict[str, Any] = {"project": project, "form": form}
    if form.is_valid():
        with refusals_in(form):
            if request.method == "POST":
                return _store(request, project, form.rule)
            project.check_not_changing()
            context |= {"rule": form.rule, **what_changes(project, project.foresee_rule(form.rule))}
    if request.htmx and request.htmx.target == "foreseen":
        return render(request, "projects/assignment/_foreseen.html", {**context, "alone": True})
    status = 422 if request.method == "POST" else 200
    return render(request, "projects/assignment/_change.html", context, status=status)


def what_changes(project: Project, planned: Planned) -> dict[str, Any]:
    """For whom, and who would share how much with whom."""
    foreseen = planned.foresee(project.all_annotating())
    people = list(project.working().filter(pk__in=planned.annotators))
    context = {"foreseen": foreseen, "marks": sum(each.marks for each in foreseen), "moved": planned.count_moved()}
    context["losses"] = [each for each in foreseen if each.lost]
    return context | {"pairs": Pairs(people, planned.shared()) if planned.rule.annotators_per_item else None}


@require_http_methods(["GET", "POST"])
@toasts_refusals
def even_pairs(request: Request, pk: int) -> HttpResponse:
    """Say how many items would change hands so that all pairs share as many, and do it when somebody agrees."""
    project = access.project(request, pk, Right.MANAGE)
    project.check_not_changing()
    if request.method == "POST":
        return _answer(request, project, even_pairs_or_start(project, by=request.user))
    context = {"project": project, **what_changes(project, project.planned(anew=True))}
    return render(request, "projects/assignment/_even_pairs.html", context)


def _store(request: Request, project: Project, rule: AssignmentRule) -> HttpResponse:
    before = project.rule
    answer = _answer(request, project, set_rule_or_start(project, rule, by=request.user))
    request.session[BEFORE] = {**request.session.get(BEFORE, {}), str(project.pk): before.values}
    return answer


def _answer(request: Request, project: Project, done: str | Job) -> HttpResponse:
    if isinstance(done, Job):
        return HttpResponseClientRedirect(reverse("job", args=[done.pk]))
    messages.success(request, done)
    return HttpResponseClientRedirect(project.get_absolute_url())


def set_rule_or_start(project: Project, rule: AssignmentRule, *, by: User) -> str | Job:
    """What was done or, if there are many items, the job that does it."""
    if project.is_large():
        return _start(project, by, rule=rule.values)
    project.set_rule(rule, by=by)
    return rule.stored_in_words()


def even_pairs_or_start(project: Project, *, by: User) -> str | Job:
    return _start(project, by, pairs=True) if project.is_large() else project.even_pairs(by=by)


def _start(project: Project, by: User, **target: Any) -> Job:
    target["project"] = project.pk
    return start_job("assign", title=f"Assign the items of “{project}”", by=by, target=target)


def _values(rule: AssignmentRule) -> dict[str, Any]:
    """What the fields of the form show."""
    return {name: value or "" for name, value in rule.values.items()}


def _query(values: dict[str, Any]) -> str:
    return urlencode(_values(AssignmentRule(**values)))
