from datasets.models.correction import Follower, moved_what, moves_with_text
from datasets.models.dataset import goes_with_annotations, goes_with_items

from .assigned import ReviewAssignment
from .decision import Decision, Overruled, Verdict

# In this order: the first point to those that follow.
goes_with_annotations += [Overruled, Verdict, Decision]
goes_with_items.append((ReviewAssignment, "item"))
moves_with_text.append(
    Follower(
        Verdict,
        ("what",),
        ("decision_id",),
        lambda place, by: (found,) if (found := moved_what(place[0], by)) else None,
    )
)

__all__ = ["Decision", "Overruled", "ReviewAssignment", "Verdict"]
