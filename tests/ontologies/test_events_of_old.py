"""The migration that derives the events of labels that are off from the journal."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotation_service.journal import ChangeKind
from ontologies.documents import NewLabel
from ontologies.models import Ontology, OntologyItem
from tests import factories

item = factories.item
NAME = "event_that_switched_off"


@pytest.fixture
def migrate(transactional_db, capsys):
    """Brings the tables to what they were before, and back; what is to be done in between is given. Returns what is printed."""
    graph = MigrationExecutor(connection).loader.graph
    (after,) = [key for key in graph.nodes if key[0] == "ontologies" and key[1].endswith(NAME)]
    (before,) = [parent.key for parent in graph.node_map[after].parents if parent.key[0] == "ontologies"]

    def to_and_fro(between=lambda apps: None):
        try:
            call_command("migrate", *before, verbosity=0)
            between(MigrationExecutor(connection).loader.project_state([before]).apps)
        finally:
            call_command("migrate", verbosity=0)
        return capsys.readouterr().out

    return to_and_fro


@pytest.fixture
def alice(transactional_db):
    return factories.manager("alice")


@pytest.fixture
def ontology(alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    ontology = Ontology.create(kind="entity", name="Labels", owner=alice)
    ontology.add_items([NewLabel(*each) for each in [(1, "A"), (2, "B"), (3, "C"), (2, "D"), (1, "E")]], by=alice)
    return ontology


def switch(ontology, name, active, **options):
    item(ontology, name).switch(active, by=ontology.owner, **options)


def off(ontology):
    return "".join(sorted(item.name for item in ontology.items() if not item.active))


def events(ontology):
    """Those of all labels, numbered in the order in which they come first."""
    numbers = {"": 0}
    return [numbers.setdefault(event, len(numbers)) for event in ontology.items().values_list("off_by", flat=True)]


def test_events_are_derived_from_the_journal_also_those_of_copies(migrate, ontology, alice):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    ontology.add_item("F", parent=item(ontology, "D"), by=alice)
    first = ontology.copy_to(by=alice)
    switch(ontology, "A", True, reach="branch")
    switch(ontology, "D", False)
    second = ontology.copy_to(by=alice)
    ontology.undo(by=alice)
    ontology.undo(by=alice)
    item(ontology, "D").move(by=alice)
    third = ontology.copy_to(by=alice)
    before = [events(each) for each in (ontology, first, second, third)]

    assert migrate() == ""
    assert [events(each) for each in (ontology, first, second, third)] == before
    switch(first, "A", True)
    assert off(first) == "C"
    switch(ontology, "A", True)
    assert off(ontology) == "CDF"
    switch(ontology, "D", True)
    assert off(ontology) == "C"


def test_steps_of_before_can_be_undone_and_done_again(migrate, ontology, alice):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    switch(ontology, "A", True, reach="branch")
    ontology.undo(by=alice)
    ontology.add_item("F", parent=item(ontology, "D"), by=alice)
    ontology.undo(by=alice)
    migrate()
    ontology.refresh_from_db()
    ontology.redo(by=alice)
    assert off(ontology) == "ABCDF"
    ontology.undo(by=alice)
    ontology.undo(by=alice)
    assert off(ontology) == "C"
    ontology.redo(by=alice)
    switch(ontology, "A", True)
    assert off(ontology) == "C"
    kinds = set(ontology.changes.values_list("kind", flat=True))
    assert kinds == {ChangeKind.OPERATION, ChangeKind.UNDO, ChangeKind.REDO}


def test_what_the_journal_does_not_know_has_gone_with_the_label_above(migrate, ontology, alice):
    switch(ontology, "C", False)
    switch(ontology, "A", False)
    copy = ontology.copy_to(by=alice)
    Ontology.objects.filter(pk=copy.pk).update(copied_from=None)
    assert "3 labels that are off count as gone with the one above" in migrate()
    switch(copy, "A", True)
    assert off(copy) == ""


def test_what_is_on_below_a_label_that_is_off_is_switched_off_and_counted(migrate, ontology):
    switch(ontology, "D", False)

    def as_it_could_be(apps):
        labels = apps.get_model("ontologies", "OntologyItem").objects
        labels.filter(name="A").update(active=False)

    assert "2 labels that were on below one that is off were switched off with it." in migrate(as_it_could_be)
    assert off(ontology) == "ABCD"
    assert not list(ontology.tree.problems())
    switch(ontology, "A", True)
    assert off(ontology) == "D" and OntologyItem.objects.filter(active=True).count() > 3
