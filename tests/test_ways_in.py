"""Random documents and bodies, damaged at random, through every way in: each is taken or refused in words, and nothing fails."""

import json
import random
from contextlib import suppress
from copy import deepcopy
from io import BytesIO, StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from annotation_service.inputs import Refused
from annotation_service.schemas import PUBLISHED, load
from datasets.kinds import DatasetKind
from ontologies.documents import read_ontology
from resources.models import FORMATS
from tests import factories
from tests.datasets.test_fuzz import NASTY, PIECES, damaged_bytes, damaged_value
from tests.soak import SOAK, amount

TEXTS = [
    "State",
    "Activity",
    "hasPart",
    "a",
    "Pump ",
    "e1",
    "e2",
    "#0A0A0a",
    "0a0a0a0a",
    "2023-04-14T10:20:30Z",
    "",
    "a/b",
    "\r\n",
]
REFUSALS = {302, 400, 404, 409, 413, 422}


@pytest.fixture
def rng():
    seed = random.randrange(2**32) if SOAK else 11
    print("seed", seed)  # shown if the test fails
    return random.Random(seed)


def sample(rng, schema, whole, depth=0):
    """A value that follows a schema, more or less."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("type", "object")
    match rng.choice(kinds) if isinstance(kinds, list) else kinds:
        case "object":
            fields, needed = schema.get("properties", {}), schema.get("required", ())
            chosen = [name for name in fields if name in needed or rng.random() < 0.4]
            return {name: sample(rng, fields[name], whole, depth + 1) for name in chosen}
        case "array":
            return [
                sample(rng, schema.get("items", {}), whole, depth + 1) for _ in range(rng.randint(0, 3) * (depth < 8))
            ]
        case "string":
            return rng.choice(TEXTS)
        case "integer":
            return rng.choice([0, 0, 1, 2, -1, 2**31])
        case "boolean":
            return rng.random() < 0.5
    return None


def damaged(rng, value):
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        value = deepcopy(damaged_value(rng, value))
        if rng.random() < 0.6 and isinstance(value, dict | list) and value:
            holder = value if isinstance(value, list) else list(value.values())
            inner = rng.choice(holder)
            if isinstance(inner, dict):
                field = rng.choice(["example_terms", "example_terms", "limits_contents", "children", "x"])
                inner[field] = deepcopy(rng.choice(NASTY))
    return value


def document(rng, schema):
    """The bytes of a document of a schema, damaged once in a while as a value, as bytes, or as both."""
    value = damaged(rng, [sample(rng, schema["items"], schema) for _ in range(rng.randint(0, 3))])
    if rng.random() < 0.1:
        data = "\n".join(json.dumps(each) for each in value).encode() if isinstance(value, list) else b"{}"
    else:
        data = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return damaged_bytes(rng, data) if rng.random() < 0.3 else data


def text(rng):
    """What somebody may type or paste."""
    return b"".join(
        rng.choice([*PIECES, b"Pump", b"  ", b"- ", b"1.1) ", b"a/b", b"\t", "\u0301".encode() * 40])
        for _ in range(rng.randint(0, 12))
    )


def check(answer, *also):
    assert answer.status_code in {200, *REFUSALS, *also}, answer.content[:500]
    if answer.status_code == 422:
        assert answer.content.strip()


def run(name, data, tmp_path, **options):
    path, errors = tmp_path / "document", StringIO()
    path.write_bytes(data)
    try:
        call_command(name, str(path), name="x", owner="alice", stdout=StringIO(), stderr=errors, **options)
    except SystemExit as stop:
        assert stop.code == 1 and str(path) in errors.getvalue()


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_ontologies(as_alice, kind, rng, tmp_path):
    schema = load(PUBLISHED[f"{kind}_ontology"])
    theirs = factories.ontology(owner=as_alice.user, kind=kind)
    address = reverse("ontologies:create")
    for number in range(amount(300, 30_000)):
        data = document(rng, schema) if rng.random() < 0.8 else text(rng)
        with suppress(Refused):
            read_ontology(BytesIO(data), kind)
        if number % 20:
            continue  # the whole way takes a hundred times as long
        form = {"name": "x", "kind": kind}
        check(as_alice.post(address, form | {"source": "file", "file": SimpleUploadedFile("x.json", data)}))
        typed = data.decode("utf-8", "replace")
        check(as_alice.post(address, form | {"source": "paste", "text": typed}))
        for way in ("preview", "paste"):
            check(as_alice.post(reverse(f"ontologies:{way}", args=[theirs.pk]), {"text": typed}))
        run("import_ontology", data, tmp_path, kind=kind)


@pytest.mark.soak
@pytest.mark.parametrize("format", FORMATS)
def test_resources(alice, format, rng, tmp_path, settings):
    settings.PREANNOTATION_RESOURCES = True
    model, kind = FORMATS[format]
    options = {"entity_ontology": factories.ontology(owner=alice).pk}
    if model.row_models[kind].relation_field:
        options["relation_ontology"] = factories.ontology(owner=alice, kind="relation").pk
    for _ in range(amount(30, 5000)):
        run("import_resource", document(rng, load(PUBLISHED[format])), tmp_path, kind=format, **options)


@pytest.mark.soak
@pytest.mark.parametrize("kind", DatasetKind)
def test_datasets(as_alice, kind, rng, tmp_path):
    labels = {f"{of}_ontology": factories.ontology(owner=as_alice.user, kind=of).pk for of in kind.label_kinds}
    form = {"name": "x", "kind": kind, "tokeniser": "whitespace", **labels}
    for _ in range(amount(8, 2000)):
        is_text = kind == DatasetKind.STANDARD
        data = text(rng) if is_text or rng.random() < 0.1 else document(rng, kind.schema)
        format = "text" if is_text else rng.choice(["json", "json", "jsonl", "text"])
        sent = {**form, "format": format, "file": SimpleUploadedFile("x", data)}
        answer = as_alice.post(reverse("datasets:create"), sent)
        check(answer)
        if answer.status_code == 302:
            check(as_alice.get(answer["Location"]))
            check(as_alice.post(f"{answer['Location']}store/"))
        typed = data.decode("utf-8", "replace")
        check(as_alice.post(reverse("datasets:create"), {**form, "format": format, "text": typed}))
        check(as_alice.post(reverse("datasets:preview"), {**form, "format": format, "sample": typed}))
        run("import_dataset", data, tmp_path, kind=kind.value, format=format, **labels)


@pytest.mark.soak
def test_requests_about_marks(as_carol, alice, rng):
    project = factories.project(by=alice, annotators=[as_carol.user])
    item = project.dataset.items()[1]
    labels = [label.uid for ontology in project.ontology_set.all() for label in ontology.labels()]
    for _ in range(amount(60, 10_000)):
        body = {
            "uid": rng.choice(["0123456789abcdef", *TEXTS]),
            "label": rng.choice([*labels, *TEXTS]),
            "start": 0,
            "end": 1,
        }
        if rng.random() < 0.3:
            body = {
                "uid": "fedcba9876543210",
                "label": rng.choice(labels),
                "source": "0123456789abcdef",
                "target": "x",
                "done": True,
            }
        path = rng.choice(["add", "label", "remove"])
        path = rng.choice([f"entities/{path}/", f"relations/{path}/", "done/"])
        data = json.dumps(damaged(rng, body)).encode("utf-8", "surrogatepass")
        if rng.random() < 0.2:
            data = damaged_bytes(rng, data)
        address = f"/projects/{project.pk}/items/{item.pk}/{path}"
        answer = as_carol.post(address, data, content_type="application/json", headers={"Accept": "application/json"})
        check(answer)
        assert answer.status_code == 200 or answer.json()["error"]


@pytest.mark.soak
def test_what_is_typed_into_fields(as_alice, rng):
    ontology, dataset = factories.ontology(owner=as_alice.user), factories.dataset(owner=as_alice.user)
    item = dataset.items()[0]

    def typed():
        return text(rng).decode("utf-8", "replace") if rng.random() < 0.7 else rng.choice(TEXTS)

    for _ in range(amount(15, 3000)):
        uid = rng.choice(ontology.labels()).uid
        for way, field in (
            ("rename", "name"),
            ("describe", "description"),
            ("example_terms", "add"),
            ("recolor", "color"),
        ):
            was = rng.choice(["[]", "", typed(), json.dumps(damaged(rng, ["a", "b"]))])
            check(
                as_alice.post(
                    reverse(f"ontologies:{way}", args=[ontology.pk, uid]), {field: typed(), "was": was, "drop": typed()}
                )
            )
        check(as_alice.post(reverse("ontologies:add_item", args=[ontology.pk]), {"name": typed()}))
        fields = damaged(
            rng, [[typed(), typed(), rng.choice(["text", "json"])], ["a", json.dumps(rng.choice(NASTY)), "json"]]
        )
        form = {"external_id": typed(), "fields": json.dumps(fields), "was_external_id": typed()}
        check(as_alice.post(reverse("datasets:edit_item", args=[dataset.pk, item.pk]), form))
