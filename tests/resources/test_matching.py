"""Where forms occur and what is suggested there, against a second implementation that tries everything."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resources.matching import EntityForm, Matcher, RelationForm, SuggestedEntity, SuggestedRelation
from tests.soak import amount

# Few tokens, so that forms meet, contain and repeat each other; some differ in their case only.
TOKENS = st.sampled_from(["a", "b", "c", "A", "ß", "SS"])
FORMS = st.builds(EntityForm, st.lists(TOKENS, min_size=1, max_size=4).map(tuple), st.integers(1, 3), st.booleans())
RELATIONS = st.builds(RelationForm, FORMS, FORMS, st.integers(0, 4), st.integers(11, 12))


def naive(tokens, entities, relations):
    """Every form at every place, then every pair of places."""

    def occurs(form, start):
        words = tokens[start : start + len(form.tokens)]
        fold = str.casefold if form.ignores_case else str
        return list(map(fold, words)) == list(map(fold, form.tokens))

    forms = [*entities, *(end for relation in relations for end in (relation.source, relation.target))]
    places = {(s, s + len(form.tokens) - 1) for form in forms for s in range(len(tokens)) if occurs(form, s)}
    taken = []
    for start, end in sorted(places, key=lambda place: (place[0] - place[1], place[0])):
        if all(end < other_start or start > other_end for other_start, other_end in taken):
            taken.append((start, end))

    def is_at(form, place):
        return len(form.tokens) == place[1] - place[0] + 1 and occurs(form, place[0])

    found = {SuggestedEntity(*place, form.label) for place in taken for form in entities if is_at(form, place)}
    related = {
        SuggestedRelation(
            SuggestedEntity(*one, relation.source.label), SuggestedEntity(*other, relation.target.label), relation.label
        )
        for one in taken
        for other in taken
        for relation in relations
        if is_at(relation.source, one) and is_at(relation.target, other) and other[0] - one[1] - 1 == relation.offset
    }
    return found, related


@settings(max_examples=amount(100, 20_000), deadline=None)
@given(st.lists(TOKENS, max_size=25), st.lists(FORMS, max_size=12), st.lists(RELATIONS, max_size=6))
def test_it_finds_what_trying_everything_finds(tokens, entities, relations):
    found = Matcher(entities, relations).suggestions(tokens)
    assert (set(found.entities), set(found.relations)) == naive(tokens, entities, relations)
    assert len(set(found.entities)) == len(found.entities) and len(set(found.relations)) == len(found.relations)


def forms(*texts):
    return [EntityForm(text.split(), label) for label, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("entities", "text", "expected"),
    [
        (["air", "air conditioner"], "air conditioner air", [(0, 1, 1), (2, 2, 0)]),  # the longest first
        (["a b", "b c"], "a b c", [(0, 1, 0)]),  # then the leftmost
        (["a b", "b c d", "d"], "a b c d", [(1, 3, 1)]),  # what lost its place comes in nowhere else
        (["a a"], "a a a a a", [(0, 1, 0), (2, 3, 0)]),
        (["pump", "pump"], "pump", [(0, 0, 0), (0, 0, 1)]),  # all labels of the form
        (["pump"], "Pump", []),
    ],
)
def test_which_of_several_forms_is_taken(entities, text, expected):
    assert Matcher(forms(*entities), []).suggestions(text.split()).entities == expected


def test_the_ends_of_a_relation_are_suggested_only_with_it():
    replace, pump = EntityForm(["replace"], 1), EntityForm(["pump"], 2)
    matcher = Matcher([], [RelationForm(replace, pump, 1, 3)])
    assert matcher.suggestions(["replace", "the", "pump"]) == ([], [((0, 0, 1), (2, 2, 2), 3)])
    assert matcher.suggestions(["replace", "pump", "the"]) == ([], [])
    assert matcher.suggestions(["pump", "the", "replace"]) == ([], [])
