"""Adding lists, several items at once, moving, searching, checking, counting use."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service.inputs import Refused
from datasets.models import Annotation
from ontologies import colors, usage
from ontologies.checks import likely_mistakes
from ontologies.documents import NewLabel
from ontologies.models import Ontology
from ontologies.pasted_lists import read_pasted
from ontologies.usage import Usage
from tests import factories
from tests.factories import item
from tests.soak import amount


def outline(ontology):
    return [f"{item.level} {item.name}" for item in ontology.items()]


def new(text):
    return read_pasted(text, "entity")


# --- Adding lists ---

LIST = "SensingObject\n  Thermostat\n  Gauge\n    Dial\nFan\n  Blade\nDrivingObject"


def test_the_preview_tells_what_exists_and_what_will_be_added(ontology, objects):
    rows = ontology.preview_items(new(LIST), objects)
    assert [(row.level, row.name, row.exists) for row in rows] == [
        (1, "SensingObject", True),
        (2, "Thermostat", True),
        (2, "Gauge", False),
        (3, "Dial", False),
        (1, "Fan", False),
        (2, "Blade", False),
        (1, "DrivingObject", True),
    ]
    assert not any(row.problem for row in rows)
    assert ontology.row_count == 7


def test_a_list_is_added_in_one_step_below_an_item(ontology, objects, alice):
    before = list(ontology.items().values("uid", "name", "color", "updated_at"))
    added = ontology.add_items(new(LIST), parent=objects, by=alice)
    assert len(added) == 4
    assert outline(ontology) == [
        "1 PhysicalObject",
        "2 SensingObject",
        "3 Thermostat",
        "3 Gauge",
        "4 Dial",
        "2 DrivingObject",
        "2 Fan",
        "3 Blade",
        "1 Activity",
        "2 Replace",
        "1 State",
    ]
    assert list(ontology.items().exclude(uid__in=added).values("uid", "name", "color", "updated_at")) == before
    change = ontology.changes.first()
    assert (change.verb, change.count, set(change.items)) == ("add", 4, set(added))
    assert item(ontology, "Fan").color == colors.child_of(objects.color, 2)
    assert change.items[item(ontology, "Gauge").uid][1]["position"] == 1


def test_a_list_is_added_at_the_top_and_to_an_empty_ontology(ontology, alice):
    assert ontology.add_items(new("PhysicalObject\n  DrivingObject\nState"), by=alice) == []  # all of it exists
    assert ontology.changes.count() == 1
    ontology.add_items(new("State\n  Worn\nPlace"), by=alice)
    assert outline(ontology)[-3:] == ["1 State", "2 Worn", "1 Place"]
    assert item(ontology, "Place").color == colors.top_level(3)
    empty = Ontology.create(kind="entity", name="x", owner=alice)
    empty.add_items(new("A\n B\nC"), by=alice)
    assert outline(empty) == ["1 A", "2 B", "1 C"]


def test_fields_of_a_document_come_along(ontology, alice, objects):
    taken = objects.uid
    document = [
        {"name": "A", "description": "d", "example_terms": ["t"], "color": "#010203", "active": False, "id": taken},
        {"name": "B", "id": "abcdef12"},
        {"name": "State", "description": "stays as it is"},
    ]
    ontology.add_items(new(json.dumps(document)), by=alice)
    a = item(ontology, "A")
    assert (a.description, a.example_terms, a.color, a.active) == ("d", ["t"], "#010203", False)
    assert a.uid != taken and item(ontology, "B").uid == "abcdef12" and item(ontology, "State").description == ""


def test_what_is_added_below_an_item_that_is_off_starts_off(ontology, objects, alice):
    objects.switch(False, by=alice)
    objects.switch(True, by=alice, reach="item")
    item(ontology, "SensingObject").switch(True, by=alice, reach="item")
    assert not ontology.add_item("Fan", parent=item(ontology, "DrivingObject"), by=alice).active
    assert ontology.add_item("Gauge", parent=item(ontology, "SensingObject"), by=alice).active
    assert ontology.add_item("Place", by=alice).active
    text = (
        "PhysicalObject\n  DrivingObject\n    Valve\n      Gate\n"
        "  SensingObject\n    Scale\n    Thermostat\n      Old\nPlace\n  Site"
    )
    planned = ontology.preview_items(new(text))
    assert [row.name for row in planned if row.starts_off] == ["Valve", "Gate", "Old"]
    ontology.add_items(new(text), by=alice)
    below = {name: item(ontology, name).active for name in ("Valve", "Gate", "Scale", "Old", "Site")}
    assert below == {"Valve": False, "Gate": False, "Scale": True, "Old": False, "Site": True}


def test_doing_an_addition_again_brings_items_as_they_were(ontology, objects, alice, bob):
    ontology.add_item("Fan", parent=objects, by=alice)
    ontology.undo(by=alice)
    objects.switch(False, by=bob)
    ontology.redo(by=alice)
    fan, above = item(ontology, "Fan"), item(ontology, "PhysicalObject")
    assert not fan.active and fan.off_by == above.off_by
    ontology.undo(by=alice)
    objects.switch(True, by=bob)
    ontology.redo(by=alice)
    assert item(ontology, "Fan").active


def test_a_list_with_a_problem_is_not_added(ontology, alice, settings):
    deep = [NewLabel(level, f"{level}") for level in range(1, 202)]
    assert ontology.preview_items(deep)[200].problem == "A tree has at most 200 levels; here are more than 200 levels."
    with pytest.raises(Refused) as refused:
        ontology.add_items(deep, by=alice)
    assert refused.value.problems[0].place.endswith("199/200/201")
    settings.MAX_ONTOLOGY_ITEMS = 8
    many = new("State\nA\nB")
    assert [row.problem for row in ontology.preview_items(many)] == ["", "", "An ontology has at most 8 items."]
    with pytest.raises(Refused, match="at most 8 items"):
        ontology.add_items(many, by=alice)
    assert ontology.row_count == 7 and ontology.changes.count() == 1


def test_adding_takes_as_many_queries_for_many_as_for_few(ontology, alice, django_assert_max_num_queries):
    text = "\n".join(f"T{i}\n" + "\n".join(f"  c{j}" for j in range(9)) for i in range(100))
    with django_assert_max_num_queries(25):
        assert len(ontology.add_items(new(text), by=alice)) == 1000


def test_a_list_may_reach_into_very_many_branches(ontology, alice):
    ontology.add_items(new("\n".join(f"T{i}" for i in range(250))), by=alice)
    added = ontology.add_items(new("\n".join(f"T{i}\n  a\n  b" for i in range(250))), by=alice)
    assert len(added) == 500
    assert outline(ontology)[10:16] == ["1 T1", "2 a", "2 b", "1 T2", "2 a", "2 b"]
    ontology.undo(by=alice)
    ontology.redo(by=alice)
    assert outline(ontology)[10:16] == ["1 T1", "2 a", "2 b", "1 T2", "2 a", "2 b"]


# --- Several items ---


def test_several_items_and_their_branches_are_recoloured_in_one_step(ontology, objects, alice):
    chosen = [item(ontology, name).uid for name in ("DrivingObject", "State")]
    assert ontology.recolor_items(chosen, "#abcdef", by=alice) == 2
    assert {i.name for i in ontology.items() if i.color == "#ABCDEF"} == {"DrivingObject", "State"}
    assert ontology.changes.first().count == 2 and ontology.changes.count() == 2
    chosen = [objects.uid, item(ontology, "Thermostat").uid]  # one of them in the branch of the other
    assert ontology.recolor_items(chosen, "#3366CC", branch=True, by=alice) == 4
    assert item(ontology, "SensingObject").color == colors.child_of("#3366CC", 0)
    assert item(ontology, "DrivingObject").color == colors.child_of("#3366CC", 1)
    assert item(ontology, "Thermostat").color == "#3366CC"


def test_several_items_are_switched_in_one_step(ontology, alice):
    chosen = [item(ontology, name).uid for name in ("SensingObject", "Activity")]
    assert ontology.switch_items(chosen, False, by=alice) == 4
    assert ontology.switch_items(chosen, False, by=alice) == 0
    assert {i.name for i in ontology.items() if not i.active} == {"SensingObject", "Thermostat", "Activity", "Replace"}
    with pytest.raises(Refused, match="off with it"):
        ontology.switch_items(chosen, False, reach="item", by=alice)
    assert ontology.switch_items(chosen, True, reach="item", by=alice) == 2
    assert [c.verb for c in ontology.changes.all()][:2] == ["switch on", "switch off"]


# --- Moving ---


@pytest.fixture
def moving(settings):
    settings.ONTOLOGY_MOVE_ITEMS = True


def test_an_item_is_moved_with_its_branch(ontology, objects, alice, moving):
    moved = item(ontology, "SensingObject").move(
        to=item(ontology, "Activity"), before=item(ontology, "Replace"), by=alice
    )
    assert outline(ontology)[2:6] == ["1 Activity", "2 SensingObject", "3 Thermostat", "2 Replace"]
    assert moved.fullname == "Activity/SensingObject"
    change = ontology.changes.first()
    assert change.items == {
        moved.uid: [
            {"parent": objects.uid, "position": 0},
            {"parent": item(ontology, "Activity").uid, "position": 0},
        ]
    }


def test_an_item_is_moved_before_and_after_another(ontology, alice, moving):
    state, objects, activity = (item(ontology, name) for name in ("State", "PhysicalObject", "Activity"))
    for place in ({"after": activity}, {"after": state}):
        item(ontology, "State").move(by=alice, **place)
    assert ontology.changes.count() == 1  # it stood there already
    for place, tops in (
        ({"before": objects}, ["State", "PhysicalObject", "Activity"]),
        ({"after": objects}, ["PhysicalObject", "State", "Activity"]),
        ({}, ["PhysicalObject", "Activity", "State"]),
    ):
        item(ontology, "State").move(by=alice, **{side: other.again() for side, other in place.items()})
        assert [i.name for i in ontology.items() if i.level == 1] == tops


def test_what_moving_refuses(ontology, objects, alice, settings):
    with pytest.raises(Refused, match="switched off in this installation"):
        item(ontology, "State").move(to=objects, by=alice)
    settings.ONTOLOGY_MOVE_ITEMS = True
    other = factories.ontology(owner=alice)
    ontology.add_item("Replace", by=alice)
    refusals = {
        "own branch": (objects, {"to": item(ontology, "Thermostat")}),
        "already an item": (ontology.items().last(), {"to": item(ontology, "Activity")}),
        "another ontology": (objects, {"to": other.items()[0]}),
        "not stand at that place": (item(ontology, "Activity"), {"before": item(ontology, "Thermostat")}),
    }
    for reason, (moved, place) in refusals.items():
        with pytest.raises(Refused, match=reason):
            moved.move(by=alice, **place)
    assert ontology.changes.count() == 2


def test_moving_keeps_the_limit_of_levels(alice, moving):
    document = []
    for level in range(200):
        document = [{"name": str(level), "children": document}]
    ontology = factories.ontology(owner=alice, items=[*document, {"name": "x", "children": [{"name": "y"}]}])
    deep = ontology.items().get(level=199)
    with pytest.raises(Refused, match="at most 200 levels"):
        item(ontology, "x").move(to=deep, by=alice)
    assert item(ontology, "y").move(to=deep, by=alice).level == 200


def test_marks_follow_a_moved_item(alice, moving):
    project = factories.project(by=alice)
    labels = project.entity_ontology
    annotation = Annotation.start(project.dataset.item_set.first(), alice)
    annotation.add_entity(uid="aaaaaaaa", label=item(labels, "Thermostat"), start=0, end=0)
    item(labels, "Thermostat").move(to=item(labels, "State"), by=alice)
    assert annotation.entity_set.get().label.fullname == "State/Thermostat"


# --- Finding ---


def test_items_are_found_in_tree_order_by_name_description_and_terms(ontology, alice):
    item(ontology, "State").describe("Not an OBJECT.", by=alice)
    item(ontology, "Activity").set_example_terms(["Straße", "objects"], by=alice)
    ontology.refresh_from_db()
    names = ["PhysicalObject", "SensingObject", "DrivingObject", "Activity", "State"]
    assert [label.name for label in ontology.labels().find(" object ")] == names
    assert [found.uid for found in ontology.labels().find("STRASSE")] == [item(ontology, "Activity").uid]
    assert ontology.labels().find("  ") == [] and ontology.labels().find("nowhere") == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("object sensing", ["SensingObject"]),
        ("touched PHYS", ["PhysicalObject"]),
        ("SenObj", ["SensingObject"]),
        ("SO", ["SensingObject"]),
        ("sens/therm", ["Thermostat"]),
        ("phys / therm", ["Thermostat"]),
        ("PO/obj", ["SensingObject", "DrivingObject"]),
        ("physical object/", ["SensingObject", "Thermostat", "DrivingObject"]),
        ("therm/sens", []),
        ("and/or", ["State"]),
        ("/", []),
        ("thermastat", ["Thermostat"]),  # wrong
        ("hermostat", ["Thermostat"]),
        ("Termostat", ["Thermostat"]),  # missing
        ("thhermo", ["Thermostat"]),  # too many
        ("replcae", ["Replace"]),  # swapped
        ("sensign objetc", []),  # two errors
        ("sensign object", ["SensingObject"]),
        ("sensign/thermo", ["Thermostat"]),
        ("act", ["Activity"]),  # not also what is like it
        ("xyz", []),
        ("stxte thermo", []),
        (r"S.*O", []),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAABC", []),  # found or not at once, in a name of many capitals
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ["A" * 200]),
    ],
)
def test_labels_are_found_by_words_parts_of_names_paths_and_with_one_typing_error(ontology, alice, text, names):
    item(ontology, "State").describe("On and/or off.", by=alice)
    ontology.add_item("A" * 200, by=alice)
    ontology.refresh_from_db()
    assert [label.name for label in ontology.labels().find(text)] == names


# --- Checks ---


def found(alice, items):
    ontology = factories.ontology(owner=alice, items=items)
    checks = likely_mistakes(ontology.labels())
    return [(check.kind, [label.name for label in check.labels]) for check in checks], checks


def test_a_good_tree_has_no_likely_mistakes(alice):
    children = [{"name": f"c{i}", "description": "x"} for i in range(15)]
    assert found(alice, [{"name": f"t{i}", "description": "x"} for i in range(13)])[0] == []
    assert found(alice, [{"name": "A", "children": children}, {"name": "B"}])[0] == []


def test_names_that_differ_only_in_case_or_spacing(alice):
    kinds, checks = found(alice, [{"name": "Work Order"}, {"name": "workorder"}, {"name": "Order"}])
    assert kinds == [("similar_names", ["Work Order", "workorder"])]
    assert checks[0].text == "“Work Order” and “workorder” differ only in case or spacing."


def test_the_same_name_in_two_branches(alice):
    leaves = [{"name": "x"}, {"name": "Y"}]
    kinds, checks = found(
        alice, [{"name": "A", "children": leaves}, {"name": "B", "children": [leaves[0], {"name": "Z"}]}]
    )
    assert kinds == [("same_name", ["x", "x"])]
    assert checks[0].text == "“x” stands in 2 branches: “A/x” and “B/x”."


def test_a_description_missing_where_siblings_have_one(alice):
    kinds, checks = found(alice, [{"name": "A", "description": "x"}, {"name": "B"}])
    assert kinds == [("no_description", ["B"])]
    assert checks[0].text == "1 of 2 items at the top level has no description."


def test_colours_that_cannot_be_told_apart(alice):
    near, far = "#339C6D", "#B07A20"
    kinds, _ = found(
        alice, [{"name": "A", "color": near}, {"name": "B", "color": "#339D6E"}, {"name": "C", "color": far}]
    )
    assert kinds == [("similar_colors", ["A", "B"])]
    kinds, _ = found(alice, [{"name": "A", "color": near}, {"name": "B", "color": near, "active": False}])
    assert kinds == []
    below = [{"name": "A", "color": near}, {"name": "B", "color": near.lower()}, {"name": "C", "color": far}]
    kinds, checks = found(alice, [{"name": "Top", "children": below}])
    assert kinds == [("similar_colors", ["A", "B"])] and "below “Top”" in checks[0].text


def test_colours_of_many_siblings_are_compared_too(alice):
    """Shades of grey, far apart, and two pairs that are not."""
    shades = [f"#{value:02X}{value:02X}{value:02X}" for value in range(0, 256, 12)]
    close = [shades[5], "#3D3C3C", shades[9], "#6C6C6D"]
    items = [{"name": color, "color": color} for color in dict.fromkeys(shades + close)]
    kinds, _ = found(alice, items)
    assert [(kind, set(names)) for kind, names in kinds] == [
        ("similar_colors", set(close[:2])),
        ("similar_colors", set(close[2:])),
    ]


@pytest.mark.parametrize("count", [37, 60, 300])
def test_automatic_colours_are_not_reported(alice, count):
    """More siblings than there are colours that can be told apart are nothing that a person could mend."""
    items = [{"name": f"Item {n}"} for n in range(count)]
    assert found(alice, items) == ([], [])
    assert found(alice, [{"name": "Top", "children": items}]) == ([], [])


def test_single_children_and_many_levels(alice):
    document = []
    for level in reversed(range(14)):
        document = [{"name": f"l{level}", "children": [*document, {"name": f"m{level}"}]}]
    kinds, checks = found(alice, document)
    assert (
        kinds
        == [
            ("many_levels", ["l12", "l13", "m13", "m12", "m11"]),
            ("single_child", ["l13", "m13"]),
        ]
        and "the deepest on level 15" in checks[0].text
    )


@settings(max_examples=amount(10, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 8), max_size=40), st.booleans())
def test_a_fresh_tree_has_hints_at_most(alice, parents, described):
    """Labels with different names, as they are typed one after the other, the first of them with a description."""
    tree = Ontology.create(kind="entity", name="Fresh", owner=alice)
    added = [None]
    for number, parent in enumerate(parents):
        added.append(tree.add_item(f"Label {number}", parent=added[min(parent, len(added) - 1)], by=alice))
    if described and parents:
        added[1].describe("What it is.", by=alice)
    tree.refresh_from_db()
    assert [check.text for check in likely_mistakes(tree.labels()) if not check.is_hint] == []


# --- Use ---


def test_use_is_counted_in_one_query_without_removed_texts(alice, carol, django_assert_num_queries):
    project = factories.project(by=alice, annotators=[carol])
    labels = project.entity_ontology
    top, state = labels.items()[0], labels.items().last()
    first, second, *_ = project.dataset.item_set.all()
    for person in (alice, carol, None):
        annotation = factories.annotation(first, person)
        annotation.entity_set.create(label=top, uid="aaaaaaaa", start=0, end=0)
    second.annotation_set.create(annotator=carol).entity_set.create(label=state, uid="aaaaaaaa", start=0, end=0)
    with django_assert_num_queries(1):
        assert labels.marks_by_uid() == {top.uid: 3, state.uid: 1}
    type(second).objects.filter(pk=second.pk).update(removed_at=project.dataset.created_at)
    assert labels.marks_by_uid() == {top.uid: 3}
    assert (top.usage(), state.usage()) == (Usage({"marks": 3}, [], {}), Usage({}, [], {}))


def test_annotators_see_only_how_often_they_used_a_label(as_alice, as_carol, as_dave, alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave])
    label = project.entity_ontology.items()[0]
    item = project.dataset.item_set.first()
    for person in (alice, carol):
        factories.annotation(item, person).entity_set.create(label=label, uid="aaaaaaaa", start=0, end=0)
    home = f"/ontologies/{project.entity_ontology.pk}/"
    for client, marks in ((as_alice, {label.uid: 2}), (as_carol, {label.uid: 1}), (as_dave, {})):
        assert client.get(f"{home}figures/").json()["columns"]["marks"]["own"] == marks
        told = client.get(f"{home}items/{label.uid}/usage/").text
        assert [f"{n} mark" in told for n in (1, 2)] == [n in marks.values() for n in (1, 2)]


def test_marks_below_an_item_are_added_up(alice):
    document = [{"name": "A", "children": [{"name": "B", "children": [{"name": "C"}]}, {"name": "D"}]}, {"name": "E"}]
    ontology = factories.ontology(owner=alice, items=document)
    uids = {label.name: label.uid for label in ontology.labels()}
    marks = {uids["A"]: 1, uids["C"]: 2, uids["D"]: 4, uids["E"]: 8}
    assert usage.marks_below(ontology.labels(), marks) == {uids["A"]: 6, uids["B"]: 2}


def test_a_blueprint_tells_the_marks_in_datasets_from_those_in_projects(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    blueprint = project.entity_ontology.copied_from
    for dataset, ontology in ((factories.dataset(owner=alice), blueprint), (project.dataset, project.entity_ontology)):
        annotation = factories.annotation(dataset.items()[0])
        annotation.entity_set.create(label=item(ontology, "State"), uid="aaaaaaaa", start=0, end=0)
    Annotation.start(project.dataset.items()[1], carol).add_entity(
        uid="bbbbbbbb", label=item(project.entity_ontology, "Activity"), start=0, end=0
    )
    activity, state = (item(blueprint, name).uid for name in ("Activity", "State"))
    assert blueprint.marks_by_column() == {"datasets": {state: 1}, "projects": {state: 1, activity: 1}}
    assert project.entity_ontology.marks_by_column() == {"marks": {state: 1, activity: 1}}


def test_suggestions_are_counted_when_they_are_accepted(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    label = item(project.entity_ontology, "State")
    given, mine = (factories.annotation(project.dataset.items()[0], person) for person in (None, carol))
    for n, status in enumerate(("suggested", "rejected", "accepted")):
        mine.entity_set.create(label=label, uid=status, start=n, end=n, status=status, origin="preannotation")
    given.entity_set.create(label=label, uid="found", start=0, end=0, status="suggested", origin="preannotation")
    assert project.entity_ontology.marks_by_uid() == {label.uid: 1} and label.usage().own == {"marks": 1}
    given.entity_set.create(label=label, uid="given", start=1, end=1, status="suggested", origin="given")
    assert project.entity_ontology.marks_by_uid() == {label.uid: 2} and label.usage().own == {"marks": 2}


def test_relations_are_counted_too(alice):
    project = factories.project(by=alice)
    annotation = Annotation.start(project.dataset.item_set.first(), alice)
    for number, uid in enumerate(("aaaaaaaa", "bbbbbbbb")):
        annotation.add_entity(uid=uid, label=project.entity_ontology.items()[0], start=number, end=number)
    label = project.relation_ontology.items()[0]
    annotation.add_relation(uid="cccccccc", label=label, source="aaaaaaaa", target="bbbbbbbb")
    assert project.relation_ontology.marks_by_uid() == {label.uid: 1} and label.usage().own == {"marks": 1}


def test_a_blueprint_tells_its_use_in_projects(alice, bob):
    blueprint = factories.ontology(owner=alice)
    seen, unseen = (factories.project(by=alice, name=name, entities=blueprint) for name in ("Seen", "Unseen"))
    for project, count in ((seen, 2), (unseen, 3)):
        annotation = Annotation.start(project.dataset.item_set.first(), alice)
        label = project.entity_ontology.items()[0]
        label.rename("Renamed in the project", by=alice)
        for start in range(count):
            annotation.entity_set.create(label=label, uid=f"aaaaaaa{start}", start=start % 3, end=2 + start)
    use = blueprint.items()[0].usage({seen.pk})
    assert [(p.project_pk, p.project_name, p.counts) for p in use.projects] == [(seen.pk, "Seen", {"marks": 2})]
    assert (use.own, use.elsewhere) == ({}, {"marks": 3})
    assert blueprint.items()[0].usage().elsewhere == {"marks": 5} and blueprint.items()[1].usage() == Usage({}, [], {})
