import re
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from datasets.tokenising import TOKENISERS, offsets_of, punkt
from tests.soak import amount
from tests.threads import at_once

# What the rules of Punkt and of the word tokeniser are about, and what regular expressions disagree about.
PIECES = (
    """ " '' ' `` ` . .. ... ? ! , : ; ) ( ] [ } { < > » « ” “ ’ ‘ „ -- - — _ * # $ % & @ / a b A x the The word. """
    """cannot Cannot cannot2 gonna wanna gımme GİMME d'ye more'n 'tis 'twas don't n't N'T 's 'S 'll 're s' """
    """Mr Dr. e.g. etc. U.S. J. 3 3,4 1.5 1. No. ² ³ İ ı ſ K ß Σ ς 中 т é"""
)
NASTY = PIECES.split(" ")
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\xa0", "\u2028", "\x1c", "\x85", "\u0301", "\u200d", "\ud800", "\x00"]
anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
nasty = st.lists(st.sampled_from(NASTY) | st.sampled_from(SPACES) | anything, max_size=25).map("".join)
nasty_words = st.lists(st.sampled_from(NASTY), max_size=12).map(" ".join)
lines = st.one_of(nasty, nasty_words, anything)
batches = st.lists(lines, max_size=8)
tokenisers = pytest.mark.parametrize("name", TOKENISERS)


def typed(line):
    """With the apostrophes of a keyboard inside words."""
    return re.sub(r"\b’\b", "'", line)


def plain(line):
    """The tokens as NLTK finds them: sentences by Punkt, then words."""
    sentences = punkt._nltk().sentences.span_tokenize(typed(line))
    words = [word for start, end in sentences for word in punkt._words(typed(line)[start:end])]
    return list(punkt._as_written(words, line))


def spans(line):
    """The places of the tokens, by NLTK alone."""
    line = typed(line)
    splitter, words = punkt._nltk().sentences, NLTKWordTokenizer()
    return [
        (start + begin, start + end)
        for start, stop in splitter.span_tokenize(line)
        for begin, end in words.span_tokenize(line[start:stop])
    ]


def tokens(name, line):
    return TOKENISERS[name].cut([line])[0]


@pytest.mark.parametrize(
    ("name", "end"), [("whitespace", ["Ulm,", "Germany."]), ("punkt", ["Ulm", ",", "Germany", "."])]
)
def test_punctuation_is_attached_or_a_token(name, end):
    start = ["Albert", "Einstein", "was", "born", "in"]
    assert tokens(name, "Albert Einstein was born in Ulm, Germany.") == start + end


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Dr. Who met Mr. Smith.", "Dr. Who met Mr. Smith ."),
        ("It is late. Go home!", "It is late . Go home !"),
        ("J. S. Bach lived in Leipzig.", "J. S. Bach lived in Leipzig ."),
        ('He said "no" (twice).', 'He said " no " ( twice ) .'),
        ("''Quoted'' and ``quoted``", "'' Quoted '' and `` quoted ``"),
        ("I can't, you cannot, we're gonna.", "I ca n't , you can not , we 're gon na ."),
        ("I don’t, you can’t: it’s O’Brien’s ‘own’.", "I do n’t , you ca n’t : it ’s O’Brien ’s ‘ own ’ ."),
        ("Pay 1,000.50 at 10:30; or e.g. $5?", "Pay 1,000.50 at 10:30 ; or e.g. $ 5 ?"),
        ("One.\tTwo.\xa0Three.", "One . Two . Three ."),
        ("Done.", "Done ."),
    ],
)
def test_punkt_examples(line, expected):
    assert tokens("punkt", line) == expected.split()


@tokenisers
@pytest.mark.parametrize("line", ["", " ", "\n\t", "\u2028", "\xa0\x1c"])
def test_no_token_in_blank_text(name, line):
    assert TOKENISERS[name].cut([line]) == [[]]
    assert TOKENISERS[name].cut([]) == []


@given(lines)
def test_whitespace_is_str_split(line):
    assert tokens("whitespace", line) == line.split()


@tokenisers
@given(line=lines)
def test_tokens_are_all_but_white_space_in_order(name, line):
    found = tokens(name, line)
    assert all(found)
    assert "".join(found) == "".join(line.split())
    assert not any(char.isspace() for token in found for char in token)


@given(line=lines)
def test_offsets_are_where_the_tokens_were_cut(line):
    assert offsets_of(line.split(), line) == [match.span() for match in re.finditer(r"\S+", line)]
    assert offsets_of(tokens("punkt", line), line) == spans(line)


@given(st.text("ab ", max_size=8), st.lists(st.text("ab ", min_size=1, max_size=3), max_size=4))
@example("a  ", ["a", " "])
@example("a b c", ["a b", "c"])
def test_offsets_are_the_first_from_left_to_right(text, some):
    expected, end = [], 0
    for token in some:
        start = text.find(token, end)
        expected.append((start, end := start + len(token)))
        if start < 0:
            expected = None
            break
    assert offsets_of(some, text) == expected


@tokenisers
@given(batch=batches)
def test_a_line_is_the_same_alone_and_among_others(name, batch):
    together = TOKENISERS[name].cut(batch)
    assert together == [TOKENISERS[name].cut([line])[0] for line in batch]
    assert TOKENISERS[name].cut(batch[::-1]) == together[::-1]


@pytest.mark.soak
@settings(max_examples=amount(500, 20_000))
@given(batches)
def test_fast_punkt_is_plain_punkt(batch):
    assert punkt.tokenise(batch) == [plain(line) for line in batch]


@given(lines)
def test_plain_punkt_is_nltk(line):
    assert plain(line) == [line[start:end] for start, end in spans(line)]


@given(
    line=st.lists(
        st.sampled_from(["don’t", "can’t", "it’s", "O’Brien’s", "dogs", "’s", "’", "‘x’", ".", '"']), max_size=9
    )
)
def test_apostrophes_cut_alike_however_they_are_typeset(line):
    text = " ".join(line)
    assert list(map(len, tokens("punkt", text))) == list(map(len, tokens("punkt", typed(text))))
    assert "".join(tokens("punkt", text)) == "".join(text.split())


def test_more_odd_chunks_than_fit_in_one_call():
    line = "see " + " ".join(f"<{i}>" for i in range(2 * punkt._AT_ONCE + 1)) + " there"
    assert punkt.tokenise([line]) == [plain(line)]


def test_long_text_is_no_problem():
    for piece in [".", "!", "'", '"', "(", ". ", "a.", "' ", ".\xa0"]:
        text = piece * (20_000 // len(piece))
        assert "".join(tokens("punkt", text)) == "".join(text.split())


def test_punkt_learns_nothing():
    parameters = punkt._nltk().sentences._params
    before = len(parameters.abbrev_types)
    punkt.tokenise([f"The xyz{i}. Next is Xyz{i}. A. Xyz{i}, he said." for i in range(50)])
    assert len(parameters.abbrev_types) == before
    assert not parameters.ortho_context
    assert not parameters.collocations
    assert not parameters.sent_starters


def test_threads_agree():
    batch = [f'Dr. A{i} said "it\'s {i}." Then (s)he left, e.g. to U.S. cities...' for i in range(200)]
    expected = [plain(line) for line in batch]
    results = at_once(*[partial(punkt.tokenise, batch)] * 4)
    assert results == [expected] * 4


def test_abbreviations_are_written_as_punkt_wants_them():
    path = punkt.Path(punkt.__file__).with_name("abbreviations.txt")
    abbreviations = path.read_text("utf-8").splitlines()
    assert abbreviations == sorted(set(abbreviations))
    assert all(word == word.lower().strip().rstrip(".") != "" for word in abbreviations)
