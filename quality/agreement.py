"""How far the people of a project agree, with each other and with gold: added up from the counts of items, and kept."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import add
from typing import Any, NamedTuple

from django.utils import timezone

from annotation_service.db import write
from annotation_service.edits import fingerprint
from annotation_service.json_input import to_json
from datasets.importing.document import Progress, no_progress
from projects.bundle import BundlePeople, Counts, Part, parts
from projects.models import Project

from .comparison import Likeness
from .counting import (
    LONELY,
    PairCounts,
    changed_items,
    documents_now,
    kept_documents,
    kept_of,
    refresh_counts,
    written,
)
from .measures import Matches, SetCounts, alpha_rows, f1, group_of, interval, kappa, tree_credit
from .models import AgreementReport
from .voices import GOLD_VOICE, NAMES_OF_NOBODY, Trees, names_for

COMPARE = "agreement"  # the kind of the job
# So many labels have a row each in the matrix of what is confused; more are folded into their branches.
MOST_LABELS = 40
MOST_CONFUSED = 500
KEPT_PLACES = 2**16

# What all figures follow from, in a list that adds up: how many items and tokens, and the `Matches` of each measure and of the
# tokens that have labels. Of two voices, the first is the reference.
ITEMS, TOKENS = 0, 1
WIDTH = 2 + 3 * 7
EXACT, OVERLAP, TREE, SPANS, RELATIONS, ENDS, WORDS = range(2, WIDTH, 3)


class Measure(NamedTuple):
    at: int
    words: str
    explained: str


MEASURES = {
    "exact": Measure(EXACT, "exact", "the same words with the same label"),
    "overlap": Measure(OVERLAP, "overlap", "the same label, and some of the words"),
    "tree": Measure(TREE, "tree credit", "the same words; the nearer the labels are in the tree, the more it counts"),
    "spans": Measure(SPANS, "words alone", "the same words, whatever their label"),
    "relations": Measure(RELATIONS, "relations", "relations with both ends and the label the same"),
    "ends": Measure(
        ENDS, "relations, given their ends", "the same label and direction, of relations whose ends both have marked"
    ),
}
# Of single pairs and labels, these have intervals: each takes a millisecond.
WITH_INTERVALS = ("exact", "overlap", "relations")
Sums = defaultdict[int, list[float]]
"""Those of groups of items: see `group_of`."""


def new_sums() -> Sums:
    return defaultdict(lambda: [0] * WIDTH)


def matches(figures: Sequence[float], at: int) -> Matches:
    return Matches(*figures[at : at + 3])


def yes_and_no(figures: Sequence[float]) -> tuple[float, ...]:
    """What `kappa` takes: whether tokens have labels."""
    both, one, other = matches(figures, WORDS)
    return both, one - both, other - both, figures[TOKENS] - one - other + both


class Count(NamedTuple):
    """Where two marks are counted, or the labels of two people on a token: in ``ALL``, by the key of a label, or by a negative
    one for all labels of a branch together. ``one`` and ``other`` tell whose is counted there."""

    key: int
    is_same: bool
    one: bool
    other: bool


ALL = 0


def _put(row: list[float], at: int, both: float, one: float, other: float) -> None:
    row[at] += both
    row[at + 1] += one
    row[at + 2] += other


class Section:
    """The sums of all pairs of people, or of gold with people."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.total = new_sums()
        self.pairs: dict[Any, Sums] = defaultdict(new_sums)
        self.weeks: dict[Any, Sums] = defaultdict(new_sums)
        self.labels: dict[Any, Sums] = defaultdict(new_sums)
        """By the keys of `Count`."""
        self.confused = Counter[tuple[int, int]]()
        self._inner = {pk for label in trees.labels for pk in trees.path(label)[:-1]}
        self._counts = lru_cache(KEPT_PLACES)(self._find_counts)
        self._credit = lru_cache(KEPT_PLACES)(self._find_credit)

    def add(self, group: int, pair: PairCounts, tokens: int, *, is_new_item: bool) -> None:
        """``is_new_item`` unless another pair of the item came before."""
        found: list[float] = [0] * WIDTH
        found[ITEMS], found[TOKENS], found[SPANS : SPANS + 3] = 1, tokens, pair.spans
        for kind, rows in pair.entities.items():
            is_placed = kind != Likeness.SPAN  # on the same words
            for one, other, number in rows:
                credit = self._credit(one, other) if kind == Likeness.LABEL else 0
                for row, is_same, of_one, of_other in self._rows(found, group, one, other, number):
                    same = number * (is_same and is_placed)
                    _put(row, EXACT, same, of_one, of_other)
                    _put(row, OVERLAP, number * is_same, of_one, of_other)
                    # Each of the marks has its half of the credit.
                    _put(row, TREE, same or credit * (of_one + of_other) / 2, of_one, of_other)
                if is_placed:
                    self.confused[one, other] += number
        for kind, rows in pair.relations.items():
            # Of a branch, other labels are the same only where the whole relation is: they may lead the other way.
            same, same_ends = kind == Likeness.SAME, kind in (Likeness.SAME, Likeness.ENDS)
            for one, other, number in rows:
                for row, _, of_one, of_other in self._rows(found, group, one, other, number):
                    _put(row, RELATIONS, number * same, of_one, of_other)
                    if kind != LONELY:
                        _put(row, ENDS, number * same_ends, of_one, of_other)
        for labels, other_labels, number in pair.words:
            for row, _, of_one, of_other in self._rows(found, group, tuple(labels), tuple(other_labels), number):
                _put(row, WORDS, of_one and of_other, of_one, of_other)
        for sums in (self.total, self.pairs[pair.one, pair.other], self.weeks[pair.week]):
            sums[group] = list(map(add, sums[group], found))
        self.total[group][ITEMS] -= not is_new_item

    def _rows(
        self, found: list[float], group: int, one: Any, other: Any, number: int
    ) -> Iterator[tuple[list[float], bool, int, int]]:
        """Where two marks are counted, or the labels of two people on a token: see `Count`."""
        for key, is_same, has_one, has_other in self._counts(one, other):
            yield (self.labels[key][group] if key else found), is_same, number * has_one, number * has_other

    def _find_counts(self, one: Any, other: Any) -> list[Count]:
        own, theirs = (self._keys(each if isinstance(each, tuple) else (each,)) for each in (one, other))
        keys = [Count(key, {key} <= own & theirs, key in own, key in theirs) for key in own | theirs]
        return [Count(ALL, one == other, bool(one), bool(other)), *keys]

    def _keys(self, labels: Iterable[int]) -> set[int]:
        """Labels that were deleted are nowhere."""
        known = [label for label in labels if label in self.trees.labels]
        return {*known, *(-pk for label in known for pk in self.trees.path(label) if pk in self._inner)}

    def _find_credit(self, one: int, other: int) -> float:
        known = one in self.trees.labels and other in self.trees.labels
        return tree_credit(self.trees.path(one), self.trees.path(other)) if known else 0

    # --- As it is kept ---

    def document(self, measures: Iterable[str] = WITH_INTERVALS) -> dict[str, Any]:
        for sums in self.labels.values():  # all have read all tokens, whatever labels they have put there
            for group, whole in self.total.items():
                sums[group][TOKENS] = whole[TOKENS]
        return {
            "total": _row(self.total, MEASURES if measures else ()),
            "pairs": [[*pair, *_row(sums, measures)] for pair, sums in self.pairs.items()],
            "weeks": [[week, *_row(sums)] for week, sums in sorted(self.weeks.items())],
            "labels": [[key, *_row(sums, measures)] for key, sums in self.labels.items()],
            "confused": [[*pair, number] for pair, number in self._different()],
            "matrix": self._matrix(),
        }

    def _different(self) -> list[tuple[tuple[int, int], int]]:
        return [each for each in self.confused.most_common() if each[0][0] != each[0][1]][:MOST_CONFUSED]

    def _matrix(self) -> list[list[int]]:
        """How often labels meet on the same words; 0 is no mark. Where there are too many labels, those of a branch are one."""
        depth = max((len(self._path(label)) for pair in self.confused for label in pair), default=1)
        while depth > 1 and len({self._path(label)[:depth] for pair in self.confused for label in pair}) > MOST_LABELS:
            depth -= 1
        cells, sizes = Counter[tuple[int, int]](), Counter[int]()
        for pair, number in self.confused.items():
            one, other = (self._path(label)[:depth][-1] for label in pair)
            cells[one, other] += number
            sizes.update(dict.fromkeys({one, other} - {0}, number))
        shown = {0, *(label for label, _ in sizes.most_common(MOST_LABELS))}
        return [[*pair, number] for pair, number in sorted(cells.items()) if shown.issuperset(pair)]

    def _path(self, label: int) -> tuple[int, ...]:
        return self.trees.path(label) if label in self.trees.labels else (0,)


def _row(sums: Sums, measures: Iterable[str] = ()) -> list[Any]:
    """The sum of all groups, and the intervals of measures that have one."""
    rows = [sums[group] for group in sorted(sums)]
    whole = [round(sum(column), 6) for column in zip(*rows, strict=True)]
    found = {name: interval([matches(row, MEASURES[name].at) for row in rows], f1) for name in measures}
    if found:
        found["kappa"] = interval([yes_and_no(row) for row in rows], kappa, least=-1)
    return [whole or [0] * WIDTH, {name: [round(end, 4) for end in ends] for name, ends in found.items() if ends}]


def add_up(project: Project, documents: Iterable[tuple[int, Mapping[str, Any]]], trees: Trees) -> dict[str, Any]:
    """The figures of the items that these are the counts of."""
    people, gold, calibration = Section(trees), Section(trees), Section(trees)
    first_items = set(project.all_items().filter(position__lt=project.calibration).values_list("pk", flat=True))
    alphas: dict[int, SetCounts] = defaultdict(SetCounts)
    items = 0
    for item, document in documents:
        items += 1
        group, new = group_of(item), {True, False}
        parts = SetCounts.of_json(document["alpha"])
        alphas[group].observed += parts.observed
        alphas[group].occurrences.update(parts.occurrences)
        for values in document["pairs"]:
            pair = PairCounts(*values)
            is_gold = pair.one == GOLD_VOICE
            (gold if is_gold else people).add(group, pair, document["tokens"], is_new_item=is_gold in new)
            if item in first_items:
                calibration.add(group, pair, document["tokens"], is_new_item=True)
            new.discard(is_gold)
    groups = [alphas[group] for group in sorted(alphas)]
    return {
        "items": items,
        "setup": setup_of(project, trees),
        "people": people.document(),
        "gold": gold.document(),
        "calibration": calibration.document(()),
        "alpha": [SetCounts.total(groups).alpha(), interval(*alpha_rows(groups), least=-1)],
    }


def setup_of(project: Project, trees: Trees) -> str:
    """Another one when labels have moved, come or gone, since branches and credits follow from where they stand, and when other
    items are for calibration."""
    return fingerprint([project.calibration, *([label.pk, label.parent_uid] for label in trees.labels.values())])


# --- The report of a project -----------------------------------------------------------------------------------------------


def make_report(project: Project, progress: Progress = no_progress, finish: Callable[[], object] = bool) -> None:
    """Count what has changed and keep the figures, with what is to be stored together with them."""
    refresh_counts(project, progress)
    made_at, count = timezone.now(), kept_of(project).count()

    def watched() -> Iterator[tuple[int, dict[str, Any]]]:
        for place, found in enumerate(kept_documents(project)):
            if place % 100 == 0:
                progress(place, count, "adding up")
            yield found

    figures = add_up(project, watched(), Trees(project.ontology_set.all()))
    values = {"made_at": made_at, "figures": written(figures)}
    with write():
        AgreementReport.objects.update_or_create(dataset=project.locked_as_it_is().dataset, defaults=values)
        finish()


def report_of(project: Project) -> AgreementReport | None:
    return AgreementReport.objects.filter(dataset__project=project).first()


class Changed(NamedTuple):
    """What has become other than in a report: the counts of so many items, and what `setup_of` tells."""

    items: int
    setup: bool

    @classmethod
    def since(cls, project: Project, report: AgreementReport) -> "Changed":
        figures, kept = json.loads(report.figures), kept_of(project)
        newer = kept.filter(counted_at__gt=report.made_at)
        items = changed_items(project) + newer.count()
        # Items may have gone to the bin, or come back from there.
        items = items or abs(figures["items"] - kept.count())
        return cls(items, figures["setup"] != setup_of(project, Trees(project.ontology_set.all())))


def figures_now(project: Project) -> dict[str, Any]:
    """Of now, where nothing may be written, such as in a `snapshot`."""
    report = report_of(project)
    if report and not any(Changed.since(project, report)):
        return json.loads(report.figures)
    return add_up(project, documents_now(project), Trees(project.ontology_set.all()))


class Row(NamedTuple):
    """The figures of something, with the intervals in which their measures lie."""

    figures: list[float]
    intervals: Mapping[str, list[float]]

    @property
    def items(self) -> int:
        return int(self.figures[ITEMS])

    def measure(self, name: str) -> Matches:
        return matches(self.figures, MEASURES[name].at)

    @property
    def kappa(self) -> float | None:
        return kappa(*yes_and_no(self.figures))

    def turned(self) -> "Row":
        """With the other as the reference."""
        turned = self.figures[:2]
        for at in range(EXACT, WIDTH, 3):
            both, one, other = matches(self.figures, at)
            turned += [both, other, one]
        return self._replace(figures=turned)


class ReportPart:
    """A `Section` as it is kept: of people with each other, or of gold with people. Pairs are those of two names."""

    def __init__(self, document: Mapping[str, Any], names: Mapping[int, str], trees: Trees) -> None:
        self.document, self.names, self.trees = document, names, trees
        self.total = Row(*document["total"])
        order = {who: place for place, who in enumerate(names)}
        self.pairs: dict[tuple[int, int], Row] = {}
        for one, other, *row in document["pairs"]:
            if one in order and other in order:
                found = Row(*row)
                if order[one] > order[other]:
                    one, other, found = other, one, found.turned()
                self.pairs[one, other] = found
        self.pairs = dict(sorted(self.pairs.items(), key=lambda pair: [order[who] for who in pair[0]]))
        self.weeks = {week: Row(*row) for week, *row in document["weeks"]}
        known = {key: Row(*row) for key, *row in document["labels"] if abs(key) in trees.labels}
        self.labels = {pk: known[pk] for pk in trees.labels if pk in known}
        self.branches = {pk: known[-pk] for pk in trees.labels if -pk in known}

    def counted(self, name: str) -> list[tuple[int, int, int]]:
        """How often labels meet; 0 is no mark, and so is what was deleted since."""
        return [(one, other, n) for one, other, n in self.document[name] if {one, other} <= {0, *self.trees.labels}]


class Agreement:
    """The figures of a project, told with these names: see `names_for`."""

    def __init__(self, document: Mapping[str, Any], names: Mapping[int, str], trees: Trees) -> None:
        self.names, self.trees = names, trees
        self.items: int = document["items"]
        self.alpha, self.alpha_interval = document["alpha"]
        parts = ("people", "gold", "calibration")
        self.people, self.gold, self.calibration = (ReportPart(document[name], names, trees) for name in parts)

    @classmethod
    def read(cls, report: AgreementReport, names: Mapping[int, str], trees: Trees) -> "Agreement":
        return cls(json.loads(report.figures), names, trees)

    @classmethod
    def now(cls, project: Project) -> "Agreement":
        """As commands and files have it."""
        return cls(figures_now(project), names_for(project), Trees(project.ontology_set.all()))

    def as_json(self) -> dict[str, Any]:
        """What is undefined is null, and so is the dataset as a voice."""
        return {
            "items": self.items,
            "alpha": self.alpha,
            "total": _in_json(self.people.total),
            "pairs": [
                {"people": [self.names[who] if who else None for who in pair], **_in_json(row)}
                for pair, row in self.people.pairs.items()
            ],
            **_labels_in_json(self.people),
            "gold": {
                "total": _in_json(self.gold.total),
                "people": [
                    {"person": self.names[other], **_in_json(row)} for (_, other), row in self.gold.pairs.items()
                ],
                **_labels_in_json(self.gold),
            },
        }


def _labels_in_json(part: ReportPart) -> dict[str, Any]:
    return {
        name: [{"label": part.trees.labels[pk].fullname, **_in_json(row)} for pk, row in rows.items()]
        for name, rows in (("labels", part.labels), ("branches", part.branches))
    }


def _in_json(row: Row) -> dict[str, Any]:
    found = {
        name: {each: getattr(row.measure(name), each) for each in ("precision", "recall", "f1")}
        | {"interval": row.intervals.get(name)}
        for name in MEASURES
    }
    relations = found.pop("relations") | {"given_matched_ends": found.pop("ends")}
    chance = {"value": row.kappa, "interval": row.intervals.get("kappa")}
    return {"items": row.items, "entities": found, "relations": relations, "kappa": chance}


# --- In the bundle -------------------------------------------------------------------------------------------------------


def _agreement(project: Project, counts: Counts, progress: Progress, people: BundlePeople) -> Iterator[str]:
    found = Agreement.now(project)
    found.names = {who: name if who in NAMES_OF_NOBODY else people[who] for who, name in found.names.items()}
    yield to_json(found.as_json())


NOTES = {
    "agreement.json": "how far those agree who are done with an item, in all pairs; of two people the first is the reference, and"
    " null is what came with the dataset. alpha is Krippendorff’s, with the distance MASI of the sets of labels on each token;"
    " kappa is Cohen’s, of whether tokens are marked. Intervals are of 95 %. null: undefined",
}
parts.append(Part("agreement.json", _agreement, NOTES))
