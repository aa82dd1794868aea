"""What the worker does for reviews, and to compare marks; and what bundles have of that."""

from django.urls import reverse

from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.http import Request
from annotation_service.inputs import Refused
from annotation_service.jobs import Progress, kind
from annotation_service.models import Job
from annotation_service.words import plural
from datasets.models import Item
from projects import access
from projects.bundle import BundleFile, more_files
from projects.jobs import started_with
from projects.models import Project
from work.models.item_work import refresh

from .agreement import COMPARE, Agreement, make_report
from .review import Review
from .review_list import ReviewItems

# So many items are locked at a time.
ITEMS_AT_ONCE = 20
# So long the figures are brought up to date that tell which items several people are done with.
COUNT_SECONDS = 600


@kind("take_over", started_with(Right.REVIEW))
def take_over(job: Job, progress: Progress) -> None:
    """Take over what the rule says, or what came with the dataset, wherever nothing is decided yet. Items without disputes are
    decided with it."""
    project = Project.objects.filter(pk=job.target["project"]).first()
    if project is None:
        raise Refused("The project was deleted.")
    given = job.target["what"] == "given"
    progress(0, 0, "counting")
    refresh(project.dataset.pk, COUNT_SECONDS)
    items = (
        project.all_items() if given else ReviewItems(project=project, dataset=project.dataset, user=job.by).matching()
    )
    keys = list(items.order_by("position").values_list("pk", flat=True))
    taken = decided = 0
    for first in range(0, len(keys), ITEMS_AT_ONCE):
        progress(first, len(keys), "deciding")
        with write():
            project.locked()
            locked = Item.objects.select_for_update(no_key=True).filter(pk__in=keys[first : first + ITEMS_AT_ONCE])
            for review in Review.of(project, list(locked.order_by("pk"))):
                if review.is_decided:
                    continue
                taken += bool(review.take_given(by=job.by) if given else review.take_agreed(by=job.by))
                if review.is_ready and not review.deliberation.disputes:
                    review.finish(by=job.by)
                    decided += 1
    with write():
        items_in_words, are = plural(taken, "item,items"), plural(decided, "item is,items are")
        text = f"Marks were taken over in {items_in_words}, and {are} decided."
        job.finish(text=text, url=f"/projects/{project.pk}/review/")


def reads(request: Request, job: Job) -> None:
    """Whoever reads the project."""
    access.project(request, job.target["project"], Right.READ)


@kind(COMPARE, reads)
def compare_marks(job: Job, progress: Progress) -> None:
    project = Project.objects.filter(pk=job.target["project"]).first()
    if project is None:
        raise Refused("The project was deleted.")
    done = {"text": "Everybody’s marks are compared.", "url": reverse("quality:agreement", args=[project.pk])}
    make_report(project, progress, finish=lambda: job.finish(**done))


more_files.append(
    BundleFile(
        "agreement.json",
        lambda project, counts: Agreement.now(project).as_json(),
        {
            "agreement.json": "how far those agree who are done with an item, in all pairs; of two people the first is the"
            " reference, and null is what came with the dataset. alpha is Krippendorff’s, with the distance MASI of the sets of"
            " labels on each token; kappa is Cohen’s, of whether tokens are marked. Intervals are of 95 %. null: undefined",
        },
    )
)
