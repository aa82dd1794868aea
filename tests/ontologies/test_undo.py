"""Undo, redo, revert and the history: what they restore, and when they are refused."""

import pytest
from django.apps import apps

from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Relation
from ontologies import usage
from ontologies.documents import NewLabel
from ontologies.models import Ontology, OntologyChange, OntologyItem
from ontologies.tree import NewBranch
from tests import factories
from tests.factories import item


def state(ontology):
    fields = ("uid", "level", "name", "description", "example_terms", "color", "active")
    return list(ontology.items().values_list(*fields))


OPERATIONS = {
    "rename": lambda o, by: item(o, "PhysicalObject").rename("Thing", by=by),
    "describe": lambda o, by: item(o, "PhysicalObject").describe("New.", by=by),
    "set example terms": lambda o, by: item(o, "PhysicalObject").set_example_terms(["x"], by=by),
    "recolour": lambda o, by: item(o, "PhysicalObject").recolor("#010203", branch=True, by=by),
    "switch off": lambda o, by: item(o, "PhysicalObject").switch(False, by=by),
    "add": lambda o, by: o.add_item("Fan", parent=item(o, "PhysicalObject"), by=by),
    "move": lambda o, by: item(o, "PhysicalObject").move(before=item(o, "State"), by=by),
}


@pytest.mark.parametrize("verb", OPERATIONS)
def test_every_operation_is_undone_and_redone_in_one_step(ontology, alice, settings, verb):
    settings.ONTOLOGY_MOVE_ITEMS = True
    before = state(ontology)
    OPERATIONS[verb](ontology, alice)
    after = state(ontology)
    assert before != after and ontology.undoable(alice).verb == verb
    for _ in range(3):
        assert ontology.undo(by=alice).title == f"undo {verb}"
        assert state(ontology) == before and ontology.undoable(alice) is None
        assert ontology.redoable(alice).verb == verb
        assert ontology.redo(by=alice).title == f"redo {verb}"
        assert state(ontology) == after and ontology.redoable(alice) is None


def test_creating_an_ontology_is_not_undone(ontology, alice):
    assert ontology.undoable(alice) is None
    with pytest.raises(Refused, match="creation"):
        ontology.revert(ontology.changes.get(), by=alice)


def test_the_refusal_names_the_later_change(ontology, objects, alice, bob):
    objects.rename("A", by=alice)
    objects.rename("B", by=bob)
    with pytest.raises(Refused, match=r"“B” was changed by a later step: rename “B” by bob on \d+ \w+ \d{4}"):
        ontology.undo(by=alice)
    assert item(ontology, "B")


def test_undoing_a_rename_keeps_names_of_siblings_different(ontology, alice, bob):
    item(ontology, "State").rename("Other", by=alice)
    ontology.add_item("State", by=bob)
    with pytest.raises(Refused, match="already an item “State”"):
        ontology.undo(by=alice)


def test_redoing_an_addition_keeps_names_of_siblings_different(ontology, alice, bob):
    ontology.add_item("Fan", by=alice)
    ontology.undo(by=alice)
    ontology.add_item("Fan", by=bob)
    with pytest.raises(Refused, match="already an item “Fan”"):
        ontology.redo(by=alice)


def test_an_added_item_stays_when_something_was_added_below_it(ontology, alice, bob):
    fan = ontology.add_item("Fan", by=alice)
    ontology.add_item("Ceiling fan", parent=fan, by=bob)
    with pytest.raises(Refused, match=r"“Ceiling fan” was put below .* add “Ceiling fan” by bob"):
        ontology.undo(by=alice)
    ontology.undo(by=bob)
    ontology.undo(by=alice)
    assert ontology.row_count == 7
    with pytest.raises(Refused, match="stood below is not there"):
        ontology.redo(by=bob)


def test_whatever_an_operation_is_called_that_puts_an_item_below_another_one_it_is_named(ontology, alice, bob):
    fan = ontology.add_item("Fan", by=alice)
    with ontology.changing("graft", by=bob) as change:
        change.insert([NewBranch(fan.again(), [NewLabel(1, "Blade")])])
    with pytest.raises(Refused, match=r"“Blade” was put below .* by a later step: graft “Blade” by bob"):
        ontology.undo(by=alice)
    ontology.changes.filter(verb="graft").delete()
    with pytest.raises(Refused, match=r"“Blade” stands below an item that would have to be removed"):
        ontology.undo(by=alice)


def test_the_refusal_names_the_step_that_put_an_item_there(ontology, alice, bob, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    fan = ontology.add_item("Fan", by=alice)
    part = ontology.add_item("Blade", parent=fan, by=bob)
    part.describe("It turns.", by=alice)
    with pytest.raises(Refused, match=r"“Blade” was put below .* by a later step: add “Blade” by bob"):
        ontology.undo_offered(2, by=alice)
    part.move(to=item(ontology, "State"), by=bob)
    part.move(to=fan, by=alice)
    part.rename("Wing", by=bob)
    with pytest.raises(Refused, match=r"“Wing” was put below .* by a later step: move “Wing” by alice"):
        ontology.undo_offered(2, by=alice)


def test_an_added_item_stays_when_marks_carry_it(alice):
    project = factories.project(by=alice)
    labels = project.entity_ontology
    fan = labels.add_item("Fan", by=alice)
    annotation = Annotation.start(project.dataset.item_set.first(), alice)
    annotation.add_entity(uid="aaaaaaaa", label=fan, start=0, end=0)
    annotation.add_entity(uid="bbbbbbbb", label=fan, start=1, end=1)
    with pytest.raises(Refused, match="used by 2 marks"):
        labels.undo(by=alice)
    with pytest.raises(Refused, match="used by 2 marks"):
        labels.revert(labels.changes.first(), by=alice)
    annotation.entity_set.all().delete()
    labels.undo(by=alice)
    assert not labels.items().filter(name="Fan")


def test_every_field_that_points_to_items_or_ontologies_is_registered():
    """Whoever adds such a model registers it with `ontologies.usage`."""

    def pointing(target):
        tables = [model for model in apps.get_models(include_auto_created=True) if model is not target]
        fields = [(model, field) for model in tables for field in model._meta.get_fields() if not field.auto_created]
        listing = [field.remote_field.through for _, field in fields if field.many_to_many]
        return {(m, f.name) for m, f in fields if f.is_relation and f.related_model is target and m not in listing}

    named = {(use.model, field) for use in usage.item_uses for field in use.items}
    assert pointing(OntologyItem) == named and {Entity, Relation} <= {model for model, _ in named}
    own = {(model, field) for model, field in pointing(Ontology) if model in (OntologyItem, OntologyChange)}
    assert pointing(Ontology) - own == set(usage.ontology_uses)


def test_a_list_added_in_between_is_restored_between_the_same_siblings(ontology, alice, bob, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    ontology.add_items([NewLabel(1, "A"), NewLabel(2, "A1"), NewLabel(1, "B"), NewLabel(1, "C")], by=alice)
    item(ontology, "State").move(after=item(ontology, "A"), by=bob)
    item(ontology, "Activity").move(before=item(ontology, "C"), by=bob)
    before = state(ontology)
    tops = [name for _, level, name, *_ in before if level == 1]
    assert tops == ["PhysicalObject", "A", "State", "B", "Activity", "C"]
    times = list(ontology.items().values_list("created_at", "updated_at"))
    ontology.undo(by=alice)
    assert ontology.row_count == 7
    ontology.redo(by=alice)
    assert state(ontology) == before
    assert list(ontology.items().values_list("created_at", "updated_at")) == times


def test_the_limit_of_items_holds_for_redo(ontology, alice, settings):
    ontology.add_item("Fan", by=alice)
    ontology.undo(by=alice)
    settings.MAX_ONTOLOGY_ITEMS = 7
    with pytest.raises(Refused, match="at most 7 items"):
        ontology.redo(by=alice)


def test_an_item_whose_addition_was_undone_is_not_edited(ontology, alice):
    fan = ontology.add_item("Fan", by=alice)
    ontology.undo(by=alice)
    for edit in (lambda: fan.rename("x", by=alice), lambda: fan.switch(False, by=alice)):
        with pytest.raises(Refused, match="“Fan” is not there any more"):
            edit()
    with pytest.raises(Refused, match="not there any more"):
        ontology.add_item("Below", parent=fan, by=alice)
    with pytest.raises(Refused, match="not there any more"):
        ontology.switch_items([fan.uid], False, by=alice)


# --- Reverting and the history ---


def test_any_single_step_can_be_reverted(ontology, objects, alice, bob):
    objects.rename("A", by=alice)
    item(ontology, "State").rename("B", by=alice)
    step = ontology.changes.get(version=2)
    row = ontology.revert(step, by=bob)
    assert row.title == "revert rename" and row.user == bob and row.operation == step
    assert item(ontology, "PhysicalObject") and item(ontology, "B")
    step.refresh_from_db()
    assert not step.stands
    with pytest.raises(Refused, match="undone already"):
        ontology.revert(step, by=alice)
    assert ontology.undoable(alice).version == 3


def test_a_revert_can_be_undone_redone_and_reverted(ontology, objects, alice, bob):
    objects.rename("A", by=alice)
    ontology.revert(ontology.changes.first(), by=bob)
    assert ontology.undo(by=bob).title == "undo revert rename" and item(ontology, "A")
    assert ontology.redo(by=bob).title == "redo revert rename" and item(ontology, "PhysicalObject")
    assert ontology.revert(ontology.changes.first(), by=alice).title == "restore rename" and item(ontology, "A")
    assert ontology.undo(by=alice).title == "undo restore rename" and item(ontology, "PhysicalObject")


def test_the_longest_verb_fits(ontology, objects, alice, bob):
    objects.set_example_terms(["x"], by=alice)
    ontology.revert(ontology.changes.first(), by=bob)
    ontology.revert(ontology.changes.first(), by=bob)
    assert ontology.undo(by=bob).title == "undo restore set example terms"


def test_somebody_elses_undo_can_be_reverted(ontology, objects, alice, bob):
    objects.rename("A", by=alice)
    undo = ontology.undo(by=alice)
    assert ontology.revert(undo, by=bob).title == "restore rename"
    assert item(ontology, "A") and ontology.redoable(alice) is None
    assert ontology.undoable(alice).verb == "rename"


def test_the_history_tells_who_when_what_before_and_after(ontology, objects, alice, bob):
    objects.rename("A", by=alice)
    ontology.add_item("Fan", parent=objects, by=bob)
    ontology.undo(by=bob)
    undone, added, renamed, created = ontology.history()
    assert [e[0].title for e in (undone, added, renamed, created)] == ["undo add", "add", "rename", "create"]
    assert [e[0].stands for e in (undone, added, renamed, created)] == [True, False, True, True]
    change, (step,) = renamed
    assert (step.name, step.field, step.before, step.after) == ("A", "name", "PhysicalObject", "A")
    (step,) = added[1]
    assert (step.name, step.field, step.before, step.after["parent"]) == ("Fan", "", None, objects.uid)
    assert undone[1][0].after is None and created[1] == []
    assert change.in_words().startswith("rename “A” by alice on ")


def test_the_history_shows_places_by_name_and_lists_by_what_came_and_went(ontology, objects, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    fan = ontology.add_item("Fan", by=alice)
    fan.move(to=objects, by=alice)
    fan.set_example_terms(["a", "b"], by=alice)
    fan.set_example_terms(["b", "c", "d"], by=alice)
    (terms,), _, (moved,) = (steps for _, steps in ontology.history()[:3])
    assert (moved.before, moved.after) == (None, "PhysicalObject")
    assert terms.in_short == "+ c and d, − a"


def test_a_removed_item_keeps_its_name_in_the_history(ontology, alice):
    fan = ontology.add_item("Fan", by=alice)
    fan.describe("x", by=alice)
    ontology.undo(by=alice)
    ontology.undo(by=alice)
    assert {step.name for _, steps in ontology.history() for step in steps} == {"Fan"}


def test_the_history_is_read_in_pages_with_few_queries(ontology, objects, alice, django_assert_num_queries):
    for number in range(30):
        objects.rename(f"A{number}", by=alice)
    assert [change.version for change, _ in ontology.history(start=10, size=5)] == [21, 20, 19, 18, 17]
    with django_assert_num_queries(2):
        ontology.history(size=30)


def test_the_last_change_of_an_item(ontology, objects, alice, bob):
    assert ontology.last_change(objects).verb == "create"
    objects.rename("A", by=bob)
    last = ontology.last_change(objects)
    assert (last.user, last.verb) == (bob, "rename")
    assert ontology.last_change(item(ontology, "State")).user == alice
    copy = ontology.copy_to(by=bob)
    assert copy.last_change(copy.items()[0]) is None


def test_a_move_whose_effect_is_gone_is_undone_all_the_same(ontology, alice, bob, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    item(ontology, "Activity").rename("Work", by=alice)
    item(ontology, "State").move(before=item(ontology, "Work"), by=alice)
    item(ontology, "Work").move(
        before=item(ontology, "PhysicalObject"), by=bob
    )  # which puts “State” back to where it stood
    places = [i.name for i in ontology.items().filter(level=1)]
    undone = ontology.undo(by=alice)
    assert undone.verb == "move" and undone.count == 1
    assert [s.name for s in undone.steps()] == ["State"] * len(undone.steps())
    assert ontology.redoable(alice).verb == "move"
    assert ontology.undo(by=alice).verb == "rename"
    assert ontology.redo(by=alice).verb == "rename" and ontology.redo(by=alice).verb == "move"
    assert [i.name for i in ontology.items().filter(level=1)] == places


def test_a_move_is_not_undone_where_its_name_is_taken(ontology, alice, bob, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    item(ontology, "Replace").move(to=item(ontology, "State"), by=alice)
    other = ontology.add_item("Replace", by=bob, parent=item(ontology, "Activity"))
    names = [i.name for i in ontology.items()]
    with pytest.raises(Refused, match="There is already an item “Replace” at this place"):
        ontology.undo(by=alice)
    assert [i.name for i in ontology.items()] == names
    other.rename("Change", by=bob)
    ontology.undo(by=alice)
    assert item(ontology, "Replace").parent == item(ontology, "Activity")
