"""The items of a dataset blueprint in a project that runs: what comes, what is left out, changes meanwhile, taking it back."""

import json

import pytest

from annotation_service import jobs
from annotation_service.db import write
from annotation_service.inputs import Refused
from annotation_service.models import Job
from datasets.models import Annotation, Dataset, Entity, Item, Relation, Upload
from datasets.models.copying import CopyReader
from tests import factories
from tests.datasets import marked
from tests.resource_sets import make
from tests.threads import at_once, for_each

DRIVING, THERMOSTAT = "PhysicalObject/DrivingObject", "PhysicalObject/SensingObject/Thermostat"
TEXT = "worn belt\nleaking valve\ncheck the coolant\n"
ITEM = ("original", "tokens", "token_count", "offsets", "search_text", "external_id", "extra_fields")


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text=TEXT)


@pytest.fixture
def source(alice):
    return marked.dataset(owner=alice)


def begin(project, source, by, **decisions):
    upload = Upload.begin_copy(source, by=by, dataset=project.dataset)
    if decisions:
        upload.change({**upload.options, **decisions})
    upload.examine()
    return upload


def copied(project, upload):
    upload.refresh_from_db()
    return project.dataset.items().filter(position__gte=upload.first_position)


def marks(items):
    given = {"annotation__item__in": list(items), "annotation__annotator": None}
    entities = Entity.objects.filter(**given).select_related("label").order_by("pk")
    relations = Relation.objects.filter(**given).select_related("label", "source", "target").order_by("pk")
    return [
        *((e.annotation.item.original, e.uid, e.label.fullname, e.start, e.end) for e in entities),
        *((r.annotation.item.original, r.uid, r.label.fullname, r.source.uid, r.target.uid) for r in relations),
    ]


def rename(project, name):
    project.entity_ontology.items().get(name=name).rename(f"{name} of old", by=project.created_by)


def test_items_come_as_a_copy_with_their_marks(alice, carol, project, source):
    upload = begin(project, source, alice)
    report = upload.found
    assert (upload.state, report.items, report.entities, report.relations, report.identical) == ("checked", 3, 3, 1, 0)
    assert project.dataset.item_count == 3  # nothing is stored before somebody says so
    upload.store()
    new = copied(project, upload)
    assert list(new.values_list(*ITEM)) == list(source.items().values_list(*ITEM))
    assert marks(new) == marks(source.items())
    labels = {mark.label.ontology for mark in Entity.objects.filter(annotation__item__in=new)}
    assert labels == {project.entity_ontology}
    assert (project.dataset.item_count, source.item_count) == (6, 3)
    assert (upload.name, upload.number, upload.item_count) == ("Marked", 1, 3)
    assert set(new) <= set(project.items_for(carol))
    started = Annotation.start(new[0], carol)
    assert started.entity_set.count() == 2 and started.relation_set.count() == 1


@pytest.mark.parametrize("text", ["The  PUMP is\tworn\nİ leaks, badly\n", "Wörn “it” 😀 now!\n"])
@pytest.mark.parametrize("options", [{}, {"lowercase": True, "remove_characters": "!,", "tokeniser": "punkt"}])
def test_tokens_keep_their_places_whatever_made_them(alice, project, text, options):
    source = factories.dataset(owner=alice, text=text, **options)
    upload = begin(project, source, alice)
    upload.store()
    assert list(copied(project, upload).values_list(*ITEM)) == list(source.items().values_list(*ITEM))
    assert project.dataset.kind == "standard"


def test_the_dataset_becomes_what_its_items_are(alice, project, source):
    upload = begin(project, source, alice)
    upload.store()
    dataset = project.dataset
    assert dataset.kind == "preannotated_relation"
    assert dataset.given_ontologies() == [project.entity_ontology, project.relation_ontology]
    plain = factories.dataset(owner=alice, text="one more\n")
    begin(project, plain, alice).store()
    assert project.dataset.kind == "preannotated_relation"


def test_texts_that_are_there_are_counted_and_left_out_or_added(alice, project):
    text = TEXT.splitlines()[0]
    source = factories.dataset(owner=alice, text=f"{text}\n{text} \nnew\nnew\n")
    upload = begin(project, source, alice)
    assert (upload.found.identical, upload.found.duplicates, upload.found.items) == (
        2,
        2,
        2,
    )  # the space tells one apart
    assert "2 duplicates dropped" in upload.found.in_words()
    both = begin(project, source, alice, same_texts="keep")
    assert (both.found.identical, both.found.duplicates, both.found.items) == (2, 0, 4)
    upload.store()
    assert [each.original for each in copied(project, upload)] == [f"{text} ", "new"]
    again = begin(project, source, alice)
    assert again.state == "refused" and "are there already" in again.found.problems.first[0].text


@pytest.mark.parametrize("wanted", ["refuse", "skip", "replace"])
def test_external_ids_that_are_taken_are_decided_as_in_a_file(alice, project, source, wanted):
    first = begin(project, source, alice)
    first.store()
    source.items().filter(position=0).update(original="replace engine oil soon")
    again = begin(project, source, alice, duplicates=wanted)
    assert again.found.same_in_dataset == 3 and again.found.identical == 0
    if wanted == "replace":
        again.store()
        assert copied(project, again)[0].original == "replace engine oil soon"
        assert not copied(project, first).filter(position__lt=again.first_position).exists()
    else:
        assert again.state == "refused"


def test_labels_that_were_renamed_in_the_project_are_found_by_their_ids(alice):
    source = marked.dataset(owner=alice)
    entities, relations = source.given_ontologies()
    project = factories.project(by=alice, entities=entities, relations=relations, text=TEXT)
    rename(project, "DrivingObject")
    upload = begin(project, source, alice)
    upload.store()
    names = {mark[2] for mark in marks(copied(project, upload))}
    assert "PhysicalObject/DrivingObject of old" in names and DRIVING not in names


def test_marks_whose_labels_are_missing_are_counted_and_refused_or_left_out(alice, project, source):
    rename(project, "DrivingObject")
    upload = begin(project, source, alice)
    assert upload.state == "refused" and upload.found.unusable_labels["entity"] == {DRIVING: 1}
    assert "1 mark has a label that the project does not have" in str(upload.found.problems.first[0])
    with pytest.raises(Refused, match="does not have"):
        upload.store()
    assert project.dataset.item_count == 3
    upload = begin(project, source, alice, unknown="drop")
    assert (upload.state, upload.found.left_out, upload.found.entities, upload.found.relations) == ("checked", 2, 2, 0)
    upload.store()
    assert [mark[2] for mark in marks(copied(project, upload))] == ["PhysicalObject", THERMOSTAT]
    assert "2 marks left out" in upload.found.in_words()


def test_relations_go_into_a_project_without_them_only_if_they_are_left_out(alice, source):
    project = factories.project(by=alice, relations=False, text=TEXT)
    upload = begin(project, source, alice)
    assert upload.state == "refused" and upload.found.unusable_labels["relation"] == {"hasPart": 1}
    upload = begin(project, source, alice, unknown="drop")
    upload.store()
    assert project.dataset.kind == "preannotated_entity" and len(marks(copied(project, upload))) == 3


def test_marks_with_labels_that_are_off_are_refused_or_kept(alice, project, source):
    project.entity_ontology.items().get(name="Thermostat").switch(False, by=alice)
    upload = begin(project, source, alice)
    assert upload.state == "refused" and upload.found.inactive_labels["entity"] == {THERMOSTAT: 1}
    upload = begin(project, source, alice, inactive="keep")
    upload.store()
    assert len(marks(copied(project, upload))) == 4


@pytest.mark.parametrize(("wanted", "count"), [("refuse", None), ("keep", 4), ("drop", 2)])
def test_marks_that_break_constraints_are_counted_and_decided(alice, project, source, wanted, count):
    entities, relations = project.entity_ontology.copied_from, project.relation_ontology.copied_from
    rules = [{"domain": "PhysicalObject", "excludes": [DRIVING], "can_contain": []}]
    project.use(
        make("entity_constraints", owner=alice, document=rules, entities=entities, relations=relations), by=alice
    )
    upload = begin(project, source, alice, violations=wanted)
    assert upload.found.violation_total >= 1
    if count is None:
        assert upload.state == "refused"
        return
    upload.store()
    assert len(marks(copied(project, upload))) == count
    assert upload.found.left_out == 4 - count


def test_what_changes_between_looking_and_storing_is_read_again(alice, project, source, monkeypatch):
    upload = begin(project, source, alice)
    reads = []

    def meanwhile(reader):
        reads.append(reader)
        if len(reads) == 1:
            source.remove(source.items().filter(position=2), by=alice)
        return items(reader)

    items = CopyReader.__iter__
    monkeypatch.setattr(CopyReader, "__iter__", meanwhile)
    upload.store()
    assert len(reads) == 2 and copied(project, upload).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_who_add_the_same_at_once_add_it_once(alice, carol):
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    source = factories.dataset(owner=alice, text="one more\nand another\n")
    uploads = [begin(project, source, alice) for _ in range(2)]

    def store(upload):
        try:
            return upload.store() is not None
        except Refused as error:
            return str(error)

    ends = for_each(store, uploads)
    assert True in ends and any("are there already" in str(end) for end in ends)
    assert project.dataset.item_count == 5


def test_a_blueprint_that_is_gone_is_told(alice, project, source):
    upload = begin(project, source, alice)
    source.erase()
    with pytest.raises(Refused, match="was deleted"):
        upload.store()
    upload.discard()
    assert project.dataset.item_count == 3


def test_a_large_one_is_copied_by_a_job(as_alice, alice, project, source, settings):
    settings.JOB_ROWS = 2
    response = as_alice.post(f"/projects/{project.pk}/items/copy/", {"dataset": source.pk})
    address = response.headers["HX-Redirect"]
    job = jobs.claim()
    assert job == Job.objects.get()
    jobs.run(job)
    assert "Add 3 items" in as_alice.get(address).text
    as_alice.post(f"{address}store/")
    job = jobs.claim()
    assert job.kind == "store_upload"
    jobs.run(job)
    job.refresh_from_db()
    assert job.state == "done" and project.dataset.item_count == 6


def test_an_archived_project_refuses(alice, project, source):
    upload = begin(project, source, alice)
    project.archive()
    with pytest.raises(Refused, match="is archived"):
        upload.store()


def test_only_blueprints_go_into_projects(alice, project, source):
    with pytest.raises(Refused, match="of a blueprint"):
        Upload.begin_copy(project.dataset, by=alice, dataset=project.dataset)
    with pytest.raises(Refused, match="of a blueprint"):
        Upload.begin_copy(source, by=alice, dataset=factories.dataset(owner=alice))


# --- On the pages ---


def test_the_page_shows_all_of_it_before_anything_is_stored(as_alice, alice, project, source):
    rename(project, "DrivingObject")
    marked.add(source, 3, TEXT.splitlines()[0], external_id="")
    page = as_alice.get(f"/projects/{project.pk}/")
    assert f'hx-get="/projects/{project.pk}/items/copy/"' in page.text
    dialog = as_alice.get(f"/projects/{project.pk}/items/copy/")
    assert "Marked · 3 items · alice" in dialog.text
    address = as_alice.post(f"/projects/{project.pk}/items/copy/", {"dataset": source.pk}).headers["HX-Redirect"]
    text = as_alice.get(address).text
    assert "1 mark has them" in text and "1 item has a text identical to" in text and "Decide below" in text
    assert "becomes a preannotated relation dataset" not in text and "Choose another file" not in text
    as_alice.post(f"{address}decide/", {"unknown": "drop"})
    text = as_alice.get(address).text
    assert "becomes a preannotated relation dataset" in text and "without 2 marks" in text and "Add 3 items" in text
    assert as_alice.get(f"{address}change/").headers["Location"] == address
    as_alice.post(f"{address}store/")
    assert project.dataset.item_count == 6
    uploads = as_alice.get(f"/datasets/{project.dataset.pk}/uploads/").text
    assert ">copy<" in uploads and "2 marks left out" in uploads


def test_labels_that_are_missing_can_be_added_from_there(as_alice, alice, source):
    project = factories.project(by=alice, relations=False, text=TEXT)
    address = as_alice.post(f"/projects/{project.pk}/items/copy/", {"dataset": source.pk}).headers["HX-Redirect"]
    put = f"/projects/{project.pk}/ontologies/relation/"
    assert f'hx-get="{put}"' in as_alice.get(address).text
    count = source.relation_ontology.row_count
    as_alice.post(put, {"ontology": source.relation_ontology.pk, "count": count})
    as_alice.post(f"{address}decide/", {"unknown": "refuse"})
    text = as_alice.get(address).text
    assert "Everything is in order" in text and "Add 3 items" in text
    as_alice.post(f"{address}store/")
    assert len(marks(project.dataset.items())) == 4


def test_its_own_page_offers_the_projects_that_run(as_alice, alice, project, source):
    factories.project(by=alice, name="Old").archive()
    dialog = as_alice.get("/projects/use/", {"dataset": source.pk}).text
    assert "more items for “Work orders”" in dialog and ">Old" not in dialog
    assert f'hx-post="/projects/{project.pk}/items/copy/"' in dialog and json.dumps({"dataset": source.pk}) in dialog


def test_somebody_who_only_manages_the_project_cannot_take_blueprints(as_carol, carol, project, source):
    project.membership_set.filter(user=carol).update(role="manager")
    assert as_carol.post(f"/projects/{project.pk}/items/copy/", {"dataset": source.pk}).status_code == 403
    assert not Upload.objects.filter(dataset=project.dataset).exists()


@pytest.mark.django_db(transaction=True)
def test_somebody_who_begins_and_somebody_who_takes_back_do_not_miss_each_other(alice, carol):
    """Either the items are gone, or the annotator has one of them, and all of them stay."""
    project = factories.project(by=alice, annotators=[carol], text=TEXT)
    dataset = project.dataset
    for number in range(4):
        source = factories.dataset(owner=alice, text="".join(f"text {number} {n}\n" for n in range(30)))
        upload = begin(project, source, alice)
        upload.store()
        new = copied(project, upload)
        last = new.order_by("-position")[0]

        def annotate():
            with write():
                if item := Item.objects.select_for_update(no_key=True).filter(pk=last.pk).first():  # noqa: B023
                    Annotation.start(item, carol)
                    return True

        def take_back():
            try:
                return dataset.remove(new, by=alice, unbegun=True)  # noqa: B023
            except Refused:
                return 0

        begun, gone = at_once(annotate, take_back)
        assert (begun, gone) in ((True, 0), (None, 30))
        assert project.dataset.items().filter(pk=last.pk).exists() is bool(begun)


# --- Taking it back ---


def undo(client, dataset, **data):
    return client.post(f"/datasets/{dataset.pk}/remove/?upload=1&all=1&unbegun=1", data)


def test_it_is_undone_in_one_step_while_nobody_has_begun_it(as_alice, alice, carol, project, source):
    begin(project, source, alice).store()
    dataset = project.dataset
    Annotation.start(dataset.items()[0], carol)  # not one of them
    address = f"/datasets/{dataset.pk}/remove/?upload=1&amp;all=1&amp;unbegun=1"
    assert f'hx-get="{address}"' in as_alice.get(f"/datasets/{dataset.pk}/uploads/").text
    dialog = as_alice.get(f"/datasets/{dataset.pk}/remove/", {"upload": 1, "all": 1, "unbegun": 1}).text
    assert "Nobody has begun any of them yet" in dialog and "unbegun=1" in dialog
    assert "3 items are in the bin" in undo(as_alice, dataset, count=3).headers["HX-Trigger"]
    assert [each.position for each in project.dataset.items()] == [0, 1, 2] and project.dataset.bin().count() == 3
    assert set(project.items_for(carol)) == set(project.dataset.items())


def test_it_is_not_undone_once_somebody_has_begun(as_alice, alice, carol, project, source):
    begin(project, source, alice).store()
    dataset = Dataset.objects.get(project=project)
    Annotation.start(dataset.items()[4], carol)
    for data in ({}, {"count": 3}):
        assert "Somebody has begun 1 item of these" in undo(as_alice, dataset, **data).headers["HX-Trigger"]
    assert (
        "Somebody has begun"
        in as_alice.get(f"/datasets/{dataset.pk}/remove/?upload=1&all=1&unbegun=1").headers["HX-Trigger"]
    )
    assert Dataset.objects.get(project=project).item_count == 6
