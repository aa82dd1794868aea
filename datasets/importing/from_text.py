"""Items from lines of text."""

from collections.abc import Iterator
from typing import IO

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import blocks, lines_of

from .document import Document
from .items import NewItem

_PROGRESS_EVERY = 2000


def read_text(document: Document, file: IO[bytes]) -> Iterator[NewItem]:
    """An item for each line that the preprocessing leaves."""
    report, max_tokens = document.report, settings.MAX_ITEM_TOKENS
    filled = _filled_lines(document, file)
    for original, tokens, found, number in document.options.preprocessing.prepare(filled, report, document.known_texts):
        place = f"line {number}"
        if len(tokens) > max_tokens:
            most = words.plural(max_tokens, "token,tokens")
            document.add_problem(place, f"An item has at most {most}; this line has {words.number(len(tokens))}.")
        else:
            yield NewItem(place, original, tokens, found)


def _filled_lines(document: Document, file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    limit = settings.MAX_ITEM_CHARACTERS
    for number, line, length in lines_of(blocks(file), limit):
        if number % _PROGRESS_EVERY == 0:
            document.show_progress(number, file)
        if length > limit:  # cutting it into tokens could take all memory
            text = f"An item has at most {words.number(limit)} characters; this line has {words.number(length)}."
            document.add_problem(f"line {number}", text)
        elif not line or line.isspace():
            document.report.blank += 1
        else:
            yield number, line
