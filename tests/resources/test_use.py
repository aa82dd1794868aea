"""Constraints and preannotations follow what becomes of the items that they name, and keep them."""

import json
from contextlib import suppress

import hypothesis.strategies as st
import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings

from annotation_service.blueprints import purge_deleted
from annotation_service.inputs import Refused
from datasets.models import Annotation
from ontologies.models import Ontology, OntologyItem
from resources.models import FORMATS, RESOURCE_SETS, ConstraintChange, ConstraintSet, PreannotationSet
from tests import factories
from tests.factories import item
from tests.resource_sets import DOCUMENTS, document_of, make
from tests.soak import amount


@pytest.fixture
def blueprints(alice, labels):
    return {format: make(format, owner=alice, **labels) for format in FORMATS}


@pytest.fixture
def project(alice, labels, blueprints):
    return factories.project(by=alice, resources=list(blueprints.values()), **labels)


def items_named(resource):
    """The uids of the items that a resource names, in the order of its document."""
    ontologies = {o.kind: o.labels().by_fullname for o in Ontology.objects.filter(pk__in=keys(resource))}
    named_relation = {"relation_constraints": "relation", "relation_preannotations": "label"}.get(resource.format)
    return [
        ontologies["relation" if key == named_relation else "entity"][name].uid
        for row in document_of(resource)
        for key, value in row.items()
        if key in resource.row_models[resource.kind].label_fields
        for name in ([value] if isinstance(value, str) else value)
    ]


def listed(row, field):
    """The labels of a list in their order."""
    in_order = field.remote_field.through.objects.filter(**{field.m2m_field_name(): row}).order_by("pk")
    return [each.ontologyitem for each in in_order.select_related("ontologyitem__ontology")]


def keys(resource):
    return [pk for pk in (resource.entity_ontology_id, resource.relation_ontology_id) if pk]


# --- After renames and switches ---

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["entities", "relations"]),
        st.integers(0, 6),
        st.sampled_from(["rename", "switch", "switch one", "recolour", "undo", "redo", "add", "move"]),
        st.text("abcÄ ß", min_size=1, max_size=4),
        st.booleans(),
    ),
    max_size=amount(8, 25),
)


def take(step, ontology, place, name, on, by):
    some = ontology.items()[place % ontology.row_count]
    match step:
        case "rename":
            some.rename(name, by=by)
        case "switch" | "switch one":
            some.switch(on, by=by, reach="item" if on and step == "switch one" else "branch", up=True)
        case "recolour":
            some.recolor("#123456", by=by, branch=on)
        case "undo":
            ontology.undo(by=by)
        case "redo":
            ontology.redo(by=by)
        case "add":
            ontology.add_item(name, parent=some if on else None, by=by)
        case "move":
            some.move(before=ontology.items().first(), by=by)


@pytest.mark.soak
@settings(max_examples=amount(15, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_after_any_series_of_edits_the_same_items_are_named_by_their_new_full_names(
    alice, labels, blueprints, settings, steps
):
    settings.ONTOLOGY_MOVE_ITEMS = True
    before = {format: items_named(resource) for format, resource in blueprints.items()}
    for kind, place, step, name, on in steps:
        with suppress(Refused):
            take(step, Ontology.objects.get(pk=labels[kind].pk), place, name, on, alice)
    assert {format: items_named(resource) for format, resource in blueprints.items()} == before
    for format, resource in blueprints.items():
        assert resource.row_count == len(DOCUMENTS[format])
        texts = [{k: v for k, v in row.items() if "surface" in k or k == "offset"} for row in document_of(resource)]
        assert texts == [{k: v for k, v in row.items() if "surface" in k or k == "offset"} for row in DOCUMENTS[format]]


def test_a_download_has_the_new_full_names(alice, labels, blueprints):
    item(labels["entities"], "PhysicalObject").rename("Thing", by=alice)
    item(labels["entities"], "Thermostat").rename("Thermostat 2", by=alice)
    item(labels["relations"], "hasParticipant").rename("involves", by=alice)
    assert document_of(blueprints["entity_preannotations"])[0]["label"] == "Thing/SensingObject/Thermostat 2"
    assert document_of(blueprints["entity_constraints"])[0]["can_contain"] == [
        "Thing/SensingObject/Thermostat 2",
        "Thing",
    ]
    assert document_of(blueprints["relation_constraints"])[2]["relation"] == "involves/hasPatient"
    assert {row["label"] for row in document_of(blueprints["relation_preannotations"])} == {"involves/hasPatient"}


def test_switching_labels_off_changes_nothing(alice, labels, blueprints):
    for ontology in labels.values():
        ontology.switch_items([i.uid for i in ontology.items()], False, by=alice)
    assert {format: document_of(resource) for format, resource in blueprints.items()} == DOCUMENTS


# --- Copies ---


@pytest.mark.parametrize("format", FORMATS)
def test_a_duplicate_has_the_same_content_and_the_same_ontologies(bob, blueprints, format):
    source = blueprints[format]
    copy = source.copy_to(by=bob, name="His own")
    assert (copy.owner, copy.name, copy.project, copy.copied_from) == (bob, "His own", None, source)
    assert (copy.entity_ontology, copy.relation_ontology) == (source.entity_ontology, source.relation_ontology)
    assert document_of(copy) == DOCUMENTS[format]
    for field in type(source)._meta.concrete_fields:
        assert field.name in factories.OWN_OF_COPIES or getattr(copy, field.attname) == getattr(source, field.attname)


@pytest.mark.parametrize("format", FORMATS)
def test_copied_rows_have_the_same_values(alice, project, blueprints, format):
    """Every field of a row but its own keys is copied; its labels are those of the project, with the same uids."""
    source, [copy] = blueprints[format], [r for r in project.resources() if r.format == format]
    for old, new in zip(source.rows(), copy.rows(), strict=True):
        for field in type(old)._meta.concrete_fields:
            value, theirs = getattr(new, field.name), getattr(old, field.name)
            if isinstance(value, OntologyItem):
                assert value.uid == theirs.uid and value.ontology.project == project
            else:
                assert field.name in {"id", "resource_set"} or value == theirs
        for field in old._meta.many_to_many:
            value, theirs = (listed(row, field) for row in (new, old))
            assert [label.uid for label in value] == [label.uid for label in theirs]
            assert all(label.ontology.project == project for label in value)


def test_a_projects_copies_and_the_blueprints_do_not_reach_each_other(alice, project, labels, blueprints):
    item(project.entity_ontology, "State").rename("Condition", by=alice)
    item(labels["entities"], "PhysicalObject").rename("Thing", by=alice)
    [copy] = [r for r in project.resources() if r.format == "entity_constraints"]
    assert [row["domain"] for row in document_of(copy)] == ["PhysicalObject", "Condition", "Activity/Replace"]
    domains = [row["domain"] for row in document_of(blueprints["entity_constraints"])]
    assert domains == ["Thing", "State", "Activity/Replace"]
    for blueprint in blueprints.values():
        blueprint.erase()
    assert len(project.resources()) == 4 and all(r.copied_from is None for r in project.resources())
    assert [len(document_of(r)) for r in project.resources()] == [3, 3, 3, 2]


def test_a_copy_gets_labels_that_were_renamed_and_moved(alice, labels, blueprints, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    twin = labels["entities"].copy_to(by=alice)
    item(twin, "Thermostat").rename("Regulator", by=alice)
    item(twin, "Regulator").move(to=item(twin, "State"), by=alice)
    copy = blueprints["entity_preannotations"].copy_to(by=alice, ontologies={"entity": twin})
    assert copy.entity_ontology == twin
    assert [row["label"] for row in document_of(copy)] == ["State/Regulator", "State", "PhysicalObject"]


def test_a_copy_needs_all_labels_that_are_named(alice, labels, blueprints):
    stranger = factories.ontology(owner=alice, name="Stranger", items=[{"name": "Activity"}])
    before = ConstraintSet.objects.count()
    with pytest.raises(Refused) as caught:
        blueprints["entity_constraints"].copy_to(by=alice, ontologies={"entity": stranger})
    assert str(caught.value) == (
        "“entity constraints” names the labels “Activity/Replace”, “PhysicalObject”, “PhysicalObject/SensingObject/Thermostat”"
        " and “State”, which “Stranger” does not have. Choose another ontology, or add them first."
    )
    assert ConstraintSet.objects.count() == before


def test_listed_labels_are_looked_for_too(alice, labels):
    twin = labels["entities"].copy_to(by=alice, name="Twin")
    fan = labels["entities"].add_item("Fan", by=alice)
    document = [{"domain": "State", "excludes": [], "can_contain": ["Fan"]}]
    resource = make("entity_constraints", owner=alice, document=document, **labels)
    with pytest.raises(Refused, match="the label “Fan”, which “Twin” does not have"):
        resource.copy_to(by=alice, ontologies={"entity": twin})
    rows = resource.rows()
    assert not rows.filter(excludes=fan).exists() and rows.get(can_contain=fan)


def test_a_projects_copy_becomes_a_blueprint_of_blueprints_labels(alice, project, labels, blueprints):
    [copy] = [r for r in project.resources() if r.format == "entity_constraints"]
    blueprint = copy.copy_to(by=alice)
    assert blueprint.is_blueprint and document_of(blueprint) == DOCUMENTS["entity_constraints"]
    assert blueprint.entity_ontology == labels["entities"]
    item(project.entity_ontology, "State").ontology.add_item("Fan", by=alice)
    copy.add_rule(item(project.entity_ontology, "Fan").uid, by=alice)
    with pytest.raises(Refused, match="names the label “Fan”, which “entity labels” does not have"):
        copy.copy_to(by=alice)
    Ontology.objects.filter(project=project).update(copied_from=None)
    copy.refresh_from_db()
    with pytest.raises(Refused, match="Duplicate that ontology first"):
        copy.copy_to(by=alice)
    own = project.entity_ontology.copy_to(by=alice)
    assert copy.copy_to(by=alice, ontologies={"entity": own}).entity_ontology == own


def test_a_failure_in_the_middle_of_a_copy_leaves_nothing(alice, blueprints, monkeypatch):
    def fail(*args):
        raise RuntimeError

    monkeypatch.setattr("resources.models.sets.label_map", fail)
    before = ConstraintSet.objects.count()
    with pytest.raises(RuntimeError):
        blueprints["entity_constraints"].copy_to(by=alice)
    assert ConstraintSet.objects.count() == before


@pytest.mark.parametrize("format", ["entity_constraints", "relation_constraints"])
def test_a_set_lives_through_all_that_happens_to_it(alice, labels, format):
    """Created, a label renamed, copied into a project, edited there, downloaded, uploaded again."""
    first = make(format, owner=alice, **labels)
    item(labels["entities"], "Activity").rename("Work", by=alice)
    project = factories.project(by=alice, resources=[first], **labels)
    (copy,) = project.constraint_sets()
    last = copy.rows().count() - 1
    copy.remove_rule(copy.rules_with_keys()[last].key, by=alice)
    key = copy.rules_with_keys()[0].key
    copy.add_label(key, copy.row_model.list_fields[-1], item(project.entity_ontology, "Replace").uid, by=alice)
    downloaded = document_of(copy)
    expected = json.loads(json.dumps(DOCUMENTS[format][:last]).replace("Activity", "Work"))
    expected[0][copy.row_model.list_fields[-1]].append("Work/Replace")
    assert downloaded == expected and len(document_of(first)) == last + 1
    again = make(format, owner=alice, document=downloaded, **labels)
    assert document_of(again) == downloaded
    project.erase()
    purge_deleted(10)
    assert set(ConstraintChange.objects.values_list("constraint_set", flat=True)) == {first.pk, again.pk}


# --- Deleting ---


@pytest.mark.parametrize("format", FORMATS)
def test_erasing_leaves_no_row(alice, labels, format):
    resource = make(format, owner=alice, **labels)
    kept = make(format, owner=alice, **labels)
    copy = resource.copy_to(by=alice)
    resource.erase()
    copy.refresh_from_db()
    assert copy.copied_from is None
    assert document_of(kept) == document_of(copy) == DOCUMENTS[format]
    kept.erase()
    copy.erase()
    for model in RESOURCE_SETS:
        for row in model.row_models.values():
            assert not row.objects.exists()
            assert not any(field.remote_field.through.objects.exists() for field in row._meta.many_to_many)


@pytest.mark.parametrize(("format", "what"), [(f, f.split("_")[1].removesuffix("s") + " set") for f in FORMATS])
def test_an_ontology_that_is_used_is_not_deleted_on_its_own(alice, labels, format, what):
    resource = make(format, owner=alice, **labels)
    for kind, ontology in labels.items():
        if kind == "entities" or format.startswith("relation"):
            with pytest.raises(Refused, match=f"The {what} “{resource}” uses its labels. Delete that {what} first."):
                ontology.erase()
    resource.erase()
    for ontology in labels.values():
        ontology.erase()
    assert not Ontology.objects.exists()


def test_all_that_use_an_ontology_are_named(alice, labels):
    for name in ("Oil", "Pumps", "Tanks", "Valves"):
        make("entity_constraints", owner=alice, name=name, **labels)
    dataset = factories.dataset(owner=alice)
    type(dataset).objects.filter(pk=dataset.pk).update(entity_ontology=labels["entities"], name="Orders")
    reason = labels["entities"].reason_not_to_delete()
    assert "1 dataset" in reason and "4 constraint sets" in reason
    assert "and 2 more" in reason and "Delete them first" in reason


USES = {
    "entity_constraints": ["domain", "excludes", "can_contain"],
    "relation_constraints": ["domain", "range", "relation"],
    "entity_preannotations": ["label"],
    "relation_preannotations": ["source_label", "target_label", "label"],
}


@pytest.mark.parametrize(("format", "key"), [(format, key) for format, keys in USES.items() for key in keys])
def test_an_added_item_stays_while_it_is_named(alice, labels, format, key):
    relation = key == "relation" or (format, key) == ("relation_preannotations", "label")
    ontology = labels["relations" if relation else "entities"]
    ontology.add_item("Fan", by=alice)
    row = DOCUMENTS[format][0]
    document = [{**row, key: ["Fan"] if isinstance(row.get(key), list) else "Fan"}]
    resource, what = make(format, owner=alice, document=document, **labels), format.split("_")[1].removesuffix("s")
    with pytest.raises(Refused, match=f"used by 1 {what} and cannot be removed. Switch it off instead"):
        ontology.undo(by=alice)
    assert document_of(resource) == document
    resource.erase()
    ontology.undo(by=alice)
    assert not ontology.items().filter(name="Fan").exists()


def test_a_row_that_names_an_item_several_times_counts_once(alice, labels):
    labels["entities"].add_item("Fan", by=alice)
    document = [{"domain": "Fan", "excludes": ["Fan"]}, {"domain": "State", "excludes": [], "can_contain": ["Fan"]}]
    make("entity_constraints", owner=alice, document=document, **labels)
    with pytest.raises(Refused, match="used by 2 constraints"):
        labels["entities"].undo(by=alice)
    assert item(labels["entities"], "Fan").usage().own == {"constraints": 2}


# --- Usage ---


def test_use_is_told_by_project_and_by_what_uses_the_item(alice, project, labels):
    state = item(labels["entities"], "State")
    mark = Annotation.start(project.dataset.item_set.first(), alice)
    mark.add_entity(uid="aaaaaaaa", label=item(project.entity_ontology, "State"), start=0, end=0)
    sets = {"constraints": 2, "preannotations": 1}
    use = state.usage({project.pk})
    assert (use.own, use.elsewhere) == (sets, {})
    assert [(each.project_name, each.counts) for each in use.projects] == [("Pumps", {"marks": 1, **sets})]
    hidden = state.usage()
    assert (hidden.own, hidden.projects, hidden.elsewhere) == (sets, [], {"marks": 1, **sets})
    assert item(project.entity_ontology, "State").usage().own == {"marks": 1, **sets}
    assert item(labels["relations"], "hasPart").usage({project.pk}).projects[0].counts == {"constraints": 2}


def test_the_details_tell_it_and_keep_projects_secret_from_strangers(as_alice, as_bob, project, labels):
    state = item(labels["entities"], "State")
    url = reverse("ontologies:usage", args=[labels["entities"].pk, state.uid])
    ours, theirs = (client.get(url).text.replace("\u202f", " ") for client in (as_alice, as_bob))
    words = "2 constraints, 1 preannotation"
    assert "Pumps" in ours and ours.count(words) == 2 and "other projects" not in ours
    assert "Pumps" not in theirs and f"<li>{words} in other projects</li>" in theirs
    assert "Blueprints" in theirs and theirs.count(words) == 2


# --- Access ---


def test_administrators_see_the_sets_and_change_only_their_words(as_sam, alice, project, blueprints):
    for resource in [*blueprints.values(), *project.resources()]:
        meta = resource._meta
        page = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[resource.pk])
        assert resource.content_in_words() in as_sam.get(page).text
        fields = {"name": "Renamed", "description": "x", "owner": alice.pk, "kind": "entity", "entity_ontology": 1}
        before = document_of(resource), resource.kind, resource.entity_ontology_id
        assert as_sam.post(page, fields).status_code == 302
        resource.refresh_from_db()
        assert (resource.name, resource.description) == ("Renamed", "x")
        assert (document_of(resource), resource.kind, resource.entity_ontology_id) == before
    for model in (ConstraintSet, PreannotationSet):
        for row in (r for rows in model.row_models.values() for r in [rows.objects.first()]):
            name = f"admin:{row._meta.app_label}_{row._meta.model_name}"
            assert as_sam.post(reverse(f"{name}_change", args=[row.pk]), {"position": 9}).status_code == 403
            assert Client().get(reverse(f"{name}_changelist")).status_code == 302
            answer = as_sam.get(reverse(f"{name}_changelist"), {"q": "Thermostat"})
            assert answer.status_code == 200


def test_labels_that_nobody_names_may_be_missing(alice, labels, blueprints):
    twin = labels["entities"].copy_to(by=alice, name="Twin")
    labels["entities"].add_item("Fan", by=alice)
    copy = blueprints["entity_constraints"].copy_to(by=alice, ontologies={"entity": twin})
    assert document_of(copy) == DOCUMENTS["entity_constraints"]
