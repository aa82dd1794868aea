"""Items from documents: from lines of text, and from JSON values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import Refused, blocks, lines_of
from annotation_service.json_input import Piece

from .document import Document, Duplicates
from .items import ItemBuilder, NewItem

_LINES_PER_PROGRESS, _ITEMS_PER_PROGRESS = 2000, 500
# Stop after this many problems: explaining one takes longer than reading a valid item.
MAX_PROBLEMS = 10_000

Cut = Callable[[Iterator[str], int], Iterable[Piece]]
"""Cuts a text that comes in blocks into pieces. Of those longer than the limit the value does not matter."""


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
        if number % _LINES_PER_PROGRESS == 0:
            document.show_progress(number, file)
        if length > limit:  # cutting it into tokens could take all memory
            text = f"An item has at most {words.number(limit)} characters; this line has {words.number(length)}."
            document.add_problem(f"line {number}", text)
        elif not line or line.isspace():
            document.report.blank += 1
        else:
            yield number, line


def read_json(document: Document, file: IO[bytes], cut: Cut) -> Iterator[NewItem]:
    """The items of a document whose external ids are free, or which replace the others that have them."""
    report, options, ids = document.report, document.options, _ExternalIds(document, cut)
    builder = ItemBuilder(options.kind, {"entity": options.entity_ontology, "relation": options.relation_ontology})
    labels = {"entity": Counter[int](), "relation": Counter[int]()}
    try:
        for piece in _pieces(document, file, cut):
            report.lines += 1
            if (item := _item(document, builder, piece)) and (not item.external_id or ids.accept(item, piece)):
                report.items += 1
                report.tokens += len(item.tokens)
                report.entities += len(item.entities)
                report.relations += len(item.relations)
                report.without_offsets += item.offsets is None
                labels["entity"].update([entity.label for entity in item.entities])
                labels["relation"].update([relation.label for relation in item.relations])
                yield item
    finally:
        for kind, names in builder.names.items():
            by_pk = names.names.labels.by_pk
            report.labels[kind] = {by_pk[key].fullname: count for key, count in labels[kind].most_common()}
            report.unusable_labels[kind] = dict(names.unusable.most_common())


def _item(document: Document, builder: ItemBuilder, piece: Piece) -> NewItem | None:
    place = piece.place
    if piece.refused:
        document.add_problems(piece.refused)
        return None
    item, mistakes = builder.build(piece.value, place, piece.length)
    for path, text in mistakes:
        document.add_problem(place if path == "$" else f"{place}, {path}", text)
    return item


def _pieces(document: Document, file: IO[bytes], cut: Cut) -> Iterator[Piece]:
    """The pieces that may be items."""
    report, limit, most = document.report, settings.MAX_ITEM_JSON_CHARACTERS, settings.MAX_DATASET_ITEMS
    count = 0
    for piece in cut(blocks(file), limit):
        if piece.length > limit:
            text = f"An item has at most {words.number(limit)} characters of JSON; this one has {words.number(piece.length)}."
            document.add_problem(piece.place, text)
        elif not (piece.length or piece.refused):
            report.blank += 1
        else:
            count += 1
            if count % _ITEMS_PER_PROGRESS == 0:
                document.show_progress(count, file)
            if count > most:
                raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.", place=piece.place)
            yield piece
        if report.problems.total >= MAX_PROBLEMS:
            report.problems.at_least = True
            raise Refused("There are too many problems: what follows was not read.", place=piece.place)


class _ExternalIds:
    """Decides which items are accepted, of those that have the same external id."""

    def __init__(self, document: Document, cut: Cut) -> None:
        self.document = document
        self.first: dict[str, int] = {}
        self.last = _last_numbers(document, cut) if document.options.duplicates == Duplicates.REPLACE else {}

    def accept(self, item: NewItem, piece: Piece) -> bool:
        external_id, number, document = item.external_id, piece.number, self.document
        is_first = (first := self.first.setdefault(external_id, number)) == number
        if is_first and external_id not in document.known_ids:
            return self.last.get(external_id, number) == number
        taken_by = f"item {document.known_ids[external_id]} of the dataset" if is_first else f"{piece.word} {first}"
        document.report.add_same_id(item, taken_by, in_dataset=is_first)
        if is_first:
            document.taken_ids.append(external_id)
        match document.options.duplicates:
            case Duplicates.REFUSE:
                text = f"“{external_id}” is the external id of {taken_by}."
                document.add_problem(f"{item.place}, $.external_id", text)
                return False
            case Duplicates.SKIP:
                document.report.skipped += 1
                return False
        document.report.replaced += 1
        return self.last.get(external_id) == number


def _last_numbers(document: Document, cut: Cut) -> dict[str, int]:
    """The number of the last item with each external id: the document is read once before."""
    once_before = Document(document.source, document.options, progress=document.progress)
    last: dict[str, int] = {}
    try:
        with once_before.open() as file:
            for piece in _pieces(once_before, file, cut):
                external_id = piece.value.get("external_id") if isinstance(piece.value, dict) else None
                if external_id and isinstance(external_id, str):
                    last[external_id] = piece.number
    except Refused:
        pass  # reported by the second reading
    return last
