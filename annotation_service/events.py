"""What happens in projects, for whoever listens: told where it happens, in the transaction in which it does.

A module registers an event, and tells when it has happened::

    ITEM_DONE = Event("item.done", "Somebody has finished an item.")
    ITEM_DONE.happened(project.pk, lambda: {"item": item.pk})

The apps above add `listeners`. They are asked about every event, so they must be quick, and call the function only if somebody
wants to know. What they store is there if, and only if, the work is.
"""

from collections.abc import Callable
from typing import Any

Data = Callable[[], dict[str, Any]]
EVENTS: dict[str, "Event"] = {}
listeners: list[Callable[[str, int, Data], None]] = []


class Event:
    def __init__(self, name: str, about: str) -> None:
        self.name, self.about = name, about
        EVENTS[name] = self

    def happened(self, project: int | None, data: Data) -> None:
        """Without a project, nobody is told."""
        if project:
            for listen in listeners:
                listen(self.name, project, data)
