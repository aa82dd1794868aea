"""The published formats of what comes in."""

from django.http import Http404, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from annotation_service.http import Request

from ..kinds import Kind


@require_GET
def schema(request: Request, kind: str) -> HttpResponse:
    """The JSON Schema of a kind's documents."""
    if kind not in Kind.values or kind == Kind.STANDARD:
        raise Http404
    response = JsonResponse(Kind(kind).schema, json_dumps_params={"indent": 2, "ensure_ascii": False})
    return _download(response, f"{kind}_dataset.schema.json")


@require_GET
def example(request: Request, kind: str) -> HttpResponse:
    if kind not in Kind.values:
        raise Http404
    content_type = "text/plain; charset=utf-8" if kind == Kind.STANDARD else "application/json"
    response = HttpResponse(Kind(kind).example, content_type=content_type)
    return _download(response, Kind(kind).example_name)


def _download(response: HttpResponse, name: str) -> HttpResponse:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
