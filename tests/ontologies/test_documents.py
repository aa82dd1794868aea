"""What goes in and what comes out, in the browser and in the shell."""

import json
import sys
import unicodedata
from pathlib import Path

import jsonschema
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service import schemas
from annotation_service.inputs import Problems, Refused
from annotation_service.schemas import Checker, load
from ontologies.documents import SCHEMAS, example_json, read_ontology
from ontologies.models import Ontology, OntologyItem
from tests import factories
from tests.soak import amount

SHARED = Path(__file__).parents[2].parent / "shared" / "data"

# --- Round trips -------------------------------------------------------------------------------------------------------


def create(client, source, content):
    """Asks for a new ontology of pasted text, or of the bytes of a file."""
    sent = {"text": content} if source == "paste" else {"file": SimpleUploadedFile("labels.json", content)}
    data = {"name": "Typed name", "kind": "entity", "source": source, **sent}
    return client.post(reverse("ontologies:create"), data)


def stored(document, owner, kind="entity"):
    return factories.ontology(owner=owner, kind=kind, items=document)


def again(text, owner, kind="entity"):
    return Ontology.create(kind=kind, name="again", owner=owner, items=read_ontology(text, kind))


def test_every_key_of_the_rich_format_is_there_in_its_order(alice):
    document = json.loads(factories.ontology(owner=alice).as_json())
    assert list(document[0]) == [
        "name",
        "children",
        "description",
        "example_terms",
        "created_at",
        "updated_at",
        "id",
        "fullname",
        "color",
        "active",
        "path",
    ]
    sensor = document[0]["children"][0]
    assert sensor["fullname"] == "PhysicalObject/SensingObject" and sensor["path"] == [0, 0]
    assert document[2]["children"] == [] and document[2]["description"] == "" and document[2]["example_terms"] == []


def rich_document(ontology):
    """The document of a download, built from the models one by one."""
    top, branch = [], []
    for item in ontology.items():
        del branch[item.level - 1 :]
        siblings = branch[-1]["children"] if branch else top
        document = {
            "name": item.name,
            "children": [],
            "description": item.description,
            **({"example_terms": item.example_terms} if ontology.is_entity else {}),
            "created_at": item.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "updated_at": item.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "id": item.uid,
            "fullname": item.fullname,
            "color": item.color,
            "active": item.active,
            "path": [*(branch[-1]["path"] if branch else []), len(siblings)],
        }
        siblings.append(document)
        branch.append(document)
    return top


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_a_download_has_every_item_in_its_place(alice, kind):
    ontology = factories.ontology(owner=alice, kind=kind)
    assert json.loads(ontology.as_json()) == rich_document(ontology)
    assert json.loads(Ontology.create(kind=kind, name="x", owner=alice).as_json()) == []


def test_download_upload_download_is_the_same_document(alice):
    ontology = factories.ontology(owner=alice)
    item = ontology.items()[1]
    item.recolor("#123456", by=alice)
    item.switch(False, by=alice)
    text = ontology.as_json()
    assert again(text, alice).as_json() == text


names = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="/"), min_size=1, max_size=12).filter(
    str.strip
)


def siblings(children):
    item = st.fixed_dictionaries(
        {"name": names},
        optional={
            "children": children,
            "description": names | st.none(),
            "example_terms": st.lists(names, max_size=3) | st.none(),
            "active": st.booleans() | st.none(),
            "color": st.from_regex(r"\A#[0-9A-Fa-f]{6}\Z") | st.none(),
        },
    )
    return st.lists(item, max_size=4, unique_by=lambda i: unicodedata.normalize("NFC", i["name"]).strip())


trees = st.recursive(st.just([]), siblings, max_leaves=30)


@given(tree=trees)
@pytest.mark.soak
@settings(max_examples=amount(40, 2_000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_survives_the_round_trip(tree, alice):
    text = stored(tree, alice).as_json()
    assert again(text, alice).as_json() == text
    assert json.loads(text) == rich_document(Ontology.objects.latest("pk"))


def test_null_and_missing_fields_are_the_same(alice):
    full = [{"name": "A", "children": None, "description": None, "example_terms": None, "color": None, "active": None}]
    first, second = rich_document(stored(full, alice))[0], rich_document(stored([{"name": "A"}], alice))[0]
    differing = {"id", "created_at", "updated_at"}
    assert {k: v for k, v in first.items() if k not in differing} == {
        k: v for k, v in second.items() if k not in differing
    }


def test_two_hundred_levels_are_stored_and_written(alice):
    document = []
    for level in range(200, 0, -1):
        document = [{"name": f"level {level}", "children": document}]
    ontology = stored(document, alice)
    assert ontology.facts().depth == 200
    text = ontology.as_json()
    assert again(text, alice).as_json() == text


def test_names_are_normalised_and_stripped(alice):
    ontology = stored([{"name": "  Cafe\u0301 "}], alice)
    assert ontology.items().get().name == "Café"


def test_the_id_of_the_hidden_root_is_drawn_again(alice):
    ontology = stored([{"name": "A", "id": "00000000"}], alice)
    assert ontology.items().get().uid != "00000000"


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_the_examples_are_valid(kind):
    assert read_ontology(example_json(kind), kind)


@pytest.mark.parametrize(
    "path", sorted(SHARED.glob("*.json")) or [None], ids=lambda path: path.stem if path else "none"
)
def test_known_ontologies_are_taken(path, alice):
    if path is None:
        pytest.skip("no data here")
    kind = path.stem.rsplit("_", 1)[1]
    text = path.read_text("utf-8")
    ontology = again(text, alice, kind)

    def outline(items):
        return [(item["name"], outline(item.get("children") or [])) for item in items]

    assert outline(rich_document(ontology)) == outline(json.loads(text))


# --- Refusals ----------------------------------------------------------------------------------------------------------


def deep(levels):
    return '[{"name": "a", "children": ' * levels + "[]" + "}]" * levels


REFUSED = {
    "broken JSON": (b'[\n {"name": "A"},\n {"name" "B"}\n]', "line 3, column 10", "not JSON"),
    "cut off": (b'[{"name": "A"', "line 1, column 14", "not JSON"),
    "missing name": (b'[{"description": "x"}]', "item 1", "“name” is missing"),
    "no list": (b'{"name": "A"}', "$", "list of items was expected"),
    "item is a text": (b'["A"]', "item 1", "an object was expected"),
    "empty name": (b'[{"name": " "}]', "item 1, $.name", "name is needed"),
    "long name": (json.dumps([{"name": "a" * 201}]).encode(), "item 1, $.name", "200 characters"),
    "number as name": (b'[{"name": 7}]', "item 1, $.name", "text was expected"),
    "slash in a name": (b'[{"name": "A/B"}]', "item 1, $.name", "cannot contain “/”"),
    "control character in a name": (b'[{"name": "A\\u0007"}]', "item 1, $.name", "control characters"),
    "unknown field": (b'[{"name": "A", "colour": "red"}]', "item 1", "“colour” is not known"),
    "duplicate sibling": (b'[{"name": "A"}, {"name": "A"}]', "item 2, $.name", "A"),
    "duplicate sibling in another form": ('[{"name": "é"}, {"name": "é"}]'.encode(), "item 2, $.name", "é"),
    "300 levels": (deep(300).encode(), "item 1: ", "more than 200 levels"),
    "5 MB of brackets": (b"[" * 5_000_000, "line 1, column 201", "nested too deep"),
    "NUL": (b'[{"name": "A\x00"}]', "line 1, column 13", "NUL"),
    "escaped NUL": (b'[{"name": "A\\u0000"}]', "item 1, $.name", "NUL"),
    "lone surrogate": (b'[{"name": "A\\ud800"}]', "item 1, $.name", "surrogate"),
    "Latin-1": ('[\n{"name": "é"}]'.encode("latin-1"), "line 2", "not UTF-8"),
    "empty file": (b"", "", "empty"),
    "duplicate keys": (b'[{"name": "A", "name": "B"}]', "item 1", "“name” stands twice"),
    "NaN": (b'[{"name": "A", "path": [NaN]}]', "line 1, column 25", "NaN"),
    "huge integer": (b'[{"name": "A", "path": [99999999999999999999]}]', "line 1, column 25", "64 bits"),
    "duplicate id": (b'[{"name": "A", "id": "0a0a0a0a"}, {"name": "B", "id": "0a0a0a0a"}]', "item 2, $.id", "item 1"),
    "bad id": (b'[{"name": "A", "id": "XYZ"}]', "item 1, $.id", "hexadecimal"),
    "id with a line end": (b'[{"name": "A", "id": "0a0a0a0a\\n"}]', "item 1, $.id", "at most 8 characters"),
    "colour with a line end": (b'[{"name": "A", "color": "#112233\\n"}]', "item 1, $.color", "at most 7 characters"),
    "bad colour": (b'[{"name": "A", "color": "red"}]', "item 1, $.color", "#RRGGBB"),
    "bad time": (b'[{"name": "A", "created_at": "yesterday"}]', "item 1, $.created_at", "UTC time"),
    "time before all times": (
        b'[{"name": "A", "created_at": "0001-01-01T00:00:00+10:00"}]',
        "item 1, $.created_at",
        "UTC",
    ),
    "active as text": (b'[{"name": "A", "active": "no"}]', "item 1, $.active", "true or false"),
    "terms as text": (b'[{"name": "A", "example_terms": "x"}]', "item 1, $.example_terms", "a list was expected"),
    "deep inside": (b'[{"name": "A", "children": [{"name": "B"}, {}]}]', "item 1.2", "“name” is missing"),
}


@pytest.mark.parametrize(("data", "place", "words"), REFUSED.values(), ids=REFUSED)
def test_the_browser_names_what_is_wrong_and_stores_nothing(as_alice, data, place, words):
    answer = create(as_alice, "file", data)
    assert answer.status_code == 422
    form = answer.context["form"]
    said = "\n".join(str(problem) for problem in form.problems).lower()
    assert place.lower() in said and words.lower() in said, said[:2000]
    assert "Typed name" in answer.text
    assert not Ontology.objects.exists() and not OntologyItem.objects.exists()


def test_what_only_the_quick_check_refuses_is_a_problem_too():
    """The two do not agree on whether “$” stands before a line end."""
    problems = Problems()
    Checker({"properties": {"id": {"pattern": "^a$"}}}).sound_fields({"id": "a\n"}, "item 1{}".format, problems)
    assert [str(problem) for problem in problems.first] == ["item 1: This does not follow the schema."]


@pytest.mark.parametrize("value", [[], [1], [0], [False], [None], [[]], [{}], 0, True, {}, "term"])
def test_whatever_is_in_a_field_that_is_not_known_is_not_read(value):
    with pytest.raises(Refused, match="“example_terms” is not known here") as refused:
        read_ontology(json.dumps([{"name": "A", "example_terms": value}]), "relation")
    assert refused.value.total == 1


def test_all_problems_are_counted_and_the_first_hundred_named(as_alice):
    answer = create(as_alice, "paste", json.dumps([{"name": f"{i}/"} for i in range(250)]))
    assert len(answer.context["form"].problems) == 100
    assert "The first 100 of 250 problems" in answer.text


def test_all_problems_of_one_item_are_told_at_once():
    wrong = {"name": "A", "color": "red", "colour": 1, "id": "x", "example_terms": [1]}
    text = json.dumps([{"name": "A"}, wrong, {"name": "a/b", "active": 1}])
    with pytest.raises(Refused) as refused:
        read_ontology(text, "entity")
    assert sorted(problem.place for problem in refused.value.problems) == [
        "item 2",
        "item 2, $.color",
        "item 2, $.example_terms[0]",
        "item 2, $.id",
        "item 2, $.name",
        "item 3, $.active",
        "item 3, $.name",
    ]


def test_what_is_beyond_the_limit_is_refused_and_pasted_text_is_kept(as_alice, settings):
    settings.MAX_PASTED_BYTES, settings.MAX_ONTOLOGY_BYTES = 100, 7_000_000
    assert "up to 7 MB and" in as_alice.get(reverse("ontologies:create")).text
    settings.MAX_ONTOLOGY_BYTES = 100
    text = json.dumps([{"name": "a" * 150}])
    pasted, sent = create(as_alice, "paste", text), create(as_alice, "file", text.encode())
    for answer in (pasted, sent):
        assert answer.status_code == 422 and "the limit is" in answer.text
    assert "a" * 100 in pasted.text


def test_items_beyond_the_limit_are_not_even_looked_at(settings, monkeypatch):
    settings.MAX_ONTOLOGY_ITEMS = 3
    with pytest.raises(Refused, match="at most 3 items"):
        read_ontology(json.dumps([{"name": str(i)} for i in range(4)]), "entity")
    looked = []
    problems = Checker.problems
    monkeypatch.setattr(Checker, "problems", lambda *args: looked.append(args) or problems(*args))
    with pytest.raises(Refused, match="at most 3 items") as refused:
        read_ontology(json.dumps([{}] * 1000), "entity")
    assert (len(looked), refused.value.total) == (3, 1)


def test_many_wrong_items_are_all_counted_but_only_the_first_are_explained(monkeypatch):
    explained = []
    problems = Checker.problems
    monkeypatch.setattr(Checker, "problems", lambda *args: explained.append(args) or problems(*args))
    document = [{} for _ in range(150)] + [{"name": "a"}, {"children": [{"name": 1}]}, {"name": "a"}]
    with pytest.raises(Refused) as refused:
        read_ontology(json.dumps(document), "entity")
    assert len(explained) == len(refused.value.problems) == 100
    assert refused.value.total == 153  # the 150, the one without a name, its child, the second “a”


@pytest.mark.parametrize(("field", "element"), [("example_terms", "t"), ("path", "t"), ("path", 0)])
def test_a_list_that_is_too_long_is_refused_without_a_look_at_each_element(field, element):
    def steps(count):
        calls = 0

        def trace(frame, event, argument):
            nonlocal calls
            calls += "jsonschema" in frame.f_code.co_filename

        text = json.dumps([{"name": "A", field: [element] * count}])
        sys.setprofile(trace)
        try:
            with pytest.raises(Refused, match="At most 200 entries are allowed") as refused:
                read_ontology(text, "entity")
        finally:
            sys.setprofile(None)
        assert refused.value.total == 1
        return calls

    assert steps(20_000) < 1000


def test_no_more_faults_of_an_item_are_explained_than_are_shown(monkeypatch):
    explained = []
    in_words = schemas._in_words
    monkeypatch.setattr(schemas, "_in_words", lambda error: explained.append(error) or in_words(error))
    problems = Problems()
    checker = Checker({"properties": {"numbers": {"type": "array", "items": {"type": "integer"}}}})
    assert checker.sound_fields({"numbers": ["x"] * 1000}, "item 1{}".format, problems) == {}
    assert len(explained) == 101 and (problems.total, problems.at_least) == (100, True)


def test_a_byte_order_mark_is_no_mistake(as_alice):
    create(as_alice, "file", b"\xef\xbb\xbf" + b'[{"name": "A"}]')
    assert Ontology.objects.get().items().get().name == "A"


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_the_published_schema_takes_our_own_downloads(kind, alice, as_alice):
    published = as_alice.get(reverse("ontologies:schema", args=[kind])).json()
    assert published == load(SCHEMAS / f"{kind}_ontology.json")
    jsonschema.validate(rich_document(factories.ontology(owner=alice, kind=kind)), published)
    assert as_alice.get("/ontologies/schemas/thing.json").status_code == 404


def test_what_a_raised_limit_lets_people_type_can_be_uploaded_again(settings):
    settings.MAX_DESCRIPTION_CHARACTERS, settings.MAX_NAME_CHARACTERS = 20_000, 300
    item = {"name": "n" * 300, "description": "d" * 20_000}
    [read] = read_ontology(json.dumps([item]), "entity")
    assert (read.name, read.description) == (item["name"], item["description"])
    with pytest.raises(Refused, match="20\u202f000"):
        read_ontology(json.dumps([item | {"description": "d" * 20_001}]), "entity")
