from datasets.models.correction import Follower, moved_what, moves_with_text
from datasets.models.dataset import goes_along, goes_with_annotations, goes_with_datasets, goes_with_items

from .copied import copy_reviews
from .decision import GoldDecision, Overruled, ReviewAssignment, Verdict
from .kept import AgreementReport, KeptAgreement, MarkDifference

# In this order: the first point to those that follow.
goes_with_annotations += [Overruled, Verdict, GoldDecision]
goes_with_items += [(ReviewAssignment, "item"), (KeptAgreement, "item"), (MarkDifference, "item")]
goes_with_datasets.append((AgreementReport, "dataset"))
goes_along.append(copy_reviews)
moves_with_text.append(
    Follower(
        Verdict,
        ("what",),
        ("decision_id",),
        lambda place, by: (found,) if (found := moved_what(place[0], by)) else None,
    )
)

__all__ = [
    "AgreementReport",
    "GoldDecision",
    "KeptAgreement",
    "MarkDifference",
    "Overruled",
    "ReviewAssignment",
    "Verdict",
]
