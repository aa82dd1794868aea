"""What an upload stores: items and their given marks, their places, and the figures of the dataset."""

import json
import math
from datetime import timedelta
from functools import partial

import pytest
from django.db import DataError, IntegrityError, connection
from django.db.models import F
from django.utils import timezone

from annotation_service.db import execute, write
from annotation_service.edits import Conflict, fingerprint
from annotation_service.inputs import Refused
from datasets.importing import storage
from datasets.importing.items import NewEntity, NewItem
from datasets.models import Annotation, Dataset, Entity, Item, Relation, Upload
from datasets.models.annotation import copy_given_marks
from datasets.models.upload import ImportContext
from projects.models import Assignment, Project
from tests import factories
from tests.threads import at_once

from .documents import entity, item, relation


@pytest.fixture
def labels(labels):
    """The ontologies, as options of an upload."""
    return {"entity_ontology": labels["entities"].pk, "relation_ontology": labels["relations"].pk}


@pytest.fixture
def upload(alice, labels):
    """``upload([item(…)], kind="rich")``; with ``to=dataset`` an addition to that."""

    def upload(document, *, to=None, kind="preannotated_relation", **options):
        new = {} if to else {"kind": kind, "name": "Orders", **labels}
        return factories.upload(document, by=alice, dataset=to, options={"format": "json", **new, **options})

    return upload


def marked(**fields):
    """An item with two nested entities and a relation from the inner one."""
    entities = [
        entity(0, 0, "Activity/Replace", id="a b"),
        entity(1, 2, "PhysicalObject", id="r1"),
        entity(1, 1, "PhysicalObject/DrivingObject", id="x" * 100),
    ]
    return item(entities=entities, relations=[relation("x" * 100, "a b"), relation("a b", "r1")], **fields)


def originals(dataset):
    return [item.original for item in dataset.items()]


def ids(dataset):
    return [item.external_id for item in dataset.items()]


def figures(dataset):
    dataset.refresh_from_db()
    tokens = [len(tokens) for (tokens,) in dataset.items().values_list("tokens")]
    assert (dataset.item_count, dataset.token_count) == (len(tokens), sum(tokens))
    return len(tokens)


# --- New datasets --------------------------------------------------------------------------------------------------------


def test_every_mark_is_stored_as_a_suggestion_of_its_item(upload, labels):
    plain = item(original="check pump", tokens=["check", "pump"], entities=[], relations=[])
    dataset = upload([plain, marked(), plain, marked()]).store()
    assert [dataset.entity_ontology_id, dataset.relation_ontology_id] == list(labels.values())
    given = list(Annotation.objects.order_by("item__position"))
    assert [(a.item.position, a.annotator, a.done_at) for a in given] == [(1, None, None), (3, None, None)]
    for annotation in given:
        entities = annotation.entity_set.order_by("pk").values_list("uid", "label__name", "start", "end", "status")
        assert list(entities) == [
            ("a b", "Replace", 0, 0, "suggested"),
            ("r1", "PhysicalObject", 1, 2, "suggested"),
            ("x" * 100, "DrivingObject", 1, 1, "suggested"),
        ]
        relations = annotation.relation_set.order_by("pk").values_list("source__uid", "label__name", "target__uid")
        assert list(relations) == [("x" * 100, "hasPart", "a b"), ("a b", "hasPart", "r1")]
        assert {relation.status for relation in annotation.relation_set.all()} == {"suggested"}
    crossing = Relation.objects.exclude(source__annotation=F("annotation")) | Relation.objects.exclude(
        target__annotation=F("annotation")
    )
    assert not crossing.exists()
    assert figures(dataset) == 4


def test_an_item_is_stored_with_all_its_fields(upload):
    fields = {"external_id": "a\tb\\N", "extra_fields": {"tab\t": ["\\", "ü", None, {"n": 1.5}]}}
    found = item(original='say "İ"\n\t\\ 😀', tokens=["say", '"İ"', "\\", "😀"], **fields)
    missing = item(original="left", tokens=["right"])
    one, two = upload([found, missing], kind="rich").store().items()
    assert (one.original, one.tokens) == (found["original"], found["tokens"])
    assert one.offsets == [[0, 3], [4, 7], [9, 10], [11, 12]]
    assert (one.token_count, two.token_count) == (4, 1)
    assert one.search_text == 'say "i̇" \\ 😀'
    assert (one.external_id, one.extra_fields) == (fields["external_id"], fields["extra_fields"])
    assert (two.offsets, two.external_id, two.extra_fields, two.removed_at) == (None, "", {}, None)


def test_after_items_are_stored_the_database_checks_json_as_before(upload):
    dataset = upload([item()], kind="rich").store()
    with pytest.raises((IntegrityError, DataError)), write():
        execute("UPDATE datasets_item SET tokens = '[' WHERE dataset_id = %(dataset)s", {"dataset": dataset.pk})


def test_more_items_than_are_spooled_at_once_keep_their_marks(upload):
    """Keys, numbers and positions go on from one batch to the next."""
    document = [
        item(
            original=f"item {n}",
            tokens=["item", str(n)],
            entities=[entity(0, 0, id=f"e{n}"), entity(1, 1, id="e")][: n % 3],
            relations=[relation("e", f"e{n}")] if n % 3 == 2 else [],
        )
        for n in range(4500)
    ]
    dataset = upload(document).store()
    assert originals(dataset) == [f"item {n}" for n in range(4500)]
    assert Entity.objects.count() == 4500 and Relation.objects.count() == 1500
    wrong = Entity.objects.exclude(uid="e").annotate(position=F("annotation__item__position"))
    assert {(entity.uid, entity.position) for entity in wrong} == {(f"e{n}", n) for n in range(4500) if n % 3}
    assert set(Relation.objects.values_list("source__uid", flat=True)) == {"e"}
    assert not Relation.objects.exclude(target__annotation=F("annotation")).exists()


@pytest.mark.django_db(transaction=True)
def test_after_a_row_that_cannot_be_spooled_the_database_is_written_to_as_before():
    with storage.Spool() as spool, pytest.raises(UnicodeEncodeError):
        spool.add([NewItem("item 1", "a", ["a"], [(0, 1)], external_id="\ud800")])
    with write():
        factories.manager("alice")


def test_only_few_large_items_wait_in_memory(db, monkeypatch):
    large = [
        NewItem("item 1", "a" * 100_000, ["a"], [(0, 1)]),
        NewItem("item 2", "a", ["a" * 100_000], None),
        NewItem("item 3", "a", ["a"], [(0, 1)], extra_fields={"a": "a" * 100_000}),
        NewItem("item 4", "a", ["a"], [(0, 1)], entities=[NewEntity(str(n), n, 0, 0) for n in range(2000)]),
    ]
    rows = []
    with storage.Spool() as spool:
        monkeypatch.setattr(storage, "write_rows", lambda table, batch: rows.append((table, len(batch))))
        for one in large:
            spool.add([one] * 100)
    assert sum(size for table, size in rows if table == "spool_item") == 400
    assert max(size for table, size in rows if table == "spool_item") < 30
    assert max(size for table, size in rows if table == "spool_entity") < 30_000


def test_keys_are_free_for_whoever_writes_next(upload, alice):
    """The import takes its keys from where the database takes them."""
    dataset = upload([marked()]).store()
    Item.objects.create(dataset=dataset, position=9, original="x", tokens=["x"], token_count=1, search_text="x")
    item = dataset.items()[0]
    annotation = Annotation.objects.create(item=item, annotator=alice)
    copy_given_marks([item.pk], alice.pk)
    assert (annotation.entity_set.count(), annotation.relation_set.count()) == (3, 2)
    upload([marked()]).store()
    assert Entity.objects.count() == 9


def test_an_upload_is_the_record_of_what_it_brought(upload, alice):
    one = upload([item(), item()], kind="rich")
    dataset = one.store()
    two = upload([item()], to=dataset)
    assert two.store() == dataset
    stored = list(dataset.uploads.order_by("number").values_list("number", "first_position", "item_count", "state"))
    assert stored == [(1, 0, 2, "stored"), (2, 2, 1, "stored")]
    two.refresh_from_db()
    assert (two.by, two.found.items, two.file) == (alice, 1, "") and two.stored_at


def test_of_a_refused_document_nothing_is_stored(upload):
    made = upload([marked(), item(entities=[entity(7, 9, id="e1")], relations=[])])
    with pytest.raises(Refused):
        made.store()
    assert not Dataset.objects.exists() and not Item.with_removed.exists()
    made.refresh_from_db()
    assert made.state == "refused" and made.found.problems.total == 1
    assert "item 2" in made.problems_path.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": " "}, "A name is needed"),
        ({"entity_ontology": None}, "the blueprint of their entity ontology"),
        ({"relation_ontology": None}, "the blueprint of their relation ontology"),
        ({"swapped": True}, "the blueprint of their entity ontology"),
        ({"entity_ontology": 10**6}, "the blueprint of their entity ontology"),
    ],
)
def test_a_new_dataset_needs_a_name_and_ontologies_of_the_right_kinds(upload, labels, options, said):
    if options.pop("swapped", None):
        options = dict(zip(labels, reversed(labels.values()), strict=True))
    with pytest.raises(Refused, match=said):
        upload([marked()], **options).store()
    with pytest.raises(Refused, match=said):
        upload([marked()], **options).examine()
    assert not Dataset.objects.exists()


def test_a_projects_ontology_makes_no_blueprint(upload, alice):
    project = factories.project(by=alice)
    with pytest.raises(Refused, match="entity ontology"):
        upload([marked()], entity_ontology=project.entity_ontology.pk).store()


def test_ontologies_of_another_kind_are_left_out(upload, labels):
    assert upload([item()], kind="rich", **labels).store().given_ontologies() == []
    assert len(upload([item(entities=[])], kind="preannotated_entity").store().given_ontologies()) == 1


# --- What changes meanwhile ----------------------------------------------------------------------------------------------


def when_saving(monkeypatch, change):
    """Do something after the first reading, before the dataset is locked."""
    target, times = ImportContext.locked_dataset, []

    def changed(self):
        times.append(1)
        if len(times) == 1:
            change()
        return target(self)

    monkeypatch.setattr(ImportContext, "locked_dataset", changed)
    return times


def test_a_label_that_is_switched_off_while_the_document_is_read_is_refused(upload, labels, alice, monkeypatch):
    made = upload([marked()])
    ontology = Dataset.entity_ontology.field.related_model.objects.get(pk=labels["entity_ontology"])
    made.examine()
    times = when_saving(monkeypatch, lambda: ontology.items().get(name="Replace").switch(False, by=alice))
    with pytest.raises(Refused, match="Replace"):
        made.store()
    assert times == [1] and not Dataset.objects.exists()


def test_a_renamed_label_is_read_again(upload, labels, alice, monkeypatch):
    ontology = Dataset.entity_ontology.field.related_model.objects.get(pk=labels["entity_ontology"])
    times = when_saving(monkeypatch, lambda: ontology.items().get(name="State").rename("Condition", by=alice))
    assert upload([marked()]).store().items().count() == 1
    assert times == [1, 1]


def test_external_ids_that_come_meanwhile_are_seen(upload, monkeypatch):
    dataset = upload([item(external_id="A")], kind="rich").store()
    when_saving(monkeypatch, lambda: upload([item(external_id="B")], to=dataset).store())
    with pytest.raises(Refused, match="“B” is the external id of item 2 of the dataset"):
        upload([item(external_id="B")], to=dataset).store()
    assert figures(dataset) == 2


def test_duplicates_that_come_meanwhile_are_seen(alice, monkeypatch):
    dataset = factories.dataset(owner=alice, text="one\n", remove_duplicates="identical")
    more = {"by": alice, "dataset": dataset, "options": {"format": "text"}}
    times = when_saving(monkeypatch, lambda: factories.upload("Two\n", **more).store())
    factories.upload("Two\nthree\n", **more).store()
    assert originals(dataset) == ["one", "Two", "three"]
    assert len(times) == 3


def test_of_a_try_that_came_too_late_nothing_stays_locked(alice, carol, monkeypatch):
    """It has assigned nothing, either, so that it holds nothing that people need who finish items meanwhile."""
    project = factories.project(by=alice, annotators=[carol], text="one\n")
    more = factories.upload("two\n", by=alice, options={"format": "text"}, dataset=project.dataset)
    given, assign, labels = [], Project.assign_changes, ImportContext._labels_are_unchanged

    def assigned(self):
        given.append(project.dataset.items().count())
        return assign(self)

    answers = iter([False])
    monkeypatch.setattr(Project, "assign_changes", assigned)
    monkeypatch.setattr(ImportContext, "_labels_are_unchanged", lambda self: next(answers, True) and labels(self))
    more.store()
    assert given == [2]


def test_other_changes_of_the_dataset_are_no_reason_to_read_again(upload, alice, monkeypatch):
    dataset = upload([item(external_id="A"), item()], kind="rich").store()

    def change():
        dataset.edit(name="Renamed", description="")
        dataset.remove(dataset.items().filter(external_id=""), by=alice)

    times = when_saving(monkeypatch, change)
    upload([item(external_id="B")], to=dataset).store()
    assert times == [1] and ids(dataset) == ["A", "B"]


def test_what_always_changes_is_refused_in_the_end(upload, monkeypatch):
    dataset = upload([item(external_id="0")], kind="rich").store()
    target = ImportContext.locked_dataset

    def changed(self):
        first = dataset.items().get()
        first.edit(external_id=str(int(first.external_id) + 1), extra_fields={})
        return target(self)

    monkeypatch.setattr(ImportContext, "locked_dataset", changed)
    with pytest.raises(Refused, match="change at the moment"):
        upload([item()], to=dataset).store()
    assert figures(dataset) == 1


# --- Additions -----------------------------------------------------------------------------------------------------------


def test_additions_stand_after_the_highest_position_that_ever_was(upload, alice):
    dataset = upload([item(), item(), item()], kind="rich").store()
    dataset.remove(dataset.items().filter(position=2), by=alice)
    upload([item()], to=dataset).store()
    assert [item.position for item in dataset.items()] == [0, 1, 3]
    assert figures(dataset) == 3


def test_positions_of_items_that_were_deleted_for_good_are_not_used_again(upload, alice):
    """So that those of an upload stay its own."""
    dataset = upload([item()], kind="rich").store()
    upload([item(), item()], to=dataset).store()
    Item.with_removed.filter(dataset=dataset, position__gt=0).delete()
    upload([item()], to=dataset).store()
    assert [item.position for item in dataset.items()] == [0, 3]


def test_an_addition_takes_kind_ontologies_and_preprocessing_from_its_dataset(upload, alice, labels):
    standard = factories.dataset(owner=alice, text="Replace PUMP\n", lowercase=True, remove_duplicates="identical")
    options = {"format": "text", "kind": "rich", "entity_ontology": labels["entity_ontology"]}
    upload("Check OIL\nREPLACE pump\n", to=standard, **options).store()
    assert [item.tokens for item in standard.items()] == [["replace", "pump"], ["check", "oil"]]
    assert figures(standard) == 2
    rich = upload([item()], kind="rich").store()
    upload("Check it, now.\n", to=rich, format="text", tokeniser="punkt").store()
    assert rich.items()[1].tokens == ["Check", "it", ",", "now", "."]


def test_the_labels_of_an_addition_to_a_project_are_those_of_the_project(upload, alice):
    dataset = upload([marked()]).store()
    project = factories.project(by=alice, of=dataset)
    own = project.entity_ontology.add_item("Own", by=alice)
    new = item(entities=[entity(0, 1, "Own", id="e1")], relations=[])
    upload([new], to=project.dataset).store()
    assert Entity.objects.filter(label=own).count() == 1
    with pytest.raises(Refused, match="Own"):
        upload([new], to=dataset).store()


def test_a_dataset_has_room_for_so_many_items(upload, settings, alice):
    dataset = upload([item(), item()], kind="rich").store()
    settings.MAX_DATASET_ITEMS = 3
    many = upload([item(), item()], to=dataset)
    with pytest.raises(Refused, match="at most 3 items"):
        many.store()
    assert "at most 3 items" in many.examine().problems.first[0].text and many.state == "refused"
    assert upload([item()], to=dataset).examine().is_good
    assert figures(dataset) == 2
    upload([item()], to=dataset).store()
    dataset.remove(dataset.items().filter(position=0), by=alice)
    upload([item()], to=dataset).store()
    with pytest.raises(Refused, match="at most 3 items"):
        dataset.restore(dataset.bin())
    assert figures(dataset) == 3


# --- External ids --------------------------------------------------------------------------------------------------------


def test_the_new_ones_are_skipped(upload):
    dataset = upload([item(external_id="A")], kind="rich").store()
    made = upload([item(external_id="A"), item(external_id="B"), item(external_id="B")], to=dataset, duplicates="skip")
    made.store()
    made.refresh_from_db()
    assert ids(dataset) == ["A", "B"] and made.found.skipped == 2
    assert figures(dataset) == 2


def test_the_old_ones_are_replaced_and_can_be_restored(upload, alice):
    dataset = upload(
        [item(external_id="A", original="old", tokens=["old"]), item(external_id="C")], kind="rich"
    ).store()
    label = Annotation.objects.create(item=dataset.items()[0], annotator=alice)
    document = [item(external_id="B", original="first", tokens=["first"]), item(external_id="A"), item(external_id="B")]
    upload(document, to=dataset, duplicates="replace").store()
    assert ids(dataset) == ["C", "A", "B"] and "first" not in originals(dataset)
    [old] = dataset.bin()
    assert (old.original, old.removed_by) == ("old", alice) and old.annotation_set.get() == label
    assert figures(dataset) == 3
    with pytest.raises(Refused, match="has the external id “A” already"):
        dataset.restore(dataset.bin())
    dataset.remove(dataset.items().filter(external_id="A"), by=alice)
    assert dataset.restore(dataset.bin().filter(pk=old.pk)) == 1
    assert ids(dataset) == ["A", "C", "B"]
    assert figures(dataset) == 3


def test_ids_in_the_bin_are_free(upload, alice):
    dataset = upload([item(external_id="A"), item()], kind="rich").store()
    dataset.remove(dataset.items().filter(external_id="A"), by=alice)
    upload([item(external_id="A")], to=dataset).store()
    assert ids(dataset) == ["", "A"]


def test_more_are_replaced_than_are_named_in_one_statement(upload):
    dataset = upload([item(external_id=str(n)) for n in range(6000)], kind="rich").store()
    upload([item(external_id=str(n)) for n in range(1, 6000)], to=dataset, duplicates="replace").store()
    assert figures(dataset) == 6000 and dataset.bin().count() == 5999


# --- Projects ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(alice, carol, dave, upload):
    """A project of which every item goes to one of two annotators."""
    dataset = upload([item(external_id=str(n)) for n in range(4)], kind="rich").store()
    return factories.project(by=alice, of=dataset, relations=False, annotators=[carol, dave], annotators_per_item=1)


def shares(project):
    members = project.membership_set.filter(role="annotator")
    return sorted(project.items_for(member.user).count() for member in members)


def test_removed_items_are_assigned_no_more_and_restored_ones_again(shared, carol, dave):
    dataset = shared.dataset
    begun = shared.items_for(carol).first()
    Annotation.start(begun, carol)
    dataset.remove(dataset.items().filter(pk__in=[begun.pk, shared.items_for(carol).last().pk]), by=carol)
    assert shares(shared) == [1, 1]
    assert not Assignment.objects.exclude(item__removed_at=None).exists()
    dataset.restore(dataset.bin())
    assert shares(shared) == [2, 2]
    assert Assignment.objects.get(item=begun).annotator == carol


# --- The bin -------------------------------------------------------------------------------------------------------------


def test_removed_items_leave_every_count_and_come_back_as_they_were(upload, alice, bob):
    dataset, other = (upload([marked(external_id=str(n)) for n in range(3)]).store() for _ in (1, 2))
    before = [dataset.items().values().get(position=n) for n in range(3)]
    marks = dataset.marks_of(dataset.items())
    removed = dataset.remove(Item.objects.filter(external_id__in=["0", "1"]), by=bob)
    assert removed == 2 and figures(dataset) == 1 and figures(other) == 3
    bin = dataset.bin()
    assert {item.removed_by for item in bin} == {bob} and len({item.removed_at for item in bin}) == 1
    assert dataset.remove(Item.with_removed.filter(dataset=dataset, external_id="0"), by=bob) == 0
    assert dataset.restore(Item.with_removed.get_queryset().filter(external_id="0")) == 1
    assert dataset.restore(dataset.bin()) == 1
    assert [dataset.items().values().get(position=n) for n in range(3)] == before
    assert dataset.marks_of(dataset.items()) == marks == (15, 0, 0)
    assert figures(dataset) == 3


def test_the_marks_that_go_with_items_are_counted(upload, alice, bob):
    dataset = upload([marked(), marked(), item(entities=[], relations=[])]).store()
    first, second, third = dataset.items()
    annotations = [Annotation.start(first, alice), Annotation.start(first, bob), Annotation.start(second, bob)]
    Annotation.start(third, alice)
    assert dataset.marks_of(dataset.items()) == (10, 0, 0)
    for annotation in annotations:
        annotation.entity_set.update(status="accepted")
    annotations[0].relation_set.update(status="accepted")
    annotations[1].entity_set.update(status="rejected")
    entities, relations = annotations[0].entity_set.count(), annotations[0].relation_set.count()
    assert dataset.marks_of(dataset.items().filter(pk=first.pk)) == (5, entities + relations, 1)
    assert dataset.marks_of(dataset.items()) == (10, 2 * entities + relations, 2)
    assert dataset.marks_of(dataset.items().none()) == (0, 0, 0)


def test_two_items_with_one_id_are_not_restored_together(upload, alice):
    dataset = upload([item(external_id="A")], kind="rich").store()
    for _ in (1, 2):
        dataset.remove(dataset.items(), by=alice)
        upload([item(external_id="A")], to=dataset).store()
    dataset.remove(dataset.items(), by=alice)
    with pytest.raises(Refused, match="restore one"):
        dataset.restore(dataset.bin())
    assert dataset.restore(dataset.bin().filter(pk=dataset.bin().first().pk)) == 1


def test_after_thirty_days_items_are_deleted_with_their_marks(upload, alice, shared):
    dataset = upload([marked(), marked(), marked()]).store()
    for each in dataset.items():
        Annotation.start(each, alice)
    dataset.remove(dataset.items().filter(position__lt=2), by=alice)
    old, young = dataset.bin()
    for each, days in ((old, 30), (young, 29)):
        Item.with_removed.filter(pk=each.pk).update(removed_at=timezone.now() - timedelta(days=days))
    assert list(dataset.bin()) == [young]
    assert dataset.restore(Item.with_removed.get_queryset().filter(pk=old.pk)) == 0
    dataset.empty_bin(math.inf)
    assert not Item.with_removed.filter(pk=old.pk).exists()
    assert Annotation.objects.filter(item__dataset=dataset).count() == 4
    assert (Entity.objects.count(), Relation.objects.count()) == (12, 8)
    assert dataset.restore(dataset.bin()) == 1 and figures(dataset) == 2


def test_a_dataset_is_erased_with_its_bin_and_its_uploads(upload, alice, shared):
    dataset = upload([marked(), marked()]).store()
    dataset.remove(dataset.items().filter(position=0), by=alice)
    dataset.erase()
    shared.dataset.remove(shared.dataset.items().filter(position=0), by=alice)
    upload([item()], to=shared.dataset).store()
    shared.erase()
    Dataset.objects.get().erase()
    for model in (Dataset, Upload, Annotation, Entity, Relation, Assignment):
        assert not model.objects.exists()
    assert not Item.with_removed.exists()


# --- At the same time ----------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_additions_removals_and_marks_at_the_same_time():
    """Positions and figures are right, and nobody fails."""
    alice, carol = factories.manager("alice"), factories.user("carol")
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1)

    def add(n):
        options = {"format": "text"}
        factories.upload(f"one {n}\ntwo {n}\n", by=alice, options=options, dataset=project.dataset).store()

    def remove(n):
        dataset = project.dataset
        dataset.remove(dataset.items().filter(position=n), by=alice)

    def mark(n):
        if given := project.items_for(carol).last():
            with write():
                Annotation.start(Item.with_removed.select_for_update(no_key=True).get(pk=given.pk), carol)

    def times(number, work):
        for n in range(number):
            work(n)

    at_once(partial(times, 5, add), partial(times, 5, add), partial(times, 3, remove), partial(times, 5, mark))
    dataset = project.dataset
    assert [item.position for item in dataset.items()] == list(range(3, 23))
    assert sorted(dataset.uploads.values_list("first_position", flat=True)) == list(range(3, 23, 2))
    assert figures(dataset) == 20 == project.items_for(carol).count()


# --- Edits of items ------------------------------------------------------------------------------------------------------


def test_external_id_and_extra_fields_are_edited_and_nothing_else(upload):
    dataset = upload([item(external_id="A"), item(external_id="B")], kind="rich").store()
    first, second = dataset.items()
    before = dataset.updated_at
    first.edit(external_id="Ä 1", extra_fields={"by": ["Anna"]})
    stored = Item.objects.get(pk=first.pk)
    assert (stored.external_id, stored.extra_fields, stored.original) == ("Ä 1", {"by": ["Anna"]}, second.original)
    dataset.refresh_from_db()
    assert dataset.updated_at > before
    for bad, said in (("B", "Item 2 has the external id"), ("x" * 201, "at most 200"), ("a\0", "NUL")):
        with pytest.raises(Refused, match=said):
            first.edit(external_id=bad, extra_fields={})
    first.edit(external_id=" ", extra_fields={})
    assert Item.objects.get(pk=first.pk).external_id == ""


def test_a_number_becomes_true_when_it_is_edited(upload):
    first = upload([item(extra_fields={"a": [1, 0], "b": 1})], kind="rich").store().items().get()
    first.edit(external_id="", extra_fields={"a": [True, False], "b": 1.0})
    assert json.dumps(Item.objects.get(pk=first.pk).extra_fields) == '{"a": [true, false], "b": 1.0}'


def test_an_edit_overwrites_only_what_its_author_has_seen(upload):
    dataset = upload([item(external_id="A", extra_fields={"a": 1, "b": 2})], kind="rich").store()
    [mine] = dataset.items()
    was = {"external_id": fingerprint("A"), "extra_fields": fingerprint({"b": 2, "a": 1})}
    Item.objects.get().edit(external_id="A", extra_fields={"a": 3}, was=was)
    mine.edit(external_id="mine", extra_fields={"a": 1, "b": 2}, was=was)
    assert Item.objects.get().extra_fields == {"a": 3}
    with pytest.raises(Conflict) as conflict:
        mine.edit(external_id="mine", extra_fields={}, was={**was, "external_id": fingerprint("mine")})
    assert conflict.value.fields == {"extra_fields": {"a": 3}}


def test_nothing_is_left_in_the_session_of_the_database(upload):
    upload([marked()]).store()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM temp.sqlite_master")
            assert cursor.fetchall() == []
