"""Tables that go out and come in again: as they were, and without formulas."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotation_service import csv_tables

ROOT = Path(csv_tables.__file__).parents[1]
# Lines end in one way when they are read; without control characters, for “\0” comes in nowhere.
TEXTS = st.text(st.sampled_from("'=+-@\t\r ,;\"ab") | st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)


def out(*texts):
    return "".join(csv_tables.written(["a", "b"], [{"a": text, "b": "x"} for text in texts]))


def back(table):
    return [element.value["a"] for element in csv_tables.records([table], ["a", "b"], 1000)]


@pytest.mark.parametrize("sign", "=+-@\t\r")
def test_no_cell_begins_as_a_formula(sign):
    [_, row] = csv.reader(StringIO(out(f"{sign}HYPERLINK(1)"), newline=""))
    assert row == [f"'{sign}HYPERLINK(1)", "x"]


def test_numbers_and_other_texts_go_out_as_they_are():
    assert "".join(csv_tables.written(["a"], [{"a": -1}, {"a": "'tis"}, {"a": "a=b"}])) == "a\r\n-1\r\n'tis\r\na=b\r\n"


@given(TEXTS)
@example("=1")
@example("'=1")
@example("''=1")
@example("'")
@example("'\t")
def test_every_text_comes_back_as_it_was(text):
    text = text.replace("\r", "\n") if not text.startswith("\r") else "\t" + text[1:].replace("\r", "\n")
    assert back(out(text)) == [text]


def test_what_others_have_written_comes_in_as_it_stands():
    assert back("a,b\n=1,x\n'tis,x\n'=1,x\n") == ["=1", "'tis", "=1"]


def test_tables_are_written_in_one_place():
    """A table that another module writes has formulas."""
    apps = [path for path in ROOT.glob("*/**/*.py") if path.parts[len(ROOT.parts)] not in {"tests", ".venv"}]
    users = {path.name for path in apps if "import csv\n" in path.read_text() or "from csv " in path.read_text()}
    assert users == {"csv_tables.py"}
