from collections.abc import Iterator
from contextlib import suppress

from django.utils import timezone

from annotation_service.inputs import Refused
from annotation_service.jobs import KEEP_FILES, Progress, cleanup, in_use, kind, started_it
from annotation_service.models import Job, User

from .access import may_handle
from .models import Dataset, Upload
from .models.item import BIN


def may_see(job: Job, user: User) -> bool:
    """Whoever started it, and those who may handle the upload."""
    upload = Upload.objects.select_related("dataset__project", "by").filter(pk=job.target["upload"]).first()
    return started_it(job, user) or (upload is not None and may_handle(upload, user))


@kind("check_upload", may_see)
def check_upload(job: Job, progress: Progress) -> None:
    _upload(job).examine(progress, job)


@kind("store_upload", may_see)
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


@cleanup
def empty_bins() -> None:
    for dataset in Dataset.objects.filter(item__removed_at__lte=timezone.now() - BIN).distinct():
        dataset.empty_bin()


@in_use
def files_of_uploads() -> Iterator[str]:
    for upload in Upload.objects.filter(state__in=Upload.UNFINISHED):
        yield from (upload.path.name, upload.problems_path.name)
