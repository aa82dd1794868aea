"""JSON Lines of doccano."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.formats.dataset_format import WrittenEntity, WrittenItem
from datasets.formats.doccano import DOCCANO
from tests.datasets.formats import json_peers as peers

SPANS = {"id": 7, "text": "Anna met Bob 😀 in Paris", "label": [[0, 4, "PER"], [18, 23, "Place/City"]], "site": "north"}
RELATIONS = {
    "id": 8,
    "text": "Anna lives in Paris",
    "entities": [
        {"id": 31, "label": "PER", "start_offset": 0, "end_offset": 4},
        {"id": 32, "label": "LOC", "start_offset": 14, "end_offset": 19},
    ],
    "relations": [{"id": 1, "from_id": 31, "to_id": 32, "type": "livesIn"}],
    "Comments": ["sure?"],
}


def test_spans_are_read_with_their_id_and_what_else_there_is():
    [value], left_out = peers.read(DOCCANO, peers.lines(SPANS))
    assert peers.of_read(value) == (
        SPANS["text"],
        "7",
        {"site": "north"},
        [(0, 4, "PER"), (18, 23, "Place/City")],
        [],
    )
    assert left_out == {}


def test_relations_are_read_and_comments_kept():
    [value], left_out = peers.read(DOCCANO, peers.lines(RELATIONS))
    ends = (0, 4, "PER"), (14, 19, "LOC")
    assert peers.of_read(value)[2:] == ({"Comments": ["sure?"]}, [*ends], [("livesIn", *ends)])
    assert left_out == {}


@pytest.mark.parametrize(
    "data",
    [
        json.dumps([SPANS, RELATIONS]),
        json.dumps([SPANS, RELATIONS], indent=2).replace("\n", "\r\n"),
        "\n\n" + peers.lines(SPANS) + "\n" + peers.lines(RELATIONS),
        "\ufeff" + peers.lines(SPANS, RELATIONS),
        peers.lines(SPANS, RELATIONS).encode("utf-16"),
    ],
    ids=["list", "indented", "blank lines", "BOM", "UTF-16"],
)
def test_lists_and_lines_are_read_alike(data):
    assert peers.seen(DOCCANO, data) == "labels PER, Place/City, LOC"
    assert peers.read(DOCCANO, data) == peers.read(DOCCANO, peers.lines(SPANS, RELATIONS))


def test_one_object_over_many_lines_is_an_item():
    text = json.dumps(RELATIONS, indent=1)
    assert peers.read(DOCCANO, text) == peers.read(DOCCANO, peers.lines(RELATIONS))
    assert peers.seen(DOCCANO, text) == "labels PER, LOC"


def test_labels_of_whole_texts_are_left_out_and_counted():
    values, left_out = peers.read(DOCCANO, peers.lines({"data": "good", "label": ["a", "b"]}, SPANS))
    assert [value["original"] for value in values] == ["good", SPANS["text"]]
    assert left_out == {"labels of whole texts": 2}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"text": 5}, "“text”: a text was expected."),
        ({"entities": {}}, "“entities”: a list was expected."),
        ({"entities": [7]}, "“entities[0]”: an object was expected."),
        ({"entities": [*RELATIONS["entities"], {"start_offset": "0"}]}, "“entities[2].label”: a text was expected."),
        (
            {"entities": [{"label": "x", "start_offset": "0"}]},
            "“entities[0].start_offset”: a whole number was expected.",
        ),
        (
            {"entities": [{"label": "x", "start_offset": True}]},
            "“entities[0].start_offset”: a whole number was expected.",
        ),
        ({"label": [[0, 4]]}, "“label[0][2]”: a text was expected."),
        ({"relations": [{"type": None}]}, "“relations[0].type”: a text was expected."),
        ({"id": [1]}, "“id”: a text was expected."),
        ({"text": "a" * 100_001}, "An item has at most 100\u202f000 characters; this one has 100\u202f001."),
    ],
)
def test_a_field_of_another_type_is_named_and_the_next_item_read(change, why):
    pieces = list(DOCCANO.read(peers.source(peers.lines(RELATIONS | change, SPANS))))
    assert str(pieces[0].refused) == f"line 1: {why}"
    assert pieces[1].value["original"] == SPANS["text"]


def test_a_relation_that_lacks_an_end_is_left_out_and_counted():
    relations = [{"from_id": 31, "to_id": 99, "type": "x"}, {"from_id": None, "to_id": 32, "type": "x"}]
    [value], left_out = peers.read(DOCCANO, peers.lines(RELATIONS | {"relations": relations}))
    assert value["relations"] == []
    assert left_out == {"relations that lack an end": 2}


def test_what_is_written_looks_like_an_export_of_doccano():
    entities, relations = [("PER", 0, 0), ("LOC", 4, 4)], [("in", 0, 1)]
    files, export = peers.written(DOCCANO, [peers.item(entities=entities, relations=relations)] * 2)
    first, second = map(json.loads, files["dataset.jsonl"].splitlines())
    assert first == {
        "external_id": "",
        "text": "Anna met Bob in Paris",
        "entities": [
            {"id": 0, "label": "PER", "start_offset": 0, "end_offset": 4},
            {"id": 1, "label": "LOC", "start_offset": 16, "end_offset": 21},
        ],
        "relations": [{"id": 0, "from_id": 0, "to_id": 1, "type": "in"}],
        "Comments": [],
        "extra_fields": {},
    }
    assert [each["id"] for each in second["entities"]] == [2, 3]  # doccano looks them up among those of many texts
    assert export.losses() == []


def test_items_whose_tokens_are_not_in_the_original_are_written_as_their_tokens():
    item = WrittenItem(1, "", "don't", ["do", "n't", "x"], None, {}, [WrittenEntity("a", "NEG", 1, 1, True)])
    files, export = peers.written(DOCCANO, [item])
    assert json.loads(files["dataset.jsonl"])["text"] == "do n't x"
    assert export.losses() == [
        "1 of 1 item is written as their tokens, which are not in the original",
        "1 of 1 entity is suggested and written like the others",
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(peers.items(), min_size=1, max_size=3))
def test_a_round_trip_keeps_texts_marks_and_fields(items):
    files, _ = peers.written(DOCCANO, items)
    values, left_out = peers.read(DOCCANO, files["dataset.jsonl"])
    assert [peers.of_read(value) for value in values] == [peers.of_written(item) for item in items]
    assert left_out == {}


@pytest.mark.parametrize("name", peers.NOT_OURS)
def test_other_files_are_not_taken(name):
    assert peers.seen(DOCCANO, peers.NOT_OURS[name]) is None


def test_a_first_object_that_is_longer_than_the_beginning_is_recognised():
    data = json.dumps({"text": "a" * 1_100_000} | {})[:-1] + ', "entities": [{"start_offset": 0, "end_offset": 4}]}'
    assert peers.seen(DOCCANO, data[:1_000_000]) is None
    data = json.dumps({"entities": RELATIONS["entities"] * 20_000, "text": "x"})[:1_000_000]
    assert peers.seen(DOCCANO, data) == "labels PER, LOC"


@settings(max_examples=80, deadline=None)
@given(
    peers.mutated(peers.lines(SPANS, RELATIONS).encode())
    | peers.swapped([SPANS, RELATIONS]).map(lambda v: json.dumps(v).encode())
)
def test_damaged_files_are_refused_and_nothing_else(data):
    peers.only_refuses(DOCCANO, data)
