"""Reviews go along when a project is duplicated with everybody's marks."""

from collections.abc import Mapping
from typing import Any

from django.db.models import OuterRef, Subquery

from annotation_service.db import copy_rows
from datasets.models import Dataset, Item
from datasets.models.marks import relabel
from ontologies.counterparts import counterpart, key_map

from .decision import GoldDecision, Overruled, ReviewAssignment, Verdict


def copy_reviews(source: Dataset, copy: Dataset, labels: Mapping[int, int]) -> None:
    """Decisions with all that hangs on them, and which items are for whom. An item is for all in the copy, if whoever was to
    review it is not there.

    Nothing but their order tells the decisions of one item from one another: so they are copied in the order of their keys.
    """
    others: dict[str, Any] = {"annotation": counterpart("annotation", "annotation_map")}
    made = GoldDecision.objects.filter(annotation__item__dataset=source, annotation__item__removed_at=None)
    copy_rows(made.order_by("pk"), **others)
    theirs = GoldDecision.objects.filter(annotation__item__dataset=copy)
    pairs = zip(*(rows.order_by("pk").values_list("pk", flat=True) for rows in (made, theirs)), strict=True)
    with key_map("decision_map", dict(pairs)):
        others["decision"] = counterpart("decision", "decision_map")
        for model in (Verdict, Overruled):
            copy_rows(model._default_manager.filter(decision__in=made.order_by()).order_by("pk"), **others)
    relabel(Verdict.objects.filter(annotation__item__dataset=copy), labels)
    shared = ReviewAssignment.objects.filter(
        item__dataset=source, item__removed_at=None, person__membership__project=copy.project_id
    )
    items = Item.objects.filter(dataset=copy, position=OuterRef("item__position"))
    copy_rows(shared.order_by("pk"), item=Subquery(items.values("pk")))
