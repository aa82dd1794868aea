from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import IO

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Problem, Refused

from ..kinds import Kind
from .items import NewItem
from .json_documents import json_items
from .options import Duplicates, Format, ReadingOptions
from .report import Report, Tell
from .text_documents import text_items

# Told how much of about how much is done, and in which phase; may raise to stop the work.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, phase: str) -> None:
    pass


class Reading:
    """The items of a document, read as a stream: whatever its size, little of it is in memory.

    Iterated, it yields every `NewItem` in order while ``report`` fills. After the first problem it yields nothing more, but
    reads on to find the others; then, at the end, it raises `Refused` with the first of them. Every problem is told to ``tell``.

    ``source`` is the document's file or its bytes. ``known_ids`` are the external ids of the items that the dataset has already,
    with the numbers of these items; ``taken_ids`` are those of them that the document has, too. ``known_texts`` are the
    originals that it has already, for a preprocessing that removes duplicates.
    """

    def __init__(
        self,
        source: Path | bytes,
        options: ReadingOptions,
        *,
        known_ids: Mapping[str, int] | None = None,
        known_texts: Iterable[str] = (),
        progress: Progress = no_progress,
        tell: Tell | None = None,
    ) -> None:
        self.source, self.options, self.progress, self.tell = source, options, progress, tell
        self.known_ids, self.known_texts = known_ids or {}, known_texts
        self.taken_ids: list[str] = []
        self.report = Report()

    @property
    def replaced_ids(self) -> list[str]:
        """The external ids of the items of the dataset that new ones replace."""
        return self.taken_ids if self.options.duplicates == Duplicates.REPLACE else []

    def check(self) -> Report:
        """Read everything, and return what was found, problems included."""
        try:
            for _ in self:
                pass
        except Refused:
            pass
        return self.report

    def again(self) -> "Reading":
        """The same document, not yet read; nothing that is found in it is told."""
        return Reading(self.source, self.options, known_ids=self.known_ids, progress=self.progress)

    def __iter__(self) -> Iterator[NewItem]:
        report, most = self.report, settings.MAX_DATASET_ITEMS
        try:
            with self.opened() as file:
                for item in self._items(file):
                    if report.items > most:
                        raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.")
                    report.show(item)
                    if report.is_good:
                        yield item
            if report.is_good and not report.items:
                raise Refused(self._nothing_left())
        except Refused as error:
            self.add_problems(error)
        report.problems.raise_if_any()

    def add_problem(self, place: str, text: str) -> None:
        problem = Problem(words.cut(place, 200), words.cut(text, 500))
        self.report.problems.add(problem.place, problem.text)
        if self.tell:
            self.tell(problem)

    def add_problems(self, refused: Refused) -> None:
        for problem in refused.problems:
            self.add_problem(problem.place, problem.text)

    def tell_progress(self, number: int, file: IO[bytes]) -> None:
        """So many pieces have been read; how many there are is guessed from the size of those so far."""
        self.progress(number, max(number, round(number * self._size / (file.tell() or 1))), "reading")

    def opened(self) -> AbstractContextManager[IO[bytes]]:
        return nullcontext(BytesIO(self.source)) if isinstance(self.source, bytes) else self.source.open("rb")

    def _items(self, file: IO[bytes]) -> Iterator[NewItem]:
        if self.options.format == Format.TEXT:
            return text_items(self, file)
        if self.options.kind == Kind.STANDARD:
            raise Refused(f"A standard dataset is made from lines of text. Choose the kind “{Kind.RICH.label}”.")
        return json_items(self, file)

    @cached_property
    def _size(self) -> int:
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size

    def _nothing_left(self) -> str:
        is_text = self.options.format == Format.TEXT
        if not self.report.lines:
            return "There is nothing in it: the text is empty." if is_text else "There is no item in it."
        if is_text:
            return "No line is left after preprocessing. Choose fewer operations, or another text."
        return "The external ids of all items are taken, so nothing is left to store."
