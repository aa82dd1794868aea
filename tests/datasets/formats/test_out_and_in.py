"""A dataset in the formats of other programs and back again, as a download and an upload do it: nothing that a person marked gets
lost on the way, but what the format is said to lose."""

import json
import random
from io import BytesIO

import pytest
from django.core.files.base import ContentFile

from annotation_service import words
from annotation_service.db import snapshot
from annotation_service.file_formats import Beginning
from datasets.exports import DOWNLOAD_FORMATS, Whose, export_name, export_of, formats_out, json_document, write_export
from datasets.formats import detect
from datasets.formats.own import OWN
from datasets.kinds import DatasetKind
from datasets.models import Entity, Mark, Relation, Upload
from datasets.tokenising import offsets_of
from tests import factories, gold
from tests.soak import amount

ENTITIES = [
    *factories.ENTITIES,
    {"name": "Place", "children": [{"name": "Replace"}, {"name": "Größe, außen", "children": [{"name": "部品 1"}]}]},
    *(
        {"name": name}
        for name in ["B-side", "O", "😀 mood", "Rock & <Roll>", '"quoted" \\n', "a|b;c", "# no. 7", "'=1+1"]
    ),
    {"name": "café [x]", "children": [{"name": "State"}, {"name": "O"}]},
]
RELATIONS = [*factories.RELATIONS, {"name": "State"}, {"name": "part of → 部品", "children": [{"name": "a:b Arg1:T1"}]}]
WORDS = """
    pump leaks Oil-filter 3.5 mm e\u0301tat a\u0323\u0301 नमस्ते 部品 مضخة ש 😀 👍🏽 👩‍👩‍👧 🇩🇪 𝒳
    O B-State # #1 T1 -X- I-95 <b> &amp; " ' “it” \\n \\ | ; , =
"""
WORDS = [*WORDS.split(), "New York", "line\nbreak", "a\tb", "=1+1", "”,", "_", "*", "a\u200db", "\u00ad", "1-1"]
SPACES = [*6 * [" "], "", "  ", "\n", "\n\n", "\t", " \n ", "\r\n", "\u00a0", "\u2028"]
# Where the tokens come back as they were.
KEEP_TOKENS = {"xmi", "casjson", "csv", "tsv", "spacy", "hf", "conll", "conll-layers"}
READ_AS = {"conll-layers": "conll", "brat": "zip", "spacy": "zip", "hf": "zip"}
NO_RELATIONS = {"conll", "conll-layers"}
SUGGESTED = "s"
"""The ids of suggestions begin so: they came from a file, and no person made them."""


def fullnames(tree, above=""):
    for label in tree:
        yield above + label["name"]
        yield from fullnames(label.get("children", ()), f"{above}{label['name']}/")


def corpus(rng, count):
    """Items as they are uploaded, of whatever people have marked: nested, stacked and crossing entities, and relations."""
    return [generated(rng, number) for number in range(1, count + 1)]


def generated(rng, number):
    tokens = [rng.choice(WORDS) for _ in range(rng.randint(1, 14))]
    original = "".join(token + rng.choice(SPACES) for token in tokens)
    match rng.randrange(12):
        case 0:
            original = f"something else {number}"  # the tokens are not in it
        case 1:
            original = " — ".join(tokens)  # and here some of it is in no token
        case 2:
            original = f" {original}\n"
    places = []
    for _ in range(rng.randrange(5)):
        start, end = sorted(rng.choices(range(len(tokens)), k=2))
        match rng.randrange(4):
            case 0:
                places += [(start, end), (start, end)]
            case 1:
                places += [(start, end), (start + (end - start) // 2, end)]
            case 2:
                places += [(start, end), (max(0, start - 1), end), (start, min(len(tokens) - 1, end + 1))]
            case _:
                places.append((start, end))
    marks = list(dict.fromkeys((*place, rng.choice(ENTITY_LABELS)) for place in places))
    entities = [
        {"id": f"{rng.choice(['e', 'e', 'e', SUGGESTED])}{at}", "start": start, "end": end, "label": label}
        for at, (start, end, label) in enumerate(marks)
    ]
    ends = {
        (*rng.sample([each["id"] for each in entities], 2), rng.choice(RELATION_LABELS))
        for _ in range(rng.randrange(4) if len(entities) > 1 else 0)
    }
    item = {
        "original": original,
        "tokens": tokens,
        "entities": entities,
        "relations": [{"source_id": s, "target_id": t, "label": label} for s, t, label in sorted(ends)],
    }
    if rng.random() < 0.5:
        item["external_id"] = rng.choice([f"WO-{number}", f"a/b {number}", f"„{number}“", f"{number}"])
    if rng.random() < 0.3:
        item["extra_fields"] = {"site": "nörth 😀", "n": [number, None, 1.5, True], "text": "x", "id": "y"}
    return item


ENTITY_LABELS, RELATION_LABELS = list(fullnames(ENTITIES)), list(fullnames(RELATIONS))


@pytest.fixture(params=["generated", "gold"])
def values(request):
    """Items as they are uploaded, of which those that a careful annotator marked are the others."""
    if request.param == "gold":
        return gold.read("items")[: amount(40, 200)]
    return corpus(random.Random(11), amount(60, 1100))


@pytest.fixture
def options(alice, values):
    """How a file with these labels is read."""
    is_ours = all(mark["label"] in ENTITY_LABELS for item in values for mark in item["entities"])
    trees = (ENTITIES, RELATIONS) if is_ours else (gold.read("entity_ontology"), gold.read("relation_ontology"))
    entity, relation = (
        factories.ontology(owner=alice, kind=kind, items=tree)
        for kind, tree in zip(("entity", "relation"), trees, strict=True)
    )
    return {
        "kind": DatasetKind.PREANNOTATED_RELATION,
        "name": "Work orders",
        "entity_ontology": entity.pk,
        "relation_ontology": relation.pk,
        "whose": "accepted",
    }


def stored(values, options, by):
    dataset = factories.upload(values, by=by, options={**options, "format": "json"}).store()
    is_suggested = {"annotation__item__dataset": dataset}
    Entity.objects.filter(**is_suggested, uid__startswith=SUGGESTED).update(status=Mark.Status.SUGGESTED)
    for end in ("source", "target"):
        found = Relation.objects.filter(**is_suggested, **{f"{end}__uid__startswith": SUGGESTED})
        found.update(status=Mark.Status.SUGGESTED)
    return dataset


def read_back(data, name, options, by, **reading):
    """What is stored of a file that is recognised by itself, as the items of an upload; and the upload."""
    upload = Upload.begin(ContentFile(data, name), by=by, options={**options, "format": "json"})
    found = detect(Beginning.of(upload.path, upload.name))
    assert found.format, found.recognised.seen
    upload.change({**options, "format": found.format.name, "reading": reading})
    report = upload.examine()
    assert report.is_good, report.problem_lines[:5]
    dataset = upload.store()
    return json.loads("".join(json_document(dataset))), upload


def marks_of(item, *, by_tokens=False, made=False):
    """The entities and the relations of an item: labels, and the letters that are covered with the number of those before. White
    space is not compared, of which formats have their own. With ``by_tokens`` the tokens say it, with ``made`` only what people
    made counts."""
    tokens, text = item["tokens"], item["original"]
    spans = None if by_tokens else offsets_of(tokens, text)
    if spans is None:
        text = " ".join(tokens)
        spans = offsets_of(tokens, text)
    places = {}
    for mark in item["entities"]:
        if not (made and mark["id"].startswith(SUGGESTED)):
            start, end = spans[mark["start"]][0], spans[mark["end"]][1]
            places[mark["id"]] = mark["label"], len(letters(text[:start])), letters(text[start:end])
    relations = [
        (each["label"], places[each["source_id"]], places[each["target_id"]])
        for each in item["relations"]
        if {each["source_id"], each["target_id"]} <= places.keys()
    ]
    return sorted(places.values()), sorted(relations)


def letters(text):
    return "".join(text.split())


def lost(export, what):
    """How many marks are said not to be in a file at all."""
    return sum(count for why, count in export.lost[what].items() if "left out" in why)


@pytest.mark.soak
@pytest.mark.parametrize("format", formats_out(), ids=lambda format: format.name)
def test_what_people_marked_comes_back_or_is_said_to_be_lost(alice, values, options, format):
    dataset, file = stored(values, options, alice), BytesIO()
    with snapshot():
        export = export_of(dataset, dataset.items(), Whose())
        write_export(format, export, file)
    reading = {"layers": "all"} if format.name == "conll-layers" else {}
    back, upload = read_back(file.getvalue(), export_name(format, dataset.name), options, alice, **reading)
    assert len(back) == len(values)
    assert export.total["entities"] == sum(len(item["entities"]) for item in values) > len(values)
    before = after = kept = 0
    by_tokens = format.name in NO_RELATIONS
    for item, found in zip(values, back, strict=True):
        if format.name in KEEP_TOKENS:
            as_written = [
                token if format.name not in NO_RELATIONS else " ".join(token.split()) for token in item["tokens"]
            ]
            assert found["tokens"] == as_written
        (entities, relations), (made, tied) = marks_of(item, by_tokens=by_tokens), marks_of(item, made=True)
        there, between = marks_of(found, by_tokens=by_tokens)
        before, after, kept = before + len(entities), after + len(there), kept + len(between)
        if by_tokens:
            assert set(there) <= set(entities) and between == []
        elif format.name == "labelstudio":  # with the suggestions where nobody has marked anything
            assert (there, between) in [(made, tied), (entities, relations)]
        else:
            assert (there, between) == (entities, relations)
    assert upload.options["format"] == READ_AS.get(format.name, format.name)
    if format.name != "labelstudio":
        assert before - after == lost(export, "entities")
        assert export.total["relations"] - kept == lost(export, "relations")
        assert upload.found.not_read == {}
    if format.name in NO_RELATIONS:
        relations = words.number(export.total["relations"])
        assert f"{relations} of {relations} relations are left out" in "; ".join(export.losses())
    if format.name == "conll":
        nested = f"{words.number(before - after)} of {words.number(before)} entities"
        assert f"{nested} are nested or overlapping and left out" in export.losses()


@pytest.mark.soak
@pytest.mark.parametrize("format", [each for each in DOWNLOAD_FORMATS if each.has_marks], ids=lambda each: each.name)
def test_our_own_formats_lose_nothing(alice, values, options, format):
    dataset, file = stored(values, options, alice), BytesIO()
    format.write(dataset, dataset.items(), file)
    back, _ = read_back(file.getvalue(), format.file_name(dataset), options, alice)
    assert back == values
    assert {each.name for each in OWN} == {"json", "jsonl", "text"}
