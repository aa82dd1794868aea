"""JSON for and from spaCy and Prodigy, and the script that makes a DocBin."""

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from datasets.formats.spacy_docs import SPACY
from tests.datasets.formats import json_peers as peers

TEXT = "Anna lives in Paris."
TOKENS = [{"id": at, "start": s, "end": e} for at, (s, e) in enumerate([(0, 4), (5, 10), (11, 13), (14, 19), (19, 20)])]
ENTS = [{"start": 0, "end": 4, "label": "PER"}, {"start": 14, "end": 19, "label": "LOC", "kb_id": ""}]
ENDS = [(0, 4, "PER"), (14, 19, "LOC")]
DOC = {"text": TEXT, "ents": ENTS, "tokens": TOKENS, "spans": {"sc": [ENTS[0], {"start": 0, "end": 10, "label": "X"}]}}
PRODIGY = {
    "text": TEXT,
    "tokens": TOKENS,
    "spans": ENTS,
    "relations": [{"head": 0, "child": 3, "label": "livesIn", "head_span": ENTS[0], "child_span": ENTS[1]}],
    "meta": {"source": "news"},
    "_input_hash": 5,
    "answer": "accept",
}
TRAINING = [[TEXT, {"entities": [[0, 4, "PER"], [14, 19, "LOC"]]}], ["Nothing here", {"entities": []}]]


def test_a_doc_is_read_with_its_tokens_and_each_entity_once():
    [value], left_out = peers.read(SPACY, peers.lines(DOC))
    assert value["tokens"] == ["Anna", "lives", "in", "Paris", "."]
    assert peers.of_read(value)[3] == [ENDS[0], (0, 10, "X"), ENDS[1]]
    assert left_out == {}


@pytest.mark.parametrize(
    ("text", "starts", "is_filled"),
    [
        ("Paris was big. Paris is", [15], True),
        ("Milan was big. Paris is", [0, 15], True),
        ("Milan was big. Paris is", [15], False),
    ],
    ids=["the words are found elsewhere", "a mark is on no token", "neither"],
)
def test_tokens_that_leave_out_a_part_get_others_where_a_mark_needs_them(text, starts, is_filled):
    tokens = [{"start": 15, "end": 20}, {"start": 21, "end": 23}]
    spans = [{"start": start, "end": start + 5, "label": "LOC"} for start in starts]
    [value], left_out = peers.read(SPACY, peers.lines({"text": text, "tokens": tokens, "spans": spans}))
    assert (len(value["tokens"]) > 2) == is_filled
    assert (peers.of_read(value)[3], left_out) == ([(start, start + 5, "LOC") for start in starts], {})


def test_labels_of_whole_texts_in_training_data_are_counted():
    text, marks = TRAINING[0]
    assert peers.read(SPACY, json.dumps([[text, marks | {"cats": {"news": 1}}]]))[1] == {"labels of whole texts": 1}


def test_relations_and_meta_of_prodigy_are_read():
    [value], left_out = peers.read(SPACY, peers.lines(PRODIGY))
    assert peers.of_read(value) == (TEXT, "", {"source": "news"}, ENDS, [("livesIn", *ENDS)])
    assert left_out == {}


def test_a_relation_with_what_has_no_label_is_left_out_and_counted():
    bare = {"start": 5, "end": 10, "label": None}
    relations = [PRODIGY["relations"][0] | {"child_span": bare}]
    [value], left_out = peers.read(SPACY, peers.lines(PRODIGY | {"spans": [*ENTS, bare], "relations": relations}))
    assert peers.of_read(value)[3:] == (ENDS, [])
    assert left_out == {"spans without a label": 1, "relations that lack an end": 1}


def test_rejected_and_ignored_texts_and_labels_of_whole_texts_are_left_out_and_counted():
    answers = [PRODIGY | {"answer": answer} for answer in ("reject", "ignore", "accept")]
    values, left_out = peers.read(SPACY, peers.lines(*answers, DOC | {"cats": {"good": 1.0}}))
    assert len(values) == 2
    assert left_out == {"texts that were rejected or ignored": 2, "labels of whole texts": 1}


def test_training_data_of_spacy_2_is_read():
    text = json.dumps(TRAINING)
    assert peers.seen(SPACY, text) == "labels PER, LOC"
    values, _ = peers.read(SPACY, text)
    assert peers.of_read(values[0])[3] == ENDS
    assert values[1]["tokens"] == ["Nothing", "here"]


def test_tokens_that_are_white_space_are_left_out():
    tokens = [{"start": 0, "end": 1}, {"start": 1, "end": 4}, {"start": 4, "end": 5}]
    [value], _ = peers.read(SPACY, peers.lines({"text": "a \n b", "tokens": tokens}))
    assert value["tokens"] == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ents": [{"start": 0}]}, "“ents[0].end”: a whole number was expected."),
        ({"spans": {"sc": 5}}, "“spans.sc”: a list was expected."),
        ({"spans": 5}, "“spans”: a list was expected."),
        (
            {"tokens": [{"start": 3, "end": 2}]},
            "“tokens[0]”: it begins before the last one ends, or is outside of the text.",
        ),
        (
            {"tokens": [TOKENS[1], TOKENS[0]]},
            "“tokens[1]”: it begins before the last one ends, or is outside of the text.",
        ),
        ({"tokens": ["Anna"]}, "“tokens[0]”: an object was expected."),
        ({"relations": [{"label": "x"}]}, "“relations[0].head_span”: an object was expected."),
    ],
)
def test_a_field_of_another_type_is_named(change, why):
    assert peers.refusals(SPACY, peers.lines(PRODIGY | change, DOC)) == [f"line 1: {why}"]


@pytest.mark.parametrize(
    "text", [peers.lines(DOC), peers.lines(PRODIGY), json.dumps([DOC], indent=1), json.dumps(DOC, indent=1)]
)
def test_its_files_are_recognised(text):
    assert peers.seen(SPACY, text).startswith("labels PER")
    assert len(peers.read(SPACY, text)[0]) == 1


def test_a_group_with_a_long_name_is_read_and_told_by_its_beginning():
    value = {"text": "a b", "spans": {"k" * 100_000: [{"start": 0, "end": 1, "label": "x"}, {"start": "0"}]}}
    [refused] = peers.refusals(SPACY, peers.lines(value))
    assert len(refused) < 200 and "[1].start”: a whole number was expected" in refused


@pytest.mark.parametrize("name", peers.NOT_OURS)
def test_other_files_are_not_taken(name):
    assert peers.seen(SPACY, peers.NOT_OURS[name]) is None


def test_a_doc_that_is_longer_than_the_beginning_is_recognised():
    assert (
        peers.seen(SPACY, json.dumps({"text": TEXT, "ents": ENTS, "tokens": TOKENS * 40_000})[:1_000_000])
        == "labels PER, LOC"
    )


def test_what_is_written_can_be_shown_by_prodigy_and_made_a_docbin():
    entities, relations = [("PER", 0, 0), ("Object/Pump, hydraulic", 0, 1), ("LOC", 4, 4)], [("in", 1, 2)]
    files, export = peers.written(SPACY, [peers.item(entities=entities, relations=relations, external_id="W", site=1)])
    assert [*files] == ["to_docbin.py", "dataset.jsonl"]
    ast.parse(files["to_docbin.py"])
    value = json.loads(files["dataset.jsonl"])
    assert (value["id"], value["meta"]) == ("W", {"site": 1})
    assert value["tokens"][4] == {"id": 4, "text": "Paris", "start": 16, "end": 21}
    span = {"start": 0, "end": 8, "token_start": 0, "token_end": 1, "label": "Object/Pump, hydraulic"}
    assert value["spans"][1] == span
    assert value["relations"] == [
        {"head": 1, "child": 4, "head_span": span, "child_span": value["spans"][2], "label": "in"}
    ]
    assert export.losses() == ["1 of 3 entities is in doc.spans alone, not in doc.ents, for they overlap a longer one"]


@settings(max_examples=60, deadline=None)
@given(st.lists(peers.items(), min_size=1, max_size=3))
def test_a_round_trip_keeps_everything(items):
    files, _ = peers.written(SPACY, items)
    values, left_out = peers.read(SPACY, files["dataset.jsonl"])
    assert [peers.of_read(value) for value in values] == [peers.of_written(item) for item in items]
    assert [value["tokens"] for value in values] == [item.tokens for item in items]
    assert left_out == {}


def test_a_long_string_that_does_not_end_is_looked_at_quickly():
    assert SPACY.seen_in(Beginning(b'[["' + b'\\"' * 499_000)) is None


@settings(max_examples=80, deadline=None)
@given(
    peers.mutated(peers.lines(DOC, PRODIGY).encode())
    | peers.swapped([DOC, PRODIGY, *TRAINING]).map(lambda value: json.dumps(value).encode())
)
def test_damaged_files_are_refused_and_nothing_else(data):
    peers.only_refuses(SPACY, data)
