"""Differences that are planted are found and named, none is missed and none invented; and a gold follows from decisions alone."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from quality.comparison import (
    EntityMark,
    Likeness,
    Marked,
    RelationMark,
    Voice,
    compare,
    groups_of,
    read_mark,
)
from quality.deciding import Deliberation, GroupState, Ruling, TakeOverRule, options_chosen, rulings, settle

E, R = EntityMark, RelationMark


def apart(one: int, other: int) -> int:
    """Labels in decimal notation: 12 stands below 1."""
    first, second = str(one), str(other)
    shared = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return len(first) + len(second) - 2 * shared


def likenesses(one: Marked, other: Marked) -> list[tuple[Likeness, object, object]]:
    compared = compare(one, other, apart)
    return [(pair.likeness, pair.one, pair.other) for pair in (*compared.entities, *compared.relations)]


def marked(*marks) -> Marked:
    return Marked(
        frozenset(mark for mark in marks if not mark.is_relation), frozenset(mark for mark in marks if mark.is_relation)
    )


def test_each_kind_of_difference_has_its_name():
    same, wide, narrow, child, parent, own = E(0, 1, 11), E(3, 5, 2), E(4, 5, 2), E(7, 7, 12), E(7, 7, 1), E(9, 9, 3)
    found = compare(marked(same, wide, child), marked(same, narrow, parent, own), apart).entities
    assert [(pair.likeness, pair.one, pair.other, pair.apart) for pair in found] == [
        ("same", same, same, 0),
        ("span", wide, narrow, 0),
        ("label", child, parent, 1),
        ("only", None, own, 0),
    ]


def test_nested_and_stacked_marks_are_paired_with_their_like():
    outer, inner, stacked, wider = E(0, 3, 1), E(1, 2, 1), E(0, 3, 2), E(0, 2, 1)
    assert likenesses(marked(outer, inner, stacked), marked(outer, inner, stacked)) == [
        ("same", outer, outer),
        ("same", stacked, stacked),
        ("same", inner, inner),
    ]
    # The outer ones are the same, so that what is left of one person goes with what is left of the other.
    assert likenesses(marked(outer, inner), marked(outer, wider)) == [("same", outer, outer), ("span", inner, wider)]


def test_relations_are_compared_where_their_ends_are_paired():
    a, b, c, wide = E(0, 0, 1), E(2, 2, 2), E(4, 4, 3), E(2, 3, 2)
    one = marked(a, b, c, R(a, b, 7), R(b, c, 7), R(a, c, 7))
    other = marked(a, wide, c, R(a, wide, 7), R(c, wide, 7))
    relations = compare(one, other, apart).relations
    assert [(pair.likeness, pair.one, pair.other, pair.has_ends) for pair in relations] == [
        ("ends", R(a, b, 7), R(a, wide, 7), True),
        ("label", R(b, c, 7), R(c, wide, 7), True),
        ("only", R(a, c, 7), None, True),
    ]
    lonely = compare(marked(a, b, R(a, b, 7)), marked(a), apart).relations
    assert [(pair.likeness, pair.has_ends) for pair in lonely] == [("only", False)]


# --- Planted differences -----------------------------------------------------------------------------------------------

# Places stand so far apart that only what is planted at one of them can be compared; labels of a branch share their first digit.
PLACES = st.lists(st.sampled_from([*Likeness, "other_only"]), min_size=1, max_size=25)


@given(PLACES, st.randoms(use_true_random=False))
def test_all_planted_differences_are_found_and_no_others(kinds, random):
    one, other, planted = [], [], []
    for number, kind in enumerate(kinds):
        start = 12 * number
        a, b, anchor = E(start, start + 2, random.choice([1, 11, 12])), None, E(start + 6, start + 6, 5)
        if kind == "same":
            b = a
        elif kind == "span":
            b = random.choice([a._replace(end=a.end + 1), a._replace(start=a.start + 1), a._replace(end=a.end - 2)])
        elif kind == "label":
            b = a._replace(label=random.choice([2, 21, 13]))
        elif kind == "ends":  # a relation whose end is placed otherwise
            b = a._replace(end=a.end + 1)
            one += [anchor, R(a, anchor, 8)]
            other += [anchor, R(b, anchor, 8)]
            planted += [("same", anchor, anchor), ("span", a, b), ("ends", R(a, anchor, 8), R(b, anchor, 8))]
        if kind == "other_only":
            a, b = None, a
        one += [a] if a else []
        other += [b] if b else []
        if kind != "ends":
            planted.append(("only" if kind == "other_only" else kind, a, b))
    found = likenesses(marked(*one), marked(*other))
    assert set(found) == set(planted) and len(found) == len(planted)


ENTITIES = st.builds(lambda start, more, label: E(start, start + more, label), *map(st.integers, (0, 0, 1), (9, 3, 4)))


@st.composite
def somebody(draw) -> Marked:
    entities = draw(st.frozensets(ENTITIES, max_size=8))
    ends = st.tuples(*[st.sampled_from(sorted(entities))] * 2) if entities else st.nothing()
    pairs = draw(st.lists(ends.filter(lambda pair: pair[0] != pair[1]), max_size=4)) if len(entities) > 1 else []
    return Marked(entities, frozenset(R(*pair, draw(st.integers(7, 8))) for pair in pairs))


@given(somebody(), somebody())
def test_every_mark_is_paired_once_whoever_is_named_first(one, other):
    compared = compare(one, other, apart)
    for pairs, own, theirs in zip(compared, one, other, strict=True):
        assert sorted(pair.one for pair in pairs if pair.one) == sorted(own)
        assert sorted(pair.other for pair in pairs if pair.other) == sorted(theirs)
        assert {pair.one for pair in pairs if pair.likeness == "same"} >= (
            own & theirs if own and not own & one.relations else set()
        )
    turned = compare(other, one, apart)
    for pairs, back in zip(compared, turned, strict=True):
        assert {(pair.likeness, pair.one, pair.other) for pair in pairs} == {
            (pair.likeness, pair.other, pair.one) for pair in back
        }


@given(somebody())
def test_who_marks_the_same_agrees_in_everything(one):
    assert all(likeness == "same" for likeness, *_ in likenesses(one, one))


@given(ENTITIES, ENTITIES, st.integers(1, 9))
def test_a_mark_can_be_read_from_what_it_says(source, target, label):
    assert read_mark(str(source)) == source
    assert read_mark(str(R(source, target, label))) == R(source, target, label)


# --- The gold ----------------------------------------------------------------------------------------------------------


ALL = TakeOverRule("all")


def deliberate(voices, made=(), stored=None, rule=ALL, judge=None) -> Deliberation:
    groups = groups_of(voices, apart)
    return Deliberation(
        groups, len(voices), made, stored or settle(made), rule=rule, is_on=lambda pk: True, judge=judge
    )


VOICES = st.lists(somebody(), min_size=2, max_size=4).map(
    lambda all: [Voice(n, each) for n, each in enumerate(all, start=1)]
)
RULES = st.sampled_from([TakeOverRule("all"), TakeOverRule("majority"), TakeOverRule("least", 2)])


def decide_all(voices, order, choose, rule) -> tuple[list[Ruling], Deliberation]:
    made: list[Ruling] = []
    for group in order:
        made += rulings(group, choose(group), str(len(made)))
    left = deliberate(voices, made, rule=rule)
    made += left.rulings_by_rule()
    return made, deliberate(voices, made, rule=rule)


@settings(max_examples=60)
@given(VOICES, RULES, st.randoms(use_true_random=False))
def test_the_order_of_decisions_makes_no_difference(voices, rule, random):
    groups = groups_of(voices, apart)
    chosen = {
        group: options_chosen(group, random.choice(["1", "both", "neither", str(len(group.options))]))
        for group in groups
    }
    decided = random.sample(groups, random.randint(0, len(groups)))
    golds = []
    for _ in range(3):
        random.shuffle(decided)
        made, after = decide_all(voices, decided, chosen.get, rule)
        golds.append((settle(made), {(each.group, each.state) for each in after.standings}))
    assert golds[0] == golds[1] == golds[2]


@settings(max_examples=60)
@given(VOICES, RULES)
def test_what_the_rule_takes_over_is_what_one_would_choose_by_hand(voices, rule):
    by_rule = deliberate(voices, rule=rule)
    by_hand: list[Ruling] = []
    while left := deliberate(voices, by_hand, rule=rule).by_rule:
        group, option = left[0]
        by_hand += rulings(group, options_chosen(group, str(group.options.index(option) + 1)), str(len(by_hand)))
    assert settle(by_hand) == by_rule.gold
    counts = {mark: sum(mark in (*own.entities, *own.relations) for _, own in voices) for mark in by_rule.gold.entities}
    assert all(rule.takes(count, len(voices)) for count in counts.values())


def test_relations_follow_their_ends():
    a, b, wide = E(0, 0, 1), E(2, 2, 2), E(2, 3, 2)
    voices = [Voice(1, marked(a, b, R(a, b, 7))), Voice(2, marked(a, wide, R(a, wide, 7)))]
    first = deliberate(voices)
    ends, relation = first.standings[1], first.standings[2]
    assert (ends.state, relation.state) == (GroupState.OPEN, GroupState.WAITS)
    for choice, gold in (("1", [a, b, R(a, b, 7)]), ("2", [a, wide, R(a, wide, 7)]), ("neither", [a])):
        made = rulings(ends.group, options_chosen(ends.group, choice))
        after = deliberate(voices, made)
        assert after.gold == marked(*gold)
        assert after.standings[2].state == (GroupState.FALLS if choice == "neither" else GroupState.AGREED)
        assert not after.disputes


def test_a_minority_does_not_make_a_dispute_of_what_is_taken_over():
    a, b, c = E(0, 0, 1), E(0, 0, 12), E(3, 3, 2)
    voices = [Voice(1, marked(a)), Voice(2, marked(a)), Voice(3, marked(b, c))]
    states = [
        (each.group.options[0].mark, each.state) for each in deliberate(voices, rule=TakeOverRule("majority")).standings
    ]
    assert states == [(a, GroupState.AGREED), (c, GroupState.OPEN)]
    assert [each.state for each in deliberate(voices).standings] == [GroupState.OPEN, GroupState.OPEN]


def test_every_order_of_two_decisions_about_one_mark_ends_with_the_last():
    a, b = E(0, 0, 1), E(0, 0, 2)
    [group] = groups_of([Voice(1, marked(a)), Voice(2, marked(b))], apart)
    for first, second in permutations(["1", "2", "neither", "both"], 2):
        made = [*rulings(group, options_chosen(group, first), 1), *rulings(group, options_chosen(group, second), 2)]
        assert settle(made) == marked(*(option.mark for option in options_chosen(group, second)))
