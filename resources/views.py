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
from annotation_service.words import plural
from ontologies.models import Ontology

from .forms import SOURCES, CreateForm
from .models import ConstraintSet
from .models.constraints import ConstraintSetQuerySet

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
COLUMNS = [
    Column("name", "Name", Lower("name")),
    Column("kind", "Kind", "kind"),
    Column("size", "Rules", "size", number=True, big_first=True),
    Column("labels", "Labels of", Lower("entity_ontology__name")),
    Column("state", "State", "uses", big_first=True),
    Column("owner", "Owner", Lower("owner__username")),
    Column("changed", "Changed", "updated_at", big_first=True),
]


@require_GET
def list_sets(request: Request) -> HttpResponse:
    found = cast(ConstraintSetQuerySet, access.blueprints(request, ConstraintSet)).with_size().defer("description")
    kind = request.GET.get("kind")
    kind = kind if kind in ConstraintSet.Kind.values else ""
    if kind:
        found = found.filter(kind=kind)
    found = found.select_related("entity_ontology", "relation_ontology")
    context = list_context(request, found, COLUMNS, "name", "description", "owner__username", "entity_ontology__name")
    return render(request, "resources/list.html", context | {"kind": kind, "kinds": ConstraintSet.Kind.choices})


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
    form = _create_form(request)
    if request.method == "POST" and (constraints := form.save(request.user)):
        messages.success(request, f"“{constraints}” was created with {constraints.content_in_words()}.")
        if warnings := constraints.warnings.total:
            text = f"{plural(warnings, 'place in the rules looks,places in the rules look')} like a mistake: see the checks."
            messages.warning(request, text)
        return redirect(constraints)
    context = {
        "form": form,
        "examples": EXAMPLES,
        "sources": SOURCES,
        "source": "paste" if form.file_text else form["source"].value(),
        "section": "resources",
    }
    return render(request, "resources/create.html", context, status=422 if request.method == "POST" else 200)


@require_POST
def check(request: Request) -> HttpResponse:
    """What would become of the document: its mistakes, or how many rules it has and what looks wrong."""
    form = _create_form(request)
    is_sound = form.examine()
    return render(
        request, "resources/_report.html", {"form": form, "is_sound": is_sound}, status=200 if is_sound else 422
    )


def _create_form(request: Request) -> CreateForm:
    sent = {"data": request.POST, "files": request.FILES} if request.method == "POST" else {}
    return CreateForm(**sent, ontologies=access.blueprints(request, Ontology))


@require_GET
def download_rules(request: Request, pk: int) -> HttpResponseBase:
    constraints = access.readable(request, ConstraintSet, pk)
    name = slugify(constraints.name)[:80] or f"constraints-{constraints.pk}"
    return download(request, "".join(constraints.json_document()), f"{name}.json", "application/json")
