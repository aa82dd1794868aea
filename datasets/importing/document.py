"""How a document is read, as a stream of items: from lines of text, or from JSON values; and the report of what was found, by a
dry run and by an import."""

import re
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
from annotation_service.inputs import Problem, Problems, Refused, WrongEncoding, lines_of
from annotation_service.json_input import to_json
from annotation_service.json_input.lists import Element
from resources.judging import Judge
from resources.rules import Tally

from ..formats import elements_of, format_named
from ..formats.dataset_format import MARKS, DatasetFormat, DatasetSource, label_of
from ..formats.own import TEXT, OwnFormat
from ..kinds import DatasetKind
from ..portions import portions
from ..preprocessing import Counts, SameText, SeenTexts
from .items import ItemBuilder, KnownItem, MarkedItem, NewItem
from .options import CORRECT, DROP, MARK, REFUSE, REPLACE, SKIP, TAKES_LAST, UPDATE, ImportOptions
from .outcomes import CREATED, NO_OUTCOMES, REFUSED, REPLACED, UNCHANGED, Outcomes

_LINES_PER_PROGRESS, _ITEMS_PER_PROGRESS = 2000, 500
_KNOWN_AT_ONCE = 100  # items whose texts are compared with those of the dataset
_FITTED = {"entities", "relations", "suggested"}
_ENDS = ("source_id", "target_id")
# Stop after this many problems: explaining one takes longer than reading a valid item.
MAX_PROBLEMS = 10_000
# What libraries say of a damaged file, and the names of files in archives, may have what no database takes.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
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
    new_fields: int = 0
    """Items of the dataset that get other extra fields."""
    unchanged: int = 0
    """Items of the dataset that are in the document as they are."""
    marked: int = 0
    """Items of the dataset on which somebody gets the marks of the document."""
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
    not_read: dict[str, int] = field(default_factory=dict)
    """What the file has and a dataset has no place for, in words such as “discontinuous entities”."""
    preview: list[dict[str, Any]] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    repeated: dict[str, int] = field(default_factory=dict)
    """How often what the first problems say was true of another place, too."""
    bad_items: int = 0
    """Items with problems."""
    leaves_out_bad: bool = False
    """Whether it was decided to store the others without them."""
    is_broken: bool = False
    """Whether it could not be read to its end."""
    wrong_encoding: bool = False
    versions: dict[str, int] = field(default_factory=dict)
    """Those of the ontologies, by their keys, that the labels were looked up in."""

    @property
    def is_good(self) -> bool:
        """Whether the document can be stored."""
        return not self.problems.total or (self.leaves_out_bad and not self.is_broken)

    @property
    def problem_lines(self) -> list[Problem]:
        """The first problems; those that say the same are one."""
        more = ((problem, self.repeated.get(problem.text)) for problem in self.problems.first)
        return [Problem(p.place, f"{p.text} (and {words.number(n)} more)") if n else p for p, n in more]

    @property
    def untold(self) -> int:
        """How many problems are in none of these lines."""
        return self.problems.total - len(self.problems.first) - sum(self.repeated.values())

    def raise_problems(self) -> None:
        if not self.is_good:
            lines = self.problem_lines
            raise Refused(lines, len(lines) + self.untold, at_least=self.problems.at_least)

    @property
    def changes_items(self) -> bool:
        """Whether an item of the dataset becomes another one, or somebody's."""
        return bool(self.marked or self.corrected or self.new_fields)

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
            (self.new_fields, "item", "items", " with other extra fields"),
            (self.unchanged, "item", "items", " unchanged"),
            (self.marked, "item", "items", " of the dataset marked"),
            (self.inactive_marks, "mark", "marks", " with labels that are switched off"),
            (self.violation_total, "violation", "violations", " of constraints"),
            (self.left_out, "mark", "marks", " left out"),
            (self.leaves_out_bad and self.bad_items, "item", "items", " with problems left out"),
            (self.without_offsets, "item", "items", " with tokens that are not in the original"),
            *((count, what, what, " left out") for what, count in self.not_read.items()),
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

    def leave_out(self, what: str, count: int) -> None:
        if count:
            self.not_read[what] = self.not_read.get(what, 0) + count

    def add_same_id(self, item: NewItem, taken_by: str, *, in_dataset: bool) -> None:
        if in_dataset:
            self.same_in_dataset += 1
        else:
            self.same_in_document += 1
        if len(self.same_ids) < inputs.MAX_PROBLEMS:
            self.same_ids.append([item.place, item.external_id, taken_by])


def _are_objects(marks: Any) -> bool:
    return isinstance(marks, list) and all(isinstance(mark, dict) for mark in marks)


def relabelled(mark: Any, labels: Mapping[str, str]) -> Any:
    return {**mark, "label": labels[label]} if (label := label_of(mark)) in labels else mark


def merge_same(value: dict[str, Any]) -> int:
    """Merge marks that are the same once their labels have been mapped: the first one stays, and takes over the relations of the
    others. A relation without an end is dropped. Returns how many marks went."""
    entities, relations = value.get("entities") or [], value.get("relations") or []
    ids: dict[Any, Any] = {}
    first: dict[str, Any] = {}
    for mark in entities:
        same = first.setdefault(to_json([mark.get("start"), mark.get("end"), label_of(mark)]), mark)
        ids[to_json(mark.get("id"))] = same.get("id")
    related: dict[str, Any] = {}
    for mark in relations:
        ends = [mark.get(name) for name in _ENDS]
        if all(not isinstance(end, str) or to_json(end) in ids for end in ends):
            found = [ids.get(to_json(end), end) for end in ends]
            if found == ends or found[0] != found[1]:
                related.setdefault(to_json([*found, label_of(mark)]), mark | dict(zip(_ENDS, found, strict=True)))
    kept = list(first.values()), list(related.values())
    value |= {name: marks for name, marks in zip(("entities", "relations"), kept, strict=True) if name in value}
    return len(entities) + len(relations) - len(kept[0]) - len(kept[1])


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

    ``find_marked`` gets some items of which the marks alone are wanted, and returns for each the item of the dataset, with these
    marks on its tokens, why they cannot be there, or None if the dataset does not have it; ``on_marked`` is called with the
    first.

    ``known_ids`` are the external ids of the items that the dataset has already, with the numbers of these items;
    ``find_known`` says of some items of the document that stand there how they differ, and ``on_fields`` is called with the key
    of an item that gets other extra fields, and with these. ``taken_ids`` are those of them that the document has, too.
    ``known_texts`` are the originals that it has already. ``judge`` has the constraints that bind the marks. ``outcomes`` are
    told of every item.
    ``on_problem`` is called with every problem, ``on_bad`` with the value of every item that has some.
    """

    def __init__(
        self,
        path: Path,
        options: ImportOptions,
        *,
        known_ids: Mapping[str, int] | None = None,
        find_marked: "Callable[[Sequence[NewItem]], Sequence[MarkedItem | str | None]] | None" = None,
        on_marked: "Callable[[MarkedItem], object] | None" = None,
        find_known: Callable[[Sequence[NewItem]], Iterable[KnownItem]] = lambda items: (),
        on_fields: Callable[[int, Mapping[str, Any]], object] | None = None,
        outcomes: Outcomes = NO_OUTCOMES,
        known_texts: Iterable[str] = (),
        judge: Judge | None = None,
        progress: Progress = no_progress,
        on_problem: Callable[[Problem], object] | None = None,
        on_bad: Callable[[Any], object] | None = None,
    ) -> None:
        self.path, self.options, self.progress = path, options, progress
        self.on_problem, self.on_bad = on_problem, on_bad
        self.known_ids, self.known_texts, self.judge = known_ids or {}, known_texts, judge
        self.find_known, self.on_fields, self.outcomes = find_known, on_fields, outcomes
        self.find_marked, self.on_marked = find_marked, on_marked
        self.tally = Tally(judge.name_of) if judge else None
        self.labels = {"entity": Counter[int](), "relation": Counter[int]()}
        self.format: DatasetFormat = TEXT
        self.taken_ids: list[str] = []
        # What items of the dataset shall be like, by their external ids.
        self.corrected: dict[str, NewItem] = {}
        self.report = ImportReport(leaves_out_bad=options.bad == DROP)
        self.report.versions = {str(each.pk): each.version for each in options.ontologies.values()}

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
        report, most = self.report, settings.MAX_DATASET_ITEMS
        try:
            self.format = format_named(self.options.format)
            if self.format != TEXT and self.options.kind == DatasetKind.STANDARD:
                raise Refused(
                    f"A standard dataset is made from lines of text. Choose the kind “{DatasetKind.RICH.label}”."
                )
            with self.path.open("rb") as file:
                for item in self._from_text(file) if self.format == TEXT else self._from_items(file):
                    if report.items > most:
                        raise Refused(f"A dataset has at most {words.number(most)} items. Split the file.")
                    if len(report.preview) < PREVIEW_ITEMS:
                        report.preview.append(preview_of(item))
                    if report.is_good:
                        yield item
            if report.is_good and not report.items and not report.changes_items and not self._may_change_nothing:
                raise Refused(self._nothing_left())
        except Refused as error:
            report.is_broken, report.wrong_encoding = True, isinstance(error, WrongEncoding)
            self.add_problems(error)
        report.raise_problems()

    @property
    def _may_change_nothing(self) -> bool:
        """Whether it is no mistake to send what is there already."""
        return self.options.duplicates == UPDATE and bool(self.report.lines)

    def _nothing_left(self) -> str:
        is_text = self.format == TEXT
        if not self.report.lines:
            return "There is nothing in it: the text is empty." if is_text else "There is no item in it."
        if is_text:
            return "No line is left after preprocessing. Choose fewer operations, or another text."
        if self.options.duplicates == CORRECT:
            return "The dataset has all these texts already, so nothing is left to correct."
        return "The external ids of all items are taken, so nothing is left to store."

    def add_problem(self, place: str, text: str) -> None:
        place, text = (_NO_TEXT.sub("�", each) for each in (place, text))
        problem = Problem(words.cut(place, 200), words.cut(text, 500))
        problems, repeated = self.report.problems, self.report.repeated
        if problem.text in repeated:
            problems.total += 1
            repeated[problem.text] += 1
        else:
            problems.add(problem.place, problem.text)
            if len(repeated) < inputs.MAX_PROBLEMS:
                repeated[problem.text] = 0
        if self.on_problem:
            self.on_problem(problem)
        self.outcomes.problem(problem)

    def add_problems(self, refused: Refused) -> None:
        for problem in refused.problems:
            self.add_problem(problem.place, problem.text)

    def place_in(self, place: str, path: str) -> str:
        """A JSON path means something in JSON of ours alone."""
        return f"{place}, {path}" if isinstance(self.format, OwnFormat) and path != "$" else place

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
                self.outcomes.add(REFUSED, place)
            else:
                self.outcomes.add(CREATED, place)
                yield NewItem(place, original, tokens, found)

    def _filled_lines(self, file: IO[bytes]) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, with their numbers."""
        limit = settings.MAX_ITEM_CHARACTERS
        for number, line, length in lines_of(self._source(file).blocks(), limit):
            if number % _LINES_PER_PROGRESS == 0:
                self._show_progress(number, file)
            if length > limit:  # cutting it into tokens could take all memory
                text = f"An item has at most {words.number(limit)} characters; this line has {words.number(length)}."
                self.add_problem(f"line {number}", text)
                self.outcomes.add(REFUSED, f"line {number}")
            elif not line or line.isspace():
                self.report.blank += 1
            else:
                yield number, line

    def _source(self, file: IO[bytes]) -> DatasetSource:
        options = self.options
        tokeniser, left_out = options.preprocessing.tokeniser, self.report.not_read
        return DatasetSource(file, str(self.path), options.encoding, options.reading, left_out, tokeniser)

    def _from_items(self, file: IO[bytes]) -> Iterator[NewItem]:
        """The items of a document whose external ids are free, or which replace the others that have them."""
        report, options = self.report, self.options
        seen = SeenTexts(self._known_among() if self.known_texts else ())
        refuses = options.inactive == REFUSE
        builder = ItemBuilder(options.kind, options.ontologies, keep_inactive=not refuses)
        unmarked = options.kind.has_entities
        try:
            for item, piece in self._not_there(self._built(file, builder)):
                unmarked = unmarked and not {"entities", "relations"} & piece.value.keys()
                same = seen.add(item.original)
                if item.external_id not in self.known_ids:  # what it replaces may well have its text
                    report.add_same(same)
                    if same == SameText.IDENTICAL and options.same_texts == SKIP:
                        report.duplicates += 1
                        continue
                problems = report.problems.total
                item = self._check_constraints(item)
                if report.problems.total > problems:
                    self._set_aside(piece)
                    if report.leaves_out_bad:
                        continue
                report.items += 1
                report.tokens += len(item.tokens)
                report.without_offsets += item.offsets is None
                self._count_marks(item)
                self.outcomes.add(CREATED, item.place, item.external_id)
                yield item
            if unmarked and report.items and report.is_good:
                self._tell_unmarked()
        finally:
            report.violations = self.tally.rows() if self.tally else []
            for kind, names in builder.names.items():
                by_pk, labels = names.names.labels.by_pk, self.labels[kind]
                report.labels[kind] = {by_pk[key].fullname: count for key, count in labels.most_common()}
                kept = {label.fullname: labels[key] for key in labels if not (label := by_pk[key]).active}
                report.inactive_labels[kind] = dict((names.inactive + Counter(kept)).most_common())
                named = {by_pk[key].fullname for key in labels.keys() | names.in_refused}
                report.known_labels[kind] = len(named | names.inactive.keys())
                report.inactive_asked += (names.inactive if refuses else Counter(kept)).total()
                report.unusable_labels[kind] |= dict(names.unusable.most_common())

    def _built(self, file: IO[bytes], builder: ItemBuilder) -> Iterator[tuple[NewItem, Element]]:
        """The items without a mistake, with their pieces, whose external ids are free or do not matter."""
        ids, problems = _ExternalIds(self), self.report.problems
        for piece in self.pieces(file):
            self.report.lines += 1
            before = problems.total
            item = self._item(builder, piece)
            if item and (not item.external_id or ids.accept(item, piece)):
                yield item, piece
            elif problems.total > before:
                self._set_aside(piece)

    def _not_there(self, built: Iterator[tuple[NewItem, Element]]) -> Iterator[tuple[NewItem, Element]]:
        """Those that become new items. Of the others the text or the marks are taken, if that was decided."""
        if (decided := self.options.duplicates) not in (CORRECT, UPDATE, MARK):
            yield from built
            return
        for some in portions(built, lambda _: 1, most=_KNOWN_AT_ONCE, heaviest=_KNOWN_AT_ONCE):
            yield from self._mark(some) if decided == MARK else self._correct(some)

    def _correct(self, some: Sequence[tuple[NewItem, Element]]) -> Iterator[tuple[NewItem, Element]]:
        known = [item for item, _ in some if item.external_id in self.known_ids]
        self.report.left_out += sum(item.mark_count for item in known)
        for pk, number, item, has_other_text, has_other_fields in self.find_known(known):
            if has_other_text:
                if len(self.corrected) == (most := settings.MAX_CORRECTED_TEXTS):
                    text = f"A file corrects at most {words.plural(most, 'text,texts')} of a dataset. Split it."
                    raise Refused(text, place=item.place)
                self.report.corrected += 1
                self.corrected[item.external_id] = item._replace(entities=(), relations=())
            if self.options.duplicates == UPDATE:
                self.report.new_fields += has_other_fields
                self.report.unchanged += not (has_other_text or has_other_fields)
                if has_other_fields and self.on_fields:
                    self.on_fields(pk, item.extra_fields)
                outcome = REPLACED if has_other_text or has_other_fields else UNCHANGED
                self.outcomes.add(outcome, item.place, item.external_id, pk, number)
        yield from (each for each in some if each[0].external_id not in self.known_ids)

    def _mark(self, some: Sequence[tuple[NewItem, Element]]) -> Iterator[tuple[NewItem, Element]]:
        there = self.find_marked([item for item, _ in some]) if self.find_marked else [None] * len(some)
        for (item, piece), found in zip(some, there, strict=True):
            if found is None:
                yield item, piece
                continue
            problems = self.report.problems.total
            if isinstance(found, str):
                self.add_problem(item.place, found)
            else:
                found = found._replace(item=self._check_constraints(found.item))
            if self.report.problems.total > problems or isinstance(found, str):
                self._set_aside(piece)
                continue
            self.report.marked += 1
            self._count_marks(found.item)
            if self.on_marked and self.report.is_good:
                self.on_marked(found)

    def _count_marks(self, item: NewItem) -> None:
        if not item.entities:
            return
        self.report.entities += len(item.entities)
        self.report.relations += len(item.relations)
        self.labels["entity"].update([entity.label for entity in item.entities])
        self.labels["relation"].update([relation.label for relation in item.relations])

    def _known_among(self) -> Iterator[str]:
        """Those of the known texts that are in the document, too, but for white space: all of a dataset would fill the memory."""
        among = {SeenTexts.key_of(text) for text in self.texts_before()}
        return (text for text in self.known_texts if SeenTexts.key_of(text) in among)

    def texts_before(self) -> Iterator[str]:
        """The texts of a document that is going to be read."""
        texts = (piece.value.get("original") for piece in self.objects_before())
        return (text for text in texts if isinstance(text, str))

    def objects_before(self) -> Iterator[Element]:
        """The objects of a document that is going to be read, and whose problems are told then."""
        once = copy(self)
        once.report, once.on_problem, once.on_bad, once.outcomes = ImportReport(), None, None, NO_OUTCOMES
        with suppress(Refused), self.path.open("rb") as file:
            yield from (piece for piece in once.pieces(file) if isinstance(piece.value, dict))

    def _set_aside(self, piece: Element) -> None:
        self.report.bad_items += 1
        value = piece.value if isinstance(piece.value, dict) else {}
        self.outcomes.add(REFUSED, piece.place, value.get("external_id"))
        if self.on_bad and piece.value is not None:
            self.on_bad(piece.value)

    def _tell_unmarked(self) -> None:
        self.report.unmarked = True
        if self.options.unmarked == REFUSE:
            fields = "“entities” or “relations”" if self.options.kind.has_relations else "“entities”"
            text = f"Not one item has {fields}: these are rich items. Choose the kind “{DatasetKind.RICH.label}”."
            self.add_problem("$", text)

    def _check_constraints(self, item: NewItem) -> NewItem:
        """The item, if that was decided without the marks that break constraints: of two entities, without the later one."""
        if not (self.judge and self.tally and item.entities):
            return item
        tally = self.tally
        wanted, total, places = self.options.violations, self.report.problems.total, set[str]()
        for path, violation in item.broken(self.judge):
            tally.add(violation, item.place)
            places.add(path)
            if wanted == REFUSE:
                self.report.items_refused += self.report.problems.total == total
                self.add_problem(self.place_in(item.place, path), violation.in_words(tally.name_of))
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
        item, mistakes = builder.build(self._fitted(piece.value), place, piece.length)
        for path, text in mistakes:
            self.add_problem(self.place_in(place, path), text)
        return item

    def _fitted(self, value: Any) -> Any:
        """The value with labels as the ontologies call them; of another format without what the kind has no place for."""
        wanted, is_own = self.options.labels, isinstance(self.format, OwnFormat)
        if not isinstance(value, dict) or (is_own and not wanted) or value.keys().isdisjoint(_FITTED):
            return value
        kind = self.options.kind
        value = dict(value)
        value.pop("suggested", None)
        if not all(map(_are_objects, (value.get(name) or [] for name in MARKS.values()))):
            return value  # which its schema refuses
        for of, name in MARKS.items():
            marks = value.get(name) or []
            if not is_own and of not in kind.label_kinds:
                self.report.leave_out(f"{name}, for which the kind has no place", len(marks))
                value.pop(name, None)
            elif labels := wanted.get(of):
                value[name] = [relabelled(mark, labels) for mark in marks if labels.get(label_of(mark)) != ""]
                self.report.left_out += len(marks) - len(value[name])
        if wanted:
            self.report.left_out += merge_same(value)
        if not is_own and kind == DatasetKind.PREANNOTATED_ENTITY and "entities" in value:
            value["entities"] = [
                {name: mark[name] for name in ("start", "end", "label") if name in mark}
                for mark in value["entities"] or []
            ]
        return value

    def pieces(self, file: IO[bytes]) -> Iterator[Element]:
        """The pieces that may be items."""
        report, limit, most = self.report, settings.MAX_ITEM_JSON_CHARACTERS, settings.MAX_DATASET_ITEMS
        count = 0
        for piece in elements_of(self.format, self._source(file)):
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

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        # By the numbers of their pieces, or the names of these, which tell the file of an archive, too.
        self.first: dict[str, int | str] = {}
        self.last: dict[str, int | str] = {}
        if reader.options.duplicates in TAKES_LAST:
            ids = ((piece.value.get("external_id"), piece.name or piece.number) for piece in reader.objects_before())
            self.last = {external_id: at for external_id, at in ids if external_id and isinstance(external_id, str)}

    def accept(self, item: NewItem, piece: Element) -> bool:
        external_id, at, reader = item.external_id, piece.name or piece.number, self.reader
        is_first = (first := self.first.setdefault(external_id, at)) == at
        if is_first and external_id not in reader.known_ids:
            return self.last.get(external_id, at) == at
        taken_by = first if isinstance(first, str) else f"{piece.word} {first}"
        if is_first:
            taken_by = f"item {reader.known_ids[external_id]} of the dataset"
        reader.report.add_same_id(item, taken_by, in_dataset=is_first)
        if is_first:
            reader.taken_ids.append(external_id)
        decided = reader.options.duplicates
        if decided == REFUSE:
            text = f"“{external_id}” is the external id of {taken_by}."
            reader.add_problem(reader.place_in(item.place, "$.external_id"), text)
        elif decided == SKIP:
            reader.report.skipped += 1
        elif decided in (MARK, UPDATE):
            if is_first:
                return True
            its = "its marks" if decided == MARK else "it"
            reader.add_problem(item.place, f"“{external_id}” is the external id of {taken_by}: {its} came twice.")
        elif decided == REPLACE or not is_first:
            reader.report.replaced += 1
        return decided in TAKES_LAST and self.last.get(external_id) == at
