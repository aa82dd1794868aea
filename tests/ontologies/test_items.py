"""The verbs: what they change, what they record, what they refuse."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation_service.edits import Conflict
from annotation_service.inputs import Refused
from annotation_service.schemas import load
from datasets.models import Annotation
from ontologies import colors
from ontologies.documents import SCHEMAS, write_time
from ontologies.models import Ontology
from tests import factories
from tests.factories import item


def journal(ontology):
    return list(ontology.changes.order_by("version"))


def facts(ontology):
    return {i.name: (i.level, i.description, i.example_terms, i.color, i.active) for i in ontology.items()}


def test_creation_is_recorded_with_its_count_only(ontology, alice):
    change = ontology.changes.get()
    assert (change.verb, change.count, change.items, change.version) == ("create", 7, {}, 1)
    assert change.user == alice and ontology.version == 1


def test_every_operation_counts_the_version_up_and_is_one_row_of_the_journal(ontology, objects, bob):
    before = ontology.updated_at
    objects.rename("Thing", by=bob, was="PhysicalObject")
    objects.describe("Things.", by=bob, was="Things that can be touched.")
    objects.set_example_terms(["valve"], by=bob, was=["pump", "bearing"])
    objects.recolor("#abcdef", by=bob)
    item(ontology, "State").switch(False, by=bob)
    ontology.add_item("New", by=bob, parent=objects)
    rows = journal(ontology)
    assert [row.verb for row in rows[1:]] == [
        "rename",
        "describe",
        "set example terms",
        "recolour",
        "switch off",
        "add",
    ]
    assert [row.version for row in rows] == list(range(1, 8))
    assert rows[1].items == {objects.uid: [{"name": "PhysicalObject"}, {"name": "Thing"}]}
    assert rows[4].items[objects.uid][1] == {"color": "#ABCDEF"}
    assert {row.user for row in rows[1:]} == {bob} and {row.count for row in rows[1:]} == {1}
    ontology.refresh_from_db()
    assert ontology.version == 7 and ontology.updated_at > before


def test_what_changes_nothing_is_not_recorded(ontology, objects, alice):
    objects.rename("PhysicalObject", by=alice)
    objects.switch(True, by=alice)
    objects.recolor(objects.color.lower(), by=alice)
    assert len(journal(ontology)) == 1
    ontology.refresh_from_db()
    assert ontology.version == 1


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\x07", "a" * 201, "DrivingObject"])
def test_a_rename_keeps_the_rules_of_names(ontology, alice, name):
    sensor = ontology.items()[1]
    with pytest.raises(Refused):
        sensor.rename(name, by=alice)
    assert sensor.again().name == "SensingObject" and len(journal(ontology)) == 1


def test_twins_in_another_normal_form_are_the_same_name(ontology, alice):
    ontology.add_item("Café", by=alice)
    with pytest.raises(Refused, match="already an item"):
        ontology.add_item("Cafe\u0301", by=alice)


def test_a_stale_edit_is_a_conflict_with_both_values_unless_it_wishes_the_same_or_nothing(objects, alice, bob):
    objects.rename("Theirs", by=bob)
    with pytest.raises(Conflict) as conflict:
        objects.rename("Mine", by=alice, was="PhysicalObject")
    assert conflict.value.fields == {"name": "Theirs"}
    for wish in ("Theirs", "PhysicalObject"):  # what was there is saved again
        assert objects.rename(wish, by=alice, was="PhysicalObject").name == "Theirs"
    assert objects.again().name == "Theirs"


def test_edits_of_other_fields_and_items_do_not_conflict(ontology, objects, alice, bob):
    sensor = ontology.items()[1]
    objects.rename("Theirs", by=bob)
    sensor.rename("Sensor", by=bob)
    assert objects.describe("Mine", by=alice, was="Things that can be touched.").description == "Mine"
    assert sensor.describe("Mine too", by=alice, was="").description == "Mine too"


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("description", lambda item, by: item.describe("Mine", by=by, was="old")),
        ("example_terms", lambda item, by: item.set_example_terms(["mine"], by=by, was=["old"])),
        ("color", lambda item, by: item.recolor("#000000", by=by, was="#FFFFFF")),
    ],
)
def test_every_field_notices_lost_updates(objects, alice, field, call):
    before = getattr(objects, field)
    with pytest.raises(Conflict):
        call(objects, alice)
    assert getattr(objects.again(), field) == before


@pytest.mark.parametrize("color", ["red", "#12345", "#1234567", "#GGGGGG", "#123456\n", "", "url(x)"])
def test_only_colours_are_colours(objects, alice, color):
    with pytest.raises(Refused, match="#RRGGBB"):
        objects.recolor(color, by=alice)


def test_a_new_item_is_the_last_child(ontology, objects, alice):
    item = ontology.add_item("Fan", by=alice, parent=objects)
    assert [i.name for i in objects.again().children.all()] == ["SensingObject", "DrivingObject", "Fan"]
    assert item.color == colors.child_of(objects.color, 2) and item.active and item.level == 2
    assert not list(ontology.tree.problems())
    before, after = journal(ontology)[-1].items[item.uid]
    assert before is None
    assert after["parent"] == objects.uid and after["name"] == "Fan" and after["color"] == item.color
    assert ontology.add_item("Place", by=alice).color == colors.top_level(3)  # at the top with the next hue


def test_an_item_of_a_stale_parent_lands_where_the_parent_is_now(ontology, alice):
    sensor, driver = ontology.items()[1], ontology.items()[3]
    ontology.add_item("A", by=alice, parent=sensor)
    ontology.add_item("B", by=alice, parent=driver)
    assert [i.name for i in driver.again().children.all()] == ["B"]


def test_the_limit_of_items_holds_for_single_ones(ontology, alice, settings):
    settings.MAX_ONTOLOGY_ITEMS = 7
    with pytest.raises(Refused, match="at most 7 items"):
        ontology.add_item("One more", by=alice)


def test_the_limit_of_levels_holds_for_single_items(alice):
    document = []
    for level in range(200):
        document = [{"name": str(level), "children": document}]
    ontology = factories.ontology(owner=alice, items=document)
    with pytest.raises(Refused, match="at most 200 levels"):
        ontology.add_item("too deep", by=alice, parent=ontology.items().last())


def test_relation_items_have_no_example_terms(alice):
    relations = factories.ontology(owner=alice, kind="relation")
    with pytest.raises(Refused, match="no example terms"):
        relations.items()[0].set_example_terms(["x"], by=alice)


def test_example_terms_are_cleaned(objects, alice):
    terms = objects.set_example_terms([" a ", "", "a", "e\u0301"], by=alice).example_terms
    assert terms == ["a", "é"]
    with pytest.raises(Refused):
        objects.set_example_terms(["x" * 201], by=alice)
    with pytest.raises(Refused):
        objects.set_example_terms([str(i) for i in range(201)], by=alice)


def test_line_ends_of_descriptions_are_line_feeds(objects, alice):
    assert objects.describe("a\r\nb\rc", by=alice).description == "a\nb\nc"


def test_a_change_of_one_ontology_does_not_touch_another(ontology, objects, alice):
    other = factories.ontology(owner=alice, name="Other")
    before = list(other.items().values())
    objects.rename("Thing", by=alice)
    objects.switch(False, by=alice)
    objects.recolor("#000000", by=alice, branch=True)
    ontology.add_item("New", by=alice, parent=objects)
    assert list(other.items().values()) == before


def test_figures_of_an_ontology(ontology, objects, alice):
    objects.switch(False, by=alice)
    figures = ontology.facts()
    assert (figures.size, figures.depth, figures.off, figures.level_sizes) == (7, 3, 4, [3, 3, 1])
    assert Ontology.objects.with_size().get(pk=ontology.pk).size == 7


def test_marks_stay_when_their_labels_are_switched_off(alice):
    project = factories.project(by=alice)
    copy = project.entity_ontology
    top, sensor = copy.items()[0], copy.items()[1]
    annotation = Annotation.start(project.dataset.item_set.first(), alice)
    annotation.add_entity(uid="aaaaaaaa", label=top, start=0, end=0)
    annotation.add_entity(uid="bbbbbbbb", label=sensor, start=1, end=1)
    top.switch(False, by=alice)
    sensor.rename("Sensor", by=alice)
    assert annotation.entity_set.count() == 2
    with pytest.raises(Refused):
        annotation.add_entity(uid="cccccccc", label=top.again(), start=2, end=2)


def test_the_time_of_a_label_tells_of_its_own_fields_and_place_as_its_schema_says(ontology, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    long_ago = timezone.now() - timedelta(days=9)
    ontology.items().update(updated_at=long_ago)
    item(ontology, "PhysicalObject").rename("Thing", by=alice)
    item(ontology, "Activity").move(to=item(ontology, "State"), by=alice)
    entries = {entry["name"]: entry for entry in flat(json.loads(Ontology.objects.get(pk=ontology.pk).as_json()))}
    assert entries["Thermostat"]["fullname"] == "Thing/SensingObject/Thermostat"
    changed = {name for name, entry in entries.items() if entry["updated_at"] != write_time(long_ago)}
    assert changed == {"Thing", "Activity"}
    for kind in ("entity", "relation"):
        said = load(SCHEMAS / f"{kind}_ontology.json")["$defs"]["item"]["properties"]["updated_at"]["description"]
        assert "A change above or beside it, by which its fullname or path changes, does not count." in said


def flat(entries):
    for entry in entries:
        yield entry
        yield from flat(entry["children"])
