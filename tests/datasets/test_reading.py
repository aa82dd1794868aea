"""What documents say, in all their formats; what is wrong with bad ones is in test_malformed.py."""

import json
import tracemalloc

import pytest
from jsonschema import Draft202012Validator

from annotation_service import json_input
from annotation_service.file_formats import Beginning
from annotation_service.inputs import Problem, Refused
from annotation_service.json_input.lists import Elements
from annotation_service.schemas import Checker
from datasets.formats import detect
from datasets.importing.document import (
    PREVIEW_ITEMS,
    PREVIEW_TOKENS,
    ImportReport,
    Reader,
)
from datasets.importing.items import NewEntity, NewItem, NewRelation
from datasets.kinds import DatasetKind
from datasets.preprocessing import Preprocessing
from ontologies.documents import example_json
from tests import factories

from .documents import Ontologies, entity, item, reader, relation

JSON_KINDS = [DatasetKind.RICH, DatasetKind.PREANNOTATED_ENTITY, DatasetKind.PREANNOTATED_RELATION]


@pytest.fixture
def ontologies(alice):
    return Ontologies(factories.ontology(owner=alice), factories.ontology(owner=alice, kind="relation"))


def pk(ontology, fullname):
    return ontology.labels().by_fullname[fullname].pk


def items_of(document, options, **more):
    return list(reader(document, options, **more))


def as_lines(items):
    return "".join(f"{json.dumps(value)}\n" for value in items)


# --- Items ---


def test_an_item_is_read_with_its_marks(ontologies):
    value = item(
        external_id="WO-1",
        extra_fields={"site": "north"},
        entities=[entity(0, 0, id="a"), entity(1, 2, "PhysicalObject/DrivingObject", id="b")],
        relations=[relation("a", "b", "hasParticipant/hasPatient")],
    )
    assert items_of(json.dumps([value]), ontologies.options(DatasetKind.PREANNOTATED_RELATION)) == [
        NewItem(
            place="item 1",
            original="replace engine oil",
            tokens=["replace", "engine", "oil"],
            found=[(0, 7), (8, 14), (15, 18)],
            external_id="WO-1",
            extra_fields={"site": "north"},
            entities=[
                NewEntity("a", pk(ontologies.entity, "Activity"), 0, 0),
                NewEntity("b", pk(ontologies.entity, "PhysicalObject/DrivingObject"), 1, 2),
            ],
            relations=[NewRelation("r1", pk(ontologies.relation, "hasParticipant/hasPatient"), "a", "b")],
        )
    ]


def test_entities_without_ids_are_numbered(ontologies):
    value = item(entities=[entity(0, 0), entity(1, 1), entity(0, 1)])
    [read] = items_of(json.dumps([value]), ontologies.options(DatasetKind.PREANNOTATED_ENTITY))
    assert [e.uid for e in read.entities] == ["e1", "e2", "e3"]


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_what_is_missing_or_null_is_empty(ontologies, kind):
    names = ["external_id", "extra_fields", *["entities", "relations"][: JSON_KINDS.index(kind)]]
    for value in (item(), item(**dict.fromkeys(names))):
        [read] = items_of(json.dumps([value]), ontologies.options(kind, unmarked="keep"))
        assert (read.external_id, read.extra_fields, list(read.entities), list(read.relations)) == ("", {}, [], [])


def test_tokens_are_searched_from_left_to_right(ontologies):
    cases = [
        ("a a b", ["a", "b"], [(0, 1), (4, 5)]),
        ("a b a", ["b", "a"], [(2, 3), (4, 5)]),
        ("ab", ["a", "b"], [(0, 1), (1, 2)]),
        ("a\nb", ["a\nb"], [(0, 3)]),
        ("👩‍👩‍👧 x", ["👩", "x"], [(0, 1), (6, 7)]),
        ("a b", ["b", "a"], None),
        ("aa", ["a", "a", "a"], None),
        ("say “no”", ["say", '"no"'], None),
        ("é", ["e\u0301"], None),
        ("", ["a"], None),
    ]
    document = json.dumps([{"original": original, "tokens": tokens} for original, tokens, _ in cases])
    reading = reader(document, ontologies.options(DatasetKind.RICH))
    assert [read.offsets for read in reading] == [offsets for *_, offsets in cases]
    assert reading.report.without_offsets == 5
    assert "5 items with tokens that are not in the original" in reading.report.in_words()


def test_labels_are_normalised(alice, ontologies):
    accents = Ontologies(factories.ontology(owner=alice, items=[{"name": "Café"}]), None)
    value = item(entities=[entity(0, 0, "Cafe\u0301"), entity(1, 1, "Café")])
    [read] = items_of(json.dumps([value]), accents.options(DatasetKind.PREANNOTATED_ENTITY))
    assert len({e.label for e in read.entities}) == 1


def test_a_number_that_json_schema_calls_an_integer_is_one(ontologies):
    text = json.dumps([item(entities=[entity(0, 1)])]).replace('"end": 1', '"end": 1.0')
    [read] = items_of(text, ontologies.options(DatasetKind.PREANNOTATED_ENTITY))
    assert isinstance(read.entities[0].end, int) and read.entities[0].end == 1


def test_values_are_kept_as_they_are(ontologies):
    extra = {"deep": [[{"a": None}], True, -1.5e300, 2**63 - 1, "\u2028 \x7f é e\u0301"], "": {}}
    value = {"original": "  x\r\ny \t", "tokens": ["x\r\ny"], "external_id": " id\n", "extra_fields": extra}
    for text in (json.dumps([value]), json.dumps([value], ensure_ascii=False, indent=3)):
        [read] = items_of(text, ontologies.options(DatasetKind.RICH))
        assert (read.original, read.tokens) == (value["original"], value["tokens"])
        assert (read.external_id, read.extra_fields) == (value["external_id"], extra)
        assert read.offsets == [(2, 6)]


# --- Formats ---


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lists_and_lines_say_the_same(ontologies, end, mark):
    values = [item(extra_fields={"n": n}, entities=[entity(0, n % 3)]) for n in range(50)]
    options = ontologies.options(DatasetKind.PREANNOTATED_ENTITY)
    wanted = [(i.extra_fields["n"], i.entities) for i in items_of(json.dumps(values), options)]
    lines_options = ontologies.options(DatasetKind.PREANNOTATED_ENTITY, "jsonl")
    for document, options in (
        (json.dumps(values, indent=2), ontologies.options(DatasetKind.PREANNOTATED_ENTITY)),
        (as_lines(values), lines_options),
        (as_lines(values).rstrip(), lines_options),
        (as_lines(values).replace("\n", "\n \n\n"), lines_options),
    ):
        read = items_of(mark + document.replace("\n", end), options)
        assert [(i.extra_fields["n"], i.entities) for i in read] == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_where_a_block_ends_makes_no_difference(ontologies, monkeypatch, size):
    values = [item(original='a "b" [c', tokens=["a", '"b"', "[c"], extra_fields={"é\\": ["😀", {}]}) for _ in range(5)]
    monkeypatch.setattr("annotation_service.inputs.BLOCK_BYTES", size)
    for text, format in (
        (json.dumps(values, ensure_ascii=False, indent=1).replace("\n", "\r\n"), "json"),
        (as_lines(values).replace("\n", "\r\n"), "jsonl"),
    ):
        read = items_of("\ufeff" + text, ontologies.options(DatasetKind.RICH, format))
        assert [(i.original, i.tokens, i.extra_fields) for i in read] == [
            (v["original"], v["tokens"], v["extra_fields"]) for v in values
        ]
    lines = items_of("a b\r\n\r\né 😀\r\n", ontologies.options(DatasetKind.STANDARD, "text"))
    assert [(i.place, i.original) for i in lines] == [("line 1", "a b"), ("line 3", "é 😀")]


def test_places_are_those_of_the_document(ontologies):
    values = [item(), item()]
    assert [i.place for i in items_of(json.dumps(values), ontologies.options(DatasetKind.RICH))] == ["item 1", "item 2"]
    lines = "\n" + as_lines(values)
    read = items_of(lines, ontologies.options(DatasetKind.RICH, "jsonl"))
    assert [i.place for i in read] == ["line 2", "line 3"]


def test_lines_of_text_become_items_of_a_rich_dataset(ontologies):
    options = ontologies.options(DatasetKind.RICH, "text", preprocessing=Preprocessing(tokeniser="punkt"))
    [read] = items_of("Pump leaks, badly.\n", options)
    assert read.tokens == ["Pump", "leaks", ",", "badly", "."]
    assert read.offsets == [(0, 4), (5, 10), (10, 11), (12, 17), (17, 18)]


def test_texts_that_are_there_already_are_duplicates():
    options = Ontologies(None, None).options(
        DatasetKind.STANDARD, "text", preprocessing=Preprocessing(remove_duplicates="identical", lowercase=True)
    )
    reading = reader(b"A b\nc\nC\nd\n", options, known_texts=["a b", "D"])
    assert [read.original for read in reading] == ["c"]
    assert (reading.report.items, reading.report.duplicates) == (1, 3)


def test_json_is_no_standard_dataset(ontologies):
    [problem] = ontologies.report("[{}]", DatasetKind.STANDARD).problems.first
    assert "“Rich dataset”" in problem.text


# --- The report ---


def test_the_report_counts_what_is_there(ontologies):
    marks = {"entities": [entity(0, 0, id="a"), entity(1, 2, "State", id="b")], "relations": [relation("a", "b")]}
    values = [item(**marks), item(), item(entities=[entity(1, 1, "State", id="x")])]
    report = ontologies.report("\n".join(map(json.dumps, values)) + "\n\n", DatasetKind.PREANNOTATED_RELATION, "jsonl")
    assert (report.items, report.tokens, report.entities, report.relations) == (3, 9, 3, 1)
    assert report.labels == {"entity": {"State": 2, "Activity": 1}, "relation": {"hasPart": 1}}
    assert list(report.labels["entity"]) == ["State", "Activity"]
    assert (
        report.in_words()
        == "3 items, 9 tokens, 3 entities, 1 relation, 1 blank line skipped, 2 texts identical to another"
    )


def test_the_report_survives_json(ontologies):
    values = [item(external_id="x"), item(external_id="x"), item(entities=[entity(5, 4)]), item(entities=[entity()])]
    report = ontologies.report(json.dumps(values), DatasetKind.PREANNOTATED_ENTITY)
    assert report.problems.total == 2
    kept = json.loads(json.dumps(report.as_json()))
    assert json.loads(json.dumps(ImportReport.from_json(kept).as_json())) == kept
    assert ImportReport.from_json(kept).in_words() == report.in_words()
    assert ImportReport.from_json(kept).problems.first == report.problems.first
    assert ImportReport.from_json({}).as_json() == ImportReport().as_json()


def test_the_preview_shows_the_first_items(ontologies):
    report = ontologies.report(
        json.dumps([item(extra_fields={"n": n}, entities=[entity(1, 2)]) for n in range(PREVIEW_ITEMS + 5)]),
        DatasetKind.PREANNOTATED_ENTITY,
    )
    assert [shown["extra_fields"]["n"] for shown in report.preview] == list(range(PREVIEW_ITEMS))
    first = report.preview[0]
    assert (first["place"], first["tokens"], first["is_whole"]) == ("item 1", ["replace", "engine", "oil"], True)
    assert [(e["start"], e["end"]) for e in first["entities"]] == [(1, 2)]


def test_the_preview_shows_good_items_behind_a_problem(ontologies):
    report = ontologies.report(json.dumps([item(tokens=[]), item(), item(tokens=[""]), item()]), DatasetKind.RICH)
    assert [shown["place"] for shown in report.preview] == ["item 2", "item 4"]
    assert (report.problems.total, report.items) == (2, 2)


@pytest.mark.parametrize("occur", [True, False])
def test_the_preview_of_a_long_item_is_its_beginning(ontologies, occur):
    tokens = [f"w{n}" for n in range(PREVIEW_TOKENS + 100)]
    original = " ".join(tokens) if occur else "x" * 90_000
    last = len(tokens) - 1
    marks = [entity(0, 0, id="a"), entity(1, last, id="b"), entity(2, 2, id="c")]
    value = {"original": original, "tokens": tokens, "entities": marks}
    value["relations"] = [relation("a", "b"), relation("a", "c")]
    [shown] = ontologies.report(json.dumps([value]), DatasetKind.PREANNOTATED_RELATION).preview
    assert len(shown["tokens"]) == PREVIEW_TOKENS and not shown["is_whole"]
    assert [e["uid"] for e in shown["entities"]] == ["a", "c"]
    assert [(r["source"], r["target"]) for r in shown["relations"]] == [("a", "c")]
    assert len(json.dumps(shown)) < 20_000
    if occur:
        assert shown["original"] == " ".join(tokens[:PREVIEW_TOKENS])


@pytest.mark.parametrize("tokens", [["x" * 90_000], ["a", "x" * 90_000, "b"], ["not there"] * 10_000])
def test_the_preview_is_small_whatever_the_item(ontologies, tokens):
    value = {"original": " ".join(tokens)[:90_000], "tokens": tokens, "extra_fields": {"long": "y" * 50_000}}
    report = ontologies.report(json.dumps([value] * 20), DatasetKind.RICH)
    assert report.is_good and len(report.preview) == PREVIEW_ITEMS
    assert not report.preview[0]["is_whole"]
    assert len(json.dumps(report.as_json())) < PREVIEW_ITEMS * 10_000


def test_labels_that_cannot_be_used_are_counted(ontologies):
    ontologies.entity.switch_items([ontologies.entity.items().get(name="State").uid], False, by=ontologies.entity.owner)
    values = [item(entities=[entity(0, 0, "State"), entity(1, 1, "Stat"), entity(2, 2, "Activity")])] * 3
    report = ontologies.report(
        json.dumps([*values, item(entities=[entity(0, 0, "Stat")])]), DatasetKind.PREANNOTATED_ENTITY
    )
    assert report.unusable_labels == {"entity": {"Stat": 4}, "relation": {}}
    assert report.inactive_labels == {"entity": {"State": 3}, "relation": {}}
    assert ImportReport.from_json(report.as_json()).unusable_labels == report.unusable_labels


def test_marks_with_labels_that_are_off_are_counted_refused_or_kept(ontologies):
    for ontology, name in ((ontologies.entity, "PhysicalObject"), (ontologies.relation, "hasPart")):
        factories.item(ontology, name).switch(False, by=ontology.owner)
    off, on = "PhysicalObject/SensingObject", "Activity"
    marked = item(entities=[entity(0, 0, off, id="e1"), entity(1, 1, on, id="e2")], relations=[relation()])
    document = json.dumps([marked, item(entities=[entity(0, 0, off, id="e1"), entity(1, 1, off, id="e2")])])
    found = {"entity": {off: 3}, "relation": {"hasPart": 1}}

    refused = ontologies.report(document, DatasetKind.PREANNOTATED_RELATION)
    assert (refused.inactive_labels, refused.items, refused.problems.total) == (found, 0, 4)
    assert refused.problems.first[0].text.startswith(f"“{off}” is switched off in “entity labels”")
    kept = ontologies.report(document, DatasetKind.PREANNOTATED_RELATION, inactive="keep")
    assert (kept.inactive_labels, kept.items, kept.is_good) == (found, 2, True)
    assert kept.in_words().endswith("4 marks with labels that are switched off")
    assert ImportReport.from_json(kept.as_json()) == kept
    missing = json.dumps([item(entities=[entity(0, 0, "Stat")])])
    assert not ontologies.report(missing, DatasetKind.PREANNOTATED_ENTITY, inactive="keep").is_good


def test_every_problem_is_told_and_the_first_hundred_are_kept(ontologies):
    told = []
    values = [item(tokens=["a"], **{f"f{n}": 1}) for n in range(249)] + [item(tokens=[])]
    report = ontologies.report(json.dumps(values), DatasetKind.RICH, on_problem=told.append)
    assert report.problems.total == len(told) == 250
    assert report.problems.first == told[:100]
    assert (len(report.problem_lines), report.untold) == (100, 150)
    assert told[249] == Problem("item 250, $.tokens", "This list must not be empty.")


def test_problems_that_say_the_same_are_one_line_with_a_count(ontologies):
    told = []
    values = [item(tokens=[]) for _ in range(250)] + [item(tokens=[""])]
    report = ontologies.report(json.dumps(values), DatasetKind.RICH, on_problem=told.append)
    assert (report.problems.total, len(told), report.untold) == (251, 251, 0)
    assert [(line.place, line.text) for line in report.problem_lines] == [
        ("item 1, $.tokens", "This list must not be empty. (and 249 more)"),
        ("item 251, $.tokens[0]", "This must not be empty."),
    ]


def test_the_good_items_are_taken_without_the_bad_ones_if_that_was_decided(ontologies):
    bad = []
    values = [item(), item(tokens=[]), 7, item(external_id="a"), item(external_id="a")]
    reading = reader(json.dumps(values), ontologies.options(DatasetKind.RICH, bad="drop"), on_bad=bad.append)
    assert [one.place for one in reading] == ["item 1", "item 4"]
    report = reading.report
    assert report.is_good and (report.items, report.bad_items, report.problems.total) == (2, 3, 3)
    assert bad == [values[1], 7, values[4]]
    assert "3 items with problems left out" in report.in_words()
    broken = reader(json.dumps(values)[:-1], ontologies.options(DatasetKind.RICH, bad="drop"))
    assert not broken.check().is_good


def test_after_a_problem_nothing_comes_and_at_the_end_it_is_raised(ontologies):
    values = [item(), item(tokens=[]), item(), item(tokens=[""])]
    reading, read = reader(json.dumps(values), ontologies.options(DatasetKind.RICH)), []
    with pytest.raises(Refused) as refused:
        for one in reading:
            read.append(one.place)
    assert read == ["item 1"]
    assert [problem.place for problem in refused.value.problems] == ["item 2, $.tokens", "item 4, $.tokens[0]"]


def test_progress_is_told_and_may_stop_it(ontologies):
    class Stop(Exception):
        pass

    told = []

    def progress(done, total, phase):
        told.append((done, total, phase))
        if len(told) == 3:
            raise Stop

    for document, format, kind in (
        (json.dumps([item() for _ in range(4000)]), "json", DatasetKind.RICH),
        (as_lines([item() for _ in range(4000)]), "jsonl", DatasetKind.RICH),
        ("a b\n" * 200_000, "text", DatasetKind.STANDARD),
    ):
        told.clear()
        with pytest.raises(Stop):
            list(reader(document, ontologies.options(kind, format), progress=progress))
        assert all(0 < done <= total and phase == "reading" for done, total, phase in told)
        assert told[0][0] < told[1][0] < told[2][0]


# --- External ids ---

SAME = [("a", 1), ("", 2), ("b", 3), ("a", 4), ("c", 5), ("a", 6), ("b", 7)]


def same_ids(ontologies, duplicates, known=None, format="json"):
    values = [item(extra_fields={"n": n}, **({"external_id": id} if id else {})) for id, n in SAME]
    text = json.dumps(values) if format == "json" else as_lines(values)
    options = ontologies.options(DatasetKind.RICH, format, duplicates=duplicates)
    reading = reader(text, options, known_ids=known)
    return [(i.external_id, i.extra_fields["n"]) for i in reading], reading


def test_taken_external_ids_are_refused(ontologies):
    with pytest.raises(Refused) as refused:
        same_ids(ontologies, "refuse", {"c": 12})
    assert [(p.place, p.text) for p in refused.value.problems] == [
        ("item 4, $.external_id", "“a” is the external id of item 1. (and 1 more)"),
        ("item 5, $.external_id", "“c” is the external id of item 12 of the dataset."),
        ("item 7, $.external_id", "“b” is the external id of item 3."),
    ]


def test_items_with_taken_external_ids_are_skipped(ontologies):
    read, reading = same_ids(ontologies, "skip", {"c": 12, "z": 1}, "jsonl")
    assert read == [("a", 1), ("", 2), ("b", 3)]
    report = reading.report
    assert (report.items, report.skipped, report.same_in_document, report.same_in_dataset) == (3, 4, 3, 1)
    assert list(report.same_ids[0]) == ["line 4", "a", "line 1"]
    assert list(report.same_ids[1]) == ["line 5", "c", "item 12 of the dataset"]
    assert "4 items with a taken external id left out" in report.in_words()


def test_items_with_taken_external_ids_replace_the_others(ontologies):
    read, reading = same_ids(ontologies, "replace", {"c": 12, "b": 3, "z": 1})
    assert read == [("", 2), ("c", 5), ("a", 6), ("b", 7)]
    assert sorted(reading.replaced_ids) == ["b", "c"]
    report = reading.report
    assert (report.items, report.replaced, report.same_in_document, report.same_in_dataset) == (4, 5, 3, 2)


def test_when_all_are_skipped_nothing_is_left(ontologies):
    text = json.dumps([item(external_id="a")])
    [problem] = ontologies.report(text, DatasetKind.RICH, known_ids={"a": 1}, duplicates="skip").problems.first
    assert "nothing is left to store" in problem.text


def test_a_replacement_in_a_broken_document_is_told_once(ontologies):
    text = json.dumps([item(external_id="a"), item(external_id="a")])[:-1]
    report = ontologies.report(text, DatasetKind.RICH, duplicates="replace")
    assert [problem.text for problem in report.problems.first] == ["The file ends before the list does."]


# --- What a document seems to be ---

DETECTED = {
    "lines of text": (b"replace engine oil\nx\n", "", "standard text"),
    "text that begins with a bracket": (b"[12:30] pump leaks\n", "", "standard text"),
    "text named .json": (b"replace engine oil", "x.json", "rich json"),
    "JSON named .txt": (b'[{"original": ""}]', "notes.TXT", "standard text"),
    "an empty list": (b"[]", "", "rich json"),
    "rich": (json.dumps([item()]).encode(), "", "rich json"),
    "rich with a byte order mark": (b"\xef\xbb\xbf \r\n" + json.dumps([item()]).encode(), "", "rich json"),
    "rich lines": (as_lines([item()] * 3).encode(), "", "rich jsonl"),
    "lines named .json": (as_lines([item()] * 3).encode(), "x.json", "rich jsonl"),
    "one object over lines": (json.dumps(item(), indent=1).encode(), "x.json", "rich json"),
    "entities": (json.dumps([item(), item(entities=[])]).encode(), "", "preannotated_entity json"),
    "entities with ids": (json.dumps([item(entities=[entity(id="a")])]).encode(), "", "preannotated_relation json"),
    "relations": (as_lines([item(), item(entities=[], relations=[])]).encode(), "", "preannotated_relation jsonl"),
    "broken in the second item": (b'[{"entities": []}, {"original": ', "", "preannotated_entity json"),
    "broken in the first": (b"[{original: 1}]", "", "rich json"),
    "nothing": (b"", "", "standard text"),
    "not UTF-8": (b"[{\xff", "", "rich json"),
}


def seems(start):
    found = detect(start)
    return f"{found.kind} {found.format.name}"


@pytest.mark.parametrize("case", DETECTED)
def test_kind_and_format_are_detected(tmp_path, case):
    data, name, wanted = DETECTED[case]
    (tmp_path / "kept").write_bytes(data)
    assert seems(Beginning(data, name)) == seems(Beginning.of(tmp_path / "kept", name)) == wanted


def test_the_beginning_of_a_large_document_is_enough(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"[" + (json.dumps(item(entities=[])).encode() + b",") * 50_000)
    assert seems(Beginning.of(path, "")) == "preannotated_entity json"


@pytest.mark.parametrize("data", [b"[" + b"," * 100_000, b"{}\n" + b"{\n" * 100_000])
def test_of_broken_items_only_the_first_are_looked_at(data, monkeypatch):
    looked_at = []
    parse_json, element = json_input.parse_json, Elements._element
    monkeypatch.setattr(
        json_input.lists, "parse_json", lambda text, **options: looked_at.append(text) or parse_json(text)
    )
    monkeypatch.setattr(Elements, "_element", lambda self, number: looked_at.append(number) or element(self, number))
    detect(Beginning(data, "orders.json"))
    assert 100 < len(looked_at) < 2000


# --- Published schemas ---


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_examples_are_valid_and_name_the_labels_of_the_example_ontologies(alice, kind):
    examples = {kind: json.loads(example_json(kind)) for kind in ("entity", "relation")}
    entities, relations = (factories.ontology(owner=alice, kind=k, items=items) for k, items in examples.items())
    text = kind.example
    assert seems(Beginning(text.encode())) == f"{kind} json"
    report = Ontologies(entities, relations).report(text, kind)
    assert report.is_good and report.items == 2 and not report.without_offsets
    assert bool(report.entities) == kind.has_entities and bool(report.relations) == kind.has_relations
    assert Checker(kind.schema).is_valid(json.loads(text))


def test_the_example_of_a_standard_dataset_is_text():
    report = Ontologies(None, None).report(DatasetKind.STANDARD.example, DatasetKind.STANDARD, "text")
    assert report.is_good and report.items == 3


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_schemas_name_the_fields_of_the_specification(kind):
    schema = kind.schema
    Draft202012Validator.check_schema(schema)
    definitions = schema["$defs"]
    wanted = ["original", "tokens", "external_id", "extra_fields", *["entities", "relations"][: JSON_KINDS.index(kind)]]
    assert list(definitions["item"]["properties"]) == wanted
    assert definitions["item"]["required"] == ["original", "tokens"]
    if kind.has_entities:
        fields = ["id"] * kind.has_relations + ["start", "end", "label"]
        assert definitions["entity"]["required"] == fields
        assert list(definitions["entity"]["properties"]) == [*fields, "active"]  # of a mark from before
    if kind.has_relations:
        fields = ["source_id", "target_id", "label"]
        assert definitions["relation"]["required"] == fields
        assert list(definitions["relation"]["properties"]) == [*fields, "active"]


# --- Memory ---


@pytest.mark.parametrize("format", ["json", "jsonl", "text"])
def test_memory_does_not_grow_with_the_document(ontologies, tmp_path, format):
    def peak(count):
        path = tmp_path / "document"
        values = [item(entities=[entity()], external_id=f"{n}") for n in range(count)]
        kind = DatasetKind.PREANNOTATED_ENTITY
        if format == "json":
            path.write_text(json.dumps(values))
        elif format == "jsonl":
            path.write_text(as_lines(values))
        else:
            path.write_text("replace engine oil filter\n" * count * 3)
            kind = DatasetKind.STANDARD
        del values
        tracemalloc.start()
        for _ in Reader(path, ontologies.options(kind, format)):
            pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    # The external ids and the numbers of the lines are remembered: they take some bytes an item, the items themselves none.
    assert peak(12_000) - peak(4_000) < 8_000 * 300


def test_memory_does_not_grow_with_the_texts_that_a_dataset_has(ontologies):
    def peak(count):
        known = (f"text {n}" for n in range(count))
        reading = reader(
            as_lines([item(original=text) for text in ("text  7", "text 7", "new")]), options, known_texts=known
        )
        tracemalloc.start()
        report = reading.check()
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (report.identical, report.respaced, report.items) == (1, 1, 3)
        return top

    options = ontologies.options(DatasetKind.RICH, "jsonl")
    peak(100)
    assert peak(20_000) - peak(100) < 20_000
