"""Gold and what led to it, while labels, texts, items and projects change."""

import pytest
from django.db.models import F

from annotation_service.db import write
from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Item, Layer, TextCorrection
from datasets.models.correction import cut_anew
from ontologies.usage import all_naming, marks_by_uid
from projects.models import Project
from quality.models import GoldDecision, Overruled, ReviewAssignment, Verdict
from tests import faults
from tests.projects.test_deletion import purged
from tests.quality.conftest import label, review, say
from tests.quality.test_review import decide, gold, states
from work.models import ItemWork
from work.models.item_work import refresh

TEXT = "left air conditioner thermostat not working"
ALL = (GoldDecision, Verdict, Overruled, ReviewAssignment)


@pytest.fixture
def item(items, carol, dave, alice):
    """The gold of its second item has been decided, once otherwise before, and is done."""
    item = items[1]
    say(item, carol, "Thermostat 1-3", "State 4-5", "hasPart: Thermostat 1-3 > State 4-5")
    say(item, dave, "SensingObject 1-3", "State 4-5", "hasPart: SensingObject 1-3 > State 4-5")
    decide(item, 0, "1", alice)
    decide(item, 0, "2", alice, "a thermostat")
    review(item).finish(by=alice)
    ReviewAssignment.put({item.pk: alice.pk})
    return item


MARKS = ["Thermostat 1-3", "State 4-5", "hasPart: Thermostat 1-3 > State 4-5"]


def rows():
    return {model: list(model.objects.order_by("pk").values()) for model in ALL}


def test_a_label_that_is_renamed_or_moved_takes_gold_along(item, project, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    before = rows()
    label(project, "Thermostat").rename("Regulator", by=alice)
    label(project, "State").move(to=label(project, "Activity"), by=alice)
    assert gold(item) == [each.replace("Thermostat", "Regulator") for each in MARKS]
    assert rows() == before and states(item) == [("decided", "")] * 3
    assert review(item).seen[0].decision.reason == "a thermostat"


def test_a_label_that_is_off_stays_in_gold(item, project, alice):
    label(project, "Thermostat").switch(False, by=alice)
    assert gold(item) == MARKS and states(item) == [("decided", "")] * 3
    review(item).reopen()
    decide(item, 1, "neither", alice)
    assert gold(item) == ["Thermostat 1-3"]
    review(item).undo(by=alice)
    assert gold(item) == MARKS


def test_gold_is_counted_where_its_label_is_used(item, project, alice):
    ontology, uid = project.entity_ontology, label(project, "Thermostat").uid
    assert marks_by_uid("entity", [ontology.pk])[uid] == 2  # carol's, and what was decided
    own = Entity.objects.filter(annotation__item=item, annotation__layer=Layer.OWN)
    own.update(label=label(project, "State"), start=F("pk"), end=F("pk"))
    assert marks_by_uid("entity", [ontology.pk])[uid] == 1
    counts, _ = all_naming([label(project, "Thermostat").pk])
    assert counts.in_words() == "1 mark"


def test_a_label_of_an_undone_decision_can_go_and_the_decision_does_not_come_back(items, project, carol, dave, alice):
    item, new = items[1], project.entity_ontology.add_item("Passing", by=alice)
    own = say(item, carol, "Passing 1")
    say(item, dave, "State 1")
    decide(item, 0, "2", alice)
    assert gold(item) == ["Passing 1"]
    review(item).undo(by=alice)
    own.entity_set.all().delete()
    project.entity_ontology.undo(by=alice)
    assert not project.entity_ontology.items().filter(uid=new.uid)
    with pytest.raises(Refused, match="deleted"), write():
        review(item).redo(by=alice)
    assert gold(item) == [] and states(item) == [("open", "")]


def test_a_correction_moves_decisions_with_the_words(item, alice):
    before, keys = rows(), list(Verdict.objects.values_list("pk", flat=True))
    made = correct(item, "now left the " + TEXT.removeprefix("left "), alice)
    item.refresh_from_db()
    assert gold(item) == ["Thermostat 3-5", "State 6-7", "hasPart: Thermostat 3-5 > State 6-7"]
    assert list(Verdict.objects.values_list("pk", flat=True)) == keys
    assert states(item) == [("decided", "")] * 3
    made.undo(by=alice)
    assert gold(item) == MARKS and rows() == before


def test_where_words_are_gone_the_place_is_open_again_until_the_correction_is_undone(item, alice, carol, dave):
    before = rows()
    made = correct(item, "left not working", alice)
    assert gold(item) == ["State 1-2"] and states(item) == [("decided", "")]
    assert {verdict.mark.label for verdict in Verdict.objects.all()} == {label(item.dataset.project, "State").pk}
    # Others come to stand there.
    for person, name in ((carol, "Thermostat"), (dave, "SensingObject")):
        entity = Annotation.objects.get(item=item, annotator=person).entity_set
        entity.create(uid="left", label=label(item.dataset.project, name), start=0, end=0)
    assert states(item) == [("open", ""), ("decided", "")] and review(item).is_disputed
    refresh(item.dataset_id, 60)
    assert ItemWork.objects.get(item=item).is_disputed
    Entity.objects.filter(uid="left").delete()
    made.undo(by=alice)
    assert gold(item) == MARKS and rows() == before and states(item) == [("decided", "")] * 3
    refresh(item.dataset_id, 60)
    assert not ItemWork.objects.get(item=item).is_disputed


def test_a_decision_can_be_taken_back_after_corrections(item, alice):
    made = correct(item, "left not working", alice)
    review(item).reopen()
    made.undo(by=alice)
    review(item).undo(by=alice)
    expected = ["SensingObject 1-3", "State 4-5", "hasPart: SensingObject 1-3 > State 4-5"]
    assert gold(item) == expected
    correct(item, "now " + TEXT, alice)
    review(item).redo(by=alice)
    assert gold(item) == ["Thermostat 2-4", "State 5-6", "hasPart: Thermostat 2-4 > State 5-6"]


def correct(item, text, by):
    item = Item.objects.select_related("dataset__project").get(pk=item.pk)
    return TextCorrection.make(item, cut_anew(item, text), by=by, was_version=item.text_version)


def test_gold_is_in_the_bin_with_its_item_and_comes_back_with_it(item, project, alice, as_alice):
    before, address = rows(), f"/projects/{project.pk}/review/{item.pk}/"
    dataset = project.dataset
    dataset.remove(dataset.items().filter(pk=item.pk), by=alice)
    assert as_alice.get(address).status_code == 404
    assert not dataset.decided_items().exists() and dataset.decided_marks() == 0
    dataset.restore(dataset.bin())
    assert as_alice.get(address).status_code == 200
    assert rows() == before and gold(item) == MARKS and states(item) == [("decided", "")] * 3
    assert [each.pk for each in dataset.decided_items()] == [item.pk] and dataset.decided_marks() == 3


def test_gold_is_deleted_with_its_project(item, project):
    Project.objects.get(pk=project.pk).erase()
    purged()
    assert not any(model.objects.exists() for model in ALL)
    assert not Annotation.objects.filter(layer=Layer.GOLD, item__dataset__project__isnull=False).exists()
    assert not faults.orphans()


def test_gold_is_deleted_with_an_item_whose_time_in_the_bin_is_over(item, project, alice):
    dataset = project.dataset
    dataset.remove(dataset.items().filter(pk=item.pk), by=alice)
    Item.with_removed.filter(pk=item.pk).update(removed_at=item.dataset.created_at.replace(year=2000))
    purged()
    assert not Item.with_removed.filter(pk=item.pk).exists()
    assert not any(model.objects.exists() for model in ALL) and not faults.orphans()
