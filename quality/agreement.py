"""How far the people of a project agree, with each other and with gold: added up from the counts of items, and kept."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import add
from typing import Any, NamedTuple

from django.utils import timezone

from annotation_service.db import write
from annotation_service.edits import fingerprint
from annotation_service.json_input import to_json
from datasets.importing.document import Progress, no_progress
from projects.bundle import Counts, Part, parts
from projects.models import Project

from .comparison import Likeness
from .counting import (
    LONELY,
    PairCounts,
    documents_now,
    kept_documents,
    kept_of,
    outlived,
    refresh_counts,
    stale,
    written,
)
from .measures import Matches, SetCounts, alpha_rows, f1, group_of, interval, kappa, tree_credit
from .models import AgreementReport
from .voices import GOLD_VOICE, Trees, names_for

COMPARE = "agreement"  # the kind of the job
# So many labels have a row each in the matrix of what is confused; more are folded into their branches.
MOST_LABELS = 40
MOST_CONFUSED = 500
KEPT_SPLITS = 2**16


class PairFigures(NamedTuple):
    """What all measures follow from; adds up. Of two voices, the first is the reference."""

    items: float = 0
    same: float = 0
    span: float = 0
    credit: float = 0  # of entities on the same words, for how near their labels are
    one: float = 0
    other: float = 0
    spans: float = 0
    spans_one: float = 0
    spans_other: float = 0
    relations: float = 0
    relations_one: float = 0
    relations_other: float = 0
    ends: float = 0  # of relations whose ends both have marked
    ends_one: float = 0
    ends_other: float = 0
    both: float = 0  # tokens with labels
    only_one: float = 0
    only_other: float = 0
    tokens: float = 0

    @property
    def yes_and_no(self) -> tuple[float, ...]:
        """What `kappa` takes: whether tokens have labels."""
        return self.both, self.only_one, self.only_other, self.tokens - self.both - self.only_one - self.only_other

    def turned(self) -> "PairFigures":
        """With the other as the reference."""
        names = {name: name.replace("one", "other") for name in self._fields if "one" in name}
        names |= {theirs: own for own, theirs in names.items()}
        return PairFigures(*(getattr(self, names.get(name, name)) for name in self._fields))


class Measure(NamedTuple):
    words: str
    explained: str
    of: Callable[[PairFigures], Matches]


MEASURES = {
    "exact": Measure("exact", "the same words with the same label", lambda f: Matches(f.same, f.one, f.other)),
    "overlap": Measure(
        "overlap", "the same label, and some of the words", lambda f: Matches(f.same + f.span, f.one, f.other)
    ),
    "tree": Measure(
        "tree credit",
        "the same words; the nearer the labels are in the tree, the more it counts",
        lambda f: Matches(f.same + f.credit, f.one, f.other),
    ),
    "spans": Measure(
        "words alone", "the same words, whatever their label", lambda f: Matches(f.spans, f.spans_one, f.spans_other)
    ),
    "relations": Measure(
        "relations",
        "relations with both ends and the label the same",
        lambda f: Matches(f.relations, f.relations_one, f.relations_other),
    ),
    "ends": Measure(
        "relations, given their ends",
        "the same label and direction, of relations whose ends both have marked",
        lambda f: Matches(f.ends, f.ends_one, f.ends_other),
    ),
}
# Of single pairs and labels, these have intervals: each takes a millisecond.
WITH_INTERVALS = ("exact", "overlap", "relations")
Sums = defaultdict[int, list[float]]
"""`PairFigures` of groups of items: see `group_of`."""
ITEMS, SAME, SPAN, CREDIT, ONE, OTHER, SPANS, SPANS_ONE, SPANS_OTHER = range(9)
RELATIONS, RELATIONS_ONE, RELATIONS_OTHER, ENDS, ENDS_ONE, ENDS_OTHER = range(9, 15)
BOTH, ONLY_ONE, ONLY_OTHER, TOKENS = range(15, 19)


def new_sums() -> Sums:
    return defaultdict(lambda: [0] * len(PairFigures._fields))


class Shared(NamedTuple):
    """Where two marks are counted, by the keys of labels, and by negative ones for all labels of a branch together: both as the
    same, and either alone."""

    both: tuple[int, ...]
    one: tuple[int, ...]
    other: tuple[int, ...]


class Section:
    """The sums of all pairs of people, or of gold with people."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.total = new_sums()
        self.pairs: dict[Any, Sums] = defaultdict(new_sums)
        self.weeks: dict[Any, Sums] = defaultdict(new_sums)
        self.labels: dict[Any, Sums] = defaultdict(new_sums)
        """By the keys of `Shared`."""
        self.confused = Counter[tuple[int, int]]()
        self._inner = {pk for label in trees.labels for pk in trees.path(label)[:-1]}
        self._shared = lru_cache(KEPT_SPLITS)(self._find_shared)
        self._credit = lru_cache(KEPT_SPLITS)(self._find_credit)

    def add(self, group: int, pair: PairCounts, tokens: int, *, is_new_item: bool) -> None:
        """``is_new_item`` unless another pair of the item came before."""
        found: list[float] = [0] * len(PairFigures._fields)
        found[ITEMS], found[TOKENS], found[SPANS : SPANS_OTHER + 1] = 1, tokens, pair.spans
        self._add_entities(group, found, pair.entities)
        self._add_relations(group, found, pair.relations)
        self._add_words(group, found, pair.words)
        for sums in (self.total, self.pairs[pair.one, pair.other], self.weeks[pair.week]):
            sums[group] = list(map(add, sums[group], found))
        self.total[group][ITEMS] -= not is_new_item

    def _add_entities(self, group: int, found: list[float], entities: Mapping[str, list[list[int]]]) -> None:
        for kind, rows in entities.items():
            place = SPAN if kind == Likeness.SPAN else SAME
            for one, other, number in rows:
                credit = number * self._credit(one, other) if kind == Likeness.LABEL else 0
                shared = self._shared((one,), (other,))
                for key in shared.both:
                    row = self.labels[key][group]
                    row[place] += number
                    row[ONE] += number
                    row[OTHER] += number
                for keys, side in ((shared.one, ONE), (shared.other, OTHER)):
                    for key in keys:
                        row = self.labels[key][group]
                        row[side] += number
                        row[CREDIT] += credit / 2  # each of the marks has its half
                found[ONE] += number if one else 0
                found[OTHER] += number if other else 0
                found[place] += number if one == other else 0
                found[CREDIT] += credit
                if kind != Likeness.SPAN:
                    self.confused[one, other] += number

    def _add_relations(self, group: int, found: list[float], relations: Mapping[str, list[list[int]]]) -> None:
        """Of a branch, other labels are the same only where the whole relation is: they may lead the other way."""
        for kind, rows in relations.items():
            same, same_ends = kind == Likeness.SAME, kind in (Likeness.SAME, Likeness.ENDS)
            for one, other, number in rows:
                shared = self._shared((one,), (other,))
                of_labels = [
                    (self.labels[key][group], keys is not shared.other, keys is not shared.one)
                    for keys in shared
                    for key in keys
                ]
                for row, has_one, has_other in ((found, bool(one), bool(other)), *of_labels):
                    row[RELATIONS] += number * same
                    row[RELATIONS_ONE] += number * has_one
                    row[RELATIONS_OTHER] += number * has_other
                    if kind != LONELY:
                        row[ENDS] += number * same_ends
                        row[ENDS_ONE] += number * has_one
                        row[ENDS_OTHER] += number * has_other

    def _add_words(self, group: int, found: list[float], words: Iterable[list[Any]]) -> None:
        for one, other, number in words:
            found[BOTH if one and other else ONLY_ONE if one else ONLY_OTHER] += number
            for keys, place in zip(self._shared(tuple(one), tuple(other)), (BOTH, ONLY_ONE, ONLY_OTHER), strict=True):
                for key in keys:
                    self.labels[key][group][place] += number

    def _find_shared(self, one: tuple[int, ...], other: tuple[int, ...]) -> Shared:
        own, theirs = self._keys(one), self._keys(other)
        return Shared(tuple(own & theirs), tuple(own - theirs), tuple(theirs - own))

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
    rows = [PairFigures(*sums[group]) for group in sorted(sums)]
    whole = [round(sum(column), 6) for column in zip(*rows, strict=True)]
    found = {name: interval([MEASURES[name].of(row) for row in rows], f1) for name in measures}
    if found:
        found["kappa"] = interval([row.yes_and_no for row in rows], kappa, least=-1)
    return [whole, {name: [round(end, 4) for end in ends] for name, ends in found.items() if ends}]


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
        items = stale(project).count() + outlived(project).count() + newer.count()
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

    figures: PairFigures
    intervals: Mapping[str, list[float]]

    def measure(self, name: str) -> Matches:
        return MEASURES[name].of(self.figures)

    @property
    def kappa(self) -> float | None:
        return kappa(*self.figures.yes_and_no)

    @classmethod
    def of(cls, figures: list[float], intervals: Mapping[str, list[float]]) -> "Row":
        return cls(PairFigures(*figures), intervals)


class ReportPart:
    """A `Section` as it is kept: of people with each other, or of gold with people. Pairs are those of two names."""

    def __init__(self, document: Mapping[str, Any], names: Mapping[int, str], trees: Trees) -> None:
        self.document, self.names, self.trees = document, names, trees
        self.total = Row.of(*document["total"])
        order = {who: place for place, who in enumerate(names)}
        self.pairs: dict[tuple[int, int], Row] = {}
        for one, other, *row in document["pairs"]:
            if one in order and other in order:
                found = Row.of(*row)
                if order[one] > order[other]:
                    one, other, found = other, one, found._replace(figures=found.figures.turned())
                self.pairs[one, other] = found
        self.pairs = dict(sorted(self.pairs.items(), key=lambda pair: [order[who] for who in pair[0]]))
        self.weeks = {week: Row.of(*row) for week, *row in document["weeks"]}
        known = {key: Row.of(*row) for key, *row in document["labels"] if abs(key) in trees.labels}
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
    return {"items": int(row.figures.items), "entities": found, "relations": relations, "kappa": chance}


# --- In the bundle -------------------------------------------------------------------------------------------------------


def _agreement(project: Project, counts: Counts, progress: Progress) -> Iterator[str]:
    yield to_json(Agreement.now(project).as_json())


NOTES = {
    "agreement.json": "how far those agree who are done with an item, in all pairs; of two people the first is the reference, and"
    " null is what came with the dataset. alpha is Krippendorff’s, with the distance MASI of the sets of labels on each token;"
    " kappa is Cohen’s, of whether tokens are marked. Intervals are of 95 %. null: undefined",
}
parts.append(Part("agreement.json", _agreement, NOTES))
