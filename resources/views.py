"""The list of constraint sets, creating and downloading."""

from typing import Any, cast

from django.contrib import messages
from django.db.models.functions import Lower
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation_service import access
from annotation_service.blueprint_views import list_context
from annotation_service.http import Request, download
from annotation_service.paging import Column
from annotation_service.views import blueprints_and_copies, finders
from annotation_service.words import plural
from ontologies.models import Ontology

from .forms import CreateForm
from .models import ConstraintSet, ResourceSet
from .models.sets import ResourceSetQuerySet

EXAMPLES = {
    "entity": """[
  {
    "domain": "Activity",
    "excludes": ["PhysicalObject", "State"]
  },
  {
    "domain": "PhysicalObject",
    "excludes": [],
    "can_contain": ["PhysicalObject", "Location"]
  }
]""",
    "relation": """[
  {
    "relation": "hasPart",
    "domain": "PhysicalObject",
    "range": ["PhysicalObject"]
  }
]""",
}


@require_GET
def list_sets(request: Request) -> HttpResponse:
    return render(request, "resources/list.html", list_of(request, ConstraintSet))


def list_of(request: Request, model: type[ResourceSet]) -> dict[str, Any]:
    """What a list of sets shows."""
    found = cast(ResourceSetQuerySet, access.blueprints(request, model)).with_size().defer("description")
    found = found.select_related("entity_ontology", "relation_ontology")
    columns = [
        Column("name", "Name", Lower("name")),
        Column("kind", "Kind", "kind"),
        Column("size", model.row_words.split(",")[1].capitalize(), "size", number=True, big_first=True),
        Column("labels", "Labels of", Lower("entity_ontology__name")),
        Column("state", "State", "uses", big_first=True),
        Column("owner", "Owner", Lower("owner__username")),
        Column("changed", "Changed", "updated_at", big_first=True),
    ]
    return list_context(request, found, columns, "name", "description", "owner__username", "entity_ontology__name")


def head(request: Request, constraints: ConstraintSet) -> dict[str, Any]:
    """What the head of each page about a set shows."""
    return {
        "constraints": constraints,
        "section": "resources" if constraints.is_blueprint else "projects",
        "total": constraints.row_count,
        "editable": access.can_edit(request.user, constraints),
    }


@require_http_methods(["GET", "POST"])
def create(request: Request) -> HttpResponse:
    return creation(request, CreateForm, "resources/create.html", EXAMPLES)


def creation(
    request: Request, form_class: type[CreateForm], template: str, examples: dict[str, str], **context: Any
) -> HttpResponse:
    """The form for a new set, or the way to its page."""
    form = _create_form(request, form_class)
    if request.method == "POST" and (new := form.save(request.user)):
        messages.success(request, f"“{new}” was created with {new.content_in_words()}.")
        if warnings := new.warnings.total:
            text = f"{plural(warnings, 'place in the rules looks,places in the rules look')} like a mistake: see the checks."
            messages.warning(request, text)
        return redirect(new)
    context |= {
        "form": form,
        "examples": examples,
        "source": "paste" if form.file_text else form["source"].value(),
        "section": form.model.namespace or "resources",
        "schema_ending": f"_{form.model.noun}s",
    }
    return render(request, template, context, status=422 if request.method == "POST" else 200)


@require_POST
def check(request: Request) -> HttpResponse:
    return dry_run(request, CreateForm)


def dry_run(request: Request, form_class: type[CreateForm]) -> HttpResponse:
    """What would become of the document: its mistakes, or how many rows it has and what looks wrong."""
    form = _create_form(request, form_class)
    is_sound = form.examine()
    return render(
        request, "resources/_report.html", {"form": form, "is_sound": is_sound}, status=200 if is_sound else 422
    )


def _create_form(request: Request, form_class: type[CreateForm]) -> CreateForm:
    sent = {"data": request.POST, "files": request.FILES} if request.method == "POST" else {}
    return form_class(**sent, ontologies=access.blueprints(request, Ontology))


@require_GET
def download_rules(request: Request, pk: int) -> HttpResponseBase:
    constraints = access.readable(request, ConstraintSet, pk)
    return download(request, "".join(constraints.json_document()), file_name(constraints, "json"), "application/json")


def file_name(thing: ResourceSet, ending: str) -> str:
    return f"{slugify(thing.name)[:80] or f'{thing.noun}s-{thing.pk}'}.{ending}"


finders.append(blueprints_and_copies("Constraints", ConstraintSet))
