"""Sharing items out, as a plan for groups of them: loads are even, pairs are even, and as little as possible changes hands."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projects.assignment.dealing import deal, shared_items, spread
from projects.assignment.groups import Group
from tests.soak import amount


def group(dealt=(), *, by_hand=(), withheld=(), begun=(), **more):
    ways = {"d": dealt, "g": by_hand, "w": withheld, "b": begun}
    return Group(held=" ".join(sorted(f"{way}{person}" for way, people in ways.items() for person in people)), **more)


def sets_of(plan):
    """How many items are assigned to the same people."""
    total = Counter()
    for shares in plan.values():
        total.update(shares)
    return total


def as_groups(plan, begun=None):
    """The groups after a plan was carried out."""
    groups = Counter()
    for was, shares in plan.items():
        for people, count in shares.items():
            groups[group(people, begun=was.people("b") & people)] += count
    return groups


def figures(plan, people):
    shared = shared_items(sets_of(plan).items(), people)
    return [shared[one][one] for one in people], [shared[one][other] for one, other in combinations(people, 2)]


def moved(plan):
    return sum(count for was, shares in plan.items() for people, count in shares.items() if people != was.assigned())


def assert_even(plan, people):
    loads, pairs = figures(plan, people)
    assert max(loads) - min(loads) <= 1
    assert max(pairs) - min(pairs) <= max(2, 0.05 * sum(pairs) / len(pairs))


def assert_no_move_helps(plan, people, per_item):
    loads = dict(zip(people, figures(plan, people)[0], strict=True))
    for was, shares in plan.items():
        kept, barred = was.people("bg") & {*people}, was.people("w")
        for holders, count in shares.items():
            able = ({*people} - barred) | kept
            assert sum(shares.values()) and count > 0 and kept <= holders
            assert len(holders) == max(len(kept), min(per_item, len(able)))
            for giver in holders - kept:
                assert all(loads[giver] - loads[taker] <= 1 for taker in able - holders)


@pytest.mark.soak
@settings(max_examples=amount(40, 3_000), deadline=None)
@given(people=st.integers(2, 12), per_item=st.integers(1, 4), items=st.integers(1, 3_000))
def test_a_fresh_deal_mixes_people(people, per_item, items):
    plan = deal({Group(): items}, range(1, people + 1), per_item)
    assert sum(sets_of(plan).values()) == items
    assert_even(plan, range(1, people + 1))


@pytest.mark.soak
@settings(max_examples=amount(25, 3_000), deadline=None)
@given(data=st.data(), people=st.integers(2, 12), per_item=st.integers(1, 4), items=st.integers(1, 400))
def test_after_people_come_and_go_no_single_move_makes_loads_more_even(data, people, per_item, items):
    members = list(range(1, people + 1))
    groups = Counter({Group(): items})
    for step in range(data.draw(st.integers(1, 5))):
        plan = deal(groups, members, per_item)
        for was, shares in plan.items():
            assert sum(shares.values()) == groups[was]
            assert all(was.people("b") & {*members} <= holders for holders in shares)
        assert_no_move_helps(plan, members, per_item)
        assert moved(deal(as_groups(plan), members, per_item)) == 0
        groups = Counter()
        for now, count in as_groups(plan).items():
            begun = data.draw(st.integers(0, count)) if step < 3 and len(groups) < 40 else 0
            some = data.draw(st.sets(st.sampled_from(sorted(now.assigned())))) if begun else set()
            groups[group(now.assigned(), begun=now.people("b") | some)] += begun
            groups[now] += count - begun
        groups = +groups
        if data.draw(st.booleans()) and len(members) > 2:
            members.remove(data.draw(st.sampled_from(members)))
        else:
            members.append(max(members) + 1)


@pytest.mark.soak
@settings(max_examples=amount(50, 5_000), deadline=None)
@given(
    groups=st.dictionaries(
        st.builds(
            lambda dealt, by_hand, withheld, begun: group(
                dealt - by_hand, by_hand=by_hand, withheld=withheld - by_hand - dealt, begun=begun
            ),
            *(st.sets(st.integers(0, 8), max_size=most) for most in (4, 2, 4, 2)),
        ),
        st.integers(1, 30),
        max_size=15,
    ),
    people=st.integers(2, 6),
    per_item=st.integers(1, 4),
    anew=st.booleans(),
)
def test_whatever_was_assigned_before_no_single_move_makes_it_more_even(groups, people, per_item, anew):
    plan = deal(groups, range(people), per_item, anew=anew)
    assert {was: sum(shares.values()) for was, shares in plan.items()} == groups
    assert not any(people & (was.people("w") - was.people("bg")) for was, shares in plan.items() for people in shares)
    if not anew:
        assert_no_move_helps(plan, range(people), per_item)


def test_two_closed_pairs_are_opened_with_the_fewest_moves_that_do_it():
    """What "2 per item" had made of four annotators."""
    plan = deal({group([1, 2]): 9_000, group([3, 4]): 9_000}, [1, 2, 3, 4], 2, anew=True)
    assert_even(plan, [1, 2, 3, 4])
    assert 11_900 <= moved(plan) <= 12_100
    assert all(len(people & was.assigned()) >= 1 for was, shares in plan.items() for people in shares)
    assert moved(deal(as_groups(plan), [1, 2, 3, 4], 2, anew=True)) == 0


def test_whoever_joins_gets_as_little_as_makes_loads_even_and_something_with_everybody():
    first = as_groups(deal({Group(): 6_000}, [1, 2, 3, 4], 2))
    second = deal(first, [1, 2, 3, 4, 5], 2)
    assert moved(second) == 2_400
    assert_even(second, [1, 2, 3, 4, 5])


def test_the_second_annotator_of_an_item_is_anybody():
    people = list(range(1, 11))
    plan = deal({group([one]): 200 for one in people}, people, 2)
    assert all(was.assigned() <= holders for was, shares in plan.items() for holders in shares)
    assert_even(plan, people)


@pytest.mark.parametrize(("people", "per_item"), [(50, 2), (50, 4), (100, 3)])
def test_many_people_are_mixed_too(people, per_item):
    assert_even(deal({Group(): 100_000}, range(people), per_item), range(people))


def test_what_is_for_everybody_counts_for_all():
    plan = deal({group(for_all=True, withheld=[1]): 10, Group(): 11}, [1, 2, 3], 1)
    assert plan[group(for_all=True, withheld=[1])] == {frozenset(): 10}
    assert plan[Group()][frozenset([1])] >= 10


def test_shares_are_mixed_from_the_beginning():
    shares = list(spread({"a": 50, "b": 25, "c": 25}))
    assert Counter(shares) == {"a": 50, "b": 25, "c": 25}
    assert Counter(shares[:20]) == {"a": 10, "b": 5, "c": 5}
