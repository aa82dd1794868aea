import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service import streams
from annotation_service.inputs import Refused, decode
from annotation_service.inputs import lines as lines_of
from annotation_service.streams import Elements, Line, blocks, lines

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)
)


def cut(text, sizes):
    """The text in pieces of the given sizes, again and again."""
    pieces, start = [], 0
    while start < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[start : start + size])
        start += size
    return pieces


def read(data, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK_BYTES", size)
        return "".join(blocks(io.BytesIO(data)))


@given(TEXT, st.integers(1, 9), st.booleans())
def test_blocks_join_to_the_text_with_one_kind_of_line_end(text, size, mark):
    data = ("\ufeff" * mark + text).encode()
    wanted = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    assert read(data, size) == wanted


PIECES = [
    b"a",
    b"\n",
    b"\r",
    b"\r\n",
    "é".encode(),
    "😀".encode(),
    b"\xff",
    b"\xe2\x82",
    b"\0",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
]


@given(st.lists(st.sampled_from(PIECES)).map(b"".join) | st.binary(max_size=40), st.integers(2, 9))
def test_a_stream_refuses_what_the_gate_refuses_at_the_same_line(data, size):
    def verdict(function):
        try:
            return function()
        except Refused as error:
            return error.problems[0].place.partition(",")[0], "empty" in error.problems[0].text

    whole = verdict(lambda: decode(data).replace("\r\n", "\n").replace("\r", "\n"))
    if isinstance(whole, tuple) and (whole[1] or b"\0" in data):
        return  # a stream comes to NUL before it sees what follows, and does not mind that nothing comes
    assert verdict(lambda: read(data, size)) == whole


@given(TEXT, st.lists(st.integers(1, 9), min_size=1))
def test_lines_are_those_of_the_whole_text(text, sizes):
    text = text.replace("\r", "\n")
    assert list(lines(cut(text, sizes), 1000)) == [Line(n, line, len(line)) for n, line in enumerate(lines_of(text), 1)]


@given(st.lists(st.text("ab\n")), st.lists(st.integers(1, 5), min_size=1))
def test_lines_over_the_limit_have_only_their_length(texts, sizes):
    text = "\n".join(texts)
    wanted = [Line(n, line if len(line) <= 3 else "", len(line)) for n, line in enumerate(lines_of(text), 1)]
    assert list(lines(cut(text, sizes), 3)) == wanted


@given(st.lists(JSON), st.lists(st.integers(1, 20), min_size=1), st.sampled_from([None, 0, 2]), st.booleans())
def test_elements_are_those_of_the_list(values, sizes, indent, ascii):
    text = json.dumps(values, indent=indent, ensure_ascii=ascii)
    elements = list(Elements(cut(f"\n {text}\n", sizes), 100_000))
    assert [json.loads(element.text) for element in elements] == values
    assert [element.number for element in elements] == list(range(1, len(values) + 1))
    whole = f"\n {text}\n".split("\n")
    for element in elements:
        assert (
            element.text.split("\n")[0]
            == whole[element.line - 1][element.column - 1 :][: len(element.text.split("\n")[0])]
        )


@given(st.text('[]{}",:\\ a1\n', max_size=60), st.lists(st.integers(1, 9), min_size=1))
def test_what_is_no_list_is_refused_or_shows_when_it_is_parsed(text, sizes):
    def parsed():
        try:
            return [json.loads(element.text) for element in Elements(cut(text, sizes), 1000)]
        except (Refused, json.JSONDecodeError):
            return "refused"

    try:
        wanted = json.loads(text)
    except json.JSONDecodeError:
        wanted = None
    assert parsed() == (wanted if isinstance(wanted, list) else "refused")


@pytest.mark.parametrize(
    "text",
    ['["' + "x" * 5000, "[" * 5000, '[{"a": ' * 1000, '["' + '\\"' * 3000, "[1" + " " * 5000 + "[", "[" + "}" * 5000],
)
def test_an_element_that_does_not_end_is_given_up(text):
    read = []

    def pieces():
        for piece in cut(text * 20, [100]):
            read.append(piece)
            yield piece

    with pytest.raises(Refused) as refused:
        list(Elements(pieces(), 1000))
    assert refused.value.problems[0].place.startswith("item 1, line 1, column ")
    assert len(read) < 20
