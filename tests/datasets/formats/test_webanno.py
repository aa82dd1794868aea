"""WebAnno TSV 3: what is seen in it and what is read of it."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from datasets.formats.conll import CONLL
from datasets.formats.conllu import CONLL_U
from datasets.formats.dataset_format import DatasetSource
from datasets.formats.webanno import WEBANNO
from datasets.kinds import DatasetKind

HEADER = """#FORMAT=WebAnno TSV 3.3
#T_SP=dkpro.NamedEntity|identifier|value
#T_SP=custom.Plain|
#T_CH=custom.Link|referenceType|referenceRelation
#T_RL=custom.Relation|label|BT_dkpro.NamedEntity


"""
FILE = (
    HEADER
    + """#Text=Ann Lee met  Bo.
1-1\t0-3\tAnn\t*[1]|*[2]\tPER[1]|NAME[2]\t_\tpr[1]\tco->1-1\t_\t_\t
1-2\t4-7\tLee\t*[1]\tPER[1]\t*\t_\t_\t_\t_\t
1-3\t8-11\tmet\t_\t_\t_\t_\t_\t_\t_\t
1-4\t13-15\tBo\t*\tPER\t_\tpr[1]\tco->1-2\tknows\t1-1[1_0]\t
1-5\t15-16\t.\t_\t_\t_\t_\t_\t_\t_\t

#Sentence.id=s2
#Text=So what?
2-1\t17-19\tSo\t_\t_\t_\t_\t_\t_\t_\t
2-2\t20-25\twhat?\t_\t_\t_\t_\t_\t_\t_\t
"""
)


def read(text):
    source = DatasetSource(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    return list(WEBANNO.read(source)), source.left_out


def marks_of(element):
    places = {mark["id"]: (mark["label"], mark["start"], mark["end"]) for mark in element.value["entities"]}
    relations = [
        (each["label"], places[each["source_id"]], places[each["target_id"]]) for each in element.value["relations"]
    ]
    return list(places.values()), relations


def one_sentence(header, *rows, text=""):
    """The marks in a file of one sentence, whose rows are “token cell cell”, and what is left out."""
    lines = [f"1-{at}\t{at}-{at + 1}\t" + "\t".join(row.split(" ")) for at, row in enumerate(rows, 1)]
    [element], left_out = read("\n".join(["#FORMAT=WebAnno TSV 3.2", *header, "", "", f"#Text={text}", *lines]))
    return *marks_of(element), left_out


def seen_in(text):
    return WEBANNO.seen_in(Beginning(text if isinstance(text, bytes) else text.encode()))


def test_sentences_become_items_with_their_text_and_tokens():
    (first, second), _ = read(FILE)
    assert first.value["original"] == "Ann Lee met  Bo."
    assert first.value["tokens"] == ["Ann", "Lee", "met", "Bo", "."]
    assert second.value["original"] == "So what?"
    assert [first.place, second.place] == ["sentence 1, line 8", "sentence 2, line 15"]


def test_entities_are_read_of_every_span_layer_and_relations_from_the_governor():
    (first, _), left_out = read(FILE)
    ann_lee, bo = ("PER", 0, 1), ("PER", 3, 3)
    entities, relations = marks_of(first)
    assert sorted(entities) == [("NAME", 0, 0), ann_lee, bo, ("Plain", 1, 1)]
    assert relations == [("knows", ann_lee, bo)]
    assert left_out == {"tokens in chains or with slots alone": 2}


def test_a_number_makes_one_entity_of_many_tokens_and_without_it_each_is_one():
    entities, _, _ = one_sentence(["#T_SP=a.B|value"], "a X[1]|Y[2]", "b X[1]|X[3]", "c X", "d X")
    assert entities == [("X", 0, 1), ("Y", 0, 0), ("X", 1, 1), ("X", 2, 2), ("X", 3, 3)]


@pytest.mark.parametrize(
    ("features", "cells", "label"),
    [
        ("identifier|value", "Q1 PER", "PER"),
        ("identifier|value", "Q1 *", "Q1"),
        ("kind|Label|note", "a b c", "b"),
        ("kind|note", "* c", "c"),
        ("kind|note", "* *", "B"),
        ("", "*", "B"),
        ("ROLE_a.B:args_a.Link|a.Target|kind", "agent;goal 1-2;1-3 K", "K"),
    ],
)
def test_which_feature_is_the_label(features, cells, label):
    entities, _, left_out = one_sentence([f"#T_SP=a.B|{features}"], f"w {cells}")
    assert entities == [(label, 0, 0)]
    assert left_out == {}


def test_a_layer_that_is_declared_without_features_has_a_column():
    assert one_sentence(["#T_SP=a.B", "#T_SP=a.C|value"], "w * X")[0] == [("B", 0, 0), ("X", 0, 0)]


def test_marks_with_slots_alone_are_left_out_and_counted():
    header = ["#T_SP=a.B|ROLE_a.B:args_a.Link|a.Target", "#T_SP=a.Target|value"]
    entities, _, left_out = one_sentence(header, "v agent 1-2 _", "w _ _ T")
    assert entities == [("T", 1, 1)]
    assert left_out == {"tokens in chains or with slots alone": 1}


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        (r"a\_b", ["a_b"]),
        (r"\_", ["_"]),
        (r"\*", ["*"]),
        (r"a\|b[1]|c[2]", ["a|b", "c"]),
        (r"a\[1\][2]", ["a[1]"]),
        (r"\\[1]|b[2]", ["\\", "b"]),
        (r"a\;\->b", ["a;->b"]),
        ("a\\", ["a\\"]),
        ("_", []),
        ("", []),
    ],
)
def test_what_is_escaped_in_a_label(cell, labels):
    entities, _, _ = one_sentence(["#T_SP=a.B|value"], f"w {cell}")
    assert [label for label, _, _ in entities] == labels


def test_a_text_of_many_lines_is_unescaped():
    text = HEADER.split("#T_SP")[0] + "\n#Text=a\\tb\n#Text=c\\\\d\n1-1\t0-1\ta\n1-2\t2-3\tb\n1-3\t4-7\tc\\d\n"
    [element], _ = read(text)
    assert element.value["original"] == "a\tb\nc\\d"
    assert element.value["tokens"] == ["a", "b", "c\\d"]


def test_a_text_without_the_tokens_is_replaced_by_them():
    [element], _ = read("#FORMAT=WebAnno TSV 3.3\n\n\n#Text=other\n1-1\t0-1\ta\n1-2\t2-3\tb\n")
    assert element.value["original"] == "a b"


def test_a_text_of_which_tokens_leave_out_a_part_is_replaced_by_them():
    [element], _ = read(
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|value\n\n\n#Text=the x the y\n1-1\t6-9\tthe\tPER\n1-2\t10-11\ty\t_\n"
    )
    assert (element.value["original"], marks_of(element)[0]) == ("the y", [("PER", 0, 0)])


def test_a_mark_on_a_part_of_a_token_is_on_the_token_and_counted():
    rows = "1-1\t0-2\t😀\tE\t\n1-2\t3-8\tplays\tW\t\n1-2.1\t3-7\tplay\tV\t\n"
    [element], left_out = read(f"#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|value\n\n\n#Text=😀 plays\n{rows}")
    assert element.value["tokens"] == ["😀", "plays"]
    assert marks_of(element)[0] == [("E", 0, 0), ("W", 1, 1), ("V", 1, 1)]
    assert left_out == {"borders of marks inside of tokens": 1}


RELATIONS = ["#T_SP=a.B|value", "#T_SP=a.C|value", "#T_RL=a.R|label|BT_a.B"]


@pytest.mark.parametrize(
    ("rows", "relations"),
    [
        (["a X Z _ _", "b Y Z of 1-1"], [("of", ("X", 0, 0), ("Y", 1, 1))]),
        (["a X _ of 1-2", "b Y _ _ _"], [("of", ("Y", 1, 1), ("X", 0, 0))]),
        (["a X[1]|Y[2] _ _ _", "b X[1] _ _ _", "c Z _ of 1-1[2_0]"], [("of", ("Y", 0, 0), ("Z", 2, 2))]),
        (["a X _ _ _", "b Y[1]|Z[2] _ of 1-1[0_2]"], [("of", ("X", 0, 0), ("Z", 1, 1))]),
        (
            ["a X _ _ _", "b Y _ of|* 1-1|1-3", "c Z _ _ _"],
            [("of", ("X", 0, 0), ("Y", 1, 1)), ("R", ("Z", 2, 2), ("Y", 1, 1))],
        ),
    ],
)
def test_relations_go_from_the_governor_to_the_row_they_stand_on(rows, relations):
    assert one_sentence(RELATIONS, *rows)[1:] == (relations, {})


def test_a_relation_without_features_is_labelled_by_its_layer():
    header = ["#T_SP=a.B|value", "#T_RL=a.R|BT_a.B"]
    assert one_sentence(header, "a X _", "b Y 1-1")[1] == [("R", ("X", 0, 0), ("Y", 1, 1))]


def test_relations_that_lack_an_end_are_left_out_and_counted():
    _, relations, left_out = one_sentence(RELATIONS, "a X Z of 9-9", "b _ Z of 1-1", "c Y _ of 1-1[5_0]", "d Y _ of _")
    assert relations == []
    assert left_out == {"relations that lack an end": 4}


def test_an_entity_over_sentences_is_one_in_each_and_counted():
    text = HEADER.split("#T_SP=custom")[0] + "\n#Text=a\n1-1\t0-1\ta\t*[1]\tX[1]\n\n#Text=b\n2-1\t2-3\tb\t*[1]\tX[1]\n"
    elements, left_out = read(text)
    assert [marks_of(element)[0] for element in elements] == [[("X", 0, 0)], [("X", 0, 0)]]
    assert left_out == {"marks between sentences": 1}


@pytest.mark.parametrize(
    "line", ["prose", "1-2\t0-1", "1-2\t0-1\tx\t_", "1-1.1\t0-1\tx" + "\t_" * 7, "a-b\t0-1\tx" + "\t_" * 7]
)
def test_a_damaged_sentence_is_refused_with_its_line_and_the_next_is_read(line):
    cells = "\t_" * 7
    (refused, good), _ = read(HEADER + f"#Text=x\n{line}\n\n#Text=y\n2-1\t2-3\ty{cells}\n")
    assert [problem.place for problem in refused.refused.problems] == ["line 9"]
    assert "10 columns" in refused.refused.problems[0].text
    assert good.value["tokens"] == ["y"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_is_seen(line_end, encoding):
    data = FILE.replace("\n", line_end).encode(encoding)
    assert seen_in(data) == "layers NamedEntity, Plain, Link, Relation"
    assert [element.value for element in read(data)[0]] == [element.value for element in read(FILE)[0]]


def test_the_kind_follows_from_the_header():
    assert WEBANNO.kind_of(Beginning(FILE.encode())) == DatasetKind.PREANNOTATED_RELATION
    assert WEBANNO.kind_of(Beginning(FILE.replace("#T_RL", "#T_SP").encode())) is None


@pytest.mark.parametrize("text", ["", "a\tb\tc\n", "#FORMAT=WebAnno TSV 2\n", "# 1\n1-1\tAnn\tPER\n", "a\tO\nb\tB-X\n"])
def test_other_files_are_not_taken(text):
    assert seen_in(text) is None


def test_none_of_the_others_takes_it():
    start = Beginning(FILE.encode())
    assert CONLL.seen_in(start) is CONLL_U.seen_in(start) is None


@given(
    st.lists(
        st.text("ab_[]|*\\;->1é ", min_size=1, max_size=5).filter(lambda label: label.strip()), min_size=1, max_size=4
    )
)
def test_any_label_can_be_escaped(labels):
    """As WebAnno writes them."""
    escaped = [re.sub(r"->|[\\\[\]|_;*]", r"\\\g<0>", label) for label in labels]
    cell = "|".join(f"{value}[{number}]" for number, value in enumerate(escaped, 1))
    text = f"#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|value\n\n\n#Text=w\n1-1\t0-1\tw\t{cell}\t\n"
    [element], _ = read(text)
    assert [mark["label"] for mark in element.value["entities"]] == list(dict.fromkeys(labels))


def test_a_long_stack_among_many_features_is_refused():
    header, cells = f"#T_SP=a.B{'|f' * 8000}", f"{'a|' * 7999}a{chr(9)}{chr(9).join('_' * 7999)}"
    [element], _ = read(f"#FORMAT=WebAnno TSV 3.3\n{header}\n\n\n#Text=w\n1-1\t0-1\tw\t{cells}\t\n")
    assert str(element.refused) == "row 1-1: A layer has at most 20\u202f000 values on a token."


def test_a_layer_declared_inside_of_a_sentence_is_no_layer():
    late = "#T_SP=custom.Late|value"
    elements, _ = read(FILE.replace("\n1-2\t", f"\n{late}\n1-2\t"))
    assert [marks_of(element) for element in elements] == [marks_of(element) for element in read(FILE)[0]]
