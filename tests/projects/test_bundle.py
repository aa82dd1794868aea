import io
import json
import zipfile
from datetime import datetime

import pytest
from django.utils import timezone

from annotation_service import jobs
from annotation_service.models import start_job
from datasets import portions
from datasets.kinds import DatasetKind
from datasets.models import Annotation, Entity, Item
from projects import all_alike, bundle
from tests import factories
from tests.datasets import documents
from work.models import Comment, Flag


def read(project):
    target = io.BytesIO()
    bundle.write(project, target)
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(
        by=alice, annotators=[carol, dave], text="🚀 replace  engine oil\nleft thermostat not working\nlast one\n"
    )


def mark(project, item, user, spans=((0, 0),), relation=False):
    annotation = Annotation.start(item, user)
    labels = list(project.entity_ontology.items())
    for place, (start, end) in enumerate(spans):
        annotation.add_entity(uid=f"{user.username}-{place}-uid", label=labels[place], start=start, end=end)
    if relation:
        annotation.add_relation(
            uid=f"{user.username}-relation",
            label=project.relation_ontology.items().last(),
            source=f"{user.username}-0-uid",
            target=f"{user.username}-1-uid",
        )
    return annotation


def test_it_holds_each_resource_in_its_download_format(project):
    files = read(project)
    assert set(files) == {
        "manifest.json",
        "entity_ontology.json",
        "relation_ontology.json",
        "dataset.json",
        "items.json",
        "batches.json",
        "annotations.json",
        "gold.json",
        "reviewers.json",
        "agreement.json",
        "nodes.json",
    }
    assert files["entity_ontology.json"] == json.loads(project.entity_ontology.as_json())
    assert [item["original"] for item in files["dataset.json"]] == [
        "🚀 replace  engine oil",
        "left thermostat not working",
        "last one",
    ]
    assert files["annotations.json"] == files["batches.json"] == files["gold.json"] == []


def test_annotations_carry_tokens_characters_text_and_full_names(project, carol):
    item = project.dataset.items().first()
    annotation = mark(project, item, carol, spans=[(2, 3), (1, 3)], relation=True)
    annotation.finish()
    [row] = read(project)["annotations.json"]
    first, second = row["entities"]
    assert (row["item_id"], row["external_id"], row["annotator"]) == (1, None, "carol")
    assert row["started_at"].endswith("Z") and row["done_at"].endswith("Z")
    assert (first["start"], first["end"], first["start_char"], first["end_char"]) == (2, 3, 11, 21)
    assert first["text"] == "engine oil" == item.original[first["start_char"] : first["end_char"]]
    assert first["label"] == "PhysicalObject"
    assert second["label"] == "PhysicalObject/SensingObject"
    assert second["text"] == "replace  engine oil" and second["tokens"] == ["replace", "engine", "oil"]
    assert first["status"] == "accepted"
    [relation] = row["relations"]
    assert (relation["source_id"], relation["target_id"]) == (first["id"], second["id"])
    assert relation["label"] == "hasParticipant/hasPatient"


def test_marks_name_their_origin_and_their_batch(project, carol):
    label = project.entity_ontology.items().get(name="SensingObject")
    form = {"tokens": ["thermostat"], "label": label.uid}
    batch = all_alike.apply(project, carol, {"verb": "propagate", "kind": "entity", "form": form})
    mark(project, project.dataset.items()[0], carol)
    files = read(project)
    person, propagated = files["annotations.json"]
    assert (propagated["item_id"], propagated["started_at"]) == (2, None)
    marks = [*person["entities"], *propagated["entities"]]
    assert [(each["origin"], each["batch"]) for each in marks] == [("person", None), ("propagation", batch.pk)]
    [row] = files["batches.json"]
    assert (row["id"], row["annotator"], row["made"], row["undone_at"]) == (batch.pk, "carol", 1, None)
    assert (row["label"], row["words"]) == ("PhysicalObject/SensingObject", "thermostat")
    assert files["manifest.json"]["counts"]["batches"] == 1


def test_the_manifest_counts_what_is_in_it_and_says_what_is_left_out(project, carol, dave):
    items = list(project.dataset.items())
    mark(project, items[0], carol, spans=[(0, 0), (1, 1)], relation=True).finish()
    mark(project, items[1], carol)
    mark(project, items[2], dave)
    Item.objects.filter(pk=items[2].pk).update(removed_at=items[2].dataset.created_at)
    project.dataset.touch(item_count=2)
    files = read(project)
    manifest = files["manifest.json"]
    assert manifest["counts"] == {
        "items": 2,
        "entity_labels": 7,
        "relation_labels": 3,
        "batches": 0,
        "annotations": 2,
        "annotations_done": 1,
        "entities": 3,
        "relations": 1,
        "suggested_entities": 0,
        "suggested_relations": 0,
        "flags": 0,
        "comments": 0,
        "open_comments": 0,
        "gold": 0,
        "gold_decided": 0,
        "gold_entities": 0,
        "gold_relations": 0,
        "gold_decisions": 0,
        "edited_forms": 0,
        "not_same": 0,
    }
    assert manifest["version"] == 3
    assert len(files["annotations.json"]) == 2
    assert [(row["what"], row["count"]) for row in manifest["left_out"]] == [("items", 1), ("annotations", 1)]
    assert sorted(manifest["files"]) == sorted(files)


def test_the_history_is_told_and_what_nobody_began_is_not_left_out_work(project, carol):
    project.edit(history="own", counted="everybody")
    items = list(project.dataset.items())
    mark(project, items[0], carol)
    Annotation.objects.create(item=items[1], annotator=carol, started_at=None)
    Item.objects.filter(pk__in=[items[0].pk, items[1].pk]).update(removed_at=timezone.now())
    manifest = read(project)["manifest.json"]
    assert (manifest["project"]["history"], manifest["project"]["counted"]) == ("own", "everybody")
    assert all("history" in manifest["notes"][name] for name in ("origin", "started_at"))
    assert [(row["what"], row["count"]) for row in manifest["left_out"]] == [("items", 2), ("annotations", 1)]


def test_it_has_what_is_said_about_items_with_those_who_have_not_begun_them(project, alice, carol, dave):
    first, second, third = project.dataset.items()
    annotation = mark(project, first, carol)
    uid = annotation.entity_set.get().uid
    Flag.put(first, carol, kind="uncertain", why="Two machines")
    asked = Comment.begin(first, carol, by=carol, text="One thing?", kind="entity", uid=uid)
    asked.answer("Yes.\nSee rule 3.", by=alice)
    asked.resolve(by=carol)
    annotation.mark(Entity, uid).remove()
    Comment.begin(second, dave, by=alice, text="Look at this, please.")
    Flag.put(third, carol, kind="issue")
    project.dataset.remove(Item.objects.filter(pk=third.pk), by=alice)
    files = read(project)
    own, other = files["annotations.json"]
    assert own["flags"] == [{"kind": "uncertain", "why": "Two machines", "set_at": own["flags"][0]["set_at"]}]
    [comment] = own["comments"]
    assert comment["about"] == "entity" and comment["mark_id"] == uid and comment["words"] == "🚀"
    assert (comment["author"], comment["text"], comment["edited_at"]) == ("carol", "One thing?", None)
    assert comment["resolved_by"] == "carol" and comment["resolved_at"].endswith("Z")
    assert [(a["author"], a["text"]) for a in comment["answers"]] == [("alice", "Yes.\nSee rule 3.")]
    assert (other["item_id"], other["annotator"], other["started_at"], other["entities"]) == (2, "dave", None, [])
    assert [(c["about"], c["author"], c["mark_id"], c["answers"]) for c in other["comments"]] == [
        ("item", "alice", None, [])
    ]
    counts = files["manifest.json"]["counts"]
    assert [counts[name] for name in ("annotations", "flags", "comments", "open_comments")] == [1, 1, 2, 1]
    assert {"what": "flags", "count": 1, "why": "Their items were removed from the dataset."} in files["manifest.json"][
        "left_out"
    ]


def test_items_keep_their_number_in_the_dataset_file(project, carol):
    first, _, third = project.dataset.items()
    mark(project, third, carol)
    Item.objects.filter(pk=first.pk).update(removed_at=first.dataset.created_at)
    files = read(project)
    [row] = files["annotations.json"]
    assert files["dataset.json"][row["item_id"] - 1]["original"] == third.original


def test_a_label_that_is_off_or_renamed_is_exported_with_its_full_name_of_now(project, alice, carol):
    mark(project, project.dataset.items().first(), carol, spans=[(0, 0), (1, 1)])
    top = project.entity_ontology.items().first()
    top.rename("Thing", by=alice)
    top.switch(False, by=alice)
    files = read(project)
    assert [e["label"] for e in files["annotations.json"][0]["entities"]] == ["Thing", "Thing/SensingObject"]


def test_tokens_that_are_not_in_the_original_have_no_characters(project, carol):
    item = project.dataset.items().first()
    Item.objects.filter(pk=item.pk).update(offsets=None)
    mark(project, item, carol, spans=[(1, 2)])
    [entity] = read(project)["annotations.json"][0]["entities"]
    assert (entity["start_char"], entity["end_char"], entity["text"]) == (None, None, "replace engine")
    assert entity["tokens"] == ["replace", "engine"]


@pytest.mark.parametrize("limit", [("MOST_ITEMS", 3), ("MOST_TOKENS", 5)])
def test_more_items_than_one_portion_come_in_order(alice, carol, monkeypatch, limit):
    monkeypatch.setattr(portions, *limit)
    project = factories.project(by=alice, annotators=[carol], text="".join(f"item {n}\n" for n in range(10)))
    for item in project.dataset.items():
        mark(project, item, carol)
    assert [row["item_id"] for row in read(project)["annotations.json"]] == list(range(1, 11))


def test_it_takes_a_fixed_number_of_queries(project, carol, django_assert_max_num_queries):
    for item in project.dataset.items():
        mark(project, item, carol)
    with django_assert_max_num_queries(87):
        read(project)


@pytest.mark.parametrize("stop", [jobs.Cancelled, ValueError])
def test_a_bundle_that_breaks_off_leaves_no_file(project, alice, settings, monkeypatch, stop):
    def write(project, target, progress):
        target.write(b"some")
        raise stop

    monkeypatch.setattr(bundle, "write", write)
    before = list(settings.UPLOAD_DIR.iterdir())
    start_job("bundle", title="b", by=alice, target={"project": project.pk})
    job = jobs.claim()
    jobs.run(job)
    assert job.is_over and list(settings.UPLOAD_DIR.iterdir()) == before


def test_given_marks_stand_in_the_file_of_the_dataset(alice, carol):
    kind = DatasetKind.PREANNOTATED_RELATION
    dataset = documents.stored(alice, kind, documents.document(kind))
    project = factories.project(by=alice, of=dataset, annotators=[carol])
    Annotation.start(project.dataset.items()[0], carol)  # has a copy of the given marks
    files = read(project)
    assert files["dataset.json"] == documents.document(kind)
    counts = files["manifest.json"]["counts"]
    assert (counts["given_entities"], counts["given_relations"]) == (3, 2)
    assert [row["annotator"] for row in files["annotations.json"]] == ["carol"]
    assert files["manifest.json"]["left_out"] == []
    project.dataset.remove(project.dataset.items().filter(position=0), by=alice)
    files = read(project)
    assert files["dataset.json"] == documents.document(kind)[1:]
    counts = files["manifest.json"]["counts"]
    assert (counts["given_entities"], counts["given_relations"]) == (0, 0)


def test_suggestions_are_nobodys_and_stand_apart_from_given_marks(alice, carol):
    kind = DatasetKind.PREANNOTATED_RELATION
    dataset = documents.stored(alice, kind, documents.document(kind))
    entities, relations = dataset.entity_ontology, dataset.relation_ontology
    project = factories.project(by=alice, of=dataset, entities=entities, relations=relations, annotators=[carol])
    item = project.dataset.items()[0]
    given = Annotation.objects.get(item=item, annotator=None)
    fields = {"status": "suggested", "origin": "preannotation"}
    label, relation_label = project.entity_ontology.items()[0], project.relation_ontology.items()[0]
    end = given.entity_set.create(uid="p1", label=label, start=0, end=len(item.tokens) - 1, **fields)
    source = given.entity_set.get(uid=files_ids(dataset)[0])
    given.relation_set.create(uid="p2", label=relation_label, source=source, target=end, **fields)
    Annotation.start(item, carol)
    files = read(project)
    assert files["dataset.json"] == documents.document(kind)
    suggested, carols = files["annotations.json"]
    assert (suggested["annotator"], carols["annotator"]) == (None, "carol")
    assert [(row["id"], row["status"]) for row in suggested["entities"]] == [("p1", "suggested")]
    assert [(row["source_id"], row["target_id"]) for row in suggested["relations"]] == [(source.uid, "p1")]
    count = len(carols["entities"]), len(carols["relations"])
    assert count == (given.entity_set.count(), given.relation_set.count())
    counts = files["manifest.json"]["counts"]
    assert (counts["suggested_entities"], counts["suggested_relations"], counts["annotations"]) == (1, 1, 1)
    assert (counts["entities"], counts["relations"]) == count


def files_ids(dataset):
    return [entity["id"] for entity in documents.document(DatasetKind(dataset.kind))[0]["entities"]]


def test_its_files_are_of_the_time_when_it_was_made(project):
    target = io.BytesIO()
    bundle.write(project, target)
    with zipfile.ZipFile(target) as archive:
        times = [timezone.make_aware(datetime(*entry.date_time)) for entry in archive.infolist()]
        assert all(abs((timezone.now() - time).total_seconds()) < 60 for time in times)
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_DEFLATED}
