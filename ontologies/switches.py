"""Which labels are on, and what switching some of them does to a tree.

Whatever a switch turns off keeps its event in ``off_by``, and what is on has none. A label that is on below one that is off takes
that one's event, in whatever way it has come there.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from django.db import models

from annotation_service.inputs import Refused
from annotation_service.words import listed, number, plural

COLUMNS = ("pk", "uid", "parent_id", "off_by", "name")
Row = tuple[int, str, int, str, str]
"""A label in these columns. Those of a tree, or of a branch, come in tree order."""


class SwitchReach(models.TextChoices):
    """What is switched on with a label. What is below one that is switched off goes off in any case."""

    TOGETHER = "together"  # what went off with it
    BRANCH = "branch"  # everything below it
    ITEM = "item"  # nothing


class BelowOff(Refused):
    """A label cannot be on below one that is off."""


def new_event() -> str:
    return secrets.token_hex(6)


def handed_down(
    rows: Iterable[Row], wanted: Mapping[str, str], above: Mapping[int, str] | None = None
) -> Iterator[tuple[int, str, str, str]]:
    """The keys, the uids, and the events before and after of labels: after are the wanted ones, by uid, or those that they have,
    and where there is none that of the label above. ``above`` are the events of labels above the rows, by key."""
    events = dict(above or {})
    for pk, uid, parent, before, _ in rows:
        events[pk] = wanted.get(uid, before) or events.get(parent, "")
        yield pk, uid, before, events[pk]


class Switch:
    """What switching the labels with these uids on or off does to a tree. ``up`` switches on what is off above them, too, and
    nothing else that went off with it."""

    def __init__(
        self,
        rows: Sequence[Row],
        uids: Collection[str],
        active: bool,
        reach: str = SwitchReach.TOGETHER,
        up: bool = False,
    ) -> None:
        self.active, self.reach, self.up = active, reach, up
        uids = set(uids)
        chosen = {pk for pk, uid, *_ in rows if uid in uids}
        if not chosen or len(chosen) < len(uids):
            raise Refused("Some of the items are not there any more. Reload the page.")
        lineage: set[int] = set()
        for pk, _, parent, *_ in reversed(rows):
            if pk in chosen or pk in lineage:
                lineage.add(parent)
        self.above: list[str] = []
        """The names of the labels above that are off, and do not come back with one that is chosen."""
        events: dict[int, set[str]] = {}  # which come back, by the keys of all labels in the chosen branches
        wanted: dict[str, str] = {}
        event = new_event()
        for pk, uid, parent, off_by, name in rows:
            if pk in chosen:
                events[pk] = {off_by, *events.get(parent, ())}
                wanted[uid] = "" if active else off_by or event
            elif parent in events:
                events[pk] = events[parent]
            if not active or not off_by or pk in chosen:
                continue
            is_with = reach == SwitchReach.BRANCH or (reach == SwitchReach.TOGETHER and off_by in events.get(pk, ()))
            if pk in events and is_with:
                wanted[uid] = ""
            elif pk in lineage:
                self.above.append(name)
                wanted |= {uid: ""} if up else {}
        self.keys = list(events)
        self.values = list(handed_down(rows, wanted))
        names = {pk: name for pk, *_, name in rows}
        self.staying = [names[pk] for pk, _, before, after in self.values if before and after and pk in events]
        """The names of the labels below that are off before and after."""

    @property
    def count(self) -> int:
        """How many go off or come on."""
        return sum(bool(before) != bool(after) for *_, before, after in self.values)

    @property
    def names_above(self) -> str:
        return _named(self.above)

    def check(self) -> None:
        """Raises `Refused` if a label would be on below one that is off."""
        if not self.active and self.reach == SwitchReach.ITEM:
            raise Refused("What is below a label goes off with it. Switch the whole branch off.")
        if self.above and not self.up:
            is_off = "above is off" if len(self.above) == 1 else "above are off"
            raise BelowOff(f"{self.names_above} {is_off}: switch on {number(len(self.above))} above it, too.")

    @property
    def remark(self) -> str:
        """How many and which labels stay off."""
        if not self.staying:
            return ""
        forms = "item stays off that was retired on its own,items stay off that were retired on their own"
        if not self.active:
            forms = "item was off already,items were off already"
        elif self.reach == SwitchReach.ITEM:
            forms = "item below stays off,items below stay off"
        return f"{plural(len(self.staying), forms)}: {_named(self.staying)}."


def _named(names: Iterable[str]) -> str:
    return listed((f"“{name}”" for name in names), 3)
