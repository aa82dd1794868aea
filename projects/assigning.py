"""The assignment on a project's page, and changing its rule: with who would get and lose what, and the way back."""

from typing import Any

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
from annotation_service.inputs import Refused
from annotation_service.models import start_job

from . import access
from .assignment_form import AssignmentForm
from .models import Project
from .people.table import Person
from .rule import Rule

BEFORE = "assignment_before"  # in the session: the last rule that its user has replaced, by project
SHOWN = 10


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
        try:
            if request.method == "POST":
                return _store(request, project, form.rule)
            foreseen = project.foresee_rule(form.rule)
            context |= {"rule": form.rule, "foreseen": foreseen, "marks": sum(each.marks for each in foreseen)}
        except Refused as error:
            form.add_error(None, str(error))
    if request.htmx and request.htmx.target == "foreseen":
        return render(request, "projects/assignment/_foreseen.html", {**context, "alone": True})
    status = 422 if request.method == "POST" else 200
    return render(request, "projects/assignment/_change.html", context, status=status)


def _store(request: Request, project: Project, rule: Rule) -> HttpResponse:
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


def _values(rule: Rule) -> dict[str, Any]:
    """What the fields of the form show."""
    return {name: value or "" for name, value in rule.values.items()}


def _query(values: dict[str, Any]) -> str:
    return urlencode(_values(Rule(**values)))
