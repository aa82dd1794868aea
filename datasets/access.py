"""Who may handle an upload."""

from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation_service.access import can_create, can_edit, editable, require_creator
from annotation_service.http import Request
from annotation_service.models import User

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


def may_handle(upload: Upload, user: User) -> bool:
    if upload.dataset:
        return can_edit(user, upload.dataset)
    return upload.by == user and can_create(user)
