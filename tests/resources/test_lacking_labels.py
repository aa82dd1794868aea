"""Labels that a document of preannotations names and the ontologies lack are added to these, if that is wanted."""

import json

import pytest
from django.core.management import call_command

from annotation_service.inputs import Refused
from resources.models import PreannotationSet
from tests.resource_sets import document_of

ROWS = [
    {"surface_form": "pump", "label": "PhysicalObject/Pump/Oil pump"},
    {"surface_form": "hot", "label": "Property"},
    {"surface_form": "valve", "label": "Thermostat"},  # there, by its name alone
]
RELATIONS = [
    {
        "source_surface_form": "a",
        "source_label": "State",
        "target_surface_form": "b",
        "target_label": "Property",
        "offset": 0,
        "label": "hasPart/contains",
    }
]


@pytest.fixture
def ontologies(labels):
    return {"entity_ontology": labels["entities"], "relation_ontology": labels["relations"]}


@pytest.fixture
def entities(ontologies):
    return {"kind": "entity", "entity_ontology": ontologies["entity_ontology"]}


def test_the_dry_run_tells_which_labels_are_lacking(entities, ontologies):
    assert PreannotationSet(**entities).lacking(json.dumps(ROWS)) == {
        "entity": ["PhysicalObject/Pump/Oil pump", "Property"]
    }
    found = PreannotationSet(kind="relation", **ontologies).lacking(json.dumps(RELATIONS))
    assert found == {"entity": ["Property"], "relation": ["hasPart/contains"]}
    assert PreannotationSet(**entities).lacking(json.dumps(ROWS[2:])) == {}
    assert PreannotationSet(**entities).lacking("surface_form,label\nhot,Property\n") == {"entity": ["Property"]}


def test_they_are_added_in_one_step_that_can_be_undone(alice, entities):
    ontology = entities["entity_ontology"]
    before = ontology.as_json()
    made = PreannotationSet.create(add_labels=True, source=json.dumps(ROWS), name="Set", owner=alice, **entities)
    assert [row["label"] for row in document_of(made)] == [
        "PhysicalObject/Pump/Oil pump",
        "Property",
        "PhysicalObject/SensingObject/Thermostat",
    ]
    ontology.refresh_from_db()
    (added, _), *_ = ontology.history()
    assert (added.verb, added.count, added.user) == ("add", 3, alice)
    with pytest.raises(Refused):
        ontology.undo(by=alice)  # the set uses them
    made.erase()
    ontology.undo(by=alice)
    assert [item["name"] for item in json.loads(ontology.as_json())] == [item["name"] for item in json.loads(before)]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([*ROWS, {"surface_form": "", "label": "New"}], "surface_form"),
        ([{"surface_form": "a", "label": "x//y"}], "label “x//y”"),
    ],
)
def test_all_or_nothing(alice, entities, rows, words):
    with pytest.raises(Refused, match=words):
        PreannotationSet.create(add_labels=True, source=json.dumps(rows), name="Set", owner=alice, **entities)
    assert not PreannotationSet.objects.exists()
    assert not entities["entity_ontology"].items().filter(name__in=["Pump", "New", "x"]).exists()


def test_the_command_offers_it_and_does_it(alice, bob, entities, tmp_path, capsys):
    path = tmp_path / "set.json"
    path.write_text(json.dumps(ROWS))
    ontology = entities["entity_ontology"]
    options = {"kind": "entity_preannotations", "name": "Set", "entity_ontology": ontology.pk}

    def run(**more):
        call_command("import_resource", str(path), **options, **more)

    with pytest.raises(SystemExit):
        run(owner="alice")
    assert "To add the 2 labels that the ontologies lack, add --add-labels." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(owner="bob", add_labels=True)
    assert "Only its owner can add labels" in capsys.readouterr().err
    run(owner="alice", add_labels=True, ignore_case=True)
    assert "Added 2 labels to the ontologies.\n“Set”: 3 preannotations." in capsys.readouterr().out
    assert PreannotationSet.objects.get().ignore_case
    options["kind"] = "entity_constraints"
    with pytest.raises(SystemExit):
        run(owner="alice", add_labels=True)
    assert "are for preannotations" in capsys.readouterr().err
