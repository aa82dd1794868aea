"""What the worker does for reviews, and to compare marks; and what bundles have of that."""

from django.urls import reverse

from annotation_service.blueprints import Right
from annotation_service.db import write
from annotation_service.jobs import Progress, kind
from annotation_service.models import Job
from annotation_service.words import plural
from datasets.models import Item
from datasets.portions import by_keys
from projects.jobs import project_of, reads, started_with

from .agreement import COMPARE, make_report
from .gold_files import make_dataset
from .review import Review, refresh_disputes
from .review_list import ReviewItems, for_person

# So many items are locked at a time.
ITEMS_AT_ONCE = 20
# So long the figures are brought up to date that tell which items several people are done with.
COUNT_SECONDS = 600


@kind("take_over", started_with(Right.REVIEW))
def take_over(job: Job, progress: Progress) -> None:
    """Take over what the rule says, or what came with the dataset, wherever nothing is decided yet. Items without disputes are
    decided with it."""
    project = project_of(job)
    given = job.target["what"] == "given"
    progress(0, 0, "counting")
    refresh_disputes(project, COUNT_SECONDS)
    items = project.all_items()
    if not given:
        shown = ReviewItems(project=project, dataset=project.dataset, user=job.by)
        items = shown.matching().filter(for_person(project, job.by))
    count = items.count()
    taken = decided = 0
    for place, keys in enumerate(by_keys(items, ITEMS_AT_ONCE)):
        progress(place * ITEMS_AT_ONCE, count, "deciding")
        with write():
            project = project.locked()
            locked = Item.objects.select_for_update(no_key=True).filter(pk__in=keys)
            for review in Review.of(project, list(locked.order_by("pk"))):
                if review.is_decided or not (given or review.is_ready):
                    continue
                taken += bool(review.take_given(by=job.by) if given else review.take_agreed(by=job.by))
                if review.is_ready and not review.deliberation.disputes:
                    review.finish(by=job.by)
                    decided += 1
    with write():
        items_in_words, are = plural(taken, "item,items"), plural(decided, "item is,items are")
        text = f"Marks were taken over in {items_in_words}, and {are} decided."
        job.finish(text=text, url=f"/projects/{project.pk}/review/")


@kind("gold_dataset", started_with(Right.KEEP))
def make_gold_dataset(job: Job, progress: Progress) -> None:
    progress(0, 0, "copying")
    make_dataset(project_of(job), by=job.by, name=job.target["name"], job=job)


@kind(COMPARE, reads)
def compare_marks(job: Job, progress: Progress) -> None:
    project = project_of(job)
    done = {"text": "Everybody’s marks are compared.", "url": reverse("quality:agreement", args=[project.pk])}
    make_report(project, progress, finish=lambda: job.finish(**done))
