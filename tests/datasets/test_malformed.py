"""Files that people and programs really send: each is refused with the place and the reason, and nothing of it is stored."""

import json
from html import unescape
from typing import NamedTuple

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation_service.inputs import Refused
from annotation_service.models import Job
from datasets.importing.document import MAX_PROBLEMS
from datasets.kinds import DatasetKind
from datasets.models import Annotation, Dataset, Entity, Item, Relation, Upload
from tests import factories

from .documents import Ontologies, entity, item, relation

STANDARD, RICH, ENTITIES, RELATIONS = DatasetKind


class Bad(NamedTuple):
    kind: DatasetKind
    document: bytes
    place: str
    reason: str
    format: str = "json"


def raw(text, place, reason, kind=RICH, format="json"):
    """A document that is written out."""
    return Bad(kind, text if isinstance(text, bytes) else text.encode(), place, reason, format)


def wrong(kind, value, path, reason):
    """A good item, and behind it the bad one."""
    return Bad(kind, json.dumps([item(), value]).encode(), f"item 2, {path}" if path else "item 2", reason)


def text(data, place, reason):
    return Bad(STANDARD, data, place, reason, "text")


def marked(*entities, relations=()):
    return item(entities=list(entities), relations=list(relations))


GOOD = json.dumps(item())
TWO = (entity(0, 0, id="e1"), entity(1, 1, id="e2"))


def wrong_entities(entities, path, reason):
    return wrong(ENTITIES, item(entities=entities), f"$.entities{path}", reason)


def wrong_relations(relations, path, reason):
    """Between two good entities."""
    return wrong(RELATIONS, marked(*TWO, relations=relations), f"$.relations{path}", reason)


CASES = {
    # Not text
    "Latin-1": raw(f'[{GOOD},\n{{"original": "naïve"'.encode("latin-1"), "line 2", "0xef is not UTF-8"),
    "a character cut at the end": raw(f"[{GOOD}, €".encode()[:-1], "line 1", "not UTF-8"),
    "half a pair in UTF-8": raw(b'[\n{"original": "\xed\xa0\x80"}]', "line 2", "not UTF-8"),
    "overlong NUL": raw(b'["\xc0\x80"]', "line 1", "not UTF-8"),
    "NUL": raw(f"[{GOOD},\n\0]", "line 2, column 1", "NUL"),
    "a zip file": raw(b"PK\x03\x04\x14\x00\x00\x00\x08\x00\x9f\x8e", "", "archive is damaged"),
    "nothing": raw("", "", "nothing in it"),
    "only a mark": raw("\ufeff", "", "nothing in it"),
    "only white space": raw(" \r\n\t ", "", "nothing in it"),
    "nothing as lines": raw("", "", "no item", format="jsonl"),
    "only blank lines": raw("\n \n\r\n", "", "no item", format="jsonl"),
    # Not JSON
    "cut in a string": raw(f'[{GOOD},\n {{"original": "rep', "item 2, line 2, column 15", "unterminated string."),
    "cut in an item": raw(f'[{GOOD},\n {{"original": "a",', "item 2, line 2, column 19", "not JSON"),
    "cut behind an item": raw(f"[\n{GOOD}", "line 2, column", "ends before the list does"),
    "cut behind a comma": raw(f"[{GOOD},\n", "item 2, line 2, column 1", "value was expected"),
    "a comma too many": raw(f"[{GOOD},\n]", "item 2, line 2, column 1", "Remove the comma"),
    "a comma at the beginning": raw(f"[,{GOOD}]", "item 1, line 1, column 2", "value was expected"),
    "no comma between items": raw(f"[{GOOD}\n{GOOD}]", "item 1, line 2, column 1", "extra data"),
    "no comma in an item": raw(
        '[{"original": "a"\n"tokens": ["a"]}]', "item 1, line 2, column 1", "comma or a closing bracket"
    ),
    "single quotes": raw("[{'original': 'a', 'tokens': ['a']}]", "item 1, line 1, column 3", "name of a field"),
    "names without quotes": raw('[{original: "a"}]', "item 1, line 1, column 3", "name of a field"),
    "a comment": raw(f"[ // all orders\n{GOOD}]", "item 1, line 1, column 3", "value was expected"),
    "text behind the list": raw(f"[{GOOD}]\nend", "line 2, column 1", "nothing may follow"),
    "two lists": raw(f"[{GOOD}]\n[{GOOD}]", "line 2, column 1", "nothing may follow"),
    "a bracket that closes too much": raw(f"[{GOOD}}},\n{GOOD}]", "item 1, line 1", "extra data"),
    "a list that closes too early": raw(f"[{GOOD}],\n{GOOD}]", "line 1, column", "nothing may follow"),
    "an item that is never closed": raw(f"[{GOOD[:-1]},\n{GOOD}]", "item 1, line 2, column 1", "name of a field"),
    "a quotation mark too few": raw(
        '[{"original": "a, "tokens": ["a"]}]', "item 1, line 1, column 20", "comma or a closing bracket"
    ),
    "a line end in a string": raw(
        '[{"original": "a\nb", "tokens": ["a"]}]', "item 1, line 1, column 17", "control character."
    ),
    "an escape that is none": raw('[{"original": "C:\\work"}]', "item 1, line 1, column 18", "escape"),
    "half an escape": raw('[{"original": "\\u12"}]', "item 1, line 1, column", "escape"),
    "Python's None": raw('[{"original": None}]', "item 1, line 1, column 15", "value was expected"),
    "NaN": raw('[{"extra_fields": {"n": NaN}}]', "item 1, line 1, column 25", "NaN"),
    "Infinity": raw('[{"extra_fields": {"n": Infinity}}]', "item 1, line 1, column 25", "Infinity"),
    "-Infinity": raw('[{"extra_fields": {"n": -Infinity}}]', "item 1, line 1, column 25", "-Infinity"),
    "a number beyond doubles": raw('[{"extra_fields": {"n": 1e999}}]', "item 1, line 1, column 25", "too large"),
    "a number beyond 64 bits": raw(f'[{{"extra_fields": {{"n": {2**63}}}}}]', "item 1, line 1, column 25", "64 bits"),
    "5,000 digits": raw(f'[{{"extra_fields": {{"n": {"9" * 5000}}}}}]', "item 1, line 1, column 25", "64 bits"),
    "a leading zero": raw('[{"extra_fields": {"n": 01}}]', "item 1, line 1, column 26", "not JSON"),
    "a field twice": raw('[{"original": "a", "original": "b"}]', "item 1, $", "“original” stands twice"),
    "a field of an entity twice": raw(
        '[{"original": "a", "tokens": ["a"], "entities": [{"start": 0, "end": 0, "end": 0, "label": "State"}]}]',
        "item 1, $.entities[0]",
        "“end” stands twice",
        ENTITIES,
    ),
    "an escaped NUL": raw('[{"original": "a\\u0000"}]', "item 1, $.original", "NUL"),
    "half a pair": raw('[{"original": "\\ud83d oh"}]', "item 1, $.original", "surrogate"),
    "the other half": raw('[{"tokens": ["\\\\ud83d\\ude00"]}]', "item 1, $.tokens[0]", "surrogate"),
    "half a pair in a name": raw('[{"extra_fields": {"\\udc00": 1}}]', "item 1, $.extra_fields", "surrogate"),
    "a table": raw(
        "original,tokens\na,b\n", "line 1, column 1", "this is no JSON list but, as it looks, a table (CSV)"
    ),
    "one item alone": raw(
        '{"original": "a", "tokens": ["a"]}', "line 1, column 1", "this is an object. If it is an item,"
    ),
    "JSON Lines as a list": raw('{"original": "a"}\n{"original": "b"}\n', "line 1, column 1", "is JSON Lines."),
    "200 levels": raw(f'[{{"extra_fields": {"[" * 200}{"]" * 200}}}]', "item 1, line 1, column 218", "too deep"),
    "a hundred thousand levels": raw("[" * 100_000, "item 1, line 1, column 202", "too deep"),
    "a hundred thousand objects": raw('[{"a":' + '{"a":' * 100_000, "item 1, line 1", "too deep"),
    # Lines that are not JSON
    "a broken line": raw(
        f"{GOOD}\n\n{GOOD[:-1]}\n{GOOD}", "line 3, column", "comma or a closing bracket", format="jsonl"
    ),
    "the last line cut": raw(f'{GOOD}\n{{"original": "', "line 2, column 14", "string", format="jsonl"),
    "one object over lines": raw(json.dumps(item(), indent=1), "line 1, column 2", "name", format="jsonl"),
    "two items in a line": raw(f"{GOOD} {GOOD}", "line 1, column", "extra data", format="jsonl"),
    "a mark in the middle": raw(f"{GOOD}\n\ufeff{GOOD}", "line 2, column 1", "byte order", format="jsonl"),
    "a list in one line": raw(f"[{GOOD}]", "line 1", "An object was expected, not a list", format="jsonl"),
    "lines read as a list": raw(f"{GOOD}\n{GOOD}", "line 1, column 1", "starts with “[”"),
    # Not a list of items
    "an object": raw(f'{{"items": [{GOOD}]}}', "line 1, column 1", "starts with “[”"),
    "a text": raw('\n "replace engine oil"', "line 2, column 2", "starts with “[”"),
    "an empty list": raw("[ ]", "", "no item"),
    "a list in the list": wrong(RICH, [item()], "", "An object was expected, not a list"),
    "a number": wrong(RICH, 5, "", "An object was expected, not a whole number"),
    "null": wrong(RICH, None, "", "An object was expected, not null"),
    # Not the fields of an item
    "an empty item": wrong(RICH, {}, "", "“original”, “tokens” are missing"),
    "no original": wrong(RICH, {"tokens": ["a"]}, "", "“original” is missing"),
    "no tokens": wrong(RICH, {"original": "a"}, "", "“tokens” is missing"),
    "original null": wrong(RICH, item(original=None), "$.original", "A text was expected, not null"),
    "tokens as text": wrong(RICH, item(tokens="a b"), "$.tokens", "A list was expected, not a text"),
    "an item without tokens": wrong(RICH, item(tokens=[]), "$.tokens", "must not be empty"),
    "an empty token": wrong(RICH, item(tokens=["a", ""]), "$.tokens[1]", "must not be empty"),
    "a number as token": wrong(RICH, item(tokens=["a", 1]), "$.tokens[1]", "A text was expected, not a whole number"),
    "an unknown field": wrong(RICH, item(text="a", lable=""), "", "“lable”, “text” are not known here"),
    "an empty external id": wrong(RICH, item(external_id=""), "$.external_id", "must not be empty"),
    "a number as external id": wrong(RICH, item(external_id=7), "$.external_id", "A text was expected"),
    "a long external id": wrong(RICH, item(external_id="x" * 201), "$.external_id", "At most 200 characters"),
    "a list of extra fields": wrong(RICH, item(extra_fields=[]), "$.extra_fields", "An object was expected"),
    # Another kind
    "entities in a rich one": wrong(RICH, item(entities=[entity()]), "$.entities", "no entities; this is an item of a"),
    "ids in a rich one": wrong(RICH, marked(*TWO[:1]), "$.relations", "item of a preannotated relation dataset"),
    "relations in a rich one": wrong(
        RICH, marked(*TWO, relations=[relation()]), "$.relations[0]", "no relations, such as “e1” to “e2”"
    ),
    "relations in an entity one": wrong(
        ENTITIES,
        marked(*TWO, relations=[relation()]),
        "$.relations[0]",
        "such as “e1” to “e2”; this is an item of a preannotated relation dataset",
    ),
    "no relations in an entity one": wrong(
        ENTITIES, item(relations=[]), "$.relations", "no relations; this is an item of a preannotated relation dataset"
    ),
    "an id in an entity one": wrong(
        ENTITIES,
        item(entities=list(TWO)),
        "$.entities[0].id",
        "no ids of entities, such as “e1”, “e2”; this is an item of a preannotated relation dataset",
    ),
    "no ids in a relation one": wrong(
        RELATIONS,
        item(entities=[entity()]),
        "$.entities[0]",
        "“id” is missing: in a preannotated relation dataset every entity has one; this is an item of a preannotated",
    ),
    "an id missing": wrong(RELATIONS, marked(entity(), relations=[relation()]), "$.entities[0]", "“id” is missing"),
    # Not the fields of a mark
    "entities as an object": wrong(ENTITIES, item(entities={}), "$.entities", "A list was expected, not an object"),
    "a text as entity": wrong_entities(["State"], "[0]", "An object was expected"),
    "a negative start": wrong_entities([entity(-1, 0)], "[0].start", "at least 0"),
    "a start in quotes": wrong_entities([entity("0", 0)], "[0].start", "A whole number"),
    "half a token": wrong_entities([entity(0.5, 1)], "[0].start", "A whole number"),
    "true as start": wrong_entities([entity(True, 1)], "[0].start", "A whole number"),
    "no end": wrong_entities([{"start": 0, "label": "State"}], "[0]", "“end” is missing"),
    "an unknown field of an entity": wrong_entities([entity(text="oil")], "[0]", "“text” is not known here"),
    "a relation with an id": wrong_relations([{**relation(), "id": "r1"}], "[0]", "“id” is not known here"),
    "an empty id": wrong(RELATIONS, marked(entity(id="")), "$.entities[0].id", "must not be empty"),
    "a long id": wrong(RELATIONS, marked(entity(id="x" * 101)), "$.entities[0].id", "At most 100 characters"),
    # Marks that mean nothing
    "an end beyond the tokens": wrong_entities([entity(2, 3)], "[0]", "has 3 tokens, counted from 0; 2 to 3"),
    "an end beyond one token": wrong(
        ENTITIES, item(original="a", tokens=["a"], entities=[entity(0, 1)]), "$.entities[0]", "has 1 token, counted"
    ),
    "an end before the start": wrong_entities([entity(2, 1)], "[0]", "“start” is 2, “end” is 1"),
    "a number beyond everything": wrong_entities([entity(0, 2**62)], "[0]", "is not a span of them"),
    "an id twice": wrong(
        RELATIONS, marked(TWO[0], entity(1, 1, id="e1")), "$.entities[1].id", "“e1” is the id of entities[0] already"
    ),
    "an entity twice": wrong_entities([entity(), entity(1, 1), entity()], "[2]", "entities[0] has the same tokens"),
    "an entity twice with ids": wrong(
        RELATIONS, marked(*TWO, entity(0, 0, id="e3")), "$.entities[2]", "“e1” has the same tokens and the same label"
    ),
    "an unknown label": wrong_entities(
        [entity(0, 0, "Activities")],
        "[0].label",
        "“Activities” is not a label of “entity labels”. The nearest is “Activity”",
    ),
    "a name for a full name": wrong_entities(
        [entity(0, 0, "Thermostat")], "[0].label", "PhysicalObject/SensingObject/Thermostat"
    ),
    "an empty label": wrong_entities([entity(0, 0, "")], "[0].label", "must not be empty"),
    "a label that is switched off": wrong_entities([entity(0, 0, "State")], "[0].label", "“State” is switched off"),
    "an entity label on a relation": wrong_relations([relation(label="Activity")], "[0].label", "is not a label of"),
    "a source that is not there": wrong_relations([relation("e9")], "[0].source_id", "no entity with the id “e9”"),
    "a target that is not there": wrong_relations(
        [relation("e1", "E2")], "[0].target_id", "no entity with the id “E2”"
    ),
    "a relation without entities": wrong(
        RELATIONS, item(relations=[relation()]), "$.relations[0].source_id", "no entity with the id “e1”"
    ),
    "a relation to itself": wrong_relations([relation("e1", "e1")], "[0]", "both ends are “e1”"),
    "a relation twice": wrong_relations(
        [relation(), relation("e2", "e1"), relation()], "[2]", "relations[0] goes from “e1” to “e2” with the same label"
    ),
    "an external id twice": raw(
        json.dumps([item(external_id="WO"), item(external_id="WO")]), "item 2, $.external_id", "id of item 1"
    ),
    # Too much
    "a long original": wrong(RICH, item(original="x" * 1001), "$.original", "at most 1\u202f000 characters"),
    "many tokens": wrong(RICH, item(tokens=["a"] * 101), "$.tokens", "at most 100 tokens; this one has 101"),
    "long tokens": wrong(RICH, item(tokens=["x" * 600] * 2), "$.tokens", "at most 1\u202f000 characters in its tokens"),
    "many entities": wrong_entities([entity(0, n % 3) for n in range(51)], "", "at most 50 entities"),
    "large extra fields": wrong(RICH, item(extra_fields={"x": "y" * 500}), "$.extra_fields", "At most 500 characters"),
    "a large item": wrong(RICH, item(original="x" * 9000), "", "at most 8\u202f000 characters of JSON"),
    "an item that never ends": raw(
        f'[{GOOD}, {{"original": "{"x" * 400_000}', "item 2, line 1", "bracket or quotation"
    ),
    "a large line": raw("\n" + "x" * 9000, "line 2", "at most 8\u202f000 characters", format="jsonl"),
    "many items": raw(f"[{','.join([GOOD] * 21)}]", "item 21", "at most 20 items"),
    "many lines": raw(f"{GOOD}\n" * 21, "line 21", "at most 20 items", format="jsonl"),
    # Text
    "text that is not UTF-8": text("fine\r\nM\xfcller".encode("latin-1"), "line 2", "0xfc is not UTF-8"),
    "text with NUL": text(b"fine\rfine\r\na\0b", "line 3, column 2", "NUL"),
    "text with nothing in it": text(b"\n \n\t\n", "", "nothing in it"),
    "a long line of text": text(
        b"fine\n" + b"x" * 1001, "line 2", "at most 1\u202f000 characters; this line has 1\u202f001"
    ),
    "a line of many tokens": text(b"fine\n" + b"x " * 101, "line 2", "at most 100 tokens; this line has 101"),
    "many lines of text": text(b"fine\n" * 21, "", "at most 20 items"),
}


@pytest.fixture(autouse=True)
def small_limits(settings):
    settings.MAX_ITEM_CHARACTERS, settings.MAX_ITEM_TOKENS, settings.MAX_ITEM_MARKS = 1000, 100, 50
    settings.MAX_EXTRA_FIELDS_CHARACTERS, settings.MAX_ITEM_JSON_CHARACTERS = 500, 8000
    settings.MAX_DATASET_ITEMS = 20


@pytest.fixture
def ontologies(alice):
    entities = [*factories.ENTITIES[:2], {"name": "State", "active": False}]
    return Ontologies(factories.ontology(owner=alice, items=entities), factories.ontology(owner=alice, kind="relation"))


def nothing_is_stored():
    return not any(model._base_manager.exists() for model in (Dataset, Item, Annotation, Entity, Relation, Job))


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_with_its_place_and_not_stored(as_alice, ontologies, case):
    kind, document, place, reason, format = CASES[case]
    problem = ontologies.report(document, kind, format).problems.first[0]
    assert problem.place.startswith(place) and bool(problem.place) == bool(place), problem
    assert reason in problem.text
    options = {
        "kind": kind,
        "format": format,
        "name": "Orders",
        "entity_ontology": ontologies.entity.pk,
        "relation_ontology": ontologies.relation.pk,
    }
    upload = factories.upload(document, by=as_alice.user, options=options)
    with pytest.raises(Refused) as refused:
        upload.store()
    assert refused.value.problems[0] == problem
    said = unescape(as_alice.get(upload.get_absolute_url()).text)
    assert problem.place in said and problem.text in said
    assert nothing_is_stored()


@pytest.mark.parametrize("case", CASES)
def test_no_page_fails_at_it(as_alice, ontologies, case):
    kind, document, _, _, format = CASES[case]
    values = {"kind": kind, "format": format, "name": "Orders", "tokeniser": "punkt"}
    if kind.has_entities:
        values["entity_ontology"] = ontologies.entity.pk
    if kind.has_relations:
        values["relation_ontology"] = ontologies.relation.pk
    file = SimpleUploadedFile("orders.json", document)
    response = as_alice.post("/datasets/new/", values | {"file": file}, follow=True)
    assert response.status_code == (200 if document else 422)
    for upload in Upload.objects.all():
        assert as_alice.post(f"{upload.get_absolute_url()}store/", follow=True).status_code in (200, 422)
        assert as_alice.get(f"{upload.get_absolute_url()}problems/").status_code in (200, 404)
    assert nothing_is_stored()


def test_extra_fields_are_measured_as_they_are_stored(ontologies, settings):
    settings.MAX_ITEM_MARKS = settings.MAX_ITEM_TOKENS = 1000
    text = f'[{{"original": "a", "tokens": ["a"], "extra_fields": {{"x": [{",".join(["1e15"] * 26)}]}}}}]'
    assert len(text) < 500
    [problem] = ontologies.report(text, RICH).problems.first
    assert problem.place == "item 1, $.extra_fields" and "At most 500 characters" in problem.text


def test_there_are_enough_of_them():
    assert len(CASES) >= 60


def test_all_problems_of_a_document_are_told(ontologies):
    values = [
        item(tokens=[]),
        marked(entity(0, 9, "Stat", id="e1"), relations=[relation("e1", "e2", "has part")]),
        item(),
        {"original": 1},
    ]
    text = json.dumps(values).replace('"original": 1', '"original": 01')
    report = ontologies.report(text, RELATIONS)
    assert [problem.place for problem in report.problems.first] == [
        "item 1, $.tokens",
        "item 2, $.entities[0]",
        "item 2, $.entities[0].label",
        "item 2, $.relations[0].target_id",
        "item 2, $.relations[0].label",
        "item 4, line 1, column " + str(text.index("01") + 2),
    ]


def test_no_word_of_a_refusal_is_longer_than_a_page(ontologies):
    long = "x" * 900
    values = [
        item(**{f"{long}{n}": 1 for n in range(3)}),
        item(entities=[entity(0, 0, long, id=long[:100])], relations=[relation(long[:100], "a", long)]),
        {"extra_fields": {long: {long: 1}}},
    ]
    text = json.dumps(values).replace(f'{{"{long}": 1}}', f'{{"{long}": 1, "{long}": 2}}')
    report = ontologies.report(text, RELATIONS)
    assert report.problems.total >= 5
    assert all(len(problem.place) <= 200 and len(problem.text) <= 500 for problem in report.problems.first)


def test_very_many_problems_end_the_reading(ontologies, settings):
    settings.MAX_DATASET_ITEMS, settings.MAX_ITEM_JSON_CHARACTERS = 1_000_000, 1_000_000
    told = []
    marks = ",".join(['{"start":2,"end":1,"label":"State"}'] * 50)
    one = f'{{"original":"a","tokens":["a"],"entities":[{marks}]}}'
    report = ontologies.report(f"[{','.join([one] * 1200)}]", ENTITIES, on_problem=told.append)
    assert MAX_PROBLEMS <= report.problems.total == len(told) < MAX_PROBLEMS + 200
    assert report.problems.at_least and "too many problems" in told[-1].text
    assert len(report.problems.first) + sum(report.repeated.values()) == report.problems.total
