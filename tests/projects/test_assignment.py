from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projects.assignment import share_out
from projects.models import Assignment
from tests import factories
from tests.soak import amount


@pytest.mark.soak
@settings(max_examples=amount(150, 5_000), deadline=None)
@given(
    items=st.integers(0, 40),
    people=st.integers(0, 6),
    per_item=st.integers(1, 4),
    current=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 45))),
    begun=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 39)), max_size=10),
)
def test_whatever_was_assigned_before_everybody_gets_a_fair_share(items, people, per_item, current, begun):
    begun = {(person, item) for person, item in begun if item < items and person < people}
    pairs = share_out(list(range(items)), list(range(people)), per_item, current=current, begun=begun)
    assert begun <= pairs
    per = Counter(item for _, item in pairs)
    for item in range(items):
        own = sum(1 for _, i in begun if i == item)
        assert per[item] == max(min(per_item, people), own)
    assert all(item < items and person < people for person, item in pairs)
    if people and not begun:
        load = Counter(dict.fromkeys(range(people), 0))
        load.update(person for person, _ in pairs)
        assert max(load.values()) - min(load.values()) <= 1 + (per_item > 1 and people > 1)


def test_a_new_member_changes_as_little_as_possible():
    items = list(range(90))
    first = share_out(items, [1, 2], 1)
    second = share_out(items, [1, 2, 3], 1, current=first)
    assert Counter(person for person, _ in second) == {1: 30, 2: 30, 3: 30}
    assert len(first - second) == 30
    assert share_out(items, [1, 2, 3], 1, current=second) == second


def test_new_items_go_to_those_who_have_fewer_others():
    pairs = share_out([1, 2, 3], [7, 8], 1, other_items={7: 5, 8: 2})
    assert pairs == {(8, 1), (8, 2), (8, 3)}


def shares(project):
    return sorted(Counter(Assignment.objects.values_list("annotator", flat=True)).values())


def held(project):
    return set(Assignment.objects.values_list("item", "annotator"))


@pytest.fixture
def shared(alice, carol, dave):
    text = "".join(f"item {n}\n" for n in range(10))
    return factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text=text)


def test_what_others_have_stays_when_items_come_or_go(shared, alice):
    before = held(shared)
    more = {"by": alice, "dataset": shared.dataset, "options": {"format": "text"}}
    factories.upload("ten\neleven\n", **more).store()
    assert before < held(shared) and shares(shared) == [6, 6]
    with_new = held(shared)
    gone = shared.dataset.items()[3]
    shared.dataset.remove(shared.dataset.items().filter(pk=gone.pk), by=alice)
    assert held(shared) == {(item, person) for item, person in with_new if item != gone.pk}


def test_when_that_leaves_it_uneven_all_are_assigned_anew(shared, alice, carol, dave):
    shared.dataset.remove(shared.items_for(carol), by=alice)
    assert shares(shared) == [2, 3]
    shared.dataset.restore(shared.dataset.bin())
    assert shares(shared) == [5, 5]
