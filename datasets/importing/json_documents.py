"""Items from JSON: one list, or an object a line."""

from collections import Counter
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Refused, parse_json
from annotation_service.streams import Elements, blocks, lines

from .items import NewItem
from .json_items import ObjectReader
from .options import Duplicates, Format
from .report import SameId

if TYPE_CHECKING:
    from .reader import Reading

_TOLD_EVERY = 500
# So many problems are worth a list; to put each into words takes longer than to read what is right.
MAX_TOLD = 10_000


class _Piece(NamedTuple):
    """The JSON of an item, or why it is refused; its place in words, and its length."""

    number: int
    place: str
    value: Any
    length: int
    refused: Refused | None


def json_items(reading: "Reading", file: IO[bytes]) -> Iterator[NewItem]:
    """The items of a document whose external ids are free, or which replace the others that have them."""
    report, reader, ids = reading.report, ObjectReader(reading.options), _ExternalIds(reading)
    labels = {"entity": Counter[int](), "relation": Counter[int]()}
    try:
        for piece in _pieces(reading, file):
            report.lines += 1
            if (item := _item(reading, reader, piece)) and (not item.external_id or ids.let_in(item, piece.number)):
                report.add_item(item)
                labels["entity"].update([entity.label for entity in item.entities])
                labels["relation"].update([relation.label for relation in item.relations])
                yield item
    finally:
        reader.count_labels(report, labels)


def _item(reading: "Reading", reader: ObjectReader, piece: _Piece) -> NewItem | None:
    if piece.refused:
        problem = piece.refused.problems[0]
        is_told = problem.place.startswith(piece.place)
        reading.add_problem(problem.place if is_told else f"{piece.place}, {problem.place}", problem.text)
        return None
    item, mistakes = reader.read(piece.value, piece.place, piece.length)
    for path, text in mistakes:
        reading.add_problem(piece.place if path == "$" else f"{piece.place}, {path}", text)
    return item


def _pieces(reading: "Reading", file: IO[bytes]) -> Iterator[_Piece]:
    cut, most = _elements if reading.options.format == Format.JSON else _filled_lines, settings.MAX_DATASET_ITEMS
    for count, piece in enumerate(cut(reading, blocks(file)), 1):
        if count % _TOLD_EVERY == 0:
            reading.tell_progress(count, file)
        if count > most:
            raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.", place=piece.place)
        yield piece
        if reading.report.problems.total >= MAX_TOLD:
            reading.report.problems.at_least = True
            raise Refused("There are too many problems: what follows was not read.", place=piece.place)


def _elements(reading: "Reading", texts: Iterator[str]) -> Iterator[_Piece]:
    limit = settings.MAX_ITEM_JSON_CHARACTERS
    for number, value, length, refused in Elements(texts, limit):
        if length > limit:
            reading.add_problem(f"item {number}", _too_long(limit, length))
        else:
            yield _Piece(number, f"item {number}", value, length, refused)


def _filled_lines(reading: "Reading", texts: Iterator[str]) -> Iterator[_Piece]:
    limit = settings.MAX_ITEM_JSON_CHARACTERS
    for number, text, length in lines(texts, limit):
        if length > limit:
            reading.add_problem(f"line {number}", _too_long(limit, length))
        elif not text or text.isspace():
            reading.report.blank += 1
        else:
            value, refused = _parsed(text, number)
            yield _Piece(number, f"line {number}", value, length, refused)


def _parsed(text: str, line: int) -> tuple[Any, Refused | None]:
    try:
        return parse_json(text, line=line), None
    except Refused as error:
        return None, error


def _too_long(limit: int, length: int) -> str:
    return f"An item has at most {words.number(limit)} characters of JSON; this one has {words.number(length)}."


class _ExternalIds:
    """Which items come in, of those that have the same external id."""

    def __init__(self, reading: "Reading") -> None:
        self.reading = reading
        self.word = "item" if reading.options.format == Format.JSON else "line"
        self.first: dict[str, int] = {}
        self.last = self._last() if reading.options.duplicates == Duplicates.REPLACE else {}

    def let_in(self, item: NewItem, number: int) -> bool:
        external_id, reading, report = item.external_id, self.reading, self.reading.report
        is_first = (first := self.first.setdefault(external_id, number)) == number
        if is_first and external_id not in reading.known_ids:
            return self.last.get(external_id, number) == number
        taken_by = f"item {reading.known_ids[external_id]} of the dataset" if is_first else f"{self.word} {first}"
        report.add_same_id(SameId(item.place, external_id, taken_by), in_dataset=is_first)
        if is_first:
            reading.taken_ids.append(external_id)
        match reading.options.duplicates:
            case Duplicates.REFUSE:
                reading.add_problem(
                    f"{item.place}, $.external_id", f"“{external_id}” is the external id of {taken_by}."
                )
                return False
            case Duplicates.SKIP:
                report.skipped += 1
                return False
        report.replaced += 1
        return self.last.get(external_id) == number

    def _last(self) -> dict[str, int]:
        """The number of the last item with each external id: the document is read once before."""
        reading = self.reading.again()
        last: dict[str, int] = {}
        try:
            with reading.opened() as file:
                for piece in _pieces(reading, file):
                    if external_id := _external_id(piece):
                        last[external_id] = piece.number
        except Refused:
            pass  # told when it is read in earnest
        return last


def _external_id(piece: _Piece) -> str | None:
    external_id = piece.value.get("external_id") if isinstance(piece.value, dict) else None
    return external_id if isinstance(external_id, str) else None
