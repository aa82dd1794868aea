"""Pasted lists: what is understood, and which line is named when it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.inputs import Refused, clean_name
from ontologies.documents import NewLabel
from ontologies.pasted_lists import read_pasted


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
        ("A\nB\n\nA", "line 4", "already at this place (line 1)"),
        ("A\n  B/C", "line 2", "cannot contain “/”"),
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
        read("A\nA\nB\nB")
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
