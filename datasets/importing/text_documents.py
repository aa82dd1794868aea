"""Items from lines of text."""

from array import array
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from django.conf import settings

from annotation_service import words
from annotation_service.streams import blocks, lines

from .items import NewItem

if TYPE_CHECKING:
    from .reader import Reading

_TOLD_EVERY = 2000


def text_items(reading: "Reading", file: IO[bytes]) -> Iterator[NewItem]:
    """An item for each line that the preprocessing leaves."""
    report, max_tokens = reading.report, settings.MAX_ITEM_TOKENS
    numbers = array("L")
    filled = _filled_lines(reading, file, numbers)
    for original, tokens, found, index in reading.options.preprocessing.prepare(filled, report, reading.known_texts):
        place = f"line {numbers[index]}"
        if len(tokens) > max_tokens:
            most = words.plural(max_tokens, "token,tokens")
            reading.add_problem(place, f"An item has at most {most}; this line has {words.number(len(tokens))}.")
        else:
            yield NewItem(place, original, tokens, found)


def _filled_lines(reading: "Reading", file: IO[bytes], numbers: "array[int]") -> Iterator[str]:
    """The lines that are not blank; their numbers are appended to ``numbers``."""
    limit = settings.MAX_ITEM_CHARACTERS
    for number, line, length in lines(blocks(file), limit):
        if number % _TOLD_EVERY == 0:
            reading.tell_progress(number, file)
        if length > limit:  # cutting it into tokens could take all memory
            text = f"An item has at most {words.number(limit)} characters; this line has {words.number(length)}."
            reading.add_problem(f"line {number}", text)
        elif not line or line.isspace():
            reading.report.blank += 1
        else:
            numbers.append(number)
            yield line
