import json
import re
import sys
from dataclasses import asdict, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasets.importing.items import NewItem
from datasets.kinds import DatasetKind
from datasets.preprocessing import OPERATIONS, TEXT_OPERATIONS, Counts, Preprocessing, _search_of_moving
from datasets.tokenising import TOKENISERS
from datasets.views.uploads import PREVIEW_ROWS, preview_lines
from tests.soak import amount

PIECES = [
    "ΑΣ",
    "Σ",
    "İ",
    "i̇",
    "I",
    "ı",
    "ß",
    "a",
    "A",
    "$",
    "#",
    ".",
    ",",
    "-",
    '"',
    "''",
    "don't",
    "Dr.",
    "\u0301",
    "²",
]
SPACES = [" ", " ", "  ", "\t", "\xa0", "\u2028", "\x1c"]
anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=10)
lines = st.lists(st.sampled_from(PIECES) | st.sampled_from(SPACES) | anything, max_size=15).map("".join)
preprocessings = st.builds(
    Preprocessing,
    lowercase=st.booleans(),
    remove_characters=st.sampled_from(["", "$", "$#.", " ", "Σ", "İ\u0301", "[]^-\\", "\t-a"]) | anything,
    remove_duplicates=st.sampled_from(["", "identical", "spacing"]),
    tokeniser=st.sampled_from(sorted(TOKENISERS)),
)
tokenisers = pytest.mark.parametrize("tokeniser", TOKENISERS)


def prepare(text_lines, **operations):
    counts = Counts()
    return list(Preprocessing(**operations).prepare(enumerate(text_lines), counts)), counts


def offsets(prepared):
    return NewItem("", prepared.original, prepared.tokens, prepared.found).offsets


def is_cleaning_local(operations, token, original):
    """Whether `token` is what the operations make of `original`, said in another way than the code does."""
    kept = "".join(char for char in original if char not in operations.remove_characters)
    return token == (kept.lower() if operations.lowercase else kept)


# Duplicates

OIL = ["replace engine oil", "REPLACE ENGINE OIL", "$$$replace engine oil"]


@pytest.mark.parametrize(
    ("operations", "kept"),
    [
        ({}, [0, 1, 2]),
        ({"lowercase": True}, [0, 2]),
        ({"remove_characters": "$"}, [0, 1]),
        ({"lowercase": True, "remove_characters": "$"}, [0]),
    ],
)
def test_duplicates_are_found_after_cleaning(operations, kept):
    items, counts = prepare(OIL, remove_duplicates="identical", **operations)
    assert [item.number for item in items] == kept
    assert counts.duplicates == 3 - len(kept)


def test_duplicates_stay_unless_removed():
    items, counts = prepare(OIL, lowercase=True, remove_characters="$")
    assert len(items) == 3
    assert counts.duplicates == 0


@pytest.mark.parametrize(("compared", "kept"), [("identical", [0, 1, 2, 3]), ("spacing", [0, 3])])
def test_duplicates_are_identical_or_the_same_but_for_white_space_and_both_are_counted(compared, kept):
    items, counts = prepare([" a\tb", "a  b ", "a b", "ab", "a b", " a\tb"], remove_duplicates=compared)
    assert [item.number for item in items] == kept
    assert (counts.identical, counts.respaced, counts.duplicates) == (2, 2, 6 - len(kept))


@given(
    lines=st.lists(st.text("ab \t\xa0", max_size=4), max_size=8), known=st.lists(st.text("ab ", max_size=4), max_size=3)
)
@pytest.mark.parametrize("compared", ["identical", "spacing"])
def test_what_is_said_of_duplicates_is_so(lines, known, compared):
    counts = Counts()
    kept = [item.number for item in Preprocessing(remove_duplicates=compared).prepare(enumerate(lines), counts, known)]
    wanted, identical, respaced = [], 0, 0
    for number, line in enumerate(lines):
        before = [each for each in (*known, *lines[:number]) if each.split()]
        is_identical = line in before
        is_respaced = not is_identical and line.split() in [each.split() for each in before]
        identical += is_identical
        respaced += is_respaced
        if line.split() and not is_identical and not (is_respaced and compared == "spacing"):
            wanted.append(number)
    assert kept == wanted
    assert (counts.identical, counts.respaced) == (identical, respaced)


def test_duplicates_are_remembered_across_batches():
    items, counts = prepare((f"line {i % 3000}" for i in range(6000)), remove_duplicates="identical")
    assert [item.number for item in items] == list(range(3000))
    assert counts == Counts(lines=6000, identical=3000, duplicates=3000, items=3000, tokens=6000)


# Counts


@tokenisers
def test_lines_left_without_a_token_are_counted(tokeniser):
    items, counts = prepare(
        ["", " \t", "$$", "a b", "A b", "", "$"],
        tokeniser=tokeniser,
        remove_characters="$",
        lowercase=True,
        remove_duplicates="identical",
    )
    assert [item.original for item in items] == ["a b"]
    assert counts == Counts(lines=7, identical=1, duplicates=1, empty=5, items=1, tokens=2)


def test_line_numbers_start_at_zero_even_with_used_counts():
    counts = Counts()
    for _ in range(2):
        assert [item.number for item in Preprocessing().prepare(enumerate(["a", "", "b"]), counts)] == [0, 2]
    assert counts == Counts(lines=6, empty=2, items=4, tokens=4)


def test_prepare_is_lazy():
    endless = (f"line {i}" for i in iter(int, 1))
    assert next(Preprocessing().prepare(enumerate(endless), Counts())).tokens == ["line", "0"]


# Offsets


@pytest.mark.parametrize(
    ("original", "operations", "expected"),
    [
        ("An  Oil-Leak ", {}, [("An", 0, 2), ("Oil-Leak", 4, 12)]),
        ("An Oil", {"lowercase": True}, [("an", 0, 2), ("oil", 3, 6)]),
        ("$a$b$ c$", {"remove_characters": "$"}, [("ab", 1, 4), ("c", 6, 7)]),
        ("a b c", {"remove_characters": " "}, [("abc", 0, 5)]),
        ("İİ x", {"lowercase": True}, [("i̇i̇", 0, 2), ("x", 3, 4)]),
        ("ΑΣ ΣΑ", {"lowercase": True}, [("ας", 0, 2), ("σα", 3, 5)]),
        ("ΑΣ$Α", {"lowercase": True, "remove_characters": "$"}, [("ασα", 0, 4)]),
        ("a-b^c]", {"remove_characters": "^-]"}, [("abc", 0, 5)]),
    ],
)
def test_offsets_lead_to_the_line_as_it_came(original, operations, expected):
    [item], _ = prepare([original], **operations)
    assert item.original == original
    assert [(token, *span) for token, span in zip(item.tokens, offsets(item), strict=True)] == expected


def test_offsets_of_an_operation_that_may_move_every_character(monkeypatch):
    doubled = {"apply": lambda text, _: re.sub(r"\d", "00", text), "moving": None}
    monkeypatch.setitem(OPERATIONS, "lowercase", replace(OPERATIONS["lowercase"], **doubled))
    monkeypatch.setitem(TEXT_OPERATIONS, "lowercase", doubled["apply"])
    _search_of_moving.cache_clear()
    [item], _ = prepare(["#pump 12 A3 x"], lowercase=True, remove_characters="#")
    assert (item.tokens, offsets(item)) == (["pump", "0000", "A00", "x"], [(1, 5), (6, 8), (9, 11), (12, 13)])
    _search_of_moving.cache_clear()


def test_tokens_sharing_a_character_become_one():
    spans = Preprocessing(lowercase=True)._spans_in_original("aİb c", [(0, 2), (2, 4), (5, 6)])
    assert spans == [(0, 3), (4, 5)]


@pytest.mark.soak
@settings(max_examples=amount(300, 20_000))
@given(st.lists(lines, max_size=6), preprocessings)
@example(["ΑΣ.ΑΣ, 'ΑΣ'"], Preprocessing(lowercase=True, tokeniser="punkt"))
@example(["İ'İ İ.$"], Preprocessing(lowercase=True, remove_characters="$", tokeniser="punkt"))
def test_every_token_is_its_cleaned_slice(text_lines, operations):
    counts = Counts()
    items = list(operations.prepare(enumerate(text_lines), counts))
    assert counts.lines == len(text_lines) == counts.duplicates + counts.empty + counts.items
    assert (counts.items, counts.tokens) == (len(items), sum(len(item.tokens) for item in items))
    for item in items:
        assert item.original == text_lines[item.number]
        assert len(item.tokens) == len(offsets(item)) > 0
        previous_end = 0
        for token, (start, end) in zip(item.tokens, offsets(item), strict=True):
            assert previous_end <= start < end <= len(item.original)
            previous_end = end
            piece = item.original[start:end]
            assert operations.clean(piece) == token != ""
            assert is_cleaning_local(operations, token, piece)
            assert operations.clean(piece[0]) and operations.clean(piece[-1])
            assert not any(char.isspace() for char in token)
        joined = operations.clean(item.original).split()
        assert "".join(item.tokens).replace("ς", "σ") == "".join(joined).replace("ς", "σ")


@given(st.lists(lines, max_size=6), preprocessings)
def test_a_line_is_prepared_the_same_alone_and_among_others(text_lines, operations):
    for item in operations.prepare(enumerate(text_lines), Counts()):
        [alone] = operations.prepare([(0, item.original)], Counts())
        assert alone == item._replace(number=0)


def test_the_characters_that_lower_case_moves_are_known():
    characters = map(chr, range(sys.maxunicode + 1))
    assert [char for char in characters if len(char.lower()) != 1] == ["İ"]


@pytest.mark.parametrize(("before", "after"), [("a", ""), ("A.", ".a")])
def test_only_the_sigma_depends_on_its_neighbours(before, after):
    low, high = before.lower(), after.lower()
    odd = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if f"{before}{char}{after}".lower() != low + char.lower() + high
    ]
    assert odd in (["Σ"], [])


# Words for pages, JSON


def test_operations_in_words():
    everything = Preprocessing(lowercase=True, remove_characters="$#", remove_duplicates="identical", tokeniser="punkt")
    assert everything.operations() == ["removed “$#”", "lower-cased", "identical duplicates removed", "Punkt tokens"]
    assert Preprocessing().operations() == ["whitespace tokens"]
    assert Preprocessing(remove_characters="$\t").operations()[0] == "removed “$ U+0009 ”"


@given(preprocessings)
def test_json_round_trip(operations):
    assert Preprocessing.of(json.loads(json.dumps(asdict(operations))), DatasetKind.STANDARD) == operations


def test_json_defaults_and_errors():
    with pytest.raises(ValueError, match="no tokeniser “spacy”"):
        Preprocessing(tokeniser="spacy")
    with pytest.raises(TypeError):
        Preprocessing(**{"stemming": True})


# Preview


def test_preview():
    text_lines = [*OIL, "", "Check, then go."]
    operations = Preprocessing(lowercase=True, remove_characters="$", remove_duplicates="identical", tokeniser="punkt")
    seen = preview_lines(list(enumerate(text_lines)), operations)
    assert seen["before"] == (4, 12, 10), "items, tokens, distinct tokens"
    assert seen["after"] == (2, 8, 8)
    rows = seen["rows"]
    assert [dropped for *_, dropped in rows] == ["", "duplicate", "duplicate", "empty", ""]
    assert rows[2] == (2, "$$$replace engine oil", "", [], "duplicate")
    assert rows[4] == (4, "Check, then go.", "check, then go.", ["check", ",", "then", "go", "."], "")


def test_preview_shows_some_rows_and_counts_all():
    seen = preview_lines([(i, f"a b{i}") for i in range(3000)], Preprocessing())
    assert [tokens for _, _, _, tokens, _ in seen["rows"]] == [["a", f"b{i}"] for i in range(PREVIEW_ROWS)]
    assert seen["before"] == seen["after"] == (3000, 6000, 3001)
