"""The labels that are kept in memory are always those of the database."""

import pytest
from django.db import transaction

from ontologies import labels
from ontologies.codebook import Codebook
from ontologies.models import Ontology
from ontologies.search import rank
from tests import factories
from tests.factories import item


def names(ontology):
    """As a page reads them that has just been asked for."""
    return [label.fullname for label in Ontology.objects.get(pk=ontology.pk).labels()]


STATE = ["PhysicalObject", "PhysicalObject/SensingObject", "PhysicalObject/SensingObject/Thermostat"]
REST = ["PhysicalObject/DrivingObject", "Activity", "Activity/Replace", "State"]


def test_a_new_name_above_reaches_all_full_names_below(ontology, alice):
    assert names(ontology) == STATE + REST
    item(ontology, "PhysicalObject").rename("Thing", by=alice)
    assert names(ontology) == [name.replace("PhysicalObject", "Thing") for name in STATE + REST]
    ontology.undo(by=alice)
    assert names(ontology) == STATE + REST


def test_items_come_go_and_move(ontology, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    names(ontology)
    ontology.add_item("Pump", parent=item(ontology, "DrivingObject"), by=alice)
    item(ontology, "SensingObject").move(to=item(ontology, "State"), by=alice)
    moved = ["State/SensingObject", "State/SensingObject/Thermostat"]
    assert names(ontology) == ["PhysicalObject", REST[0], f"{REST[0]}/Pump", *REST[1:], *moved]
    ontology.undo(by=alice)
    ontology.undo(by=alice)
    assert names(ontology) == STATE + REST


def test_what_was_rolled_back_is_forgotten(ontology, alice):
    """The version that it had is given away again, perhaps more than once before somebody asks."""
    with transaction.atomic():
        item(ontology, "State").rename("Never", by=alice)
        assert names(ontology)[-1] == "Never"
        transaction.set_rollback(True)
    item(ontology, "Activity").rename("Action", by=alice)
    item(ontology, "Replace").describe("New", by=alice)
    assert names(ontology) == [*STATE, REST[0], "Action", "Action/Replace", "State"]


def test_after_many_changes(ontology, alice):
    names(ontology)
    for number in range(30):
        item(ontology, "State").describe(f"Description {number}", by=alice)
    ontology.refresh_from_db()
    assert ontology.labels()[-1].description == "Description 29"
    assert [label.name for label in ontology.labels().find("description 29")] == ["State"]


def test_labels_are_read_once_for_each_state(ontology, alice, django_assert_num_queries):
    for name in ("One", "Two"):
        with django_assert_num_queries(1):
            ontology.labels()
            ontology.labels()
        ontology.add_item(name, by=alice)


def test_a_page_has_one_state_of_them_although_others_change_it_meanwhile(ontology, alice):
    valve = ontology.add_item("Valve", parent=ontology.add_item("Machine", by=alice), by=alice)
    book = Codebook(ontology, ontology.labels().by_uid[valve.uid])
    for _ in range(2):
        Ontology.objects.get(pk=ontology.pk).undo(by=alice)
    assert names(ontology) == STATE + REST
    assert [label.fullname for label in book.branches()][-2:] == ["Machine", "Machine/Valve"]


@pytest.mark.parametrize(("room", "kept"), [(14, ["three", "two"]), (13, ["three"]), (1, ["three"])])
def test_as_many_items_are_kept_as_fit_and_always_the_newest(alice, monkeypatch, room, kept):
    monkeypatch.setattr(labels, "KEPT_ITEMS", room)
    monkeypatch.setattr(labels, "_kept", {})
    found = {
        name: factories.ontology(owner=alice, name=name) for name in ("one", "two", "three")
    }  # of seven items each
    for ontology in found.values():
        ontology.labels()
    assert {key[0] for key in labels._kept} == {found[name].pk for name in kept}


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        ("stat", [["Stat"], [], [], ["State"], ["MachineState"], [], ["Thermostat"], ["Pump"]]),
        ("thing/ OBJ ", [["obj"], [], [], ["objective"], ["SensingObject"], [], ["subobject"], ["State"]]),
        (
            "ECO",
            [
                ["Eco"],
                ["EnergyConvertingObject", "energy converting object", "Energy-converting (object)"],
                ["EnergyConvertingObjectSet"],
                ["Economiser"],
                ["WaterEconomiser"],
                ["ElectricalEnergyConvertingObject"],
                ["MultipleMeasureControllingObject"],
                ["EnergyOfConvertingObject"],
            ],
        ),
        (
            "eco",
            [["ECO"], [], [], ["Economiser"], [], [], ["MultipleMeasureControllingObject"], ["EnergyConvertingObject"]],
        ),
    ],
)
def test_names_that_fit_best_rank_first(text, grades):
    assert [[rank(text, name) for name in names] for names in grades] == [
        [n] * len(each) for n, each in enumerate(grades)
    ]


@pytest.mark.parametrize(
    ("written", "nearest"),
    [("Activity", None), ("location/Cty", "location/city"), ("place/city", "location/city"), ("locality", None)],
)
def test_the_label_that_is_offered_is_near(alice, written, nearest):
    document = [{"name": "location", "children": [{"name": "city"}]}, {"name": "cities"}]
    why = factories.ontology(owner=alice, items=document).label_names().why_not(written)
    assert why.partition("The nearest is ")[2] == (f"“{nearest}”." if nearest else "")
