"""What becomes of each item of a document that updates a dataset, told one a line: little of it is in memory at any size."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from annotation_service.inputs import Problem
from annotation_service.json_input import to_json

CREATED, REPLACED, UNCHANGED, REFUSED = "created", "replaced", "unchanged", "refused"


class Outcomes:
    """Takes what is found about each item, with the problems that were told just before. What is stored only afterwards is filled
    in by `write`: the keys of new items, and which ones were refused then."""

    def __init__(self, *, wanted: bool) -> None:
        self.wanted = wanted
        self._problems: list[Problem] = []
        self._found: IO[str] | None = None

    def __enter__(self) -> "Outcomes":
        if self.wanted:
            self._found = tempfile.TemporaryFile("w+", encoding="utf-8", dir=settings.FILE_UPLOAD_TEMP_DIR)
        return self

    def __exit__(self, *error: object) -> None:
        if self._found:
            self._found.close()

    def problem(self, problem: Problem) -> None:
        if self._found:
            self._problems.append(problem)

    def add(self, outcome: str, place: str, external_id: Any = "", pk: int = 0, number: int = 0) -> None:
        if self._found is None:
            return
        named = to_json(external_id if isinstance(external_id, str) else "")
        told = f'"place": {to_json(place)}, "external_id": {named}'
        self._found.write(f"{outcome}\t{pk}\t{number}\t{told}\t{_as_json(self._problems)}\n")
        self._problems.clear()

    def write(
        self, path: Path, refused: Mapping[int, tuple[str, int]], created: Iterable[tuple[int, int]] = ()
    ) -> None:
        """All of them as JSON Lines. ``created`` has the keys and positions of the new items in their order, if they were stored;
        ``refused`` has, by their keys, why items of the dataset are not replaced, and how many marks they would lose."""
        if self._found is None:
            return
        new = iter(created)
        self._found.seek(0)
        with path.open("w", encoding="utf-8") as target:
            for line in self._found:
                outcome, pk, number, told, problems = line.rstrip("\n").split("\t")
                lost = 0
                if outcome == CREATED:
                    pk, number = next(((str(key), str(position + 1)) for key, position in new), ("0", "0"))
                elif why := refused.get(int(pk)):
                    outcome, lost, problems = REFUSED, why[1], _as_json([Problem("", why[0])])
                ids = f'"id": {pk if pk != "0" else "null"}, "number": {number if number != "0" else "null"}'
                rest = f'"outcome": "{outcome}", "marks_lost": {lost}, "problems": {problems}'
                target.write(f"{{{told}, {ids}, {rest}}}\n")
        assert next(new, None) is None  # each is told, and the cursor is done with


NO_OUTCOMES = Outcomes(wanted=False)


def _as_json(problems: list[Problem]) -> str:
    return to_json([{"place": each.place, "text": each.text} for each in problems]) if problems else "[]"
