"""The items of a dataset, or those that the address asks for, as files."""

from collections.abc import Iterator

from django.http import Http404, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from annotation_service import access
from annotation_service.db import snapshot
from annotation_service.http import Request

from .. import exports
from ..items.filters import ItemFilter
from ..models import Dataset


@require_GET
def json_document(request: Request, pk: int) -> StreamingHttpResponse:
    dataset = access.readable(request, Dataset, pk)
    document = exports.json_document(dataset, ItemFilter.of(dataset, request.GET).items())
    return _download(document, "application/json", exports.file_name(dataset, "json"))


@require_GET
def json_lines_document(request: Request, pk: int) -> StreamingHttpResponse:
    dataset = access.readable(request, Dataset, pk)
    document = exports.json_lines_document(dataset, ItemFilter.of(dataset, request.GET).items())
    return _download(document, "application/jsonl", exports.file_name(dataset, "jsonl"))


@require_GET
def text_document(request: Request, pk: int) -> StreamingHttpResponse:
    """Standard datasets only: the items of the others may have line ends in them."""
    dataset = access.readable(request, Dataset, pk)
    if dataset.kind != Dataset.Kind.STANDARD:
        raise Http404
    document = exports.text_document(dataset, ItemFilter.of(dataset, request.GET).items())
    return _download(document, "text/plain; charset=utf-8", exports.file_name(dataset, "txt"))


def _download(document: Iterator[str], content_type: str, name: str) -> StreamingHttpResponse:
    disposition = content_disposition_header(True, name) or "attachment"
    headers = {"Content-Disposition": disposition}
    return StreamingHttpResponse(_at_one_moment(document), content_type=content_type, headers=headers)


def _at_one_moment(document: Iterator[str]) -> Iterator[str]:
    """Whatever is changed while it is written: items and their marks go together."""
    with snapshot():
        yield from document
