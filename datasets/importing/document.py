"""How a document is read, and the report of what was found: of a dry run, and of an import."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import accumulate, islice
from typing import Any

from django.db.models import TextChoices

from annotation_service import words
from annotation_service.inputs import MAX_PROBLEMS, Problem, Problems, Refused
from annotation_service.json_input import to_json
from ontologies.models import Ontology

from ..kinds import DatasetKind
from ..preprocessing import Counts, Preprocessing
from .items import NewItem

PREVIEW_ITEMS = 10
PREVIEW_TOKENS = 300
PREVIEW_CHARACTERS = 2000

# Called with how much of about how much is done, and in which phase; may raise to stop the work.
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, phase: str) -> None:
    pass


class Duplicates(TextChoices):
    """What becomes of an item whose external id is taken, by an item before it or by one that is there already."""

    REFUSE = "refuse", "Refuse the file"
    SKIP = "skip", "Leave the new ones out"
    REPLACE = "replace", "Replace the earlier ones"


class Inactive(TextChoices):
    """What becomes of marks whose labels are switched off: nobody makes such marks anew, but a download may have them."""

    REFUSE = "refuse", "Refuse the file"
    KEEP = "keep", "Keep these marks"


class Violations(TextChoices):
    """What becomes of marks that break constraints."""

    REFUSE = "refuse", "Refuse the file"
    KEEP = "keep", "Keep these marks"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a document is read.

    ``format`` is a value of `formats.Format`. ``preprocessing`` is for lines of text only; those of a rich dataset are only cut
    into tokens. ``ontologies`` have the labels of the marks, by kind.
    """

    kind: DatasetKind
    format: str
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    ontologies: Mapping[str, Ontology] = field(default_factory=dict)
    duplicates: Duplicates = Duplicates.REFUSE
    inactive: Inactive = Inactive.REFUSE
    violations: Violations = Violations.REFUSE

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ImportOptions":
        """From `Upload.options`. Raises `Refused` if an ontology is not there any more."""
        kind = DatasetKind(value.get("kind", DatasetKind.STANDARD))
        return cls(
            kind=kind,
            format=value.get("format", "text"),
            preprocessing=Preprocessing.of(value, kind),
            ontologies={of: _ontology(of, value.get(f"{of}_ontology")) for of in kind.label_kinds},
            duplicates=Duplicates(value.get("duplicates", Duplicates.REFUSE)),
            inactive=Inactive(value.get("inactive", Inactive.REFUSE)),
            violations=Violations(value.get("violations", Violations.REFUSE)),
        )


def _ontology(kind: str, pk: int | None) -> Ontology:
    if ontology := Ontology.objects.filter(pk=pk or 0, kind=kind).first():
        return ontology
    which = f" Number {pk} is none, or was deleted." if pk else ""
    raise Refused(f"The marks of such a dataset have labels: choose the blueprint of their {kind} ontology.{which}")


@dataclass(slots=True)
class ImportReport(Counts):
    """Counts of what was found. Complete when the `formats.Reader` is exhausted.

    ``labels`` has full names with the numbers of their marks, the most frequent first, for each kind of ontology;
    ``inactive_labels`` has those that are switched off, whether their marks are kept or refused, and ``unusable_labels`` what
    is no label. ``preview`` has the first items as `preview_of` makes them.
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
    same_ids: list[list[str]] = field(default_factory=list)
    """The first items whose external id is taken: their place, this id, and the item that has it."""
    same_in_document: int = 0
    same_in_dataset: int = 0
    marks_at_stake: dict[str, int] = field(default_factory=dict)
    """Marks of those items of the dataset whose external ids the document has, too, as `Dataset.marks_of` counts them."""
    labels: dict[str, dict[str, int]] = field(default_factory=lambda: {"entity": {}, "relation": {}})
    inactive_labels: dict[str, dict[str, int]] = field(default_factory=lambda: {"entity": {}, "relation": {}})
    unusable_labels: dict[str, dict[str, int]] = field(default_factory=lambda: {"entity": {}, "relation": {}})
    violations: list[dict[str, Any]] = field(default_factory=list)
    """The constraints that marks break, as `Tally.rows` has them, whether these marks are kept or refused."""
    items_refused: int = 0
    """Items whose marks break constraints, if these are refused."""
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
    def violation_total(self) -> int:
        return sum(rule["count"] for rule in self.violations)

    def in_words(self) -> str:
        parts = (
            (self.items, "item", "items", ""),
            (self.tokens, "token", "tokens", ""),
            (self.entities, "entity", "entities", ""),
            (self.relations, "relation", "relations", ""),
            (self.blank, "blank line", "blank lines", " skipped"),
            (self.duplicates, "duplicate", "duplicates", " dropped"),
            (self.empty, "line without a token", "lines without a token", " dropped"),
            (self.skipped, "item with a taken external id", "items with a taken external id", " left out"),
            (self.replaced, "item", "items", " replaced"),
            (self.inactive_marks, "mark", "marks", " with labels that are switched off"),
            (self.violation_total, "violation", "violations", " of constraints"),
            (self.without_offsets, "item", "items", " with tokens that are not in the original"),
        )
        return ", ".join(f"{words.number(n)} {one if n == 1 else many}{what}" for n, one, many, what in parts if n)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ImportReport":
        """The reverse of `as_json`; of an empty object it is an empty report."""
        report = cls(**value)
        if problems := value.get("problems"):
            report.problems = Problems(**{**problems, "first": [Problem(**each) for each in problems["first"]]})
        return report

    def add_same_id(self, item: NewItem, taken_by: str, *, in_dataset: bool) -> None:
        if in_dataset:
            self.same_in_dataset += 1
        else:
            self.same_in_document += 1
        if len(self.same_ids) < MAX_PROBLEMS:
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
