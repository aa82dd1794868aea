import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.alignment import DIFFERENT_WORDS, Alignment, common
from datasets.importing.items import NewItem
from datasets.preprocessing import Counts, Preprocessing
from tests.soak import amount

WORDS = ["pump", "Pump", "pumps", "oil", "the", "a", "I", "gear", "box", "gearbox", "😀", "İ", "don", "'t", "."]
texts = st.lists(st.sampled_from(WORDS) | st.text("ab", min_size=1, max_size=6), max_size=12)


def words(tokens, span):
    return tokens[span[0] : span[1] + 1] if span else None


def become(old, new):
    """What each word of a text has become."""
    found, new = Alignment.of(old.split(), new.split()), new.split()
    return [" ".join(words(new, place)) if place else None for place in found.places]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("gear box is borken", "gearbox is broken", ["gearbox", "gearbox", "is", "broken"]),
        ("gearbox leaks", "gear box leaks", ["gear box", "leaks"]),
        ("teh dog", "the big dog", ["the", "dog"]),
        ("speling misteak here", "spelling mistake here", ["spelling", "mistake", "here"]),
        ("THE PUMP LEAKS", "the pump leaks", ["the", "pump", "leaks"]),
        ("the cat sat", "an automobile stood", [None, None, None]),
        ("run 5 km", "run 7 km", ["run", None, "km"]),
        ("apple", "a", [None]),
    ],
)
def test_words_that_share_most_letters_are_corrected_and_others_are_gone(old, new, words):
    assert become(old, new) == words


def test_a_span_keeps_the_words_that_are_left_and_takes_in_what_came_between_them():
    found = Alignment.of(["a", "broken", "old", "pump", "leaks"], ["an", "old", "oil", "pump", "leaks"])
    assert found.span(1, 3) == (1, 3)
    assert (found.span(1, 1), found.unchanged(1, 1)) == (None, None)
    assert (found.unchanged(2, 3), found.unchanged(3, 4)) == (None, (3, 4))


@given(texts, texts)
def test_what_is_said_to_be_the_same_is_the_same_and_order_is_kept(old, new):
    found = Alignment.of(old, new)
    assert found == Alignment.of(old, new)
    places = [place for place in found.places if place]
    assert places == sorted(places) and all(one[1] <= other[1] for one, other in pairwise(places))
    for start in range(len(old)):
        for end in range(start, len(old)):
            if found.unchanged(start, end):
                assert words(new, found.span(start, end)) == old[start : end + 1]
            if span := found.span(start, end):
                assert 0 <= span[0] <= span[1] < len(new)


@given(texts)
def test_a_text_is_aligned_with_itself_one_for_one(tokens):
    found = Alignment.of(tokens, tokens)
    assert all(found.span(at, at) == (at, at) and found.unchanged(at, at) for at in range(len(tokens)))


@given(st.lists(st.sampled_from("ab"), max_size=9), st.lists(st.sampled_from("ab"), max_size=9))
def test_nothing_longer_is_common_than_what_is_found(old, new):
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, other in enumerate(new):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if one == other else max(lengths[i][j + 1], lengths[i + 1][j])
    found = common(old, new, DIFFERENT_WORDS)
    assert len(found) == lengths[-1][-1]
    assert all(old[i] == new[j] for i, j in found)
    assert all(old[i] == new[j] for i, j in common(old, new, 2))


def test_long_texts_of_the_same_word_and_of_none_that_is_left_are_aligned():
    same = Alignment.of(["a"] * 20_000, ["x", *["a"] * 9_999, "y", *["a"] * 10_001, "z"])
    assert None not in same.places
    draw = random.Random(1)
    old = ["".join(draw.choices("abcdef", k=5)) for _ in range(amount(2_000, 20_000))]
    assert len(Alignment.of(old, ["".join(draw.choices("uvwxyz", k=5)) for _ in old]).places) == len(old)


# --- Seeded edits --------------------------------------------------------------------------------------------------------


PIECES = [
    "pump",
    "leaks",
    "the",
    "Dr.",
    "don't",
    "3.5",
    "mm",
    "gear",
    "box",
    "😀",
    "👩‍🔧",
    "Σ",
    "İ",
    "x",
    "—",
    "(see",
    "fig.)",
    "*",
]


def edit(draw, text):
    """A text with one edit somewhere, and what of the text before stands unchanged before and behind it, in characters."""
    start = draw.randint(0, len(text))
    end = min(len(text), start + draw.choice([0, 0, 1, 1, 2, 5, 20, len(text)]))
    new = draw.choice(["", "", " ", draw.choice("abcİ😀.,'"), draw.choice(PIECES), " ".join(draw.choices(PIECES, k=5))])
    return text[:start] + new + text[end:], start, len(text) - end


@pytest.mark.soak
def test_marks_whose_words_nobody_touched_still_carry_them_after_any_edit():
    draw = random.Random(24)
    for number in range(amount(500, 100_000)):
        preprocessing = Preprocessing(
            tokeniser=draw.choice(["whitespace", "punkt"]),
            lowercase=draw.random() < 0.3,
            remove_characters=draw.choice(["", "", "*", "-'"]),
        )
        old = " ".join(draw.choices(PIECES, k=draw.randint(1, 30)))
        new, before, behind = edit(draw, old)
        cut = [cut_text(preprocessing, text) for text in (old, new)]
        (old_tokens, old_places), (new_tokens, _) = cut
        found = Alignment.of(old_tokens, new_tokens)
        if preprocessing.tokeniser == "whitespace":
            untouched = sum(end < before or start > len(old) - behind for start, end in old_places)
            assert sum(found.unchanged(at, at) is not None for at in range(len(old_tokens))) >= untouched, (
                number,
                old,
                new,
            )
        for start in range(len(old_tokens)):
            end = min(len(old_tokens) - 1, start + draw.randint(0, 4))
            if found.unchanged(start, end):
                assert words(new_tokens, found.span(start, end)) == old_tokens[start : end + 1], (number, old, new)


def cut_text(preprocessing, text):
    """Its tokens, and where they stand in it."""
    for _, tokens, found, _ in preprocessing.prepare([(1, text)], Counts()):
        return tokens, NewItem("", text, tokens, found).offsets
    return [], []
