"""The list of constraint sets, and their downloads."""

from typing import Any, cast

from django.db.models.functions import Lower
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from annotation_service import access
from annotation_service.blueprint_views import list_context
from annotation_service.http import Request, download
from annotation_service.paging import Column

from .models import ConstraintSet
from .models.sets import ConstraintSetQuerySet

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


@require_GET
def download_rules(request: Request, pk: int) -> HttpResponseBase:
    constraints = access.readable(request, ConstraintSet, pk)
    name = slugify(constraints.name)[:80] or f"constraints-{constraints.pk}"
    return download(request, "".join(constraints.json_document()), f"{name}.json", "application/json")
