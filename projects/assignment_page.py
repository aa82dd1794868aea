"""The assignment on a project’s page, and its rule: the form, who would get and lose what by another one, and the way back."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.models import start_job

from . import access
from .assignment.rule import NUMBERS, AssignmentRule
from .forms import refusals_in
from .models import Project
from .progress import Person

BEFORE = "assignment_before"  # in the session: the last rule that its user has replaced, by project
SHOWN = 10


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


def card(request: Request, project: Project, people: list[Person]) -> dict[str, Any]:
    """What the project's page says of its assignment; ``people`` are its members."""
    own = [person for person in people if person.is_given_items or person.begun]
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
            foreseen = project.foresee_rule(form.rule)
            context |= {"rule": form.rule, "foreseen": foreseen, "marks": sum(each.marks for each in foreseen)}
    if request.htmx and request.htmx.target == "foreseen":
        return render(request, "projects/assignment/_foreseen.html", {**context, "alone": True})
    status = 422 if request.method == "POST" else 200
    return render(request, "projects/assignment/_change.html", context, status=status)


def _store(request: Request, project: Project, rule: AssignmentRule) -> HttpResponse:
    """At once, or by a job if many items change hands."""
    before = project.rule
    if project.dataset.item_count * (rule.annotators_per_item or 1) > settings.JOB_ROWS:
        target = {"project": project.pk, "rule": rule.values}
        job = start_job("assign", title=f"Assign the items of “{project}”", by=request.user, target=target)
        answer = HttpResponseClientRedirect(reverse("job", args=[job.pk]))
    else:
        project.set_rule(rule, by=request.user)
        messages.success(request, rule.stored_in_words())
        answer = HttpResponseClientRedirect(project.get_absolute_url())
    request.session[BEFORE] = {**request.session.get(BEFORE, {}), str(project.pk): before.values}
    return answer


def _values(rule: AssignmentRule) -> dict[str, Any]:
    """What the fields of the form show."""
    return {name: value or "" for name, value in rule.values.items()}


def _query(values: dict[str, Any]) -> str:
    return urlencode(_values(AssignmentRule(**values)))
