"""Measures against published examples, nltk and plain computation; intervals against samples whose true value is known."""

import json
import random
from collections import Counter, defaultdict
from itertools import chain, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality import measures
from quality.measures import Matches, SetCounts, alpha_rows, f1, group_of, interval, kappa, masi, tree_credit
from tests.soak import amount

label_sets = st.frozensets(st.integers(1, 6), max_size=4)
near = pytest.approx


# --- Marks that two people share -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sets(st.integers(0, 12)), st.sets(st.integers(0, 12))), max_size=6))
def test_matches_of_items_add_up_to_those_of_all_marks(items):
    rows = [(len(one & other), len(one), len(other)) for one, other in items]
    counts = Matches(*map(sum, zip(*rows, strict=True)))
    ones, others = ({(n, mark) for n, item in enumerate(items) for mark in item[side]} for side in (0, 1))
    right, wrong = len(others & ones), len(others - ones)
    missed = len(ones - others)
    assert counts.precision == (near(right / (right + wrong)) if others else None)
    assert counts.recall == (near(right / (right + missed)) if ones else None)
    assert counts.f1 == (near(right / (right + (wrong + missed) / 2)) if ones or others else None)
    if counts.precision and counts.recall:
        assert counts.f1 == near(2 / (1 / counts.precision + 1 / counts.recall))


def test_the_first_of_two_is_the_reference_and_credit_may_be_partial():
    counts = Matches(both=1.5, one=2, other=6)
    assert (counts.precision, counts.recall, counts.f1) == (0.25, 0.75, 0.375)
    assert Matches(0, 0, 3).f1 == 0 and Matches(0, 0, 3).recall is None


@pytest.mark.parametrize(
    ("one", "other", "credit"),
    [
        ("a", "a", 1),
        ("a/b/c", "a/b/c", 1),
        ("a", "a/b", 2 / 3),
        ("a/b", "a/b/c", 4 / 5),
        ("a/b", "a/c", 1 / 2),
        ("a", "a/b/c", 1 / 2),
        ("a/b/c", "a/d/c", 1 / 3),
        ("a", "b", 0),
        ("a/b", "c/b", 0),
    ],
)
def test_credit_is_for_what_paths_share_from_the_top(one, other, credit):
    one, other = tuple(one.split("/")), tuple(other.split("/"))
    assert tree_credit(one, other) == tree_credit(other, one) == near(credit)


# --- Agreement beyond chance ---------------------------------------------------------------------------------------------


def test_kappa_of_published_tables():
    assert kappa(20, 5, 10, 15) == near(0.4)  # Wikipedia, Cohen's kappa, “Simple example”
    assert kappa(20, 20, 10, 50) == near(0.348, abs=5e-4)  # Artstein & Poesio 2008, tables 1 and 2
    assert kappa(45, 15, 25, 15) == near(0.1304, abs=5e-5)  # Wikipedia, “Same percentages but different numbers”
    assert kappa(25, 35, 5, 35) == near(0.2593, abs=5e-5)


cells = st.integers(0, 12)


@given(st.tuples(cells, cells, cells, cells))
def test_kappa_is_that_of_nltk(cells):
    from nltk.metrics.agreement import AnnotationTask

    answers = list(
        chain.from_iterable([pair] * n for pair, n in zip(product((True, False), repeat=2), cells, strict=True))
    )
    if len({one for one, _ in answers}) == len({other for _, other in answers}) == 1 and cells[1] == cells[2] == 0:
        assert kappa(*cells) is None  # nltk says 1
    elif answers:
        task = AnnotationTask([(who, n, pair[who]) for n, pair in enumerate(answers) for who in (0, 1)])
        assert kappa(*cells) == near(task.kappa(), abs=1e-9)
    else:
        assert kappa(*cells) is None


@given(label_sets, label_sets)
def test_distances_are_those_of_nltk(one, other):
    from nltk.metrics import masi_distance

    none = frozenset({"none"})
    assert masi(one, other) == masi(other, one) == near(masi_distance(one or none, other or none))


def test_distances_of_sets():
    """Passonneau 2006: M is 1, 2/3, 1/3 and 0 for sets that are equal, hold one another, cross, and share nothing."""
    of = frozenset
    assert masi(of({1, 2}), of({1, 2})) == masi(of(), of()) == 0
    assert masi(of({1, 2}), of({1, 2, 3, 4})) == near(1 - 1 / 2 * 2 / 3)
    assert masi(of({1, 2}), of({2, 3})) == near(1 - 1 / 3 * 1 / 3)
    assert masi(of({1}), of({2, 3})) == masi(of({1}), of()) == 1


def test_alpha_of_a_published_table():
    """Krippendorff 2011, example C: four observers, twelve units, some of them not seen by all."""
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[frozenset({int(value)}) for value in unit if value != "."] for unit in zip(*observers, strict=True)]
    assert SetCounts.of(units).alpha() == near(0.743, abs=5e-4)


def test_alpha_by_hand():
    """Two people at four tokens: the same, one holds the other, none against one, none of both."""
    a, ab, none = frozenset({1}), frozenset({1, 2}), frozenset()
    counts = SetCounts.of([(a, a), (a, ab), (none, a)], bare=1, people=2)
    assert counts.observed == near(2 * (0 + 2 / 3 + 1))
    assert counts.occurrences == {a: 4, ab: 1, none: 3}
    expected = 2 * (4 * 1 * 2 / 3 + 4 * 3 * 1 + 1 * 3 * 1) / (8 * 7)
    assert counts.alpha() == near(1 - counts.observed / 8 / expected)


units_of_items = st.lists(
    st.tuples(st.lists(st.lists(label_sets, max_size=4), max_size=6), st.integers(0, 5), st.integers(0, 3)),
    max_size=4,
)


@given(units_of_items)
def test_alpha_is_that_of_nltk_however_items_are_put_together(items):
    from nltk.metrics import masi_distance
    from nltk.metrics.agreement import AnnotationTask

    units = [unit for tokens, bare, people in items for unit in [*tokens, *[[frozenset()] * people] * bare]]
    counts = [SetCounts.of(*item) for item in items]
    total = SetCounts.total(counts)
    assert total.alpha() == near(SetCounts.of(units).alpha(), abs=1e-9)
    assert total.occurrences == SetCounts.of(units).occurrences
    assert total.observed == near(SetCounts.of(units).observed)
    if len({labels for unit in units if len(unit) > 1 for labels in unit}) < 2:
        assert total.alpha() is None
    else:
        task = AnnotationTask(
            [
                (who, n, labels or frozenset({"none"}))
                for n, unit in enumerate(units)
                for who, labels in enumerate(unit)
            ],
            distance=masi_distance,
        )
        assert total.alpha() == near(task.alpha(), abs=1e-9)


@given(units_of_items)
def test_what_is_kept_as_json_comes_back(items):
    for item in items:
        counts = SetCounts.of(*item)
        assert SetCounts.of_json(json.loads(json.dumps(counts.as_json()))) == counts
    assert SetCounts.of([[frozenset({8, 3})] * 2], 20, 2).as_json() == {
        "observed": 0.0,
        "sets": [[[], 40], [[3, 8], 2]],
    }


def test_adding_leaves_the_parts_as_they_are():
    one, other = SetCounts.of([[frozenset({1})] * 2]), SetCounts.of([[frozenset({1})] * 3])
    assert SetCounts.total([one, other]).occurrences == {frozenset({1}): 5}
    assert (one.occurrences.total(), other.occurrences.total()) == (2, 3)


def test_sets_without_a_common_label_are_not_compared(monkeypatch):
    compared = []
    monkeypatch.setattr(measures, "masi", lambda one, other: compared.append((one, other)) or masi(one, other))
    counts = SetCounts(1.0, Counter({frozenset({2 * n, 2 * n + 1}): 2 for n in range(5_000)}))
    assert counts.alpha() == near(1 - (1 / 10_000) / (2 * 9_998 * 5_000 / (10_000 * 9_999)))
    assert len(compared) == 5_000


@given(units_of_items)
def test_rows_for_intervals_of_alpha_add_up_to_alpha(items):
    counts = [SetCounts.of(*item) for item in items]
    rows, statistic = alpha_rows(counts)
    sums = [sum(row[n] for row in rows) for n in range(3)]
    assert statistic(*sums) == near(SetCounts.total(counts).alpha(), abs=1e-9)


# --- Intervals -----------------------------------------------------------------------------------------------------------


def multinomial(draw, tries, chances):
    drawn = Counter(draw.choices(range(len(chances)), chances, k=tries))
    return [drawn[n] for n in range(len(chances))]


# Kinds of items: short ones on which people agree, and long ones on which they do not. Numbers are of marks or tokens, and the
# chances are of what becomes of one: found by both, by the first or by the other alone, and by neither.
GOOD = [
    (range(1, 6), (85, 6, 9, 0)),
    (range(4, 21), (65, 20, 15, 0)),
    (range(9, 12), (99, 1, 0, 0)),
    (range(2, 9), (1, 8, 1, 0)),
]
SURE = [(range(1, 6), (97, 2, 1, 0)), (range(4, 21), (90, 4, 6, 0))]
TOKENS = [(range(5, 20), (25, 2, 3, 70)), (range(10, 60), (12, 6, 4, 78)), (range(20, 40), (1, 3, 9, 87))]


def f1_row(cells):
    both, only_one, only_other, _ = cells
    return both, both + only_one, both + only_other


def of_cells(kinds, row, statistic):
    """A sample of rows, and what the statistic is for all there are."""
    expected = [
        sum(sum(numbers) / len(numbers) * chances[n] / sum(chances) for numbers, chances in kinds) for n in range(4)
    ]

    def sample(draw, items):
        some = (draw.choice(kinds) for _ in range(items))
        return [row(multinomial(draw, draw.choice(numbers), chances)) for numbers, chances in some], statistic

    return sample, statistic(*row(expected))


def of_sets():
    """The same for alpha: of two or three people, each puts one of these on a token, by a chance that depends on the token."""
    sets = [frozenset(), frozenset({1}), frozenset({1, 2}), frozenset({3})]
    kinds = [(90, 5, 3, 2), (5, 75, 15, 5), (5, 20, 70, 5), (10, 5, 5, 80)]
    often = [6, 2, 1, 1]  # the kinds of tokens
    share = [sum(o * chances[n] / 100 for o, chances in zip(often, kinds, strict=True)) / 10 for n in range(4)]
    pairs = list(product(range(4), repeat=2))
    observed = sum(
        o / 10 * chances[one] / 100 * chances[other] / 100 * masi(sets[one], sets[other])
        for o, chances in zip(often, kinds, strict=True)
        for one, other in pairs
    )
    truth = 1 - observed / sum(share[one] * share[other] * masi(sets[one], sets[other]) for one, other in pairs)

    def item(draw):
        people = draw.choice([2, 2, 3])
        kinds_of_tokens = draw.choices(kinds, often, k=draw.randint(3, 15))
        return SetCounts.of([draw.choices(sets, chances, k=people) for chances in kinds_of_tokens])

    return lambda draw, items: alpha_rows([item(draw) for _ in range(items)]), truth


POPULATIONS = {
    "good f1": of_cells(GOOD, f1_row, f1),
    "sure f1": of_cells(SURE, f1_row, f1),
    "kappa": of_cells(TOKENS, tuple, kappa),
    "alpha": of_sets(),
}


@pytest.mark.soak
@pytest.mark.parametrize(("items", "samples", "fewest"), [(30, 400, 90), (200, 300, 92), (600, 300, 92)])
@pytest.mark.parametrize("name", POPULATIONS)
def test_intervals_cover_the_true_value_about_as_often_as_they_say(name, items, samples, fewest):
    sample, truth = POPULATIONS[name]
    draw = random.Random(7)
    if name == "alpha":
        samples //= 4
    samples = amount(samples, 10 * samples)
    covered, widths = 0, 0.0
    for _ in range(samples):
        low, high = interval(*sample(draw, items))
        covered += low <= truth <= high
        widths += high - low
    print(f"{name} of {items} items, truly {truth:.3f}: {covered / samples:.1%} covered, {widths / samples:.3f} wide")
    assert fewest <= 100 * covered / samples <= 98


def rows_of(items, seed=1):
    return POPULATIONS["good f1"][0](random.Random(seed), items)[0]


def test_an_interval_by_hand():
    """Of a mean it is the textbook's: 2 of 5 are 1, the standard error is 0.245, and t with 4 degrees of freedom 2.776."""
    rows = [(hit, 1, 1) for hit in (1, 1, 0, 0, 0)]
    assert interval(rows, f1, least=-1) == near((0.4 - 2.776 * 0.245, 1), rel=0.01)
    assert interval(rows, f1) == (0, 1)


def test_the_same_rows_give_the_same_interval():
    assert interval(rows_of(500), f1) == interval(rows_of(500), f1)


def test_an_interval_is_narrower_for_more_items_and_for_less_confidence():
    widths = [high - low for low, high in (interval(rows_of(items), f1) for items in (20, 80, 320, 1280))]
    assert all(1.4 < wide / narrow < 2.9 for wide, narrow in pairwise(widths))
    (low, high), (lower, higher) = (interval(rows_of(80), f1, level) for level in (0.8, 0.95))
    measure = Matches(*map(sum, zip(*rows_of(80), strict=True))).f1
    assert lower < low < measure < high < higher


def test_groups_of_items_have_the_interval_of_the_items():
    """Where people get better from item to item, groups that follow the order would all be alike."""
    rows, groups = [(both, 10, 10) for both in range(10) for _ in range(200)], defaultdict(list)
    for key, row in enumerate(rows):
        groups[group_of(key)].append(row)
    grouped = [tuple(map(sum, zip(*group, strict=True))) for group in groups.values()]
    widths = [high - low for low, high in (interval(rows, f1), interval(grouped, f1))]
    assert widths == near([2 * 1.96 * 0.287 / 2_000**0.5] * 2, rel=0.15)


def test_what_says_too_little_has_no_interval():
    assert interval([(1, 2, 2)] * 4, f1) is None
    assert interval([(1, 2, 2)] * 4 + [(0, 0, 0)] * 100, f1) is None
    assert interval([], f1) is None
    assert interval([(0, 3, 0)] * 20, lambda both, one, other: both / other if other else None) is None
    assert interval([(n, 0, 0, 0) for n in range(20)], kappa) is None
    assert interval([(2, 2, 2)] * 20, f1) == (1, 1)


def test_items_without_counts_change_nothing():
    rows = rows_of(60)
    assert interval([*rows[:20], *[(0, 0, 0)] * 500, *rows[20:]], f1) == interval(rows, f1)


def test_the_ends_of_few_rows_are_those_of_student():
    """Two-sided quantiles as in any table of t."""
    for freedom, quantile in ((4, 2.776), (9, 2.262), (29, 2.045), (199, 1.972)):
        assert measures._student(0.95, freedom) == near(quantile, rel=0.005)


def test_groups_are_even_and_do_not_follow_the_order_of_items():
    sizes = Counter(map(group_of, range(20_000)))
    assert set(sizes) == {*range(measures.GROUPS)} and min(sizes.values()) > 60 and max(sizes.values()) < 145
    together = sum(group_of(n) == group_of(n + step) for n in range(2_000) for step in (1, 2, measures.GROUPS))
    assert together == near(6_000 / measures.GROUPS, abs=20)
    assert [group_of(n) for n in range(4)] == [189, 110, 100, 161]


@given(st.lists(st.tuples(cells, cells, cells, cells), max_size=30))
def test_whatever_is_counted_the_measure_lies_in_its_interval(rows):
    found = interval(rows, kappa)
    if found:
        low, high = found
        assert -1 <= low <= kappa(*map(sum, zip(*rows, strict=True))) <= high <= 1
