"""What keeps trees sound: the constraints, the lock, copying, deletion, and who may write."""

import ast
from pathlib import Path

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction

from annotation_service.inputs import Refused
from ontologies.models import Ontology, OntologyChange, OntologyItem
from tests import factories
from tests.test_imports import APPS

# --- Constraints of the database ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        lambda first: {"tree_id": first.tree_id},  # the number of another tree
        lambda first: {"parent": None},  # a second root
        lambda first: {"lft": 9, "rght": 9},
        lambda first: {"ontology": first.ontology, "tree_id": first.tree_id, "uid": first.uid},
        lambda first: {"parent": first.parent, "name": first.name},
    ],
    ids=["tree", "root", "positions", "id", "name"],
)
def test_the_database_refuses_an_item_that_makes_a_tree_unsound(ontology, alice, changes):
    factories.ontology(owner=alice)
    last = OntologyItem.objects.filter(level__gt=0).last()
    with pytest.raises(IntegrityError), transaction.atomic():
        OntologyItem.objects.filter(pk=last.pk).update(**changes(ontology.items()[0]))


def test_versions_are_given_once(ontology, alice):
    with pytest.raises(IntegrityError), transaction.atomic():
        OntologyChange.objects.create(ontology=ontology, version=1, verb="x", user=alice, at=ontology.updated_at)


def test_a_parent_cannot_be_deleted_under_its_children(ontology):
    with pytest.raises(DatabaseError), transaction.atomic():
        OntologyItem.objects.filter(pk=ontology.items()[0].pk)._raw_delete("default")
        connection.check_constraints()


# --- Copying -----------------------------------------------------------------------------------------------------------

# What a copy has of its own.
OWN = {
    Ontology: {"id", "owner", "project", "copied_from", "version", "created_at", "updated_at", "name"},
    OntologyItem: {"id", "ontology", "parent", "tree_id"},
}


def values(thing):
    return {
        field.name: getattr(thing, field.attname)
        for field in thing._meta.concrete_fields
        if field.name not in OWN[type(thing)]
    }


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_a_copy_has_every_field_of_every_item(alice, bob, kind):
    ontology = factories.ontology(owner=alice, kind=kind)
    ontology.edit(name="Labels", description="For pumps.")
    ontology.items()[0].switch(False, by=alice)
    copy = ontology.copy_to(by=bob, name="Copy")
    assert values(copy) == values(ontology)
    assert [values(i) for i in copy.items()] == [values(i) for i in ontology.items()]
    assert [i.parent_uid for i in copy.items()] == [i.parent_uid for i in ontology.items()]
    assert {i.ontology_id for i in copy.items()} == {i.tree_id for i in copy.items()} == {copy.pk}
    assert (copy.owner, copy.copied_from, copy.project, copy.version) == (bob, ontology, None, 0)


def test_a_copy_is_independent(ontology, alice, bob):
    copy = ontology.copy_to(by=bob)
    before = [values(i) for i in copy.items()]
    ontology.items()[0].rename("Changed", by=alice)
    ontology.add_item("Added", by=alice, parent=ontology.items()[0])
    assert [values(i) for i in copy.items()] == before
    copy.items()[0].switch(False, by=bob)
    assert all(i.active for i in ontology.items())


def test_a_copy_takes_a_few_statements_whatever_its_size(ontology, alice, django_assert_max_num_queries):
    with django_assert_max_num_queries(15):
        ontology.copy_to(by=alice)
    assert Ontology.create(kind="entity", name="Empty", owner=alice).copy_to(by=alice).row_count == 0


# --- Deletion ----------------------------------------------------------------------------------------------------------


def test_deleting_leaves_nothing_behind(ontology, alice):
    ontology.items()[0].rename("x", by=alice)
    other = ontology.copy_to(by=alice)
    ontology.erase()
    other.refresh_from_db()
    assert other.copied_from is None and other.row_count == 7
    assert list(Ontology.objects.all()) == [other]
    assert set(OntologyItem.objects.values_list("ontology", flat=True)) == {other.pk}
    assert not OntologyChange.objects.exclude(ontology=other).exists()


def test_a_copy_of_a_project_goes_with_the_project_only(alice):
    project = factories.project(by=alice)
    with pytest.raises(Refused, match="belongs to the project"):
        project.entity_ontology.erase()
    project.erase()
    assert not Ontology.objects.exclude(project=None).exists()


def test_an_ontology_that_a_dataset_uses_is_not_deleted(ontology, alice):
    dataset = factories.dataset(owner=alice)
    type(dataset).objects.filter(pk=dataset.pk).update(entity_ontology=ontology)
    with pytest.raises(Refused, match="uses its labels"):
        ontology.erase()
    assert ontology.row_count == 7


# --- Architecture ------------------------------------------------------------------------------------------------------

SOURCES = [
    path for app in APPS for path in (Path(settings.BASE_DIR) / app).rglob("*.py") if "migrations" not in path.parts
]
WRITES = Path(settings.BASE_DIR) / "ontologies/tree.py"
MPTT_WRITES = {
    "insert_node",
    "move_node",
    "move_to",
    "insert_at",
    "rebuild",
    "partial_rebuild",
    "delay_mptt_updates",
    "disable_mptt_updates",
    "build_tree_nodes",
    "load_bulk",
}
NEVER = {"rebuild", "partial_rebuild", "delay_mptt_updates", "disable_mptt_updates", "build_tree_nodes"}


def calls(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            yield name, node


def test_only_the_tree_module_calls_writing_methods_of_mptt():
    callers = {path for path in SOURCES for name, _ in calls(path) if name in MPTT_WRITES}
    assert callers == {WRITES}
    assert not {name for path in SOURCES for name, _ in calls(path)} & NEVER


def test_tree_positions_are_written_in_the_tree_module_only():
    positions = {"lft", "rght", "tree_id", "level", "parent"}
    for path in SOURCES:
        if path == WRITES:
            continue
        for name, node in calls(path):
            if name in {"update", "touch"}:
                assert not positions & {keyword.arg for keyword in node.keywords}, path


def test_nobody_saves_an_item_without_naming_the_fields():
    for path in (path for path in SOURCES if path.is_relative_to(Path(settings.BASE_DIR) / "ontologies")):
        for name, node in calls(path):
            if name == "save" and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "form":
                named = {keyword.arg for keyword in node.keywords}
                assert named & {"update_fields", "force_insert"}, f"{path}:{node.lineno}"


def test_items_are_not_ordered_by_insertion():
    assert not getattr(OntologyItem._mptt_meta, "order_insertion_by", None)
