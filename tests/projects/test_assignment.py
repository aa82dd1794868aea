from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projects.assignment import given_item, share_out
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


@pytest.mark.parametrize("per_item", [None, 1])
def test_an_item_is_given_when_it_is_among_those_for_the_person_and_they_annotate(alice, carol, dave, per_item):
    project = factories.project(
        by=alice, annotators=[carol], annotators_per_item=per_item, text="one\ntwo\nthree\nfour\n"
    )
    if per_item:
        project.add_members([factories.user("erin")])
    items = list(project.all_items())
    project.dataset.remove(project.dataset.items().filter(pk=items[0].pk), by=alice)
    expected = {"alice": 0 if per_item else 3, "carol": 2 if per_item else 3, "dave": 0}
    for person in (alice, carol, dave):
        found = {item.pk for item in items if given_item(person, project.pk, item.pk)}
        assert len(found) == expected[person.username]
        if person != dave:
            assert found == set(project.items_for(person).values_list("pk", flat=True))
    other = factories.project(by=alice, annotators=[carol], name="Other")
    assert not any(given_item(carol, other.pk, item.pk) for item in items)
    assert given_item(carol, 2**63, items[1].pk) is given_item(carol, project.pk, 2**63) is None
