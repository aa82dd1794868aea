"""Violations counted per rule, for people who decide about many marks at once."""

from collections.abc import Callable
from typing import Any

from .rules import RuleName, Violation

EXAMPLES = 5


class Tally:
    """Counts violations per rule, and keeps the first of each as examples; ``name_of`` gives the name of a label by its key."""

    def __init__(self, name_of: Callable[[int], str]) -> None:
        self.name_of = name_of
        self.total = 0
        self._rules: dict[RuleName, dict[str, Any]] = {}

    def add(self, violation: Violation, place: str) -> None:
        self.count(violation)
        self.show(violation, place)

    def count(self, violation: Violation, times: int = 1) -> bool:
        """Returns whether there is room for examples."""
        row = self._rules.get(violation.rule) or self._row(violation)
        row["count"] += times
        self.total += times
        return len(row["examples"]) < EXAMPLES

    def show(self, violation: Violation, place: str) -> None:
        """One that is counted, as an example if there is room."""
        examples = self._rules[violation.rule]["examples"]
        if len(examples) < EXAMPLES:
            examples.append([place, violation.in_words(self.name_of)])

    def _row(self, violation: Violation) -> dict[str, Any]:
        row: dict[str, Any] = {
            "set": violation.set.name,
            "number": None if violation.position is None else violation.position + 1,
            "text": violation.rule_in_words(self.name_of),
            "count": 0,
            "examples": [],
        }
        return self._rules.setdefault(violation.rule, row)

    def rows(self) -> list[dict[str, Any]]:
        """For each rule its ``text``, the name of its ``set``, its ``number`` there, the ``count``, and ``examples`` as pairs of
        place and sentence. What is broken most comes first. JSON can hold it."""
        return sorted(self._rules.values(), key=lambda row: -row["count"])
