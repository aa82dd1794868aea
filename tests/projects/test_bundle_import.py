"""A bundle becomes a project that has everything in it: a bundle of that has the same content."""

import io
import json
import math
import os
import random
import re
import zipfile
from contextlib import suppress

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.urls import reverse

from annotation_service import jobs
from annotation_service.inputs import Refused
from annotation_service.leaving import anonymise
from annotation_service.models import JobState, User
from datasets.kinds import DatasetKind
from datasets.models import Annotation, Entity, TextCorrection
from datasets.models.correction import cut_anew
from graph.counting import refresh
from graph.models import Graph
from projects import all_alike, bundle, bundle_rows
from projects.bundle_import import import_bundle
from projects.members import Invitation
from projects.models import Project
from quality.models import ReviewAssignment
from tests import factories, faults
from tests.datasets import documents
from tests.datasets.test_fuzz import damaged_value
from tests.quality.conftest import review, say
from tests.quality.test_review import decide
from tests.resource_sets import THERMOSTAT, make
from tests.soak import amount
from work.models import Comment, Flag, Source

# What a bundle of another moment, of another service, or of a project without a past, has otherwise.
OF_THE_MOMENT = ("created_at", "left_out")


def written(project):
    target = io.BytesIO()
    bundle.write(project, target)
    return target


def contents(file):
    with zipfile.ZipFile(file) as archive:
        files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    for name in OF_THE_MOMENT:
        files["manifest.json"].pop(name, None)
    return numbered(files)


def numbered(files):
    """With batches by their place."""
    places = {batch["id"]: place for place, batch in enumerate(files["batches.json"])}
    for batch in files["batches.json"]:
        batch["id"] = places[batch["id"]]
    for entry in files["annotations.json"]:
        for mark in entry["entities"] + entry["relations"]:
            mark["batch"] = places.get(mark["batch"])
    return files


def packed(files):
    """A bundle of these files; texts and bytes stay as they are."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return target


def files_of(project):
    with zipfile.ZipFile(written(project)) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def assert_same(before, after):
    assert list(before) == list(after)
    assert list(differences(before, after)) == []


def differences(one, other, path=""):
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{path}[{place}]")
    elif not (one == other or (isinstance(one, float) and isinstance(other, float) and math.isclose(one, other))):
        yield path, one, other  # sums are added up in the order of keys


@pytest.fixture
def rich(alice, bob, carol, dave, sam, settings):
    """A project in which everything has happened that can happen."""
    settings.PREANNOTATION_RESOURCES = True
    erin, fred = factories.user("erin"), factories.user("fred")
    kind = DatasetKind.PREANNOTATED_RELATION
    own = {each: factories.ontology(owner=alice, kind=each) for each in ("entity", "relation")}
    marked = [
        {**each, "entities": documents.MARKS[n], "relations": documents.RELATIONS[n]}
        for n, each in enumerate(documents.RICH)
    ]
    texts = ["replace pump thermostat oil", "left thermostat fuel gauge", "check the pump oil", "the State of the oil"]
    plain = [{"original": text, "tokens": text.split(), "entities": [], "relations": []} for text in texts * 3]
    options = {
        "kind": kind,
        "format": "json",
        "name": "Orders",
        "description": "Ä",
        **{f"{k}_ontology": o.pk for k, o in own.items()},
    }
    dataset = factories.upload([*marked, *plain], by=alice, options=options, name="x.json").store()
    labels = {"owner": alice, "entities": own["entity"], "relations": own["relation"]}
    sets = [make(each, **labels) for each in ("entity_constraints", "relation_constraints", "entity_preannotations")]
    related = {
        "source_surface_form": "pump",
        "source_label": "PhysicalObject",
        "target_surface_form": "thermostat",
        "target_label": THERMOSTAT,
        "offset": 0,
        "label": "hasPart",
    }
    sets.append(make("relation_preannotations", document=[related], **labels))
    sets[2].edit(ignore_case=True)
    sets[2].add_row({"surface_form": "pump", "label": factories.item(own["entity"], "PhysicalObject").uid}, by=alice)
    project = factories.project(
        by=alice, of=dataset, entities=own["entity"], relations=own["relation"], resources=sets, keep_violations=True,
        annotators=[carol, dave, erin, fred], annotators_per_item=2, overlap=25, calibration=1,
        guidelines="Mark all.\n\nOf it.", description="What 🚀", given_marks="accepted",
    )  # fmt: skip
    project.edit(history="own", counted="everybody")
    project.set_review(agreed="least", agreed_least=2, reviews_own=True, shows_decisions=True)
    items = list(project.all_items())
    project.change_by_hand("give", project.all_items().filter(position__in=[3, 4]), [carol], by=alice)
    marks = [
        {"id": "a", "start": 0, "end": 0, "label": "State", "score": 0.25},
        {"id": "b", "start": 1, "end": 1, "label": "PhysicalObject"},
    ]
    related_so = [{"source_id": "a", "target_id": "b", "label": "hasPart", "score": 0.125}]
    pushed = {"id": items[6].pk, "entities": marks, "relations": related_so}
    Source.of(project.dataset, "tagger").suggest([pushed], version="v1", by=alice)
    Source.of(project.dataset, "silent").switch(False, by=alice)
    project.change_by_hand("take", project.all_items().filter(position__in=[10, 11]), [carol, dave], by=alice)
    label = {each.name: each for o in project.ontology_set.all() for each in o.items()}
    for item in items[:3]:
        annotation = Annotation.start(item, carol)
        for entity in list(annotation.entity_set.filter(status="suggested"))[:1]:
            entity.remove()
    annotation.add_entity(uid="mine", label=label["State"], start=1, end=2)
    annotation.finish()
    for person in (carol, erin):  # the calibration set
        Annotation.start(items[0], person).finish()
    batch = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["oil"], "label": label["Activity"].uid}}
    all_alike.apply(project, carol, batch)
    all_alike.apply(project, erin, batch).start_undo()
    for person, words in ((carol, "Thermostat 1"), (dave, "SensingObject 1")):
        say(items[4], person, words, "DrivingObject 2", f"hasPart: DrivingObject 2 > {words}")
        say(items[5], person, "State 0")
    decide(items[4], 0, "1", alice)
    review(items[4]).undo(by=alice)
    decide(items[4], 0, "2", alice, "a reason")
    review(items[5]).take_agreed(by=sam)
    review(items[5]).finish(by=sam)
    project.set_review(given_voice=True, agreed_least=3)
    ReviewAssignment.put({items[4].pk: alice.pk, items[6].pk: bob.pk})
    Flag.put(items[4], carol, kind="uncertain", why="Why?")
    comment = Comment.begin(
        items[4],
        carol,
        by=carol,
        text="One?",
        kind="entity",
        uid=Entity.objects.filter(annotation__item=items[4], annotation__annotator=carol).first().uid,
    )
    comment.answer("Yes.\nTwo.", by=sam)
    comment.resolve(by=carol)
    comment.edit("Yes!", by=sam, answer=comment.answer_set.get().pk)
    Comment.begin(items[8], fred, by=alice, text="You have not begun this.")
    TextCorrection.make(items[9], cut_anew(items[9], "left thermostat of the fuel gauge"), by=alice, was_version=1)
    decide_about_nodes(project, alice)
    member = project.membership_set.get(user=carol)
    member.set_shortcut("entity", "1", label["State"].uid)
    project.change_role(project.membership_set.get(user=fred), "reviewer")
    project.remove_member(project.membership_set.get(user=erin))
    project.add_members([bob], "observer")
    project.dataset.remove(project.all_items().filter(position__in=[7]), by=alice)
    label["Thermostat"].switch(False, by=alice)
    label["SensingObject"].switch(False, by=alice)
    label["hasPatient"].switch(False, by=alice)
    label["State"].rename("Condition", by=alice)
    anonymise(dave)
    return Project.objects.get(pk=project.pk)


def decide_about_nodes(project, by):
    graph = Graph.of(project)
    refresh(graph)
    forms = list(graph.forms.order_by("pk").values_list("digest", flat=True))
    graph.merge(forms[3], [forms[0], forms[1]], by=by)
    graph.name_node(forms[3], name="The thermostat", iri="https://example.org/t#1", by=by)
    graph.name_node(forms[4], external_id="4711", by=by)
    graph.keep_apart(forms[2], forms[3], by=by)
    graph.edit(stem="english", prefix="pumps", namespace="https://example.org/pumps#")
    refresh(graph)


def test_the_rich_project_is_rich(rich):
    """Or the round trip would tell little."""
    files = files_of(rich)
    manifest, entries = files["manifest.json"], files["annotations.json"]
    assert all(files.values()) and all(manifest["counts"].values()), manifest["counts"]
    assert manifest["violations"] and manifest["former_members"] and manifest["ignoring_case"]
    assert (
        len({tuple(sorted(each["off_by"].values())) for each in manifest["resources"].values() if "off_by" in each})
        == 2
    )
    assert any(each["rejected"] for each in entries) and any(
        ">" in what for each in entries for what in each["rejected"]
    )
    assert {mark["origin"] for each in entries for mark in each["entities"]} >= {
        "given",
        "person",
        "preannotation",
        "propagation",
    }
    assert any(each["given_to"] for each in files["items.json"]) and any(
        each["taken_from"] for each in files["items.json"]
    )
    assert any(each["by"] for item in files["items.json"] for each in item["given_to"])
    assert any(each["undone_at"] for each in files["batches.json"]) and len(files["batches.json"]) == 2
    decisions = [each for gold in files["gold.json"] for each in gold["decisions"]]
    assert any(each["overruled"] for each in decisions) and any(each["undone_at"] for each in decisions)
    assert [each["kind"] for each in files["nodes.json"]] == ["graph", *["form"] * 5, "not the same"]
    assert sum(each.get("node") is not None for each in files["nodes.json"]) == 2
    assert {each["what"] for each in manifest["left_out"]} >= {"items", "corrections of texts", "changes by batches"}
    assert [each["position"] for each in files["items.json"]][6:8] == [6, 8]


def test_what_is_imported_is_exported_again(rich, alice):
    before, users = contents(written(rich)), User.objects.count()
    made = import_bundle(written(rich), manager=alice, people={"alice": alice})
    assert_same(before, contents(written(made)))
    assert not faults.orphans()
    authors = User.objects.exclude(imported_as="")
    assert (
        User.objects.count() == users + authors.count()
        and authors.count() == len(before["manifest.json"]["people"]) - 1
    )
    assert_same(before, contents(written(import_bundle(written(made), manager=alice, people={"alice": alice}))))
    assert_same(before, contents(written(rich)))


def test_the_demo_comes_back(db, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    call_command("demo")
    manager = User.objects.get(username="manager")
    for project in Project.objects.order_by("pk"):
        made = import_bundle(written(project), manager=manager, people={"manager": manager})
        assert_same(contents(written(project)), contents(written(made)))


def test_an_ontology_without_labels_comes_back(alice):
    project = factories.project(by=alice, entities=factories.ontology(owner=alice, items=[]), relations=False)
    made = import_bundle(written(project), manager=alice, people={"alice": alice})
    assert_same(contents(written(project)), contents(written(made)))


# --- People ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(alice, carol, dave):
    """Carol has marked two items, one mark with a label that is off now; dave has done nothing."""
    made = factories.project(by=alice, annotators=[carol, dave])
    for item in made.all_items()[:2]:
        annotation = Annotation.start(item, carol)
        label = made.entity_ontology.items().get(name="State")
        annotation.add_entity(uid="one", label=label, start=0, end=1)
        annotation.add_entity(uid="two", label=label, start=1, end=1)
        part = made.relation_ontology.items().get(name="hasPart")
        annotation.add_relation(uid="r", label=part, source="one", target="two")
    annotation.finish()
    label.switch(False, by=alice)
    return Project.objects.get(pk=made.pk)


def test_who_is_not_matched_becomes_an_author_who_can_never_sign_in(project, bob, client):
    made = import_bundle(written(project), manager=bob)
    author = User.objects.get(imported_as="carol")
    assert author.username == f"carol (imported, project {made.pk})" and author.email == ""
    assert not author.is_active and not author.has_usable_password()
    assert set(made.membership_set.values_list("user__username", "role")) == {
        (f"alice (imported, project {made.pk})", "manager"),
        (f"carol (imported, project {made.pk})", "annotator"),
        (f"dave (imported, project {made.pk})", "annotator"),
        ("bob", "manager"),
    }
    assert Annotation.objects.filter(item__dataset__project=made, annotator=author).count() == 2
    assert list(made.annotators()) == []  # nothing is dealt to those who cannot sign in
    client.post("/accounts/login/", {"login": author.username, "password": ""})
    assert client.get("/").status_code == 302


def test_nobody_can_take_the_name_of_an_author_or_be_taken_for_one(project, bob):
    first, second = (import_bundle(written(project), manager=bob) for _ in range(2))
    names = set(User.objects.filter(imported_as="carol").values_list("username", flat=True))
    assert names == {f"carol (imported, project {each.pk})" for each in (first, second)}
    assert User(username=f"carol (imported, project {second.pk + 1})").wrong_name()
    again = import_bundle(written(second), manager=bob, people={"bob": bob})
    assert User.objects.filter(imported_as="carol").count() == 3
    assert "carol" in contents(written(again))["manifest.json"]["people"]


def test_an_account_of_the_same_name_is_not_confused_with_an_author(project, bob, carol):
    made = import_bundle(written(project), manager=bob)
    made.add_members([carol], by=bob)
    Annotation.start(made.all_items()[2], carol)
    files = files_of(made)
    names = [entry["annotator"] for entry in files["annotations.json"]]
    assert names == [f"carol (imported, project {made.pk})"] * 2 + ["carol"]
    assert {"carol", names[0]} <= {*files["manifest.json"]["people"]}
    again = import_bundle(written(made), manager=bob, people={"bob": bob})
    assert User.objects.filter(annotation__item__dataset__project=again).distinct().count() == 2


def test_who_is_matched_gets_their_work_and_is_invited(project, bob, carol, as_carol):
    project.membership_set.get(user=carol).set_shortcut("entity", "3", project.entity_ontology.items()[0].uid)
    made = import_bundle(written(project), manager=bob, people={"carol": carol})
    assert Annotation.objects.filter(item__dataset__project=made, annotator=carol).count() == 2
    assert not made.membership_set.filter(user=carol)
    invitation = Invitation.objects.get(project=made)
    assert (invitation.address, invitation.role, invitation.by) == ("carol@example.org", "annotator", bob)
    assert "Pumps" in as_carol.get("/").text
    invitation.accept(carol)
    member = made.membership_set.get(user=carol)
    assert (member.role, member.shortcuts["entity"]) == ("annotator", {"3": project.entity_ontology.items()[0].uid})
    assert made.items_for(carol).count() == 3 and made.count_work(carol) == {"begun": 2, "marks": 6}


def test_what_came_with_a_batch_is_not_done_once_more_for_its_items_were_others(rich, alice, carol, as_carol):
    made = import_bundle(written(rich), manager=alice, people={"carol": carol})
    Invitation.objects.get(project=made).accept(carol)
    [batch] = made.dataset.batches.filter(person=carol)
    batch.start_undo()
    done = as_carol.post(reverse("annotations:redo_batch", args=[made.pk, batch.pk]), "{}", "application/json")
    assert done.status_code == 422 and "the bundle of another project" in done.json()["error"]
    assert made.dataset.batches.count() == 2


def test_the_importer_may_be_one_of_them(project, bob):
    made = import_bundle(written(project), manager=bob, people={"carol": bob})
    assert made.membership_set.get(user=bob).role == "manager" and not Invitation.objects.exists()
    assert Annotation.objects.filter(item__dataset__project=made, annotator=bob).count() == 2


def test_who_has_no_address_cannot_be_matched(project, bob, carol):
    carol.email = ""
    carol.save()
    with pytest.raises(Refused, match="mail address"):
        import_bundle(written(project), manager=bob, people={"carol": carol})
    assert Project.objects.count() == 1 and not User.objects.exclude(imported_as="")


def test_two_cannot_be_one_and_a_stranger_cannot_be_matched(project, bob):
    for people in ({"carol": bob, "dave": bob}, {"nobody": bob}):
        with pytest.raises(Refused):
            import_bundle(written(project), manager=bob, people=people)


def test_nothing_becomes_that_of_somebody_who_is_not_told(project, bob, sam, as_bob):
    files = files_of(project)
    files["manifest.json"]["people"].append("sam")
    said = {"author": "sam", "text": "Well done.", "written_at": "2026-11-27T10:20:30Z", "edited_at": None}
    of_now = {"about": "item", "mark_id": None, "words": None, "resolved_at": None, "resolved_by": None, "answers": []}
    files["annotations.json"][0]["comments"] = [{**said, **of_now}]
    with pytest.raises(Refused, match="Members"):
        import_bundle(packed(files), manager=bob, people={"sam": sam})
    page = as_bob.get(uploaded(as_bob, packed(files)).url).text
    assert "the account sam" not in page and "All others become authors without an account:" in page
    import_bundle(packed(files), manager=bob)
    assert Comment.objects.get().author.imported_as == "sam"
    files["manifest.json"]["members"].append({**files["manifest.json"]["members"][0], "user": "sam"})
    made = import_bundle(packed(files), manager=bob, people={"sam": sam})
    assert Invitation.objects.get(project=made).address == sam.email


def test_those_with_long_names_that_begin_alike_are_two(project, bob):
    files = files_of(project)
    files["manifest.json"]["people"] += ["x" * 149 + end for end in "ab"]
    import_bundle(packed(files), manager=bob)
    assert User.objects.filter(imported_as__startswith="xx").count() == 2


def test_whoever_left_keeps_their_name_and_an_author_of_the_same_gets_another(project, bob, carol):
    made = import_bundle(written(project), manager=bob)
    made.add_members([carol], by=bob)
    Annotation.start(made.all_items()[2], carol)
    made.remove_member(made.membership_set.get(user=carol), by=bob)
    names = [entry["annotator"] for entry in files_of(made)["annotations.json"]]
    assert names == [f"carol (imported, project {made.pk})"] * 2 + ["carol"]


def test_marks_that_came_with_a_dataset_keep_their_status(alice, bob):
    labels = factories.ontology(owner=alice, items=[{"name": "Person"}])
    text = json.dumps(
        [{"original": "Anna", "tokens": ["Anna"], "entities": [{"start": 0, "end": 0, "label": "Person"}]}]
    )
    options = {"kind": "preannotated_entity", "format": "json", "name": "People", "entity_ontology": labels.pk}
    project = factories.project(by=alice, of=factories.upload(text, by=alice, options=options).store())
    for status in ("accepted", "suggested"):
        Entity.objects.filter(annotation__item__dataset__project=project).update(status=status)
        made = import_bundle(written(project), manager=bob)
        assert Entity.objects.get(annotation__item__dataset__project=made).status == status


def test_places_are_whole_numbers_whatever_they_look_like(project, bob):
    files = files_of(project)
    files["items.json"][0]["offsets"] = [[float(end) for end in pair] for pair in files["items.json"][0]["offsets"]]
    made = import_bundle(packed(files), manager=bob)
    assert [type(end) for pair in made.all_items()[0].offsets for end in pair] == [int] * 6


def test_an_author_can_be_anonymised_and_nothing_else_is_changed_in_the_admin(project, bob, as_sam):
    made = import_bundle(written(project), manager=bob)
    author = User.objects.get(imported_as="carol")
    page = f"/admin/annotation_service/user/{author.pk}/change/"
    assert as_sam.post(page, {"username": "carol2", "is_active": "on"}).status_code == 403
    anonymise(author)
    assert {each["annotator"] for each in files_of(made)["annotations.json"]} == {f"Former annotator {author.pk}"}


def test_an_archived_project_comes_back_archived(project, alice, bob, carol):
    project.archive()
    made = import_bundle(written(project), manager=bob, people={"carol": carol})
    assert made.archived_at and contents(written(made))["manifest.json"]["project"]["archived_at"]


# --- What is counted anew --------------------------------------------------------------------------------------------------


def test_figures_are_counted_and_work_goes_on(project, bob, as_bob, carol):
    made = import_bundle(written(project), manager=bob, people={"carol": carol})
    page = as_bob.get(f"/projects/{made.pk}/").text
    assert "Pumps" in page
    assert as_bob.get(f"/projects/{made.pk}/items/?has=marks").status_code == 200
    assert as_bob.get(f"/projects/{made.pk}/people/").status_code == 200
    item = made.all_items()[0]
    assert (item.work.begun, item.work.marks) == (1, 3)
    assert made.dataset.token_count == project.dataset.token_count
    label = made.entity_ontology.items().get(name="State")
    assert not label.active and not list(made.entity_ontology.tree.problems())
    label = label.switch(True, by=bob)
    Invitation.objects.get().accept(carol)
    Annotation.start(item, carol).add_entity(uid="new", label=label, start=2, end=2)


def test_tokens_that_were_cleaned_keep_their_places(alice, carol):
    of = factories.dataset(
        owner=alice, text="The İ PUMP* leaks\n", lowercase=True, remove_characters="*", tokeniser="punkt"
    )
    project = factories.project(by=alice, of=of, annotators=[carol])
    Annotation.start(project.all_items()[0], carol).add_entity(
        uid="x", label=project.entity_ontology.items()[0], start=2, end=2
    )
    before = contents(written(project))
    assert before["annotations.json"][0]["entities"][0]["text"] == "PUMP"
    made = import_bundle(written(project), manager=alice, people={"alice": alice})
    assert_same(before, contents(written(made)))
    fields = ("position", "original", "tokens", "offsets", "search_text", "token_count", "external_id", "extra_fields")
    assert list(made.all_items().values(*fields)) == list(project.all_items().values(*fields))


def test_a_project_without_relations_items_or_people(alice):
    project = factories.project(by=alice, relations=False)
    project.dataset.remove(project.all_items(), by=alice)
    made = import_bundle(written(project), manager=alice, people={"alice": alice})
    assert_same(contents(written(project)), contents(written(made)))


def test_a_rule_that_takes_the_place_of_another_goes_on_where_it_was(project, bob):
    Project.objects.filter(pk=project.pk).update(next_annotators_per_item=1, next_below=1)
    before = contents(written(Project.objects.get(pk=project.pk)))
    made = import_bundle(written(Project.objects.get(pk=project.pk)), manager=bob, people={"alice": bob})
    assert (made.next_annotators_per_item, made.next_below) == (1, 1)
    assert contents(written(made))["manifest.json"]["project"] == before["manifest.json"]["project"]


# --- What is refused -------------------------------------------------------------------------------------------------------


def changed(files, name, change):
    """The files, with a change of one of them."""
    files = json.loads(json.dumps(files))
    change(files[name])
    return files


def first(name, *path):
    """A function that sets what stands at a path in the first entry."""
    *steps, last, value = path

    def change(entries):
        at = entries[0]
        for step in steps:
            at = at[step]
        at[last] = value

    return name, change


BAD = {
    "annotations.json, entry 1: “No/such” is not a label": first("annotations.json", "entities", 0, "label", "No/such"),
    "annotations.json, entry 1: The item has 3 tokens": first("annotations.json", "entities", 0, "end", 3),
    "annotations.json, entry 1, $.entities[0].start: A whole number": first("annotations.json", "entities", 0, "start", "0"),
    "annotations.json, entry 1: This stands here twice": first("annotations.json", "entities", 0, "id", "two"),
    "annotations.json, entry 1: A relation does not connect": first("annotations.json", "relations", 0, "source_id", "x"),
    "annotations.json, entry 1: “eve” is not among the people": first("annotations.json", "annotator", "eve"),
    "annotations.json, entry 1: There is no batch": first("annotations.json", "entities", 0, "batch", 7),
    "annotations.json, entry 1: A UTC time": first("annotations.json", "done_at", "2026-13-01T00:00:00Z"),
    "annotations.json, entry 1: There is no such item": first("annotations.json", "item_id", 9),
    "annotations.json, entry 1: This is about nobody": first("annotations.json", "annotator", None),
    "annotations.json, entry 1: “#0a0a0a0a” is not a label": first("annotations.json", "rejected", ["0-0:0a0a0a0a"]),
    "dataset.json, entry 1, $.tokens": first("dataset.json", "tokens", "x"),
    "dataset.json, entry 1: There is not an entry": first("dataset.json", "entities", [{"start": 0, "end": 0, "label": "State"}]),
    "dataset.json, entry 1: The places": first("items.json", "offsets", [[0, 99]]),
    "dataset.json, entry 2: The positions": first("items.json", "position", 5),
    "items.json, entry 1, $.given_to[0]": first("items.json", "given_to", [{}]),
    "items.json, entry 1, $: “removed_at” is not known": first("items.json", "removed_at", 5),
    "annotations.json, entry 1, $: “layer” is not known": first("annotations.json", "layer", "gold"),
    "annotations.json, entry 1, $.entities[0]: “uid” is not known": first("annotations.json", "entities", 0, "uid", "x"),
    "entity_ontology.json, item 1, $.color": first("entity_ontology.json", "color", "red"),
}  # fmt: skip


@pytest.mark.parametrize("why", BAD)
def test_what_is_wrong_is_told_with_file_and_entry_and_nothing_is_stored(project, bob, why):
    name, change = BAD[why]
    before = faults.rows()
    with pytest.raises(Refused) as refused:
        import_bundle(packed(changed(files_of(project), name, change)), manager=bob)
    assert str(refused.value.problems[0]).startswith(why)
    assert faults.rows() == before


def manifest(*path):
    *steps, last, value = path

    def change(found):
        for step in steps:
            found = found[step]
        found[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (manifest("version", 2), "version 2"),
        (manifest("format", "x"), "not the manifest"),
        (manifest("people", ["Carol", "carol", "dave", "alice"]), "twice"),
        (manifest("people", ["ﷺ" * 100]), "too long"),
        (manifest("people", [f"p{n}" for n in range(10_001)]), "At most 10"),
        (manifest("members", 0, "role", "king"), "A role is one of these"),
        (manifest("project", "name", "\u202e"), "turns the direction"),
        (manifest("project", "overlap", 50), "no sample for everybody"),
        (manifest("project", "created_at", "yesterday"), "UTC time"),
        (manifest("resources", "dataset", "preprocessing", {"tokeniser": "x"}), "x"),
        (manifest("resources", "new", {}), "new"),
        (manifest("counts", {}), "counts"),
    ],
)
def test_a_wrong_manifest_is_refused(project, bob, change, why):
    before = faults.rows()
    with pytest.raises(Refused, match=r"manifest\.json") as refused:
        import_bundle(packed(changed(files_of(project), "manifest.json", change)), manager=bob)
    assert why in str(refused.value.problems[0])
    assert faults.rows() == before


@pytest.mark.parametrize("name", ["manifest", "dataset", "items", "batches", "annotations", "gold", "entity_ontology"])
@pytest.mark.parametrize("value", [None, "[{]", b"\xff\xfe\0", '{"a": 1}', "[1]", "[[", '["x", null]', ""])
def test_files_that_are_missing_or_something_else_are_refused(project, bob, name, value):
    files = files_of(project)
    files |= {f"{name}.json": value}
    with pytest.raises(Refused, match=name):
        import_bundle(packed({name: each for name, each in files.items() if each is not None}), manager=bob)
    assert Project.objects.count() == 1


def test_only_the_files_of_a_bundle_are_in_one(project, bob):
    for name in ("/etc/passwd", "../x.json", "notes.txt", "dataset.json/"):
        with pytest.raises(Refused, match="does not belong"):
            import_bundle(packed({**files_of(project), name: "x"}), manager=bob)


def test_an_archive_of_many_files_is_not_looked_through(bob):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(60):
            archive.writestr(f"{number}.json", "")
    with pytest.raises(Refused, match="more files"):
        import_bundle(target, manager=bob)


def test_what_is_too_large_is_not_unpacked(project, bob, settings):
    files = files_of(project)
    settings.MAX_FILE_BYTES = 100
    with pytest.raises(Refused, match="limit"):
        import_bundle(packed(files), manager=bob)
    settings.MAX_FILE_BYTES, settings.MAX_ONTOLOGY_BYTES = 10**8, 100
    with pytest.raises(Refused, match=r"manifest.json: .*limit"):
        import_bundle(packed(files), manager=bob)


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"PK\3\4" + b"\0" * 50, b"PK\5\6" + b"\0" * 18])
def test_what_is_no_zip_archive_is_refused(bob, data):
    with pytest.raises(Refused):
        import_bundle(io.BytesIO(data), manager=bob)


def test_damaged_bytes_are_refused_or_make_no_difference(project, bob):
    whole = written(project).getvalue()
    rng = random.Random(amount(5, random.randrange(10**6)))
    for _ in range(amount(1500, 5000)):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 3, 30])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with suppress(Refused), transaction.atomic():
            import_bundle(io.BytesIO(bytes(data[: rng.choice([None, rng.randrange(len(data))])])), manager=bob)


def test_damaged_values_are_refused_or_taken(rich, bob):
    files = files_of(rich)
    rng = random.Random(amount(7, random.randrange(10**6)))
    names = [name for name in files if name != "agreement.json"]
    taken = 0
    for _ in range(amount(80, 5000)):
        name = rng.choice(names)
        broken = {**files, name: damaged_value(rng, json.loads(json.dumps(files[name])))}
        with suppress(Refused), transaction.atomic():
            written(import_bundle(packed(broken), manager=bob))
            taken += 1
    assert taken < amount(80, 5000)


# --- All or nothing --------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_fault_at_any_statement_leaves_nothing():
    alice, bob = factories.manager("alice"), factories.manager("bob")
    carol = factories.user("carol")
    project = factories.project(by=alice, annotators=[carol])
    Annotation.start(project.all_items()[0], carol)
    file, before, passed = written(project), faults.rows(), []
    users = User.objects.count()
    for number in range(1, 300):
        try:
            with faults.watching(faults.at(number, fail)):
                import_bundle(file, manager=bob)
        except DatabaseError:
            passed.append((faults.rows(), User.objects.count()) == (before, users))
            if not passed[-1]:
                break  # after the commit
        else:
            break
    assert passed.count(True) > 50 and all(passed[:-1])
    assert not faults.orphans()


def fail():
    raise DatabaseError


@pytest.mark.django_db(transaction=True)
def test_a_kill_leaves_nothing_behind():
    alice = factories.manager("alice")
    file, before = written(factories.project(by=alice)), faults.rows()
    for number in (1, 10, 40, 60):
        assert faults.killed_at(number, lambda: import_bundle(file, manager=alice))
        assert faults.rows() == before
    assert not faults.killed_at(10**6, lambda: import_bundle(file, manager=alice))
    assert Project.objects.count() == 2


def test_whatever_the_size_little_is_in_memory(alice, monkeypatch):
    """Rows are written as they come."""
    monkeypatch.setattr(bundle_rows, "BATCH", 2)
    project = factories.project(by=alice, text="".join(f"item {n}\n" for n in range(9)))
    made = import_bundle(written(project), manager=alice, people={"alice": alice})
    assert_same(contents(written(project)), contents(written(made)))


# --- Pages, jobs, the command ----------------------------------------------------------------------------------------------


def uploaded(client, file, name="pumps.zip"):
    return client.post("/projects/import/", {"file": SimpleUploadedFile(name, file.getvalue())})


def test_a_bundle_is_looked_at_and_imported(project, as_bob, bob, carol, settings):
    assert "/projects/import/" in as_bob.get("/projects/").text
    page = uploaded(as_bob, written(project))
    assert page.status_code == 302
    text = as_bob.get(page.url).text
    assert "3 items, 2 annotations with 4 entities and 2 relations" in text
    assert "Changes of labels and rules: 1. All is as it is now" in text
    assert text.count("a named author without an account") == 3 and text.count("the account carol") == 1
    assert not re.search('<option value="[^"]+" selected', text)
    [name] = re.findall(r'<label for="id_(person-\d+)">carol', text)
    done = as_bob.post(page.url, {name: str(carol.pk)})
    made = Project.objects.latest("pk")
    assert done.url == f"/projects/{made.pk}/" and made.created_by == bob
    assert Annotation.objects.filter(item__dataset__project=made, annotator=carol).count() == 2
    assert not list(settings.UPLOAD_DIR.iterdir())
    assert as_bob.get(page.url).status_code == 404


def test_only_offered_accounts_can_be_chosen(project, as_bob, carol, sam):
    page = uploaded(as_bob, written(project))
    assert as_bob.post(page.url, {f"person-{carol.pk}": str(sam.pk)}).status_code == 422
    assert Project.objects.count() == 1


def test_what_is_no_bundle_is_told_in_the_form(as_bob, settings):
    answer = uploaded(as_bob, io.BytesIO(b"x"))
    assert answer.status_code == 422 and "damaged, or is something else" in answer.text
    assert not settings.UPLOAD_DIR.exists() or not list(settings.UPLOAD_DIR.iterdir())


def test_a_mistake_inside_is_told_when_it_is_imported(project, as_bob):
    name, change = first("annotations.json", "entities", 0, "label", "No/such")
    page = uploaded(as_bob, packed(changed(files_of(project), name, change)))
    answer = as_bob.post(page.url)
    assert answer.status_code == 422 and "“No/such” is not a label" in answer.text


def test_a_large_one_is_imported_by_a_job(project, as_bob, carol, settings):
    settings.JOB_ROWS = 3
    page = uploaded(as_bob, written(project))
    [name] = re.findall(r'<label for="id_(person-\d+)">carol', as_bob.get(page.url).text)
    assert "/jobs/" in as_bob.post(page.url, {name: str(carol.pk)}).url
    [file] = settings.UPLOAD_DIR.iterdir()
    os.utime(file, (0, 0))
    jobs.delete_old_files()
    assert file.exists()  # as long as the job waits
    job = jobs.claim()
    jobs.run(job)
    job.refresh_from_db()
    made = Project.objects.latest("pk")
    assert (job.state, job.result["url"]) == (JobState.DONE, f"/projects/{made.pk}/") and not file.exists()
    assert Annotation.objects.filter(item__dataset__project=made, annotator=carol).count() == 2


def test_what_waits_is_deleted_after_a_day(project, as_bob, settings):
    page = uploaded(as_bob, written(project))
    [file] = settings.UPLOAD_DIR.iterdir()
    jobs.delete_old_files()
    assert file.exists()
    os.utime(file, (0, 0))
    jobs.delete_old_files()
    assert not file.exists() and as_bob.get(page.url).status_code == 404


def test_the_command_prints_what_came_and_the_id(project, bob, carol, tmp_path, capsys):
    (tmp_path / "b.zip").write_bytes(written(project).getvalue())
    call_command("import_bundle", str(tmp_path / "b.zip"), "--manager", "bob", "--person", "carol=carol")
    made = Project.objects.latest("pk")
    *_, counts, last = capsys.readouterr().out.splitlines()
    assert last == str(made.pk) and counts.startswith("3 items, 2 annotations")
    assert Annotation.objects.filter(item__dataset__project=made, annotator=carol).count() == 2


@pytest.mark.parametrize(
    ("person", "why"), [("carol", "NAME=USER"), ("carol=nobody", "no active user"), ("x=carol", "")]
)
def test_the_command_says_what_is_wrong(project, bob, tmp_path, capsys, person, why):
    (tmp_path / "b.zip").write_bytes(written(project).getvalue())
    with pytest.raises(SystemExit):
        call_command("import_bundle", str(tmp_path / "b.zip"), "--manager", "bob", "--person", person)
    assert why in capsys.readouterr().err and Project.objects.count() == 1
