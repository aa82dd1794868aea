"""JSON of Label Studio."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_service.file_formats import Beginning
from datasets.formats.dataset_format import WrittenEntity, WrittenItem, WrittenRelation
from datasets.formats.label_studio import LABEL_STUDIO
from tests.datasets.formats import json_peers as peers


def region(id, start, end, label, text=None, **more):
    value = {"start": start, "end": end, "labels": [label] if isinstance(label, str) else label}
    value |= {"text": text} if text else {}
    return {"id": id, "from_name": "ner", "to_name": "text", "type": "labels", "value": value, **more}


def relation(source, target, *labels, direction="right"):
    return {"type": "relation", "from_id": source, "to_id": target, "direction": direction, "labels": [*labels]}


TEXT = "Anna lives in Paris"
ENDS = (0, 4, "PER"), (14, 19, "LOC")
RESULT = [region("a", 0, 4, "PER", "Anna"), region("b", 14, 19, "LOC", "Paris"), relation("a", "b", "livesIn")]
TASK = {"id": 12, "data": {"text": TEXT}, "annotations": [{"id": 3, "result": RESULT}], "predictions": []}


def marks(*regions, **more):
    """The marks of a task with these regions, and what is left out."""
    [value], left_out = peers.read(LABEL_STUDIO, json.dumps([TASK | {"annotations": [{"result": [*regions]}]} | more]))
    return peers.of_read(value)[3:], left_out


def test_annotations_are_read_as_made():
    [value], left_out = peers.read(LABEL_STUDIO, json.dumps([TASK]))
    assert peers.of_read(value) == (TEXT, "12", {}, [*ENDS], [("livesIn", *ENDS)])
    assert "suggested" not in value
    assert left_out == {}


def test_predictions_are_read_as_suggestions_where_nothing_is_made():
    guesses = [{"result": RESULT}, {"result": []}]
    task = TASK | {"annotations": [{"was_cancelled": True, "result": RESULT}], "predictions": guesses}
    [value], left_out = peers.read(LABEL_STUDIO, json.dumps([task]))
    assert value["suggested"] is True
    assert peers.of_read(value)[3] == [*ENDS]
    assert left_out == {"predictions of tasks that have annotations or others": 1}


@pytest.mark.parametrize("task", [{"data": {"text": TEXT}}, {"id": 1, "data": {"body": TEXT}, "meta": {}}])
def test_tasks_without_annotations_are_recognised(task):
    assert peers.seen(LABEL_STUDIO, json.dumps([task])) == ""
    assert peers.seen(LABEL_STUDIO, json.dumps([task | {"rows": 1}])) is None


def test_the_first_annotation_that_is_not_cancelled_stands():
    made = [{"was_cancelled": True, "result": []}, {"result": RESULT[:1]}, {"result": RESULT}, {"result": []}]
    [value], left_out = peers.read(
        LABEL_STUDIO, json.dumps([TASK | {"annotations": made, "predictions": [{"result": 5}]}])
    )
    assert peers.of_read(value)[3:] == ([ENDS[0]], [])
    assert "suggested" not in value
    assert left_out == {
        "annotations of tasks that have several": 2,
        "predictions of tasks that have annotations or others": 1,
    }


def test_several_labels_of_a_region_are_several_entities_and_relations_go_to_the_first():
    (entities, relations), _ = marks(region("a", 0, 4, ["PER", "Poet"]), RESULT[1], relation("a", "b", "in"))
    assert entities == [ENDS[0], (0, 4, "Poet"), ENDS[1]]
    assert relations == [("in", *ENDS)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (relation("a", "b"), [("related", *ENDS)]),
        (relation("a", "b", direction="left"), [("related", *ENDS[::-1])]),
        (relation("a", "b", "x", "y"), [("x", *ENDS), ("y", *ENDS)]),
        (relation("a", "b", "x", direction="bi"), [("x", *ENDS), ("x", *ENDS[::-1])]),
    ],
)
def test_relations_have_a_direction_and_any_number_of_labels(given, found):
    assert marks(given, *RESULT[:2])[0][1] == found


def test_what_is_no_span_of_the_text_is_left_out_and_counted_by_its_type():
    others = [{"type": kind, "value": {}} for kind in ("choices", "choices", "textarea", "brushlabels")]
    assert marks(*others, region("x", 0, 4, []), RESULT[0]) == (
        ([ENDS[0]], []),
        {"choices": 2, "typed texts": 1, "regions of other types": 1, "regions without a label": 1},
    )


EMOJI = "😀 Anna 😀 lives"


@pytest.mark.parametrize(
    ("start", "end", "said", "found"),
    [
        (2, 6, "Anna", [(2, 6, "L")]),
        (3, 7, "Anna", [(2, 6, "L")]),
        (2, 6, None, [(2, 6, "L")]),
        (11, 16, "lives", [(9, 14, "L")]),
        (2, 8, "Anna\\n😀", [(2, 8, "L")]),
    ],
    ids=["code points", "UTF-16", "without a text", "UTF-16 behind the end", "escaped line end"],
)
def test_the_text_of_a_region_tells_how_it_is_counted(start, end, said, found):
    assert marks(region("a", start, end, "L", said), data={"text": EMOJI})[0][0] == found


def test_all_regions_of_a_task_are_counted_in_one_way():
    regions = region("a", 3, 4, "L", "a"), region("b", 6, 7, "L", "a")
    assert marks(*regions, data={"text": "😀 aa a"})[0][0] == [(2, 3, "L"), (5, 6, "L")]


def test_a_region_with_another_text_is_left_out_and_so_is_one_outside():
    wrong = [region("a", 0, 4, "L", "Anna"), region("b", 5, 99, "L"), region("c", -1, 2, "L")]
    assert marks(*wrong, data={"text": EMOJI})[1] == {
        "entities whose text is not at their place": 1,
        "entities outside of their text": 2,
    }


MINIMUM = {
    "id": 5,
    "body": TEXT,
    "mood": "a very good one, as far as anybody here can tell",
    "ner": [{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}],
    "annotator": 1,
    "annotation_id": 9,
    "created_at": "2022-01-01T00:00:00Z",
    "lead_time": 1.5,
}


def test_json_min_is_read():
    text = json.dumps([MINIMUM | {"text": TEXT}])
    assert peers.seen(LABEL_STUDIO, text) == "labels PER"
    [value], _ = peers.read(LABEL_STUDIO, text)
    assert peers.of_read(value) == (TEXT, "5", {"body": TEXT, "mood": MINIMUM["mood"]}, [ENDS[0]], [])


def test_the_text_can_be_chosen_where_there_are_several():
    data = json.dumps([MINIMUM])
    [choice] = LABEL_STUDIO.settings(Beginning(data.encode()))
    assert (choice.name, [*choice.choices], choice.default) == ("text_field", ["body", "mood"], "mood")
    [value], _ = peers.read(LABEL_STUDIO, data, text_field="body")
    assert peers.of_read(value)[:3] == (TEXT, "5", {"mood": MINIMUM["mood"]})
    assert LABEL_STUDIO.settings(Beginning(json.dumps([TASK]).encode())) == []


def test_the_text_is_the_field_that_regions_are_in():
    task = TASK | {"data": {"note": TEXT, "text": "x" * 50}}
    elsewhere = region("b", 5, 10, "X", "lives")
    task["annotations"] = [{"result": [region("a", 0, 4, "PER", "Anna") | {"to_name": "note"}, elsewhere]}]
    [value], left_out = peers.read(LABEL_STUDIO, json.dumps([task]))
    assert (peers.of_read(value)[0], peers.of_read(value)[3]) == (TEXT, [(0, 4, "PER")])
    assert left_out == {"regions of other texts": 1}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"annotations": 5}, "“annotations”: a list was expected."),
        ({"annotations": [5]}, "“annotations[0]”: an object was expected."),
        (
            {"annotations": [{"result": [region("a", "0", 4, "L")]}]},
            "“annotations[0].result[0].value.start”: a whole number was",
        ),
        (
            {"annotations": [{"result": [{"type": "labels"}]}]},
            "“annotations[0].result[0].start”: a whole number was expected.",
        ),
        ({"data": {"text": ["a"]}}, "“data.text”: a text was expected."),
    ],
)
def test_a_field_of_another_type_is_named(change, why):
    [refused] = peers.refusals(LABEL_STUDIO, json.dumps([TASK | change, TASK]))
    assert refused.startswith(f"item 1: {why}")


def test_suggestions_are_written_as_predictions():
    entities = [WrittenEntity("a", "PER", 0, 0), WrittenEntity("b", "LOC", 3, 3, True), WrittenEntity("c", "X", 1, 1)]
    relations = [WrittenRelation("in", "a", "b"), WrittenRelation("x", "a", "c"), WrittenRelation("y", "a", "c", True)]
    item = WrittenItem(1, "W", TEXT, TEXT.split(), [(0, 4), (5, 10), (11, 13), (14, 19)], {}, entities, relations)
    files, export = peers.written(LABEL_STUDIO, [item, peers.item()])
    first, second = json.loads(files["dataset.json"])
    names = {"from_name": "label", "to_name": "text", "type": "labels"}
    value = {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
    assert first["data"] == {"text": TEXT, "external_id": "W", "extra_fields": {}}
    assert first["annotations"][0]["result"][0] == {"id": "a", **names, "value": value}
    assert first["annotations"][0]["result"][2] == relation("a", "c", "x")
    assert [each["id"] for each in first["predictions"][0]["result"]] == ["b"]
    assert second == {
        "data": {"text": "Anna met Bob in Paris", "external_id": "", "extra_fields": {}},
        "annotations": [],
    }
    assert export.losses() == ["2 of 3 relations are left out: of the relation and its ends, some are suggestions"]


@settings(max_examples=60, deadline=None)
@given(st.lists(peers.items(), min_size=1, max_size=3), st.booleans())
def test_a_round_trip_keeps_texts_marks_and_fields(items, is_suggested):
    for item in items:
        item.entities = [each._replace(is_suggested=is_suggested) for each in item.entities]
        item.relations = [each._replace(is_suggested=is_suggested) for each in item.relations]
    files, export = peers.written(LABEL_STUDIO, items)
    values, left_out = peers.read(LABEL_STUDIO, files["dataset.json"])
    assert [peers.of_read(value) for value in values] == [peers.of_written(item) for item in items]
    assert [bool(value.get("suggested")) for value in values] == [
        is_suggested and bool(item.entities) for item in items
    ]
    assert (left_out, export.losses()) == ({}, [])


@pytest.mark.parametrize("name", peers.NOT_OURS)
def test_other_files_are_not_taken(name):
    assert peers.seen(LABEL_STUDIO, peers.NOT_OURS[name]) is None


def test_a_first_task_that_is_longer_than_the_beginning_is_recognised():
    data = json.dumps([TASK | {"annotations": [{"result": RESULT * 9000}]}])[:1_000_000]
    assert peers.seen(LABEL_STUDIO, data) == "labels PER, LOC, livesIn"


def test_many_regions_with_a_wrong_text_do_not_take_long():
    text = "ab " * 33_000
    regions = [region("a", 0, 99_000, "L", "ab") for _ in range(5000)]
    assert marks(*regions, data={"text": text})[1] == {"entities whose text is not at their place": 5000}


@settings(max_examples=80, deadline=None)
@given(
    peers.mutated(json.dumps([TASK, MINIMUM]).encode())
    | peers.swapped([TASK, MINIMUM | {"text": TEXT}]).map(lambda value: json.dumps(value).encode())
)
def test_damaged_files_are_refused_and_nothing_else(data):
    peers.only_refuses(LABEL_STUDIO, data)
