from collections.abc import Iterator
from contextlib import suppress

from django.http import Http404
from django.utils import timezone

from annotation_service.access import readable
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.jobs import KEEP_FILES, Progress, cleanup, in_use, kind, purge
from annotation_service.models import Job, new_file

from .access import get_upload
from .exports import export_name, write_dataset
from .formats import format_named
from .models import Dataset, Upload
from .models.item import BIN
from .models.judged import judge_some


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


def may_read(request: Request, job: Job) -> None:
    """Whoever started it, while they may read the dataset."""
    if job.by_id != request.user.pk:
        raise Http404
    readable(request, Dataset, job.target["dataset"])


@kind("export_dataset", may_read)
def export_dataset(job: Job, progress: Progress) -> None:
    progress(0, 0, "writing")
    dataset, format = Dataset.objects.filter(pk=job.target["dataset"]).first(), job.target["format"]
    if dataset is None:
        raise Refused("The dataset was deleted in the meantime.")
    with new_file() as (name, target):
        losses = write_dataset(dataset, format, target)
        target.flush()
        text = "; ".join(losses) or "Nothing is lost."
        job.finish(file=name, name=export_name(format_named(format), dataset.name), text=text)


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


purge(judge_some)


@in_use
def files_of_uploads() -> Iterator[str]:
    for upload in Upload.objects.filter(state__in=Upload.UNFINISHED):
        yield from (upload.path.name, upload.problems_path.name, upload.bad_path.name)
