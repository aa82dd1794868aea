import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service import inputs
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Refused, blocks, decode, lines_of, split_lines
from annotation_service.json_input import parse_json
from annotation_service.json_input.lists import Elements

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
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
        patch.setattr(inputs, "BLOCK_BYTES", size)
        return "".join(blocks(io.BytesIO(data)))


@given(TEXT, st.integers(1, 9), st.booleans())
def test_blocks_join_to_the_text_with_one_kind_of_line_end(text, size, mark):
    data = ("\ufeff" * mark + text).encode()
    wanted = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    assert read(data, size) == wanted


def test_a_byte_order_mark_of_utf_8_is_text_in_no_other_encoding():
    data = "\ufefftext".encode()
    assert "".join(blocks(io.BytesIO(data), "cp1252")) == Beginning(data, encoding="cp1252").text == "text"


def test_many_carriage_returns_are_read_block_by_block():
    """One by one, 400 kB of them took 7 s."""

    class Counted(io.BytesIO):
        reads = 0

        def read(self, size=-1):
            self.reads += 1
            return super().read(size)

    file = Counted(b"\r" * 10 * inputs.BLOCK_BYTES + b"\n")
    assert "".join(blocks(file)) == "\n" * 10 * inputs.BLOCK_BYTES
    assert file.reads <= 12


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

    whole = verdict(lambda: decode(data))
    if isinstance(whole, tuple) and (whole[1] or b"\0" in data):
        return  # a stream comes to NUL before it sees what follows, and does not mind that nothing comes
    assert verdict(lambda: read(data, size)) == whole


@given(TEXT, st.lists(st.integers(1, 9), min_size=1))
def test_lines_are_those_of_the_whole_text(text, sizes):
    text = text.replace("\r", "\n")
    assert list(lines_of(cut(text, sizes), 1000)) == [
        (n, line, len(line)) for n, line in enumerate(split_lines(text), 1)
    ]


@given(st.lists(st.text("ab\n")), st.lists(st.integers(1, 5), min_size=1))
def test_lines_over_the_limit_have_only_their_length(texts, sizes):
    text = "\n".join(texts)
    wanted = [(n, line if len(line) <= 3 else "", len(line)) for n, line in enumerate(split_lines(text), 1)]
    assert list(lines_of(cut(text, sizes), 3)) == wanted


SIZES = st.lists(st.integers(1, 20), min_size=1)


@given(st.lists(JSON), SIZES, st.sampled_from([None, 0, 2]), st.booleans())
def test_elements_are_those_of_the_list(values, sizes, indent, ascii):
    text = json.dumps(values, indent=indent, ensure_ascii=ascii)
    elements = list(Elements(cut(f"\n {text}\n", sizes), 100_000))
    assert [element.value for element in elements] == values
    assert [element.number for element in elements] == list(range(1, len(values) + 1))
    if indent is None:
        assert [element.length for element in elements] == [len(json.dumps(v, ensure_ascii=ascii)) for v in values]


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, 100]), SIZES)
def test_numbers_are_whole_wherever_a_block_ends(number, zeros, sizes):
    written = f"{'9' * zeros}{abs(number):.20e}"
    assert [e.value for e in Elements(cut(f"[{written},-{written} , 12345678]", sizes), 1000)] == [
        float(written),
        -float(written),
        12345678,
    ]


@given(
    st.lists(JSON, max_size=3),
    st.sampled_from(
        ["", "[1 2]", '{"a": 01}', "'x'", "[1,]", '"\\x"', "1 2", "nul", '{"b": "}", "a": [}]', '{"a": 1}}', "NaN"]
    )
    | st.sampled_from(["[1, 1e999]", '[{"a": 1, "a": 2}]', "9" * 25, '"\\ud800"', '"\\u0000"'])
    | st.sampled_from([300, 5000]).map(lambda depth: "[" * depth + "]" * depth),
    SIZES,
)
def test_a_refused_element_has_its_place_and_the_others_follow(values, bad, sizes):
    before = "".join(f"{json.dumps(value)},\n" for value in values)
    text = f"[\n{before}  {bad}, 1]"
    *first, refused, last = Elements(cut(text, sizes), 100_000)
    assert ([element.value for element in first], refused.value, last.value) == (values, None, 1)
    with pytest.raises(Refused) as wanted:
        parse_json(bad, line=len(values) + 2, column=3)
    if bad:
        [problem], [alone] = refused.refused.problems, wanted.value.problems
        assert (problem.place, problem.text) == (f"item {refused.number}, {alone.place}", alone.text)


@given(st.text('[]{}",:\\ a1\n', max_size=60), st.lists(st.integers(1, 9), min_size=1))
def test_what_is_no_list_is_refused(text, sizes):
    def parsed():
        try:
            elements = list(Elements(cut(text, sizes), 1000))
        except Refused:
            return "refused"
        return "refused" if any(element.refused for element in elements) else [element.value for element in elements]

    try:
        wanted = parse_json(text)
    except Refused:
        wanted = None
    assert parsed() == (wanted if isinstance(wanted, list) else "refused")


@pytest.mark.parametrize(
    "text",
    ['["' + "x" * 5000, "[" * 5000, '[{"a": ' * 1000, '["' + '\\"' * 3000, "[[1" + " " * 5000 + "[", "[" + "}" * 5000],
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
