"""How a document is read, as a stream of items: from lines of text, or from JSON values; and the report of what was found, by a
dry run and by an import."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass, field, fields
from itertools import accumulate, islice
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from annotation_service import inputs, words
from annotation_service.inputs import Problem, Problems, Refused, blocks, lines_of
from annotation_service.json_input import to_json
from annotation_service.json_input.lists import Element
from resources.judging import Judge
from resources.rules import Tally

from ..kinds import DatasetKind
from ..preprocessing import Counts, SameText, SeenTexts
from .formats import Cut, Format
from .items import ItemBuilder, NewItem
from .options import CORRECT, DROP, REFUSE, REPLACE, SKIP, TAKES_LAST, ImportOptions

_LINES_PER_PROGRESS, _ITEMS_PER_PROGRESS = 2000, 500
_KNOWN_AT_ONCE = 100  # items whose texts are compared with those of the dataset
# Stop after this many problems: explaining one takes longer than reading a valid item.
MAX_PROBLEMS = 10_000
PREVIEW_ITEMS = 10
PREVIEW_TOKENS = 300
PREVIEW_CHARACTERS = 2000

# Called with how much of about how much is done, and in which phase; may raise to stop the work.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, phase: str) -> None:
    pass


@dataclass(slots=True)
class ImportReport(Counts):
    """Counts of what was found. Complete when the `Reader` is exhausted.

    ``labels`` has full names with the numbers of their marks, the most frequent first, for each kind of ontology;
    ``inactive_labels`` has those that are switched off, whether their marks are kept or refused, and ``unusable_labels`` what
    is no label. ``unmarked`` tells that not one item has the fields of a kind with marks. ``preview`` has the first items as
    `preview_of` makes them.
    """

    blank: int = 0
    entities: int = 0
    relations: int = 0
    without_offsets: int = 0
    """Items of which a token does not occur in the original."""
    skipped: int = 0
    """Items left out because their external id is taken."""
    replaced: int = 0
    """Items that another with the same external id replaces, in the document or in the dataset."""
    corrected: int = 0
    """Items of the dataset that get the text of the document, if they have another."""
    marks_changed: int = 0
    """Marks on these whose words change."""
    marks_lost: int = 0
    same_ids: list[list[str]] = field(default_factory=list)
    """The first items whose external id is taken: their place, this id, and the item that has it."""
    same_in_document: int = 0
    same_in_dataset: int = 0
    marks_at_stake: dict[str, int] = field(default_factory=dict)
    """Marks of those items of the dataset whose external ids the document has, too, as `Dataset.marks_of` counts them."""
    labels: dict[str, dict[str, int]] = field(default_factory=lambda: {"entity": {}, "relation": {}})
    inactive_labels: dict[str, dict[str, int]] = field(default_factory=lambda: {"entity": {}, "relation": {}})
    unusable_labels: dict[str, dict[str, int]] = field(default_factory=lambda: {"entity": {}, "relation": {}})
    known_labels: dict[str, int] = field(default_factory=lambda: {"entity": 0, "relation": 0})
    """How many labels of the ontology the document names, also where its items are refused."""
    inactive_asked: int = 0
    """How many marks have labels that are switched off and come in only by a decision: those from before do not need one."""
    unmarked: bool = False
    violations: list[dict[str, Any]] = field(default_factory=list)
    """The constraints that marks break, as `Tally.rows` has them, whether these marks are kept or refused."""
    items_refused: int = 0
    """Items whose marks break constraints, if these are refused."""
    left_out: int = 0
    """Marks that are left out, by a decision or because their other end is."""
    preview: list[dict[str, Any]] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)

    @property
    def is_good(self) -> bool:
        """Whether the document can be stored."""
        return not self.problems.total

    @property
    def good_items(self) -> int:
        return self.items - self.items_refused

    @property
    def same_id_total(self) -> int:
        return self.same_in_document + self.same_in_dataset

    @property
    def inactive_marks(self) -> int:
        """How many marks have labels that are switched off."""
        return sum(sum(counts.values()) for counts in self.inactive_labels.values())

    @property
    def unknown_marks(self) -> int:
        return sum(sum(counts.values()) for counts in self.unusable_labels.values())

    @property
    def from_before(self) -> int:
        """How many of them need no decision."""
        return self.inactive_marks - self.inactive_asked

    @property
    def violation_total(self) -> int:
        return sum(rule["count"] for rule in self.violations)

    def doubtful(self) -> dict[str, int]:
        """How many marks, or items without any, come in only by a decision, by the option that says it."""
        unmarked = self.items if self.unmarked else 0
        return {"violations": self.violation_total, "inactive": self.inactive_asked, "unmarked": unmarked}

    def in_words(self) -> str:
        parts = (
            (self.items, "item", "items", ""),
            (self.tokens, "token", "tokens", ""),
            (self.entities, "entity", "entities", ""),
            (self.relations, "relation", "relations", ""),
            (self.blank, "blank line", "blank lines", " skipped"),
            (self.identical, "text", "texts", " identical to another"),
            (self.respaced, "text", "texts", " the same as another but for white space"),
            (self.duplicates, "duplicate", "duplicates", " dropped"),
            (self.empty, "line without a token", "lines without a token", " dropped"),
            (self.skipped, "item with a taken external id", "items with a taken external id", " left out"),
            (self.replaced, "item", "items", " replaced"),
            (self.corrected, "text", "texts", " corrected"),
            (self.inactive_marks, "mark", "marks", " with labels that are switched off"),
            (self.violation_total, "violation", "violations", " of constraints"),
            (self.left_out, "mark", "marks", " left out"),
            (self.without_offsets, "item", "items", " with tokens that are not in the original"),
        )
        return ", ".join(f"{words.number(n)} {one if n == 1 else many}{what}" for n, one, many, what in parts if n)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ImportReport":
        """The reverse of `as_json`; of an empty object it is an empty report. Old reports may have fields that are gone."""
        report = cls(**{each.name: value[each.name] for each in fields(cls) if each.name in value})
        if problems := value.get("problems"):
            report.problems = Problems(**{**problems, "first": [Problem(**each) for each in problems["first"]]})
        return report

    def add_same_id(self, item: NewItem, taken_by: str, *, in_dataset: bool) -> None:
        if in_dataset:
            self.same_in_dataset += 1
        else:
            self.same_in_document += 1
        if len(self.same_ids) < inputs.MAX_PROBLEMS:
            self.same_ids.append([item.place, item.external_id, taken_by])


def preview_of(item: NewItem) -> dict[str, Any]:
    """The beginning of an item: its fields, cut where they are long, and the marks on the tokens that are left."""
    ends = [end for _, end in item.offsets[:PREVIEW_TOKENS]] if item.offsets else accumulate(map(len, item.tokens))
    count = sum(end <= PREVIEW_CHARACTERS for end in islice(ends, PREVIEW_TOKENS))
    tokens, offsets = item.tokens[:count], item.offsets and item.offsets[:count]
    original = item.original
    if count < len(item.tokens) and offsets:
        original = original[: offsets[-1][1]]
    entities = [entity for entity in item.entities if entity.end < count]
    uids = {entity.uid for entity in entities}
    is_small = len(to_json(item.extra_fields)) <= PREVIEW_CHARACTERS
    return {
        "place": item.place,
        "original": original[:PREVIEW_CHARACTERS],
        "tokens": tokens,
        "offsets": offsets,
        "external_id": item.external_id,
        "extra_fields": item.extra_fields if is_small else {},
        "entities": [entity._asdict() for entity in entities],
        "relations": [r._asdict() for r in item.relations if r.source in uids and r.target in uids],
        "is_whole": is_small and count == len(item.tokens) and len(original) <= PREVIEW_CHARACTERS,
    }


# --- Reading -----------------------------------------------------------------------------------------------------------


class Reader:
    """The items of a document, read as a stream: whatever its size, little of it is in memory.

    Iterated, it yields every `NewItem` in order while ``report`` fills. After the first problem it yields nothing more, but
    reads on to find the others; then, at the end, it raises `Refused` with the first of them.

    ``known_ids`` are the external ids of the items that the dataset has already, with the numbers of these items;
    ``with_other_texts`` picks those of some items of the document that stand there with another text. ``taken_ids`` are those
    of them that the document has, too. ``known_texts`` are the originals that it has already. ``judge`` has the constraints that
    bind the marks.
    ``on_problem`` is called with every problem.
    """

    def __init__(
        self,
        path: Path,
        options: ImportOptions,
        *,
        known_ids: Mapping[str, int] | None = None,
        with_other_texts: Callable[[Sequence[NewItem]], Iterable[NewItem]] = lambda items: (),
        known_texts: Iterable[str] = (),
        judge: Judge | None = None,
        progress: Progress = no_progress,
        on_problem: Callable[[Problem], object] | None = None,
    ) -> None:
        self.path, self.options, self.progress, self.on_problem = path, options, progress, on_problem
        self.known_ids, self.known_texts, self.judge = known_ids or {}, known_texts, judge
        self.with_other_texts = with_other_texts
        self.taken_ids: list[str] = []
        # What items of the dataset shall be like, by their external ids.
        self.corrected: dict[str, NewItem] = {}
        self.report = ImportReport()

    @property
    def replaced_ids(self) -> list[str]:
        """The external ids of the items of the dataset that new ones replace."""
        return self.taken_ids if self.options.duplicates == REPLACE else []

    def check(self) -> ImportReport:
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
                raise Refused(
                    f"A standard dataset is made from lines of text. Choose the kind “{DatasetKind.RICH.label}”."
                )
            with self.path.open("rb") as file:
                for item in self._from_json(file, format.cut) if format.cut else self._from_text(file):
                    if report.items > most:
                        raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.")
                    if len(report.preview) < PREVIEW_ITEMS:
                        report.preview.append(preview_of(item))
                    if report.is_good:
                        yield item
            if report.is_good and not report.items and not self.corrected:
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
        if self.options.duplicates == CORRECT:
            return "The dataset has all these texts already, so nothing is left to correct."
        return "The external ids of all items are taken, so nothing is left to store."

    def add_problem(self, place: str, text: str) -> None:
        problem = Problem(words.cut(place, 200), words.cut(text, 500))
        self.report.problems.add(problem.place, problem.text)
        if self.on_problem:
            self.on_problem(problem)

    def add_problems(self, refused: Refused) -> None:
        for problem in refused.problems:
            self.add_problem(problem.place, problem.text)

    def _show_progress(self, count: int, file: IO[bytes]) -> None:
        """Report progress; the total is estimated from the size of what has been read."""
        total = round(count * self.path.stat().st_size / (file.tell() or 1))
        self.progress(count, max(count, total), "reading")

    def _from_text(self, file: IO[bytes]) -> Iterator[NewItem]:
        """An item for each line that the preprocessing leaves."""
        report, max_tokens = self.report, settings.MAX_ITEM_TOKENS
        filled = self._filled_lines(file)
        for original, tokens, found, number in self.options.preprocessing.prepare(filled, report, self.known_texts):
            place = f"line {number}"
            if len(tokens) > max_tokens:
                most = words.plural(max_tokens, "token,tokens")
                self.add_problem(place, f"An item has at most {most}; this line has {words.number(len(tokens))}.")
            else:
                yield NewItem(place, original, tokens, found)

    def _filled_lines(self, file: IO[bytes]) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, with their numbers."""
        limit = settings.MAX_ITEM_CHARACTERS
        for number, line, length in lines_of(blocks(file), limit):
            if number % _LINES_PER_PROGRESS == 0:
                self._show_progress(number, file)
            if length > limit:  # cutting it into tokens could take all memory
                text = f"An item has at most {words.number(limit)} characters; this line has {words.number(length)}."
                self.add_problem(f"line {number}", text)
            elif not line or line.isspace():
                self.report.blank += 1
            else:
                yield number, line

    def _from_json(self, file: IO[bytes], cut: Cut) -> Iterator[NewItem]:
        """The items of a document whose external ids are free, or which replace the others that have them."""
        report, options, ids = self.report, self.options, _ExternalIds(self, cut)
        seen = SeenTexts(self._known_among(cut) if self.known_texts else ())
        refuses = options.inactive == REFUSE
        builder = ItemBuilder(options.kind, options.ontologies, keep_inactive=not refuses)
        unmarked, known = options.kind.has_entities, list[NewItem]()
        labels = {"entity": Counter[int](), "relation": Counter[int]()}
        tally = Tally(self.judge.name_of) if self.judge else None
        try:
            for piece in self.pieces(file, cut):
                report.lines += 1
                if (item := self._item(builder, piece)) and (not item.external_id or ids.accept(item, piece)):
                    unmarked = unmarked and not {"entities", "relations"} & piece.value.keys()
                    if options.duplicates == CORRECT and item.external_id in self.known_ids:
                        known.append(item)
                        if len(known) == _KNOWN_AT_ONCE:
                            self._correct(known)
                            known.clear()
                        continue
                    same = seen.add(item.original)
                    if item.external_id not in self.known_ids:  # what it replaces may well have its text
                        report.add_same(same)
                        if same == SameText.IDENTICAL and options.same_texts == SKIP:
                            report.duplicates += 1
                            continue
                    if tally and item.entities:
                        item = self._check_constraints(item, tally)
                    report.items += 1
                    report.tokens += len(item.tokens)
                    report.entities += len(item.entities)
                    report.relations += len(item.relations)
                    report.without_offsets += item.offsets is None
                    labels["entity"].update([entity.label for entity in item.entities])
                    labels["relation"].update([relation.label for relation in item.relations])
                    yield item
            self._correct(known)
            if unmarked and report.items and report.is_good:
                self._tell_unmarked()
        finally:
            report.violations = tally.rows() if tally else []
            for kind, names in builder.names.items():
                by_pk = names.names.labels.by_pk
                report.labels[kind] = {by_pk[key].fullname: count for key, count in labels[kind].most_common()}
                kept = {label.fullname: labels[kind][key] for key in labels[kind] if not (label := by_pk[key]).active}
                report.inactive_labels[kind] = dict((names.inactive + Counter(kept)).most_common())
                named = {by_pk[key].fullname for key in labels[kind].keys() | names.in_refused}
                report.known_labels[kind] = len(named | names.inactive.keys())
                report.inactive_asked += (names.inactive if refuses else Counter(kept)).total()
                report.unusable_labels[kind] |= dict(names.unusable.most_common())

    def _correct(self, items: Sequence[NewItem]) -> None:
        """Of items that the dataset has already."""
        self.report.left_out += sum(item.mark_count for item in items)
        for item in self.with_other_texts(items):
            if len(self.corrected) == (most := settings.MAX_CORRECTED_TEXTS):
                text = f"A file corrects at most {words.plural(most, 'text,texts')} of a dataset. Split it."
                raise Refused(text, place=item.place)
            self.report.corrected += 1
            self.corrected[item.external_id] = item._replace(entities=(), relations=())

    def _known_among(self, cut: Cut) -> Iterator[str]:
        """Those of the known texts that are in the document, too, but for white space: all of a dataset would fill the memory."""
        among = {SeenTexts.key_of(text) for text in self.texts_before(cut)}
        return (text for text in self.known_texts if SeenTexts.key_of(text) in among)

    def texts_before(self, cut: Cut) -> Iterator[str]:
        """The texts of a document that is going to be read."""
        texts = (piece.value.get("original") for piece in self.objects_before(cut))
        return (text for text in texts if isinstance(text, str))

    def objects_before(self, cut: Cut) -> Iterator[Element]:
        """The objects of a document that is going to be read, and whose problems are told then."""
        once = copy(self)
        once.report, once.on_problem = ImportReport(), None
        with suppress(Refused), self.path.open("rb") as file:
            yield from (piece for piece in once.pieces(file, cut) if isinstance(piece.value, dict))

    def _tell_unmarked(self) -> None:
        self.report.unmarked = True
        if self.options.unmarked == REFUSE:
            fields = "“entities” or “relations”" if self.options.kind.has_relations else "“entities”"
            text = f"Not one item has {fields}: these are rich items. Choose the kind “{DatasetKind.RICH.label}”."
            self.add_problem("$", text)

    def _check_constraints(self, item: NewItem, tally: Tally) -> NewItem:
        """The item, if that was decided without the marks that break constraints: of two entities, without the later one."""
        assert self.judge
        wanted, total, places = self.options.violations, self.report.problems.total, set[str]()
        for path, violation in item.broken(self.judge):
            tally.add(violation, item.place)
            places.add(path)
            if wanted == REFUSE:
                self.report.items_refused += self.report.problems.total == total
                self.add_problem(f"{item.place}, {path}", violation.in_words(tally.name_of))
                if self.report.problems.total >= MAX_PROBLEMS:
                    break
        if wanted != DROP or not places:
            return item
        kept = item.with_marks(
            [entity for at, entity in enumerate(item.entities) if f"$.entities[{at}]" not in places],
            [relation for at, relation in enumerate(item.relations) if f"$.relations[{at}]" not in places],
        )
        self.report.left_out += item.mark_count - kept.mark_count
        return kept

    def _item(self, builder: ItemBuilder, piece: Element) -> NewItem | None:
        place = piece.place
        if piece.refused:
            self.add_problems(piece.refused)
            return None
        item, mistakes = builder.build(piece.value, place, piece.length)
        for path, text in mistakes:
            self.add_problem(place if path == "$" else f"{place}, {path}", text)
        return item

    def pieces(self, file: IO[bytes], cut: Cut) -> Iterator[Element]:
        """The pieces that may be items."""
        report, limit, most = self.report, settings.MAX_ITEM_JSON_CHARACTERS, settings.MAX_DATASET_ITEMS
        count = 0
        for piece in cut(blocks(file), limit):
            if piece.length > limit:
                text = f"An item has at most {words.number(limit)} characters of JSON; this one has {words.number(piece.length)}."
                self.add_problem(piece.place, text)
            elif not (piece.length or piece.refused):
                report.blank += 1
            else:
                count += 1
                if count % _ITEMS_PER_PROGRESS == 0:
                    self._show_progress(count, file)
                if count > most:
                    raise Refused(
                        f"A dataset has at most {words.number(most)} items. Split the file.", place=piece.place
                    )
                yield piece
            self.check_problems(piece.place)

    def check_problems(self, place: str) -> None:
        """Stop there if there are too many."""
        if self.report.problems.total >= MAX_PROBLEMS:
            self.report.problems.at_least = True
            raise Refused("There are too many problems: what follows was not read.", place=place)


class _ExternalIds:
    """Decides which items are accepted, of those that have the same external id."""

    def __init__(self, reader: Reader, cut: Cut) -> None:
        self.reader = reader
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        if reader.options.duplicates in TAKES_LAST:
            ids = ((piece.value.get("external_id"), piece.number) for piece in reader.objects_before(cut))
            self.last = {
                external_id: number for external_id, number in ids if external_id and isinstance(external_id, str)
            }

    def accept(self, item: NewItem, piece: Element) -> bool:
        external_id, number, reader = item.external_id, piece.number, self.reader
        is_first = (first := self.first.setdefault(external_id, number)) == number
        if is_first and external_id not in reader.known_ids:
            return self.last.get(external_id, number) == number
        taken_by = f"item {reader.known_ids[external_id]} of the dataset" if is_first else f"{piece.word} {first}"
        reader.report.add_same_id(item, taken_by, in_dataset=is_first)
        if is_first:
            reader.taken_ids.append(external_id)
        decided = reader.options.duplicates
        if decided == REFUSE:
            text = f"“{external_id}” is the external id of {taken_by}."
            reader.add_problem(f"{item.place}, $.external_id", text)
        elif decided == SKIP:
            reader.report.skipped += 1
        elif decided == REPLACE or not is_first:
            reader.report.replaced += 1
        return decided in TAKES_LAST and self.last.get(external_id) == number
