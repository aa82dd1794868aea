from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import IO

from annotation_service import words
from annotation_service.inputs import Problem, Refused

from .options import Duplicates, ImportOptions
from .report import Report

# Called with how much of about how much is done, and in which phase; may raise to stop the work.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, phase: str) -> None:
    pass


class Document:
    """A document that is being read, and the report of what has been found in it so far.

    ``source`` is its file or its bytes. ``known_ids`` are the external ids of the items that the dataset has already, with the
    numbers of these items; ``taken_ids`` are those of them that the document has, too. ``known_texts`` are the originals that it
    has already, for a preprocessing that removes duplicates. ``on_problem`` is called with every problem.
    """

    def __init__(
        self,
        source: Path | bytes,
        options: ImportOptions,
        *,
        known_ids: Mapping[str, int] | None = None,
        known_texts: Iterable[str] = (),
        progress: Progress = no_progress,
        on_problem: Callable[[Problem], object] | None = None,
    ) -> None:
        self.source, self.options, self.progress, self.on_problem = source, options, progress, on_problem
        self.known_ids, self.known_texts = known_ids or {}, known_texts
        self.taken_ids: list[str] = []
        self.report = Report()

    @property
    def replaced_ids(self) -> list[str]:
        """The external ids of the items of the dataset that new ones replace."""
        return self.taken_ids if self.options.duplicates == Duplicates.REPLACE else []

    def open(self) -> AbstractContextManager[IO[bytes]]:
        return nullcontext(BytesIO(self.source)) if isinstance(self.source, bytes) else self.source.open("rb")

    def add_problem(self, place: str, text: str) -> None:
        problem = Problem(words.cut(place, 200), words.cut(text, 500))
        self.report.problems.add(problem.place, problem.text)
        if self.on_problem:
            self.on_problem(problem)

    def add_problems(self, refused: Refused) -> None:
        for problem in refused.problems:
            self.add_problem(problem.place, problem.text)

    def show_progress(self, count: int, file: IO[bytes]) -> None:
        """Report progress; the total is estimated from the size of what has been read."""
        self.progress(count, max(count, round(count * self._size / (file.tell() or 1))), "reading")

    @cached_property
    def _size(self) -> int:
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size
