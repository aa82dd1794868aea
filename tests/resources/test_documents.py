"""Creating constraints and preannotations from documents, and downloading them."""

import json
import re

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from annotation_service.inputs import Refused
from annotation_service.schemas import Checker, load
from ontologies.models import OntologyItem
from ontologies.pasted_lists import read_pasted
from resources import documents
from resources.documents import SCHEMAS
from resources.models import FORMATS, RESOURCE_SETS, ConstraintSet, PreannotationSet
from tests import factories
from tests.factories import item
from tests.resource_sets import DOCUMENTS, THERMOSTAT, document_of, labels_in, make
from tests.soak import amount


def refusal(format, document, owner, labels):
    """The lines that tell what is wrong with a document; nothing of it may be stored."""
    text = document if isinstance(document, str) else json.dumps(document)
    model, kind = FORMATS[format]
    relations = labels["relations"] if kind == "relation" else None
    with pytest.raises(Refused) as caught:
        model.create(
            kind=kind,
            source=text,
            name="x",
            owner=owner,
            entity_ontology=labels["entities"],
            relation_ontology=relations,
        )
    rows = [row for model in RESOURCE_SETS for row in model.row_models.values()]
    assert not any(model._default_manager.exists() for model in (*RESOURCE_SETS, *rows))
    return [str(problem) for problem in caught.value.problems]


# --- What a kind of sets brings ---


@pytest.mark.parametrize("format", FORMATS)
def test_the_example_of_a_format_obeys_its_schema(format):
    schema = load(SCHEMAS / f"{format}.json")
    jsonschema.validate(schema["examples"][0], schema)
    assert documents.explained(format)["fields"].keys() == schema["items"]["properties"].keys()


@pytest.mark.parametrize("rows", ConstraintSet.row_models.values())
def test_a_kind_of_constraints_and_its_rows_agree(rows):
    rule = rows.kind.rule
    assert (rows.key_fields, rows.list_fields) == (rule.KEY, rule.LISTS)
    assert rows.kind.titles.keys() == set(rule.LISTS)


# --- Creating and downloading ---


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_is_explained_in_the_words_of_the_screen(format):
    for meaning in documents.explained(format)["fields"].values():
        assert not re.search(r"\b(types?|domain|coexist|nested|constraint|surface)\b", meaning), meaning


@pytest.mark.parametrize("format", FORMATS)
def test_a_document_comes_back_as_it_was_and_comes_in_again(alice, labels, format):
    resource = make(format, owner=alice, **labels)
    downloaded = document_of(resource)
    assert downloaded == DOCUMENTS[format]
    assert resource.format == format and resource.row_count == len(DOCUMENTS[format])
    assert resource.content_in_words().endswith("rules" if "constraints" in format else "preannotations")
    assert Checker(load(SCHEMAS / f"{format}.json")).is_valid(downloaded)
    again = make(format, owner=alice, document=downloaded, **labels)
    assert document_of(again) == downloaded and again.pk != resource.pk
    assert document_of(make(format, owner=alice, document=[], **labels)) == []


def test_labels_point_to_items(alice, labels):
    constraints = make("entity_constraints", owner=alice, **labels)
    first = constraints.rows()[0]
    assert first.domain == item(labels["entities"], "PhysicalObject")
    assert set(first.excludes.all()) == {item(labels["entities"], "State"), item(labels["entities"], "Activity")}
    assert set(first.can_contain.all()) == {item(labels["entities"], n) for n in ("Thermostat", "PhysicalObject")}


def test_no_list_and_an_empty_list_are_two_things(alice, labels):
    document = [
        {"domain": "State", "excludes": [], "can_contain": None},
        {"domain": "Activity", "excludes": [], "can_contain": []},
    ]
    constraints = make("entity_constraints", owner=alice, document=document, **labels)
    assert [row.limits_contents for row in constraints.rows()] == [False, True]
    assert document_of(constraints) == [{"domain": "State", "excludes": []}, document[1]]


def test_a_name_alone_is_enough_where_it_occurs_once(alice, labels):
    document = [{"domain": "Thermostat", "excludes": ["Replace"]}]
    constraints = make("entity_constraints", owner=alice, document=document, **labels)
    assert list(labels_in(document_of(constraints))) == [
        "PhysicalObject/SensingObject/Thermostat",
        "Activity/Replace",
    ]


@pytest.mark.parametrize(
    ("top", "below", "row"),
    [
        ("Pump", "Part/Pump", {"domain": "Pump", "excludes": ["Part/Pump"]}),  # before a name alone
        ("Öl", "Öl/Motoröl", {"domain": " O\u0308l ", "excludes": ["O\u0308l/Motoro\u0308l"]}),  # normalised
    ],
)
def test_labels_are_named_in_full(alice, top, below, row):
    entities = factories.ontology(owner=alice, items=[])
    entities.add_items(read_pasted(f"{top}\n{below}", "entity"), by=alice)
    constraints = make("entity_constraints", owner=alice, document=[row], entities=entities, relations=None)
    assert document_of(constraints) == [{"domain": top, "excludes": [below]}]


def test_texts_keep_their_case_and_form_but_not_the_space_around_them(alice, labels):
    texts = ["Pump", "pump", " PUMP\t", "Pu\u0308mp", "a  b"]
    document = [{"surface_form": text, "label": "State"} for text in texts]
    resource = make("entity_preannotations", owner=alice, document=document, **labels)
    assert [row["surface_form"] for row in document_of(resource)] == [text.strip() for text in texts]


def test_a_whole_number_may_be_written_with_a_point(alice, labels):
    document = [{**DOCUMENTS["relation_preannotations"][0], "offset": 2.0}]
    resource = make("relation_preannotations", owner=alice, document=document, **labels)
    assert resource.rows().get().offset == 2


ROW = st.fixed_dictionaries(
    {"domain": st.integers(0, 6), "excludes": st.lists(st.integers(0, 6), unique=True, max_size=4)},
    optional={"can_contain": st.lists(st.integers(0, 6), unique=True, max_size=4)},
)
PAIR = st.tuples(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200), st.integers(0, 6)
)


@pytest.mark.soak
@settings(max_examples=amount(25, 300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, max_size=5, unique_by=lambda row: row["domain"]), pairs=st.lists(PAIR, max_size=5))
def test_whatever_is_taken_is_the_same_after_a_second_upload(alice, labels, rows, pairs):
    names = [label.fullname for label in labels["entities"].labels()]
    constraints = [
        {key: names[value] if key == "domain" else [names[n] for n in value] for key, value in row.items()}
        for row in rows
    ]
    preannotations = [{"surface_form": text, "label": names[n]} for text, n in pairs]
    for format, document in (("entity_constraints", constraints), ("entity_preannotations", preannotations)):
        try:
            first = make(format, owner=alice, document=document, **labels)
        except Refused:
            continue
        downloaded = document_of(first)
        assert downloaded == [
            {key: value.strip() if key == "surface_form" else value for key, value in row.items()} for row in document
        ]
        assert document_of(make(format, owner=alice, document=downloaded, **labels)) == downloaded


# --- Malformed input ---

MALFORMED = [
    ("entity_constraints", "", "There is nothing in it"),
    ("entity_constraints", "[{", "line 1, column"),
    ("entity_constraints", "{}", "line 1, column 1: A list was expected, which starts with “[”; this is an object."),
    (
        "entity_constraints",
        "null",
        "line 1, column 1: A list was expected, which starts with “[”; this is no JSON list",
    ),
    ("entity_constraints", "domain,excludes\nState,", "as it looks, a table (CSV)"),
    ("entity_constraints", '{"domain": "State", ', "this is an object"),
    ("entity_constraints", '{"domain": "State", "excludes": []}\n{}', "these are objects one after the other"),
    (
        "entity_constraints",
        '[{"domain": "State", "domain": "State", "excludes": []}]',
        "item 1, $: The key “domain” stands twice",
    ),
    ("entity_constraints", "[" * 300, "nested too deep"),
    ("entity_constraints", [5], "item 1: An object was expected, not a whole number."),
    ("entity_constraints", [{}], "item 1: “domain”, “excludes” are missing."),
    ("entity_constraints", [{"domain": "State"}], "item 1: “excludes” is missing."),
    ("entity_constraints", [{"domain": None, "excludes": []}], "item 1, $.domain: A text was expected, not null."),
    (
        "entity_constraints",
        [{"domain": "State", "excludes": "Activity"}],
        "$.excludes: A list was expected, not a text.",
    ),
    ("entity_constraints", [{"domain": "State", "excludes": [1]}], "$.excludes[0]: A text was expected"),
    ("entity_constraints", [{"domain": "State", "excludes": [], "contains": []}], "“contains” is not known here"),
    *(
        (
            "entity_constraints",
            [{"domain": "State", "excludes": [], "limits_contents": value}],
            "“limits_contents” is not known here",  # a column that no document has
        )
        for value in ([], {}, [[1]], True, "yes", None)
    ),
    ("entity_constraints", [{"domain": "", "excludes": []}], "item 1, $.domain: This must not be empty."),
    ("entity_constraints", [{"domain": "Stat", "excludes": []}], "The nearest is “State”."),
    ("entity_constraints", [{"domain": "hasPart", "excludes": []}], "“hasPart” is not a label of “entity labels”."),
    (
        "entity_constraints",
        [{"domain": "State", "excludes": ["Activity", "Activity"]}],
        "$.excludes[1]: “Activity” stands in “excludes” already.",
    ),
    (
        "entity_constraints",
        [{"domain": "State", "excludes": ["Replace", "Activity/Replace"]}],
        "$.excludes[1]: “Activity/Replace” stands in “excludes” already.",
    ),
    (
        "entity_constraints",
        [{"domain": "State", "excludes": ["Activity"], "can_contain": ["Replace", "Activity"]}],
        "item 1, $.can_contain[1]: “Activity” stands in “excludes” already.",
    ),
    (
        "entity_constraints",
        [{"domain": "Replace", "excludes": []}, {"domain": "Activity/Replace", "excludes": ["State"]}],
        "item 2: A constraint for this domain stands already at item 1.",
    ),
    (
        "relation_constraints",
        [{"relation": "State", "domain": "State", "range": []}],
        "$.relation: “State” is not a label of “relation labels”.",
    ),
    (
        "relation_constraints",
        [{"relation": "hasPart", "domain": "State", "range": r} for r in ([], ["State"])],
        "item 2: A constraint for this relation and domain stands already at item 1.",
    ),
    ("relation_constraints", [{"relation": "hasPart", "domain": "State"}], "“range” is missing."),
    (
        "entity_preannotations",
        [{"surface_form": " \t", "label": "State"}],
        "$.surface_form: This must not be empty.",
    ),
    ("entity_preannotations", [{"surface_form": "x" * 201, "label": "State"}], "At most 200 characters are allowed"),
    ("entity_preannotations", '[{"surface_form": "a\\u0000b", "label": "State"}]', "NUL and halves of surrogate pairs"),
    (
        "entity_preannotations",
        [{"surface_form": "x", "label": "State"}, {"surface_form": " x", "label": "State"}],
        "item 2: This text with this label stands already at item 1.",
    ),
    (
        "relation_preannotations",
        [{**DOCUMENTS["relation_preannotations"][0], "offset": -1}],
        "$.offset: A number of at least 0 was expected, not -1.",
    ),
    (
        "relation_preannotations",
        [{**DOCUMENTS["relation_preannotations"][0], "offset": 2**31}],
        "$.offset: A number of at most 2147483647 was expected",
    ),
    (
        "relation_preannotations",
        [{**DOCUMENTS["relation_preannotations"][0], "offset": 1.5}],
        "A whole number was expected",
    ),
    ("relation_preannotations", [{**DOCUMENTS["relation_preannotations"][0], "offset": True}], "not true or false"),
    (
        "relation_preannotations",
        DOCUMENTS["relation_preannotations"][:1] * 2,
        "item 2: The same preannotation stands already at item 1.",
    ),
]


@pytest.mark.parametrize(("format", "document", "words"), MALFORMED)
def test_malformed_input_is_refused_with_its_place(alice, labels, format, document, words):
    lines = refusal(format, document, alice, labels)
    assert len(lines) == 1 and words in lines[0]


def test_an_ambiguous_name_is_told_with_the_labels_that_have_it(alice):
    parts = [{"name": name, "children": [{"name": "Pump"}]} for name in "ABCDEFG"]
    labels = {"entities": factories.ontology(owner=alice, items=parts)}
    [line] = refusal("entity_constraints", [{"domain": "Pump", "excludes": []}], alice, labels)
    assert line == (
        "item 1, $.domain: “Pump” is the name of 7 labels: “A/Pump”, “B/Pump”, “C/Pump”, “D/Pump”, “E/Pump” and 2 more."
        " Give the full name."
    )


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("format", ["entity_constraints", "relation_constraints"])
def test_constraints_with_retired_labels_are_uploaded_again(alice, labels, monkeypatch, format, large):
    monkeypatch.setattr("resources.documents.CHECKED_FIRST", 0 if large else 10**6)
    document = document_of(make(format, owner=alice, **labels))
    for name in ("State", "Thermostat"):
        item(labels["entities"], name).switch(False, by=alice)
    again = make(format, owner=alice, document=document, **labels)
    assert document_of(again) == document
    off = [name for name in labels_in(document) if name in ("State", THERMOSTAT)]
    told = [str(warning) for warning in again.warnings.first if "is switched off in “entity labels”" in str(warning)]
    assert len(told) == len(off) > 0 and all(
        "the rule holds for marks that have it from before." in each for each in told
    )
    assert not make(format, owner=alice, document=[], **labels).warnings.total


def test_preannotations_with_a_label_that_is_off_are_refused(alice, labels):
    item(labels["entities"], "Activity").switch(False, by=alice)
    document = [{"surface_form": "replace", "label": "Activity/Replace"}]
    [line] = refusal("entity_preannotations", document, alice, labels)
    assert line == "item 1, $.label: “Activity/Replace” is switched off in “entity labels”, so it cannot be used."


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("physicalobject", "PhysicalObject"),
        ("Thermostats", "PhysicalObject/SensingObject/Thermostat"),
        ("Activity/Thermostat", "PhysicalObject/SensingObject/Thermostat"),
        ("PhysicalObject/SensorObject", "PhysicalObject/SensingObject"),
        ("activity/replace", "Activity/Replace"),
    ],
)
def test_the_nearest_label_is_named(alice, labels, text, nearest):
    [line] = refusal("entity_constraints", [{"domain": text, "excludes": []}], alice, labels)
    assert line.endswith(f"“{text}” is not a label of “entity labels”. The nearest is “{nearest}”.")


@pytest.mark.parametrize("text", ["Zebra", "PhysicalObject/Zebra", "Thereafter", "State/x", "/", "Rate", "Motorway"])
def test_no_label_is_named_for_one_that_is_like_none(alice, labels, text):
    for ontology in (labels["entities"], factories.ontology(owner=alice, items=[])):
        [line] = refusal(
            "entity_constraints", [{"domain": text, "excludes": []}], alice, labels | {"entities": ontology}
        )
        assert line.endswith(f"“{text}” is not a label of “entity labels”.")


def test_all_problems_are_told_at_once(alice, labels):
    document = [
        {"domain": "Nothing", "excludes": ["State", 5, "Stat"], "x": 1},
        {"domain": "State", "excludes": []},
        "?",
        {"domain": "State", "excludes": []},
    ]
    lines = refusal("entity_constraints", document, alice, labels)
    assert [line.partition(": ")[0] for line in lines] == [
        "item 1",
        "item 1, $.excludes[1]",
        "item 1, $.domain",
        "item 3",
        "item 4",
    ]


def test_the_first_hundred_problems_and_their_number_are_told(alice, labels):
    document = [{"domain": f"Nothing {n}", "excludes": []} for n in range(150)] + [{}] * 50
    with pytest.raises(Refused) as caught:
        make("entity_constraints", owner=alice, document=document, **labels)
    assert (len(caught.value.problems), caught.value.total) == (100, 200)
    assert caught.value.problems[99].place == "item 100, $.domain"
    assert not ConstraintSet.objects.exists()


def test_the_number_of_rows_has_a_limit(alice, labels, settings):
    settings.MAX_RESOURCE_ROWS = 2
    [line] = refusal("entity_constraints", DOCUMENTS["entity_constraints"], alice, labels)
    assert line == "$: At most 2 items are allowed; this has more."


# --- Ontologies, settings, names ---


def test_ontologies_must_fit_the_kind(alice, labels):
    entities, relations = labels["entities"], labels["relations"]
    options = {"source": "[]", "name": "x", "owner": alice}
    for kind, ontologies, words in [
        ("entity", (relations, None), "“relation labels” is no entity ontology."),
        ("entity", (entities, relations), "Entity constraints take no relation ontology."),
        ("relation", (entities, None), "Relation constraints need a relation ontology, too."),
        ("relation", (entities, entities), "“entity labels” is no relation ontology."),
    ]:
        with pytest.raises(Refused) as caught:
            ConstraintSet.create(kind=kind, entity_ontology=ontologies[0], relation_ontology=ontologies[1], **options)
        assert str(caught.value) == words
    assert not ConstraintSet.objects.exists()


def test_a_blueprint_is_about_blueprints(alice):
    entities = factories.project(by=alice).entity_ontology
    with pytest.raises(Refused, match=r"belongs to the project “Pumps”\. Duplicate that ontology first"):
        make("entity_constraints", owner=alice, entities=entities, relations=None)


def test_preannotations_are_off_by_default(alice, labels, settings):
    resource = make("entity_preannotations", owner=alice, **labels)
    settings.PREANNOTATION_RESOURCES = False
    for refused in (
        lambda: make("entity_preannotations", owner=alice, **labels),
        lambda: make("relation_preannotations", owner=alice, **labels),
        lambda: resource.copy_to(by=alice),
    ):
        with pytest.raises(Refused, match="The setting PREANNOTATION_RESOURCES enables them"):
            refused()
    assert PreannotationSet.objects.get() == resource
    make("entity_constraints", owner=alice, **labels)


@pytest.mark.parametrize("name", ["", "a\x07b", "x" * 201])
def test_names_keep_their_rules(alice, labels, name):
    with pytest.raises(Refused, match=r"name"):
        ConstraintSet.create(kind="entity", source="[]", name=name, owner=alice, entity_ontology=labels["entities"])


def test_an_ontology_that_changes_or_is_deleted_meanwhile_stops_the_upload(alice, labels, monkeypatch):
    read = documents.read

    def slowly(*args, **options):
        rows = read(*args, **options)
        item(labels["entities"], "State").switch(False, by=alice)
        return rows

    with monkeypatch.context() as patch, pytest.raises(Refused, match="was changed while the document was read"):
        patch.setattr("resources.documents.read", slowly)
        make("entity_constraints", owner=alice, **labels)
    labels["entities"].erase()
    with pytest.raises(Refused, match="“entity labels” was deleted meanwhile"):
        make("entity_constraints", owner=alice, **labels)
    assert not ConstraintSet.objects.exists()


def test_schemas_are_published(as_carol):
    for format in FORMATS:
        answer = as_carol.get(f"/ontologies/schemas/{format}.json")
        assert answer.json() == load(SCHEMAS / f"{format}.json")
    assert as_carol.get("/ontologies/schemas/constraints.json").status_code == 404


def test_items_are_never_strings():
    """A label is a foreign key in every row."""
    for model in RESOURCE_SETS:
        for row in model.row_models.values():
            fields = {field.name: field.related_model for field in row._meta.get_fields()}
            others = {"id", "position", "resource_set", "limits_contents", "offset", "search_text"}
            others |= {name for name in fields if name.endswith("surface_form")}
            assert (
                {name for name in fields if fields[name] is OntologyItem}
                == set(row.label_fields)
                == fields.keys() - others
            )
