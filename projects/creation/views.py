"""A new project: its page, the choices that depend on others, the check of a step, and the making."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation_service import access as blueprint_access
from annotation_service.http import PREANNOTATIONS, Request
from annotation_service.inputs import Refused
from annotation_service.models import User, start_job
from datasets.models import Dataset
from ontologies.models import Ontology
from resources.models import FORMATS, ConstraintSet, PreannotationSet

from ..models import Project
from .forms import BLUEPRINTS, ProjectForm
from .steps import WRONG, steps_of, totals


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    """The whole form makes a project; scripts need not know the steps."""
    blueprint_access.require_creator(request)
    form = _project_form(request)
    if request.method == "POST" and form.is_valid():
        try:
            return _create(request.user, form.values())
        except Refused as error:
            form.add_error(None, str(error))
    there = {name: form.fields[name].queryset.exists() for name in ("dataset", "entity_ontology")}  # type: ignore[attr-defined]
    context = {"section": "projects", "form": form, "there": there, "steps": steps_of(form, checked=form.is_bound)}
    return render(request, "projects/create.html", context, status=422 if form.is_bound else 200)


@require_GET
def ontologies(request: Request) -> HttpResponse:
    """The choice of ontologies and constraints, with what the marks of the chosen dataset would break."""
    return render(request, "projects/creation/_chosen.html", {"form": _project_form(request)})


@require_POST
def check(request: Request) -> HttpResponse:
    """What is wrong with a step that somebody leaves or, without one, the review of all steps."""
    blueprint_access.require_creator(request)
    form, name = _project_form(request), request.POST.get("step", "")
    steps = [each for each in steps_of(form, checked=True) if name in ("", each.step.name)]
    context: dict[str, Any] = {"form": form, "steps": steps}
    if not name:
        context |= {"totals": totals(form), "wrong": [each for each in steps if each.state == WRONG]}
        context["is_large"] = form.is_valid() and _is_large(form.values())
    return render(request, "projects/creation/_checked.html", context)


def _project_form(request: Request) -> ProjectForm:
    chosen = {name: request.GET.get(name, "") for name in (*BLUEPRINTS, "task")}
    models = {"datasets": Dataset, "ontologies": Ontology, "constraints": ConstraintSet}
    found: dict[str, Any] = {name: blueprint_access.blueprints(request, model) for name, model in models.items()}
    found["preannotations"] = blueprint_access.blueprints(request, PreannotationSet) if PREANNOTATIONS.is_on else None
    return ProjectForm(request.POST or None, initial=chosen, fresh="fresh" in request.GET, **found)


def _create(user: User, values: dict[str, Any]) -> HttpResponse:
    """At once, or by a job if much has to be copied."""
    if not _is_large(values):
        sets = [found for name in FORMATS if (found := values.pop(name, None))]
        return redirect("projects:page", pk=Project.create(by=user, resources=sets, **values).pk)
    target = {name: getattr(value, "pk", value) for name, value in values.items()}
    target["annotators"] = [person.pk for person in values["annotators"]]
    job = start_job("create_project", title=f"Create “{values['name']}”", by=user, target=target)
    return redirect("job", pk=job.pk)


def _is_large(values: dict[str, Any]) -> bool:
    rows = sum(thing.row_count for name in BLUEPRINTS if (thing := values.get(name)))
    rows += values["dataset"].item_count * (values["annotators_per_item"] or 0)
    return rows > settings.JOB_ROWS
