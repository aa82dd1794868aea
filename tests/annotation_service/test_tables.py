"""Tables that people have: which dialect they are in, their rows, and whether they have a header."""

from datetime import date
from io import BytesIO

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning, FileSource
from annotation_service.inputs import Refused
from annotation_service.tables import TableBeginning, beginning_of, choices_of, dialect_of, rows_of, some_of
from tests.workbooks import workbook


def rows(data, format="csv", **chosen):
    data = data.encode() if isinstance(data, str) else data
    return list(rows_of(FileSource(BytesIO(data), chosen=chosen), format))


def cells(data, format="csv", **chosen):
    return [row for _, row in rows(data, format, **chosen)]


def why_not(data, format="csv", **chosen):
    with pytest.raises(Refused) as refused:
        rows(data, format, **chosen)
    return str(refused.value.problems[0])


@pytest.mark.parametrize(
    ("text", "delimiter", "in_words"),
    [
        ("id,text\n1,a b\n2,c d\n", ",", "2 columns separated by commas"),
        ("id;text\n1;a, b, c\n2;d, e, f\n", ";", "2 columns separated by semicolons"),
        ("a\tb\tc\n1\t2\t3\n", "\t", "3 columns separated by tabs"),
        ("a|b\n1|x;y\n2|z;u\n", "|", "2 columns separated by vertical bars"),
        ("1,5;2,5\n3,5;4,5\n", ";", "2 columns separated by semicolons"),
        ('"a;b","c"\n"d;e","f"\n', ",", "2 columns separated by commas"),
        ('a,b\n"x\ny, z\n",1\n"u\n",2\n', ",", "2 columns separated by commas"),
        ("a,b\n\n1,2\n\n3,4\n", ",", "2 columns separated by commas"),
        ("text\none\ntwo\n", "\t", "1 column"),
        ("", "\t", "1 column"),
        ('1\t"So," he said\n2\t"No!" she said\n', "\t", "2 columns separated by tabs, without quotation marks"),
    ],
)
def test_a_dialect_is_that_in_which_rows_have_the_same_number_of_cells(text, delimiter, in_words):
    dialect = dialect_of(text)
    assert (dialect.delimiter, dialect.in_words) == (delimiter, in_words)


def test_one_wrong_row_does_not_change_the_dialect():
    good = "".join(f"{n};text, with commas\n" for n in range(20))
    assert dialect_of(f'{good}"x"y;z\n{good}').delimiter == ";"


def test_a_row_that_is_cut_at_the_end_of_the_sample_does_not_change_the_dialect():
    assert dialect_of('a,b\n1,"' + "x; y\n" * 8000).delimiter == ","


def test_rows_have_the_number_of_the_line_in_which_they_begin():
    assert rows('a,b\r\n"x\r\ny",1\r\n\r\n , \r\nz,2') == [(1, ["a", "b"]), (2, ["x\ny", "1"]), (6, ["z", "2"])]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_rows_are_read_in_any_unicode(encoding):
    assert cells("näme;größe\nα;β\n".encode(encoding)) == [["näme", "größe"], ["α", "β"]]


def test_tables_with_tabs_keep_quotation_marks_that_quote_nothing():
    assert cells('a\tb\n"x" y\t1\n"u" v\t2\n', "tsv") == [["a", "b"], ['"x" y', "1"], ['"u" v', "2"]]
    assert cells('a\tb\n"x ""y"""\t1\n', "tsv") == [["a", "b"], ['x "y"', "1"]]


def test_a_tsv_is_separated_by_tabs_whatever_else_stands_in_it():
    assert cells("a,b\nc,d\n", "tsv") == [["a,b"], ["c,d"]]


def test_a_sign_against_formulas_is_taken_off():
    assert cells("a,b\n'=1,'x\n") == [["a", "b"], ["=1", "'x"]]


def test_what_is_wrong_is_told_with_its_line():
    assert why_not('a,b\n1,2\n3,"4\n') == "line 3: A quotation mark opens here that is never closed."
    assert why_not('a,b\n1,2\n"3"x,4\n').startswith("line 3: After a closing quotation mark")
    assert why_not(b"a,b\n\xff,2\n").startswith("line 2: Byte 0xff")
    assert why_not(f"a,b\n{',' * 2000}\n") == "line 2: A table has at most 1\u202f000 columns."


def test_long_cells_are_read_and_endless_rows_refused(settings):
    settings.MAX_ITEM_JSON_CHARACTERS = 500_000
    assert len(cells(f'a,b\n"{"x" * 400_000}",1\n')[1][0]) == 400_000
    assert why_not(f'a,b\n1,"{"x" * 600_000}"\n').startswith("line 2: A quotation mark opens here that is closed much")
    assert why_not(f"a,b\n1,{'x' * 1_100_000}\n") == "line 2: A line has at most 1\u202f000\u202f000 characters."
    assert why_not("a,b\n1,2\n" + '"x\n",' * 300_000) == "line 3: A row has at most 1\u202f000\u202f000 characters."


# --- Workbooks -----------------------------------------------------------------------------------------------------------------


def test_cells_of_a_workbook_are_texts():
    data = workbook(
        A=[["text", "n"], ["a\r\nb", 5.0], [" x ", 2.5], [date(2023, 3, 15), True], [None, 1e300], ["", 10**15]]
    )
    whole = f"{1e300:.0f}"
    expected = [
        ["text", "n"],
        ["a\nb", "5"],
        [" x ", "2.5"],
        ["2023-03-15", "true"],
        ["", whole],
        ["", "1000000000000000"],
    ]
    assert cells(data, "xlsx") == expected


def test_rows_of_a_workbook_have_their_numbers_and_blank_ones_are_left_out():
    assert rows(workbook(A=[[], [None, "a"], [" "], [None, "b"]]), "xlsx") == [(2, ["", "a"]), (4, ["", "b"])]


def test_many_rows_of_a_workbook_come_in_order():
    data = workbook(A=[[n, f"a longer text {n}"] for n in range(10_000)])
    assert cells(data, "xlsx") == [[str(n), f"a longer text {n}"] for n in range(10_000)]


def test_a_sheet_can_be_chosen_and_is_else_the_first_that_is_shown():
    data = workbook(_notes=[["x"]], North=[["a"]], South=[["b"]])
    assert cells(data, "xlsx") == [["a"]]
    assert cells(data, "xlsx", sheet="South") == [["b"]]
    assert why_not(data, "xlsx", sheet="West") == "There is no sheet “West” in this workbook; there are North, South."
    assert why_not(workbook(), "xlsx") == "There is no sheet “” in this workbook; there are none."


def test_what_is_no_workbook_is_refused():
    assert why_not(b"a,b\n1,2\n", "xlsx").startswith("This file is damaged, or is something else")
    assert why_not(workbook(A=[["a"]])[:-30], "xlsx").startswith("This file is damaged")
    assert why_not(workbook(A=[["a_x0000_b"]]), "xlsx").startswith("The NUL character")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 900), st.binary(min_size=1, max_size=20))
def test_a_damaged_workbook_is_read_or_refused(place, bytes_):
    data = bytearray(workbook(A=[["a", "b"], [1, 2]]))
    place = -1 - place % len(data)  # the directory is at the end
    data[place : place + len(bytes_) or None] = bytes_
    try:
        rows(bytes(data), "xlsx")
    except Refused as refused:
        assert str(refused)


# --- Headers -------------------------------------------------------------------------------------------------------------------


def header_of(text, known={}.get):
    table = beginning_of(Beginning(text.encode()), "csv", known)
    return table.headings if table.has_header else None


def test_a_header_is_a_row_of_short_names():
    assert header_of("id,text\n1,Replace oil\n") == ["id", "text"]
    assert header_of(",text,label\n0,Replace oil,A\n1,Drain oil,B\n") == ["Column 1", "text", "label"]
    assert header_of("1,Replace oil\n2,Drain oil\n") is None  # a number
    assert header_of("Replace oil,Activity\nDrain oil,Activity\n") is None  # a value that comes back
    assert header_of("text,text\nReplace oil,Drain oil\n") is None  # twice
    assert header_of("The oil of the pump has to be replaced now,A\nx,B\n") is None  # many words
    assert header_of(f"{'x' * 41},A\nx,B\n") is None
    assert header_of("a,,\nx,y,z\n") is None  # mostly empty
    assert header_of("text,label\n") is None  # nothing below
    assert header_of("") is None


def test_a_header_is_a_row_with_a_known_name():
    known = {"Text": 1}.get
    assert header_of("Text,2\nText,2\n", known) == ["Text", "2"]
    assert header_of("text,2\ntext,2\n", known) is None


def test_whether_there_is_a_header_can_be_chosen():
    lines = [(1, ["a", "a", ""]), (2, ["b", "Column 3", "x"])]
    assert TableBeginning(lines, {"header": "yes"}, {}.get).headings == ["a", "a (2)", "Column 3"]
    assert TableBeginning(lines, {"header": "yes"}, {}.get).rows == lines[1:]
    assert TableBeginning(lines, {"header": "no"}, {}.get).headings == ["Column 1", "Column 2", "Column 3"]
    assert TableBeginning(lines, {"header": "no"}, {}.get).rows == lines


def test_the_beginning_of_a_table_is_told_as_far_as_it_can_be_read():
    cut = "id,text\n1,\u00e4\n" + '2,"x\n' + "y" * 1_000_000
    assert beginning_of(Beginning(cut.encode()[:1_000_000]), "csv", {}.get).rows == [(2, ["1", "ä"])]
    assert beginning_of(Beginning(b"\0\0"), "csv", {}.get).headings == []
    assert beginning_of(Beginning(b"PK"), "xlsx", {}.get).headings == []


def test_the_beginning_of_a_table_has_not_much_in_it():
    assert len(beginning_of(Beginning(b"a,b\n" * 1000), "csv", {}.get).rows) == 100
    assert len(beginning_of(Beginning(f"{'x' * 400_000}\n".encode() * 2), "csv", {}.get).rows) == 2
    rest = iter([(n, ["x" * 400_000]) for n in range(9)])
    assert len(list(some_of(rest, 50))) == 3
    assert len(list(rest)) == 6


def test_a_workbook_is_asked_for_its_sheets(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook(North=[["id", "text"], [1, "x"]], South=[]))
    start = Beginning(path.read_bytes()[:100], path=path)  # a large one is cut
    table = beginning_of(start, "xlsx", {}.get)
    assert table.headings == ["id", "text"]
    sheet, header = choices_of(start, table, "xlsx")
    assert (sheet.name, list(sheet.choices), sheet.default) == ("sheet", ["North", "South"], "North")
    assert (header.name, header.default) == ("header", "yes")
    path.write_bytes(workbook(North=[["id", "text"], [1, "x"]]))
    whole = Beginning(path.read_bytes())  # a small one need not be on disk
    assert [each.name for each in choices_of(whole, beginning_of(whole, "xlsx", {}.get), "xlsx")] == ["header"]


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from(",;\t|\"\n' ab=\r") | st.characters(), max_size=60).map(str.encode) | st.binary(max_size=60)
)
@example(b'"')
@example(b'a,b\n"x"y,z\n')
def test_whatever_comes_is_read_or_refused(data):
    beginning_of(Beginning(data), "csv", {}.get)
    for format in ("csv", "tsv"):
        try:
            rows(data, format)
        except Refused as refused:
            assert str(refused)
