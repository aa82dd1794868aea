from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projects.assignment import deal
from projects.models import Assignment
from tests import factories
from tests.soak import amount


@pytest.mark.soak
@settings(max_examples=amount(150, 5_000), deadline=None)
@given(
    items=st.integers(0, 40),
    people=st.integers(0, 6),
    per_item=st.integers(1, 4),
    before=st.sets(st.tuples(st.integers(0, 45), st.integers(0, 8))),
    begun=st.sets(st.tuples(st.integers(0, 39), st.integers(0, 5)), max_size=10),
)
def test_whatever_was_dealt_before_everybody_gets_a_fair_share(items, people, per_item, before, begun):
    begun = {(item, person) for item, person in begun if item < items and person < people}
    pairs = deal(list(range(items)), list(range(people)), per_item, before, begun)
    assert begun <= pairs
    per = Counter(item for item, _ in pairs)
    for item in range(items):
        own = sum(1 for i, _ in begun if i == item)
        assert per[item] == max(min(per_item, people), own)
    assert all(item < items and person < people for item, person in pairs)
    if people and not begun:
        load = Counter(dict.fromkeys(range(people), 0))
        load.update(person for _, person in pairs)
        assert max(load.values()) - min(load.values()) <= 1 + (per_item > 1 and people > 1)


def test_a_new_member_changes_as_little_as_possible():
    items = list(range(90))
    first = deal(items, [1, 2], 1, set(), set())
    second = deal(items, [1, 2, 3], 1, first, set())
    assert Counter(person for _, person in second) == {1: 30, 2: 30, 3: 30}
    assert len(first - second) == 30
    assert deal(items, [1, 2, 3], 1, second, set()) == second


def test_new_items_go_to_those_who_have_fewer_others():
    pairs = deal([1, 2, 3], [7, 8], 1, set(), set(), others={7: 5, 8: 2})
    assert pairs == {(1, 8), (2, 8), (3, 8)}


def shares(project):
    return sorted(Counter(Assignment.objects.values_list("annotator", flat=True)).values())


def held(project):
    return set(Assignment.objects.values_list("item", "annotator"))


@pytest.fixture
def dealt(alice, carol, dave):
    text = "".join(f"item {n}\n" for n in range(10))
    return factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text=text)


def test_what_others_have_stays_when_items_come_or_go(dealt, alice):
    before = held(dealt)
    more = {"by": alice, "dataset": dealt.dataset, "options": {"format": "text"}}
    factories.upload("ten\neleven\n", **more).store()
    assert before < held(dealt) and shares(dealt) == [6, 6]
    with_new = held(dealt)
    gone = dealt.dataset.items()[3]
    dealt.dataset.remove(dealt.dataset.items().filter(pk=gone.pk), by=alice)
    assert held(dealt) == {(item, person) for item, person in with_new if item != gone.pk}


def test_when_that_leaves_it_uneven_all_are_dealt_anew(dealt, alice, carol, dave):
    dealt.dataset.remove(dealt.items_for(carol), by=alice)
    assert shares(dealt) == [2, 3]
    dealt.dataset.restore(dealt.dataset.bin())
    assert shares(dealt) == [5, 5]
