"""The published formats of what comes in."""

import json

from django.http import Http404
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from annotation_service.downloads import download
from annotation_service.http import Request

from ..kinds import Kind


@require_GET
def schema(request: Request, kind: str) -> HttpResponseBase:
    """The JSON Schema of a kind's documents."""
    if kind not in Kind.values or kind == Kind.STANDARD:
        raise Http404
    text = json.dumps(Kind(kind).schema, indent=2, ensure_ascii=False)
    return download(request, text, f"{kind}_dataset.schema.json", "application/json")


@require_GET
def example(request: Request, kind: str) -> HttpResponseBase:
    if kind not in Kind.values:
        raise Http404
    content_type = "text/plain; charset=utf-8" if kind == Kind.STANDARD else "application/json"
    return download(request, Kind(kind).example, Kind(kind).example_name, content_type)
