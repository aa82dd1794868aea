"""Who may handle an upload, and whose marks somebody may learn from."""

from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation_service.access import can_create, editable, projects_seen_by, require_creator
from annotation_service.blueprints import Right
from annotation_service.http import Request

from .kinds import DatasetKind
from .models import Dataset, Upload


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


def marked_datasets(request: Request) -> QuerySet[Dataset]:
    """The datasets with marks that the user may read: those of projects, and blueprints that come with marks."""
    found = Q(project__in=projects_seen_by(request.user, Right.READ))
    if can_create(request.user):
        found |= Q(project=None, kind__in=[kind for kind in DatasetKind if kind.has_entities])
    return Dataset.objects.filter(found)
