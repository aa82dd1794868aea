"""What several selected labels have in common, and in what they differ."""

from collections.abc import Collection
from dataclasses import dataclass

from .labels import Label, Labels


@dataclass(frozen=True, slots=True)
class Selected:
    """Some labels in tree order, and those below them that are not selected themselves."""

    labels: list[Label]
    below: list[Label]

    @property
    def uids(self) -> str:
        return ",".join(label.uid for label in self.labels)

    @property
    def on(self) -> int:
        return sum(label.active for label in self.labels)

    @property
    def off(self) -> int:
        return len(self.labels) - self.on

    @property
    def undescribed(self) -> int:
        return sum(not label.description for label in self.labels)

    @property
    def colors(self) -> list[str]:
        return list(dict.fromkeys(label.color for label in self.labels))

    @property
    def shared_terms(self) -> list[str]:
        first, *others = (label.example_terms for label in self.labels)
        return [term for term in first if all(term in terms for terms in others)]

    @property
    def other_terms(self) -> int:
        return len({term for label in self.labels for term in label.example_terms}) - len(self.shared_terms)

    @property
    def keys(self) -> list[int]:
        return [label.pk for label in (*self.labels, *self.below)]


def selected(labels: Labels, uids: Collection[str]) -> Selected | None:
    """None if none of them is there."""
    chosen, inside = set(uids), set[str]()
    some: list[Label] = []
    below: list[Label] = []
    for label in labels:
        is_below = label.parent_uid in inside
        if label.uid in chosen:
            some.append(label)
        elif is_below:
            below.append(label)
        if is_below or label.uid in chosen:
            inside.add(label.uid)
    return Selected(some, below) if some else None
