"""How far people agree, as tables: for pages, where each row leads to its places, and for files."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode

from annotation_service import words
from ontologies.labels import Label, Labels
from ontologies.models import OntologyKind
from projects.models import Project

from .agreement import MEASURES, Agreement, Measure, ReportPart, Row
from .comparison import Likeness
from .counting import RELATION
from .voices import GOLD_VOICE

NO_MARK = "no mark"
FEW = "There are too few items, or only all together have this interval."
UNDEFINED = {
    "precision": "The second of both has marked nothing.",
    "recall": "The first of both has marked nothing.",
    "f1": "Neither has marked anything.",
    "kappa": "Undefined: both say the same of every word.",
    "alpha": "Undefined: nothing is marked in items that several people have done.",
}
INTERVAL = ("from", "to")


class TableCell(NamedTuple):
    value: Any
    title: str = ""
    url: str = ""
    shade: int | None = None
    """How dark it is, in percent."""
    level: int = 0
    toggle: str = ""
    """Where a branch is opened or, if it is, closed."""
    is_open: bool = False

    @property
    def percent(self) -> int:
        return round(100 * (self.value or 0))

    @property
    def text(self) -> str:
        if self.value is None:
            return "–"
        if isinstance(self.value, float):
            return f"{self.value:.2f}".replace("-", "−")
        return words.number(self.value) if isinstance(self.value, int) else str(self.value)


ShadedMap = tuple[list[tuple[str, str]], list[tuple[str, list[TableCell]]]]
"""The names of the columns, with longer ones; and the rows with their names."""


class FiguresTable(NamedTuple):
    """``head`` has the names of the columns, and what they mean."""

    head: list[tuple[str, str]]
    rows: list[list[TableCell]]

    def records(self) -> Iterator[dict[str, Any]]:
        """As a file has them."""
        for row in self.rows:
            values = (round(cell.value, 4) if isinstance(cell.value, float) else cell.value for cell in row)
            yield {name: value for (name, _), value in zip(self.head, values, strict=True)}


class AskedFigures(NamedTuple):
    """What is looked at by one of the `MEASURES`: ``people`` with each other, ``gold`` with people or, of both, the
    ``calibration`` set: the first items, which are for everybody."""

    project: Project
    agreement: Agreement
    measure: str = "exact"
    side: str = "people"
    opened: Collection[int] | None = None
    """The branches that are open; None: all, if there are few labels."""
    toggle: Callable[[Collection[int]], str] = lambda opened: ""
    """The address with these branches open."""
    least: int = 0
    """From which F1 somebody may go on after calibration, in percent."""

    @property
    def measured(self) -> Measure:
        return MEASURES[self.measure]

    @property
    def sentence(self) -> str:
        """The figures that matter most, in words."""
        row = self.part.total
        exact, alpha = row.measure("exact").f1, self.agreement.alpha
        items = words.plural(row.items, "item was,items were")
        compared = "decided and done by somebody" if self.with_gold else "done by several people"
        if exact is None:
            return f"{items} {compared}, and nothing is marked there."
        found = f"{items} {compared}. Of all marks there, {100 * exact:.0f} % are exactly the same on both sides"
        return f"{found}." if alpha is None or self.with_gold else f"{found}; Krippendorff’s alpha is {alpha:.2f}."

    @property
    def with_gold(self) -> bool:
        return self.side == "gold"

    @property
    def part(self) -> ReportPart:
        return {
            "people": self.agreement.people,
            "gold": self.agreement.gold,
            "calibration": self.agreement.calibration,
        }[self.side]

    def places(self, **asked: Any) -> str:
        """The address of places."""
        if self.with_gold and "one" not in asked:
            asked["one"] = self.agreement.names[GOLD_VOICE]
        return f"{reverse('quality:agreement_places', args=[self.project.pk])}?{urlencode(asked)}"


def _measured(row: Row, measure: str, url: str) -> list[TableCell]:
    found = row.measure(measure)
    values = [TableCell(getattr(found, name), UNDEFINED[name], url) for name in ("precision", "recall", "f1")]
    shown = [cell if cell.value is None else cell._replace(title="") for cell in values]
    kappa = TableCell(row.kappa, "" if row.kappa is not None else UNDEFINED["kappa"], url)
    return [*shown, *_ends(row.intervals.get(measure)), kappa, *_ends(row.intervals.get("kappa"))]


def _ends(interval: Sequence[float] | None) -> list[TableCell]:
    return [TableCell(end) for end in interval] if interval else [TableCell(None, FEW)] * 2


def _head(measure: str, *first: str) -> list[tuple[str, str]]:
    explained = MEASURES[measure].explained
    return [
        *((name, "") for name in first),
        ("precision", f"of what the second has marked, how much the first has: {explained}"),
        ("recall", f"of what the first has marked, how much the second has: {explained}"),
        ("F1", f"the harmonic mean of both: {explained}"),
        *((f"F1 {end}", "where F1 would lie for all texts like these, with 95 % confidence") for end in INTERVAL),
        ("kappa", "agreement beyond chance on whether words are marked: Cohen’s"),
        *((f"kappa {end}", "where kappa would lie for all texts like these, with 95 % confidence") for end in INTERVAL),
    ]


def totals(asked: AskedFigures) -> FiguresTable:
    row, nothing = asked.part.total, [TableCell("")] * 2
    places = {"spans": "", "overlap": Likeness.ONLY, "tree": Likeness.LABEL, "relations": RELATION, "ends": RELATION}
    rows = []
    for name, measure in MEASURES.items():
        url = asked.places(kind=str(places.get(name, "")))
        rows.append([TableCell(measure.words, measure.explained), *_measured(row, name, url)[:5]])
    chance = TableCell("kappa", "Cohen’s, of whether words are marked")
    rows.append([chance, *nothing, *_measured(row, "exact", "")[5:]])
    if not asked.with_gold:
        found = asked.agreement
        explained = "Krippendorff’s, of the labels on each word, with the distance MASI"
        alpha = TableCell(found.alpha, "" if found.alpha is not None else UNDEFINED["alpha"])
        rows.append([TableCell("alpha", explained), *nothing, alpha, *_ends(found.alpha_interval)])
    return FiguresTable([(name, "") for name in ("measure", "precision", "recall", "F1 or value", *INTERVAL)], rows)


def pairs(asked: AskedFigures) -> FiguresTable:
    names, rows = asked.agreement.names, []
    for (one, other), row in asked.part.pairs.items():
        url = asked.places(one=names[one], other=names[other])
        items = TableCell(row.items, "", url)
        rows.append([TableCell(names[one]), TableCell(names[other]), items, *_measured(row, asked.measure, url)])
    return FiguresTable(_head(asked.measure, "first", "second", "items"), rows)


def pair_map(asked: AskedFigures) -> ShadedMap:
    """F1 of any two, with the first in the row."""
    found = asked.part.pairs
    people = list(dict.fromkeys(who for who in asked.agreement.names for pair in found if who in pair))
    names = asked.agreement.names

    def cell(one: int, other: int) -> TableCell:
        row = found.get((one, other)) or found.get((other, one))
        if one == other or row is None:
            return TableCell("" if one == other else None, "" if one == other else "They have no item in common.")
        value, items = row.measure(asked.measure).f1, words.plural(row.items, "item,items")
        title = f"{names[one]} and {names[other]}, {items}" + ("" if value is not None else f": {UNDEFINED['f1']}")
        shade = None if value is None else round(100 * value)
        return TableCell(value, title, asked.places(one=names[one], other=names[other]), shade)

    return [(names[who], names[who]) for who in people], [
        (names[one], [cell(one, other) for other in people]) for one in people
    ]


def weeks(asked: AskedFigures) -> FiguresTable:
    rows = []
    for week, row in asked.part.weeks.items():
        url = asked.places(week=week)
        items = TableCell(row.items, "", url)
        rows.append([TableCell(week), items, *_measured(row, asked.measure, url)[:3]])
    return FiguresTable(_head(asked.measure, "week", "comparisons")[:5], rows)


def calibration(asked: AskedFigures) -> FiguresTable:
    """Who may go on: those who have done all, with an F1 that is enough, with gold where there is some, else with the others."""
    names, left = asked.agreement.names, asked.project.calibration_left_by_person()
    exact = {pair: row.measure("exact").f1 for pair, row in asked.part.pairs.items()}
    rows = []
    for person in filter(set(asked.project.annotators()).__contains__, names):
        known = [f1 for pair, f1 in exact.items() if person in pair and GOLD_VOICE not in pair and f1 is not None]
        with_others, with_gold = (sum(known) / len(known) if known else None), exact.get((GOLD_VOICE, person))
        measured = with_others if with_gold is None else with_gold
        is_enough = not left[person] and measured is not None and 100 * measured >= asked.least
        others = TableCell(with_others, "" if known else "Nobody else has marked anything in the same items.")
        gold = TableCell(with_gold, "" if with_gold is not None else "Nothing of it is decided.")
        name = TableCell(names[person], "", asked.places(one=names[person]))
        rows.append([name, TableCell(left[person]), others, gold, TableCell("yes" if is_enough else "not yet")])
    heads = {
        "annotator": "",
        "left": "items of the calibration set that are not done",
        "F1 with others": "the mean of F1 with each other person",
        "F1 with gold": "of the items of the set that are decided",
        "may go on": "with gold, where there is some, else with the others",
    }
    return FiguresTable(list(heads.items()), rows)


# --- Labels --------------------------------------------------------------------------------------------------------------

MOST_OPEN = 40


def labels(asked: AskedFigures) -> FiguresTable:
    part, trees, rows = asked.part, asked.agreement.trees, []
    opened = asked.opened
    if opened is None:
        opened = part.branches if len(part.labels) + len(part.branches) <= MOST_OPEN else ()
    for kind, tree in trees.of.items():
        measure = asked.measure if kind == OntologyKind.ENTITY else "relations"
        for level, label, row, is_branch in _walk(part, tree, "", opened):
            url, toggle = asked.places(label=label.pk), ""
            if is_branch:
                toggle = asked.toggle(set(opened) ^ {label.pk})
            is_itself = not is_branch and label.pk in part.branches
            name = f"{label.fullname} itself" if is_itself else label.fullname
            marks = TableCell(int(sum(row.measure(measure)[1:])), "", url)
            title = f"{name}, with all below it" if is_branch else name
            branch = TableCell(name, title, level=level, toggle=toggle, is_open=label.pk in opened)
            rows.append([branch, marks, *_measured(row, measure, url)])
    return FiguresTable(_head(asked.measure, "label", "marks"), rows)


def _walk(
    part: ReportPart, tree: Labels, above: str, opened: Collection[int], level: int = 0
) -> Iterator[tuple[int, Label, Row, bool]]:
    for label in tree.children.get(above, ()):
        own, branch = part.labels.get(label.pk), part.branches.get(label.pk)
        if branch:
            yield level, label, branch, True
            if label.pk in opened:
                if own:
                    yield level + 1, label, own, False
                yield from _walk(part, tree, label.uid, opened, level + 1)
        elif own:
            yield level, label, own, False


def _name(asked: AskedFigures, label: int, *, full: bool = True) -> str:
    found = asked.agreement.trees.labels.get(label)
    return NO_MARK if found is None else found.fullname if full else found.name


def _counted(asked: AskedFigures, name: str) -> Counter[tuple[int, int]]:
    """Of two people neither is first: their labels are counted in the order of the tree."""
    place = {pk: number for number, pk in enumerate((*asked.agreement.trees.labels, 0))}
    found = Counter[tuple[int, int]]()
    for one, other, number in asked.part.counted(name):
        pair = (one, other) if asked.with_gold else tuple(sorted((one, other), key=place.__getitem__))
        found[pair[0], pair[1]] += number
    return found


def confusion(asked: AskedFigures) -> FiguresTable:
    first, second = ("gold", "marked") if asked.with_gold else ("label", "other label")
    rows = [
        [
            TableCell(_name(asked, one)),
            TableCell(_name(asked, other)),
            TableCell(number, "", asked.places(label=one, other_label=other)),
        ]
        for (one, other), number in _counted(asked, "confused").most_common()
    ]
    return FiguresTable([(first, ""), (second, ""), ("times", "")], rows)


def confusion_map(asked: AskedFigures) -> ShadedMap:
    """How often labels meet on the same words; the darker, the larger the part of their row."""
    counts = defaultdict[tuple[int, int], int](int)
    for (one, other), number in _counted(asked, "matrix").items():
        counts[one, other] += number
        if one != other and not asked.with_gold:
            counts[other, one] += number
    keys = [pk for pk in (*asked.agreement.trees.labels, 0) if any(pk in pair for pair in counts)]

    def cell(one: int, other: int) -> TableCell:
        number = counts[one, other]
        whole = sum(counts[one, each] for each in keys)
        url = asked.places(label=one, other_label=other) if number and one != other else ""
        title = f"{_name(asked, one)} and {_name(asked, other)}"
        return TableCell(number or "", title if number else "", url, round(100 * number / whole) if number else None)

    heads = [(_name(asked, pk, full=False), _name(asked, pk)) for pk in keys]
    return heads, [(_name(asked, one, full=False), [cell(one, other) for other in keys]) for one in keys]


TABLES = {
    "totals": totals,
    "pairs": pairs,
    "labels": labels,
    "confusion": confusion,
    "weeks": weeks,
    "calibration": calibration,
}
