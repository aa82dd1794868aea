"""Who may handle an upload."""

from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation_service.access import editable, require_creator
from annotation_service.http import Request

from .models import Upload


def get_upload(request: Request, pk: int) -> Upload:
    """An upload that the user may check, store and discard: for a dataset that they may change, or their own for a new one."""
    found = get_object_or_404(Upload.objects.select_related("dataset", "by", "job"), pk=pk)
    if found.dataset:
        editable(request, type(found.dataset), found.dataset.pk)
    elif found.by == request.user or request.user.is_staff:
        require_creator(request)
    else:
        raise Http404
    return found
