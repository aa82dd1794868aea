"""Data sets for Hugging Face."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.formats.dataset_format import WrittenLabel
from datasets.formats.hugging_face import HUGGING_FACE
from datasets.formats.json_fields import without_overlaps
from tests.datasets.formats import json_peers as peers

TAGGED = {
    "id": "0",
    "tokens": ["Anna", "Lee", "in", "Paris"],
    "ner_tags": ["B-PER", "I-PER", "O", "B-LOC"],
    "pos_tags": [1],
}


def entities(tags):
    [value], _ = peers.read(HUGGING_FACE, peers.lines({"tokens": ["t"] * len(tags), "ner_tags": tags}))
    return [(each["label"], each["start"], each["end"]) for each in value["entities"]]


def test_tags_are_read_as_entities():
    [value], left_out = peers.read(HUGGING_FACE, peers.lines(TAGGED))
    assert (value["original"], value["tokens"]) == ("Anna Lee in Paris", TAGGED["tokens"])
    assert peers.of_read(value)[1:4] == ("0", {"pos_tags": [1]}, [(0, 8, "PER"), (12, 17, "LOC")])
    assert left_out == {}


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-a I-a B-a O", [("a", 0, 1), ("a", 2, 2)]),
        ("I-a I-b O I-b", [("a", 0, 0), ("b", 1, 1), ("b", 3, 3)]),
        ("S-a S-a B-a I-a E-a", [("a", 0, 0), ("a", 1, 1), ("a", 2, 4)]),
        ("U-a B-a L-a", [("a", 0, 0), ("a", 1, 2)]),
        ("PER PER O LOC", [("PER", 0, 1), ("LOC", 3, 3)]),
        ("B-a-b I-a-b", [("a-b", 0, 1)]),
        ("art-film O person-actor person-actor", [("art-film", 0, 0), ("person-actor", 2, 3)]),
        ("S-PER I-PER", [("PER", 0, 0), ("PER", 1, 1)]),
        ("O O", []),
    ],
)
def test_all_schemes_of_tags_are_read(tags, found):
    assert entities(tags.split()) == found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ner_tags": [0, 1, 2, 0]}, "“ner_tags”: these are numbers; write the names of the tags, which"),
        ({"ner_tags": ["O"]}, "“ner_tags”: 4 tags were expected, one for each token; there are 1."),
        ({"ner_tags": [None] * 4}, "“ner_tags[0]”: a text was expected."),
        ({"tokens": [5]}, "“tokens[0]”: a text was expected."),
        ({"spans": [{"label": "x", "start": 0, "end": "1"}]}, "“spans[0].end”: a whole number was expected."),
        ({"relations": [{"label": "x", "head": None}]}, "“relations[0].head”: a whole number was expected."),
        ({"extra_fields": "{"}, "“extra_fields”: an object was expected."),
        ({"extra_fields": "[1]"}, "“extra_fields”: an object was expected."),
    ],
)
def test_what_cannot_be_read_is_named(change, why):
    [refused] = peers.refusals(HUGGING_FACE, peers.lines(TAGGED | change, TAGGED))
    assert refused.startswith(f"line 1: {why}")


def test_its_files_are_recognised():
    assert peers.seen(HUGGING_FACE, peers.lines(TAGGED)) == "labels PER, LOC"
    assert peers.seen(HUGGING_FACE, json.dumps([TAGGED | {"ner_tags": [0]}])) == ""
    long = {"tokens": ["Anna"] * 200_000, "ner_tags": ["O"]}
    assert peers.seen(HUGGING_FACE, json.dumps({"ner_tags": ["B-X"] * 3, **TAGGED, **long})[:1_000_000]) is not None


@pytest.mark.parametrize("name", peers.NOT_OURS)
def test_other_files_are_not_taken(name):
    assert peers.seen(HUGGING_FACE, peers.NOT_OURS[name]) is None


def test_what_is_written_has_tags_spans_and_a_card():
    marks = [("Object/Pump, hydraulic", 0, 1), ("PER", 0, 0), ("LOC", 4, 4)]
    item = peers.item(entities=marks, relations=[("in", 1, 2)], external_id="W", site=1)
    labels = {"entity": [WrittenLabel("Object/Pump, hydraulic", 2, "", "")]}
    files, export = peers.written(HUGGING_FACE, [item], "Pumps: “1”\n", labels=labels)
    value = json.loads(files["data/train.jsonl"])
    assert value["ner_tags"] == ["B-Object/Pump, hydraulic", "I-Object/Pump, hydraulic", "O", "O", "B-LOC"]
    assert value["spans"][0] == {
        "label": "Object/Pump, hydraulic",
        "start": 0,
        "end": 2,
        "start_char": 0,
        "end_char": 8,
    }
    assert value["relations"] == [{"head": 1, "tail": 2, "label": "in"}]
    assert (value["id"], value["extra_fields"]) == ("W", '{"site": 1}')
    card = files["README.md"]
    assert card.startswith('---\npretty_name: "Pumps: “1”"\n')
    assert "- n<1K\n" in card and "path: data/train.jsonl" in card and "- `Object/Pump, hydraulic`\n" in card
    loss = "1 of 3 entities is in the column “spans” alone, not in “ner_tags”, for they overlap a longer one"
    assert export.losses() == [loss] and f"{loss}.\n" in card


@settings(max_examples=60, deadline=None)
@given(st.lists(peers.items(), min_size=1, max_size=3))
def test_a_round_trip_keeps_everything(items):
    files, _ = peers.written(HUGGING_FACE, items)
    values, left_out = peers.read(HUGGING_FACE, files["data/train.jsonl"])
    assert [peers.of_read(value) for value in values] == [peers.of_written(item) for item in items]
    assert [value["tokens"] for value in values] == [item.tokens for item in items]
    assert left_out == {}


@settings(max_examples=60, deadline=None)
@given(peers.items())
def test_the_tags_are_the_entities_that_overlap_no_longer_one(item):
    files, _ = peers.written(HUGGING_FACE, [item])
    value = json.loads(files["data/train.jsonl"])
    kept = without_overlaps(item.entities)
    assert sorted(entities(value["ner_tags"])) == sorted((each.label, each.start, each.end) for each in kept)
    for each in item.entities:
        longer = [other for other in kept if other.start <= each.end and each.start <= other.end]
        assert max(other.end - other.start for other in longer) >= each.end - each.start


@settings(max_examples=80, deadline=None)
@given(
    peers.mutated(peers.lines(TAGGED).encode())
    | peers.swapped([TAGGED | {"spans": [{"label": "x", "start": 0, "end": 1}], "extra_fields": "{}"}]).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_damaged_files_are_refused_and_nothing_else(data):
    peers.only_refuses(HUGGING_FACE, data)
