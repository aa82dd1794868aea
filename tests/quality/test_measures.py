"""Measures against published examples, nltk and plain computation."""

import json
from collections import Counter
from itertools import chain, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quality import measures
from quality.measures import Matches, SetCounts, kappa, masi, tree_credit

label_sets = st.frozensets(st.integers(1, 6), max_size=4)
near = pytest.approx


# --- Marks that two people share -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sets(st.integers(0, 12)), st.sets(st.integers(0, 12))), max_size=6))
def test_matches_of_items_add_up_to_those_of_all_marks(items):
    counts = sum((Matches(len(one & other), len(one), len(other)) for one, other in items), Matches())
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
    assert total.occurrences == sum(counts, SetCounts()).occurrences == SetCounts.of(units).occurrences
    assert total.observed == near(sum(counts, SetCounts()).observed) == near(SetCounts.of(units).observed)
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
    assert (one + other).occurrences == {frozenset({1}): 5}
    assert (one.occurrences.total(), other.occurrences.total()) == (2, 3)


def test_sets_without_a_common_label_are_not_compared(monkeypatch):
    compared = []
    monkeypatch.setattr(measures, "masi", lambda one, other: compared.append((one, other)) or masi(one, other))
    counts = SetCounts(1.0, Counter({frozenset({2 * n, 2 * n + 1}): 2 for n in range(5_000)}))
    assert counts.alpha() == near(1 - (1 / 10_000) / (2 * 9_998 * 5_000 / (10_000 * 9_999)))
    assert len(compared) == 5_000
