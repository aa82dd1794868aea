"""Pasted lists: what is understood, and which line is named when it is not."""

import csv
import io
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from annotation_service import csv_tables
from annotation_service.inputs import Refused, clean_name, text_blocks
from ontologies.documents import NewLabel
from ontologies.pasted_lists import headings_of, read_pasted, read_table, usual_columns


def read(text, kind="entity"):
    return [(item.level, item.name) for item in read_pasted(text, kind)]


@pytest.mark.parametrize(
    "text",
    [
        "A\n  B\n    C\n  D\nE",
        "A\n\tB\n\t\tC\n\tD\nE\n",
        "  A\r\n      B\r\n       C\r\n      D\r\n  E",
        "- A\n  - B\n    - C\n  - D\n- E",
        "* A\n\n\t+ B\n\t\t- C\n\t+ D\n* E",
        "1. A\n   1.1. B\n      a\n   2) D\n2. E".replace("a", "C"),
        "A/B/C\nA/D\nE",
        "A/B\n  C\nA\n  D\nE\nE",
        "A\n  B/C\n  D\n  B\nE",
        "- A\n- A/B\n- A / B / C\n- E\n- A/D",
        '\ufeff[{"name": "A", "children": [{"name": "B", "children": [{"name": "C"}]}, {"name": "D"}]}, {"name": "E"}]',
    ],
)
def test_the_formats(text):
    assert read(text) == [(1, "A"), (2, "B"), (3, "C"), (2, "D"), (1, "E")]


def test_names_may_look_a_little_like_lists():
    text = "3.5 mm jack\n-40 degrees\nA - B\n*starred*\n2nd"
    assert [name for _, name in read(text)] == text.split("\n")


def test_documents_keep_their_fields():
    (item,) = read_pasted('[{"name": "A", "description": "x", "example_terms": ["y"]}]', "entity")
    assert (item.description, item.example_terms) == ("x", ["y"])


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("A\n    B\n  C", "line 3", "indentation fits none"),
        ("  A\nB", "line 2", "indentation fits none"),
        ("A\n  B\n\tC", "line 3", "indentation fits none"),
        ("A\n  B//C", "line 2", "name is needed"),
        ("A\n  B\n    C\n   D", "line 4", "indentation fits none"),
        ("A/B\n/C", "line 2", "name is needed"),
        ("A\n" + "x" * 201, "line 2", "at most 200 characters"),
        ("A\nb\x07", "line 2", "control characters"),
        ("A\n-\nB", "line 2", "name is needed"),
        ("\n".join(" " * n + "x" for n in range(201)), "line 201", "at most 200 levels"),
        ("/".join("x" * 201), "line 1", "at most 200 levels"),
        ('[{"name": "A"},\n {"name": ]', "line 2, column 11", "not JSON"),
        ('[{"name": "A"}, {"name": "A"}]', "item 2, $.name", "already at this place"),
        ("A\0", "line 1, column 2", "NUL"),
        (" \n", "", "empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, place, reason):
    with pytest.raises(Refused) as refused:
        read(text)
    problem = refused.value.problems[0]
    assert problem.place == place and reason in problem.text


def test_all_wrong_lines_are_told():
    with pytest.raises(Refused) as refused:
        read("A\n-\nB\n-")
    assert [problem.place for problem in refused.value.problems] == ["line 2", "line 4"]


def test_the_limit_of_items(settings):
    settings.MAX_ONTOLOGY_ITEMS = 2
    with pytest.raises(Refused, match="at most 2 items"):
        read("A\nB\nC")


def is_name(text):
    try:
        return clean_name(text) == text and read(text) == [(1, text)]
    except Refused:
        return False


NAMES = st.text(min_size=1, max_size=12).filter(is_name)


@st.composite
def trees(draw):
    items, level = [], 0
    taken = []
    for wanted, name in draw(st.lists(st.tuples(st.integers(1, 5), NAMES), min_size=1, max_size=20)):
        level = min(wanted, level + 1)
        del taken[level:]
        taken += [set() for _ in range(level - len(taken))]
        if name in taken[level - 1]:
            level = len(taken) - 1
            continue
        taken[level - 1].add(name)
        items.append(NewLabel(level, name))
    return items


@given(trees(), st.sampled_from(["  ", "\t", "   ", "- "]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_an_indented_list_of_any_tree_is_read_back(items, step, end):
    text = end.join(
        ("  " * (item.level - 1) + step if step == "- " else step * (item.level - 1)) + item.name for item in items
    )
    assert read(text) == [(item.level, item.name) for item in items]


@given(trees())
def test_the_paths_of_any_tree_are_read_back(items):
    lines, path = [], []
    for item in items:
        path[item.level - 1 :] = [item.name]
        lines.append("/".join(path))
    assert read("\n".join(lines)) == [(item.level, item.name) for item in items]


# --- Paths mixed with indentation ----------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.sampled_from("ABC"), min_size=1, max_size=3)), min_size=1, max_size=25
    )
)
def test_paths_stand_below_the_line_above_that_is_less_indented(lines):
    """Against a plain model: the full name of each line is that of the line above it and its own path."""
    depths, text, wanted, above = [0], [], {}, {}
    for depth, path in lines:
        depth = min(depth, depths[-1] + 1)  # a line goes one step deeper at most
        depths.append(depth)
        if len(depths) == 2:
            depth = depths[-1] = 0
        text.append("  " * depth + "/".join(path))
        above[depth] = [*above.get(depth - 1, []), *path]
        for end in range(1, len(above[depth]) + 1):
            wanted.setdefault("/".join(above[depth][:end]), None)
    items = read_pasted("\n".join(text), "entity")
    assert sorted(fullnames(items)) == sorted(wanted)
    assert sum(item.repeated for item in items) == len(lines) - len({"/".join(each) for each in lines_of(lines)})


def lines_of(lines):
    last, above, found = -1, {}, []
    for depth, path in lines:
        last = min(depth, last + 1)
        above[last] = [*above.get(last - 1, []), *path]
        found.append(above[last])
    return found


def fullnames(items):
    path = []
    for item in items:
        path[item.level - 1 :] = [item.name]
        yield "/".join(path)


# --- Tables --------------------------------------------------------------------------------------------------------------


def table(text, places=None, **columns):
    headings = headings_of(text)
    records = csv_tables.records(text_blocks(text), headings, 1_000_000)
    return read_table(records, usual_columns(headings) | columns, places or {})


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("name,description\nA,x", {"name": "name", "description": "description"}),
        ("\ufeffFull_Name;Colour\nA;#FF0000", {"path": "Full_Name", "color": "Colour"}),
        ("Label\tParent\tSynonyms\nA\t\tb", {"name": "Label", "parent": "Parent", "example_terms": "Synonyms"}),
        ("Begriff\tDefinition\nA\tx", {"name": "Begriff", "description": "Definition"}),
        ("id,prefix,Term\n1,a,A", {"name": "Term", "uid": "id"}),
        ("Level 2,LEVEL_1\nB,A", {"level 001": "LEVEL_1", "level 002": "Level 2"}),
    ],
)
def test_a_table_and_its_columns_are_known_by_its_headings(text, columns):
    found = usual_columns(headings_of(text))
    assert {role: heading for role, heading in found.items() if heading} == columns


@pytest.mark.parametrize(
    "text",
    [
        "Pump\nValve",
        "Name, legal\nPlace",
        "Pump, red\nPump, blue",
        "\tA\n\t\tB",
        "1.\tA\n2.\tB",
        '[{"name": "A,B"}]',
        "Name",
    ],
)
def test_lists_are_no_tables(text):
    assert headings_of(text) == []


def test_all_columns_of_a_table_are_read():
    text = 'name,parent,description,examples,colour\nPiston,Pump,moves,rod; ring,#00ff00\nPump,,"lifts,\nall",,\n'
    pump, piston = table(text)
    assert (pump.level, pump.name, pump.description, pump.color) == (1, "Pump", "lifts,\nall", "")
    assert (piston.level, piston.name, piston.example_terms, piston.color) == (2, "Piston", ["rod", "ring"], "#00FF00")


@pytest.mark.parametrize(
    "text",
    [
        "path,description\nA,\nA/B,\nA/B/C,\nA/D,\nE,",
        "name,path\nC,A/B\nD,A\nE,",
        "name,path\nC,A/B/C\nD,A/D\nE,E",
        "name,parent\nC,B\nB,A\nD,A\nA,\nE,",
        "name,parent\nC,A/B\nD,A\nE,",
        "label;x\nA/B/C;\nA/D;\nE;",
    ],
)
def test_rows_find_their_places(text):
    assert [(item.level, item.name) for item in table(text)] == [(1, "A"), (2, "B"), (3, "C"), (2, "D"), (1, "E")]


def test_a_parent_may_be_there_already():
    items = table("name,parent\nPiston,Pump\nRod,Piston", {"Pump": "Machine/Pump"})
    assert [*fullnames(items)] == ["Machine", "Machine/Pump", "Machine/Pump/Piston", "Machine/Pump/Piston/Rod"]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("name,colour\nA,#FF0000\nB,red", "line 3, column “colour”", "written as #RRGGBB"),
        ("name,colour\nA,#FF0000\n" + "x" * 201 + ",", "line 3, column “name”", "at most 200 characters"),
        ("name,note\nA,x\n,y", "line 3", "name is needed"),
        ("name,note\nA,x\nB", "line 3", "2 values were expected"),
        ("name,note\nA,x\nA,y", "line 3", "already in line 2, with other details"),
        ("name,parent\nA,B\nB,A", "line 2", "below itself"),
        ("name,parent\nA,\nX,A\nX,\nC,X", "line 5", "more than one place"),
        ("name,parent\nA,Old\nB,", "line 2", "more than one place"),
        ("name,name\nA,B", "line 1", "named twice"),
        ('name,note\nA,"x', "line 2", "never closed"),
        ("path,note\n" + "/".join("x" * 201) + ",", "line 2, column “path”", "at most 200 levels"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_line_and_column(text, place, reason):
    with pytest.raises(Refused) as refused:
        table(text, {"Old": None})
    problem = refused.value.problems[0]
    assert problem.place == place and reason in problem.text


def test_a_row_that_comes_again_is_counted():
    (item,) = table("name,note\nA,x\nA,x\nA,")
    assert (item.description, item.repeated) == ("x", 2)


@given(trees(), st.sampled_from(",;\t"), st.booleans())
def test_any_tree_comes_back_from_a_table(items, delimiter, with_paths):
    assume(with_paths or len({item.name for item in items}) == len(items))  # else a parent’s name may mean several
    file = io.StringIO()
    rows = csv.writer(file, delimiter=delimiter)
    rows.writerow(["path", "description"] if with_paths else ["parent path", "name"])
    for item, path in zip(items, fullnames(items), strict=True):
        quoted = [
            f"'{text}" if re.match(r"'*[=+\-@]", text) else text for text in (path, path.rpartition("/")[0], item.name)
        ]
        rows.writerow([quoted[0], item.level] if with_paths else quoted[1:])
    read = table(file.getvalue(), **{} if with_paths else {"parent": "parent path"})
    assert [(item.level, item.name) for item in read] == [(item.level, item.name) for item in items]
