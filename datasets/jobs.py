from collections.abc import Iterator
from contextlib import suppress

from django.utils import timezone

from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.jobs import KEEP_FILES, Progress, cleanup, in_use, kind, purge
from annotation_service.models import Job

from .access import get_upload
from .models import Dataset, Upload
from .models.item import BIN


def may_watch(request: Request, job: Job) -> None:
    """Those who may handle the upload."""
    get_upload(request, job.target["upload"])


@kind("check_upload", may_watch)
def check_upload(job: Job, progress: Progress) -> None:
    _upload(job).examine(progress, job)


@kind("store_upload", may_watch)
def store_upload(job: Job, progress: Progress) -> None:
    _upload(job).store(progress, job)


def _upload(job: Job) -> Upload:
    if upload := Upload.objects.select_related("dataset", "by").filter(pk=job.target["upload"]).first():
        return upload
    raise Refused("The dataset was deleted in the meantime.")


@cleanup
def discard_forgotten() -> None:
    """Discard what nobody has stored within a day."""
    for upload in Upload.objects.filter(state__in=Upload.UNFINISHED, created_at__lt=timezone.now() - KEEP_FILES):
        with suppress(Refused):  # a job has it
            upload.discard()


@purge
def empty_bins(seconds: float) -> int:
    dataset = Dataset.objects.filter(item__removed_at__lte=timezone.now() - BIN).first()
    return dataset.empty_bin(seconds) if dataset else 0


@in_use
def files_of_uploads() -> Iterator[str]:
    for upload in Upload.objects.filter(state__in=Upload.UNFINISHED):
        yield from (upload.path.name, upload.problems_path.name)
