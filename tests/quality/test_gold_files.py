"""Gold as it leaves the service: downloads, a dataset made of it, the bundle, the command; lists of the administration."""

import io
import json
import zipfile

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation_service.db import write
from annotation_service.jobs import claim, run
from annotation_service.models import Job, JobState
from datasets import portions
from datasets.exports import DOWNLOAD_FORMATS, json_document
from datasets.kinds import DatasetKind
from datasets.models import Annotation, Dataset, Layer
from ontologies.models import Ontology
from projects import bundle
from quality.gold_files import FORMATS, make_dataset
from quality.models import GoldDecision, ReviewAssignment
from quality.models.decision import begin
from tests import factories, faults
from tests.quality.conftest import label, review, say, told
from tests.quality.test_review import decide, gold
from tests.queries import queries_of

RELATED = "hasPart: Thermostat 1-3 > State 4-5"


@pytest.fixture
def decided(project, items, carol, dave, alice):
    """The second item is decided, and so is the first, as one without marks; about the third something is."""
    project.dataset.items().filter(pk=items[1].pk).update(external_id="WO 2")
    say(items[1], carol, "Thermostat 1-3", "State 4-5", RELATED)
    say(items[1], dave, "SensingObject 1-3", "State 4-5", "hasPart: SensingObject 1-3 > State 4-5")
    decide(items[1], 0, "1", alice)
    review(items[1]).undo(by=alice)
    decide(items[1], 0, "2", alice, "a thermostat")
    for person in (carol, dave):
        say(items[0], person)
    for item in items[:2]:
        review(item).finish(by=alice)
    say(items[2], carol, "State 0", "Activity 1")
    say(items[2], dave, "State 1", "Activity 1")
    decide(items[2], 0, "1", alice)
    return project


def url(project, part):
    return f"/projects/{project.pk}/gold/{part}/"


def body(response):
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def without_ids(items):
    """The same marks have the same uids, as numbers in order."""
    for item in items:
        uids = {entity["id"]: n for n, entity in enumerate(item.get("entities", ())) if "id" in entity}
        for entity in item.get("entities", ()):
            entity["id"] = uids[entity["id"]]
        for relation in item.get("relations", ()):
            relation |= {name: uids[relation[name]] for name in ("source_id", "target_id")}
    return items


# --- Downloads -----------------------------------------------------------------------------------------------------------


def test_gold_can_be_downloaded_in_every_format_that_has_marks():
    assert [format.name for format in FORMATS] == ["json", "json-lines"]
    assert {format for format in DOWNLOAD_FORMATS if format.has_marks} == {*FORMATS}


def test_a_download_has_decided_items_with_gold_in_the_place_of_the_given_marks(decided, as_alice):
    response = as_alice.get(url(decided, "download/json"))
    assert 'filename="work-orders-gold.json"' in response["Content-Disposition"]
    first, second = without_ids(json.loads(body(response)))
    assert first == {"original": "replace engine oil", "tokens": first["tokens"], "entities": [], "relations": []}
    assert second["external_id"] == "WO 2"
    entities = [(each["start"], each["end"], each["label"]) for each in second["entities"]]
    assert sorted(entities) == [(1, 3, "PhysicalObject/SensingObject/Thermostat"), (4, 5, "State")]
    assert [each["label"] for each in second["relations"]] == ["hasPart"]
    lines = body(as_alice.get(url(decided, "download/json-lines"))).splitlines()
    assert without_ids([json.loads(line) for line in lines]) == [first, second]


def test_marks_that_came_with_the_dataset_are_no_gold(decided, items, as_alice):
    say(items[1], None, "Activity 0", done=False).entity_set.update(origin="given")
    given = json.loads("".join(json_document(decided.dataset)))
    assert all("entities" not in item for item in given)  # it is of a kind without marks
    _, second = json.loads(body(as_alice.get(url(decided, "download/json"))))
    assert {each["label"] for each in second["entities"]} == {"PhysicalObject/SensingObject/Thermostat", "State"}


def test_a_project_without_relations_has_entities_alone(alice, carol, as_alice):
    project = factories.project(by=alice, annotators=[carol], relations=False)
    item = project.dataset.items()[0]
    factories.gold(item, (label(project, "State"), 0, 0)).finish()
    [only] = json.loads(body(as_alice.get(url(project, "download/json"))))
    assert only["entities"] == [{"start": 0, "end": 0, "label": "State"}] and "relations" not in only
    made = make_dataset(project, by=alice, name="Gold")
    assert (made.kind, made.relation_ontology) == (DatasetKind.PREANNOTATED_ENTITY, None)


def test_where_nothing_is_decided_a_download_is_empty(project, as_alice):
    assert json.loads(body(as_alice.get(url(project, "download/json")))) == []


def test_queries_of_a_download_do_not_grow(decided, as_alice, items):
    few = queries_of(as_alice.get, url(decided, "download/json"))
    finish(items[2])
    assert len(queries_of(as_alice.get, url(decided, "download/json"))) == len(few)


def finish(item):
    """Whatever is open in it."""
    with write():
        begin(item).finish()


# --- A dataset -----------------------------------------------------------------------------------------------------------


def test_a_dataset_is_made_of_gold(decided, as_alice, alice):
    asked = as_alice.get(url(decided, "dataset")).text
    assert "2 items that are decided" in asked and "3 marks" in asked
    assert "Its marks get the labels of “entity labels” and “relation labels”." in asked
    ontologies, before = Ontology.objects.count(), faults.rows()
    response = as_alice.post(url(decided, "dataset"), {"name": "Gold"})
    made = Dataset.objects.get(name="Gold")
    assert response["HX-Redirect"] == made.get_absolute_url()
    assert (made.project, made.owner, made.kind) == (None, alice, DatasetKind.PREANNOTATED_RELATION)
    assert (made.item_count, made.token_count) == (2, sum(item.token_count for item in made.items()))
    assert made.entity_ontology == decided.entity_ontology.copied_from and Ontology.objects.count() == ontologies
    first, second = made.items()
    assert (first.position, second.position, second.external_id) == (0, 1, "WO 2")
    given = Annotation.objects.filter(item=second).get()
    assert (given.layer, given.done_at) == (Layer.GIVEN, None)
    assert told(given) == ["Thermostat 1-3", "State 4-5", RELATED]
    assert {(each.origin, each.status) for each in given.entity_set.all()} == {("given", "suggested")}
    whole = json.loads(body(as_alice.get(url(decided, "download/json"))))
    assert json.loads("".join(json_document(made))) == whole
    after = faults.rows()
    assert not faults.orphans() and all(set(rows) <= set(after[name]) for name, rows in before.items())


def test_labels_that_are_in_no_blueprint_bring_copies_of_the_projects_ontologies(decided, items, as_alice, alice):
    new = decided.entity_ontology.add_item("Passing", by=alice)
    assert "becomes yours" not in as_alice.get(url(decided, "dataset")).text
    Annotation.gold(items[2]).entity_set.create(uid="new", label=new, start=3, end=3)
    assert "becomes yours" not in as_alice.get(url(decided, "dataset")).text  # that item is not decided
    finish(items[2])
    note = "A copy of the project’s “entity labels” becomes yours as well, because marks carry labels that are in no"
    assert note in as_alice.get(url(decided, "dataset")).text
    made = make_dataset(decided, by=alice, name="Gold")
    assert made.entity_ontology.copied_from == decided.entity_ontology and made.entity_ontology.is_blueprint
    assert made.relation_ontology == decided.relation_ontology.copied_from
    # And a project can be made of it.
    again = factories.project(by=alice, of=made, entities=made.entity_ontology, name="Again")
    assert "Passing" in {mark.split()[0] for item in again.all_items() for mark in told(factories.annotation(item))}


def test_a_large_dataset_is_a_job_that_asks_for_the_right_again(decided, as_alice, alice, bob, settings):
    settings.JOB_ROWS = 4
    decided.add_members([bob], "manager")
    for name in ("Gold", "More gold"):
        response = as_alice.post(url(decided, "dataset"), {"name": name})
        assert response["HX-Redirect"].startswith("/jobs/")
    run(claim())
    made = Dataset.objects.get(name="Gold")
    assert Job.objects.get(state=JobState.DONE).result["url"] == made.get_absolute_url()
    decided.remove_member(decided.membership_set.get(user=alice))
    run(claim())
    assert not Dataset.objects.filter(name="More gold").exists()
    assert Job.objects.get(state=JobState.FAILED).errors["problems"][0][1].startswith("You do not manage this project")


def test_no_dataset_is_made_of_nothing(project, as_alice):
    response = as_alice.post(url(project, "dataset"), {"name": "Gold"})
    assert response.status_code == 422 and "No item of this project is decided." in response.text
    assert not Dataset.objects.filter(name="Gold").exists()


def test_gold_of_an_archived_project_can_be_taken(decided, as_alice):
    decided.archive()
    assert len(json.loads(body(as_alice.get(url(decided, "download/json"))))) == 2
    assert as_alice.post(url(decided, "dataset"), {"name": "Gold"}).status_code == 200
    assert Dataset.objects.get(name="Gold").item_count == 2


def test_the_menu_has_what_somebody_may_do(decided, as_alice, as_carol, bob, as_bob):
    decided.add_members([bob], "reviewer")
    page = f"/projects/{decided.pk}/review/"
    menus = [as_alice.get(page).text, as_bob.get(page).text]
    assert ["gold/download/json-lines/" in each for each in menus] == [True, False]
    assert ["gold/dataset/" in each for each in menus] == [True, False]


# --- The bundle ----------------------------------------------------------------------------------------------------------


def read(project):
    target = io.BytesIO()
    manifest = bundle.write(project, target)
    with zipfile.ZipFile(target) as archive:
        return json.loads(archive.read("gold.json")), json.loads(archive.read("dataset.json")), manifest


def test_the_bundle_has_gold_and_how_it_came_about(decided, alice):
    entries, items, manifest = read(decided)
    first, second, third = entries
    assert [each["item_id"] for each in entries] == [1, 2, 3] and len(items) == 3
    assert (first["entities"], first["relations"], first["decisions"]) == ([], [], [])
    assert first["done_at"] and second["done_at"] and third["done_at"] is None
    assert second["external_id"] == "WO 2" and first["external_id"] is None
    marks = {each["label"]: each for each in second["entities"]}
    thermostat, state = marks["PhysicalObject/SensingObject/Thermostat"], marks["State"]
    assert (thermostat["start"], thermostat["end"], thermostat["text"]) == (1, 3, "air conditioner thermostat")
    [relation] = second["relations"]
    assert (relation["source_id"], relation["target_id"]) == (thermostat["id"], state["id"])
    both = ["carol", "dave"]
    undone, made = second["decisions"]
    assert undone["undone_at"].endswith("Z") and made["undone_at"] is None
    assert (made["by"], made["kind"], made["reason"]) == ("alice", "choice", "a thermostat")
    said = {(each["label"], each["taken"]): each for each in made["verdicts"] if each["kind"] == "entity"}
    taken = said["PhysicalObject/SensingObject/Thermostat", True]
    assert taken == {
        "kind": "entity",
        "start": 1,
        "end": 3,
        "label": "PhysicalObject/SensingObject/Thermostat",
        "place": 0,
        "taken": True,
        "people": ["carol"],
    }
    assert said["PhysicalObject/SensingObject", False]["people"] == ["dave"]
    related = [each for each in made["verdicts"] if each["kind"] == "relation"]
    assert {each["source"]["label"] for each in related} == {label for label, _ in said if label != "State"}
    assert all(each["people"] == both and each["taken"] for each in related)
    counts = manifest["counts"]
    assert (counts["gold"], counts["gold_decided"], counts["gold_entities"]) == (3, 2, 2 + len(third["entities"]))
    assert (counts["gold_relations"], counts["gold_decisions"]) == (1, sum(len(each["decisions"]) for each in entries))
    assert "gold.json" in manifest["files"] and "gold.json" in manifest["notes"]
    assert manifest["project"]["agreed"] == "all" and manifest["project"]["reviews_own"]


def test_what_came_with_the_dataset_and_former_members_are_told(decided, items, carol, alice):
    decided.given_voice = True
    decided.save(update_fields=["given_voice"])
    say(items[2], None, "State 0", done=False).entity_set.update(origin="given")
    decide(items[2], 0, "1", alice)
    decided.remove_member(decided.membership_set.get(user=carol))
    entries, _, _ = read(decided)
    people = [each["people"] for made in entries[2]["decisions"] for each in made["verdicts"]]
    assert ["carol", None] in people


def test_items_have_the_numbers_that_they_have_in_the_dataset(decided, items, alice, monkeypatch):
    monkeypatch.setattr(portions, "MOST_ITEMS", 1)
    decided.dataset.remove(decided.dataset.items().filter(pk=items[0].pk), by=alice)
    entries, dataset, _ = read(decided)
    assert [each["item_id"] for each in entries] == [1, 2]
    assert dataset[entries[0]["item_id"] - 1]["external_id"] == entries[0]["external_id"] == "WO 2"


def test_queries_of_the_bundle_do_not_grow(decided, items, alice):
    few = queries_of(read, decided)
    gold = Annotation.gold(items[1])
    for _ in range(5):
        GoldDecision.objects.create(annotation=gold, by=alice, kind="edit")
    assert len(queries_of(read, decided)) == len(few)


# --- The command ---------------------------------------------------------------------------------------------------------


def test_what_the_command_writes_can_be_uploaded_again(decided, alice, tmp_path):
    target = tmp_path / "gold.json"
    call_command("export", "gold", decided.pk, output=target)
    written = json.loads(target.read_text())
    options = {
        "kind": "preannotated_relation",
        "format": "json",
        "name": "Gold again",
        "entity_ontology": decided.entity_ontology.copied_from_id,
        "relation_ontology": decided.relation_ontology.copied_from_id,
    }
    dataset = factories.upload(written, by=alice, options=options, name="gold.json").store()
    assert json.loads("".join(json_document(dataset))) == written
    came = [told(item.annotation_set.filter(layer=Layer.GIVEN).first()) for item in dataset.items()]
    assert came == [gold(item) for item in decided.dataset.items()[:2]] and came[1]


def test_the_command_writes_gold_in_other_formats_and_tells_what_they_lose(decided, tmp_path, capsys):
    for name in ("jsonl", "brat", "conll"):
        call_command("export", "gold", decided.pk, format=name, output=tmp_path / name)
    first = decided.dataset.decided_items()[0]
    assert json.loads((tmp_path / "jsonl").read_text().splitlines()[0])["original"] == first.original
    with zipfile.ZipFile(tmp_path / "brat") as archive:
        counted = json.loads(archive.read("manifest.json"))["contents"][0]
    assert (counted["items"], counted["entities"] + counted["relations"]) == (2, decided.dataset.decided_marks())
    assert "left out: there is no place for relations" in capsys.readouterr().err


# --- The administration --------------------------------------------------------------------------------------------------


def test_the_administration_shows_reviews_and_changes_nothing(decided, items, as_sam, alice):
    ReviewAssignment.put({items[0].pk: alice.pk, items[1].pk: alice.pk})
    for model in ("golddecision", "verdict", "overruled", "reviewassignment"):
        address = reverse(f"admin:quality_{model}_changelist")
        shown = as_sam.get(address, {"q": "x"}).context["cl"]
        things = as_sam.get(address).context["cl"].result_list
        assert things and shown is not None
        page = reverse(f"admin:quality_{model}_change", args=[things[0].pk])
        assert as_sam.get(page).status_code == 200
        assert as_sam.post(page, {"reason": "x"}).status_code == 403
    few = queries_of(as_sam.get, reverse("admin:quality_verdict_changelist"))
    decide(items[2], 0, "neither", alice)
    assert len(queries_of(as_sam.get, reverse("admin:quality_verdict_changelist"))) == len(few)
