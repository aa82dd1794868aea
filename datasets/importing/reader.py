from collections.abc import Iterator

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Refused

from ..kinds import Kind
from .document import Document
from .formats import Format
from .items import NewItem
from .report import Report


class Reader(Document):
    """The items of a document, read as a stream: whatever its size, little of it is in memory.

    Iterated, it yields every `NewItem` in order while ``report`` fills. After the first problem it yields nothing more, but
    reads on to find the others; then, at the end, it raises `Refused` with the first of them.
    """

    def check(self) -> Report:
        """Read everything, and return what was found, problems included."""
        try:
            for _ in self:
                pass
        except Refused:
            pass
        return self.report

    def __iter__(self) -> Iterator[NewItem]:
        report, most, format = self.report, settings.MAX_DATASET_ITEMS, Format(self.options.format)
        try:
            if format not in Format.of_kind(self.options.kind):
                raise Refused(f"A standard dataset is made from lines of text. Choose the kind “{Kind.RICH.label}”.")
            with self.open() as file:
                for item in format.read_items(self, file):
                    if report.items > most:
                        raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.")
                    report.add_to_preview(item)
                    if report.is_good:
                        yield item
            if report.is_good and not report.items:
                raise Refused(self._nothing_left(format))
        except Refused as error:
            self.add_problems(error)
        report.problems.raise_if_any()

    def _nothing_left(self, format: Format) -> str:
        is_text = format == Format.TEXT
        if not self.report.lines:
            return "There is nothing in it: the text is empty." if is_text else "There is no item in it."
        if is_text:
            return "No line is left after preprocessing. Choose fewer operations, or another text."
        return "The external ids of all items are taken, so nothing is left to store."
