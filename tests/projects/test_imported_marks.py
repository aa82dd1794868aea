"""Marks of a file in the dataset of a project: given ones, or the work of a member, on new items or on those that are there."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from datasets.models import Annotation, Entity, Item, Layer, Mark, Relation, TextCorrection, Upload
from datasets.models.correction import cut_anew
from datasets.models.upload import ImportContext
from projects.models import Project
from quality.agreement import make_report
from quality.voices import IMPORTED, names_for, voices_in
from tests import factories
from tests.answers import html
from tests.datasets.test_import_command import run
from tests.resource_sets import make

TEXT = "replace engine oil\nleft air conditioner thermostat not working\ncheck coolant level and top up\n"


def new(text="grease the bearing", *marks, relations=(), **fields):
    """An item of a file with marks such as ``("State", 0, 1)``."""
    entities = [{"id": f"e{n}", "start": s, "end": e, "label": label} for n, (label, s, e) in enumerate(marks, 1)]
    related = [{"source_id": s, "target_id": t, "label": label} for label, s, t in relations]
    return {"original": text, "tokens": text.split(), "entities": entities, "relations": related, **fields}


MARKED = [
    new("grease the bearing", ("Activity", 0, 0), ("PhysicalObject", 2, 2), relations=[("hasParticipant", "e1", "e2")])
]
OIL = new("replace engine oil", ("Activity/Replace", 0, 0), ("PhysicalObject", 1, 2))


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text=TEXT)


def post(client, project, document, **values):
    """The upload of a file of items, or the answer that refuses it."""
    file = SimpleUploadedFile("marks.json", json.dumps(document).encode())
    data = {"format": "", "tokeniser": "punkt", "file": file, **values}
    response = client.post(f"/datasets/{project.dataset.pk}/add/", data)
    return response if response.status_code != 302 else Upload.objects.latest("pk")


def post_marks(client, project, document, **values):
    return post(client, project, document, whose="@carol", duplicates="mark", **values)


def store(client, upload):
    assert upload.state == "checked", upload.found.problem_lines
    client.post(f"{upload.get_absolute_url()}store/")
    upload.refresh_from_db()
    assert upload.state == "stored"
    return upload


def problems(upload):
    assert upload.state == "refused"
    return [str(problem) for problem in upload.found.problem_lines]


def marks_of(annotation):
    return [(entity.label.fullname, entity.start, entity.end) for entity in annotation.entity_set.order_by("start")]


def work_of(person):
    """Marks by the texts of their items."""
    return {each.item.original: marks_of(each) for each in Annotation.objects.filter(annotator=person)}


# --- Whose they are ---


@pytest.mark.parametrize(
    ("whose", "given_status", "status"),
    [("", "suggested", "suggested"), ("", "accepted", "accepted"), ("accepted", "suggested", "accepted"),
     ("suggested", "accepted", "suggested")],
)  # fmt: skip
def test_marks_that_come_with_the_dataset_are_accepted_or_suggested_ones(
    as_alice, project, whose, given_status, status
):
    project.dataset.touch(given_status=given_status)
    store(as_alice, post(as_alice, project, MARKED, whose=whose))
    assert Annotation.objects.get().layer == Layer.GIVEN
    found = {(mark.status, mark.origin) for model in (Entity, Relation) for mark in model.objects.all()}
    assert found == {(status, Mark.Origin.GIVEN)}
    assert Item.objects.filter(dataset=project.dataset).count() == 4


def test_marks_become_the_finished_work_of_a_member(as_alice, alice, carol, project):
    upload = store(as_alice, post(as_alice, project, MARKED, whose="@carol"))
    made = Annotation.objects.get()
    assert (made.layer, made.annotator, made.imported_by, made.imported_from) == (Layer.OWN, carol, alice, "marks.json")
    assert made.started_at and made.done_at and made.changed_at is None
    assert marks_of(made) == [("Activity", 0, 0), ("PhysicalObject", 2, 2)]
    assert {(mark.status, mark.origin) for mark in Entity.objects.all()} == {("accepted", "import")}
    assert Relation.objects.get().label.fullname == "hasParticipant"
    assert upload.found.entities == 2


def test_an_item_without_marks_is_work_too(as_alice, carol, project):
    store(as_alice, post(as_alice, project, [*MARKED, new("no mark here")], whose="@carol"))
    assert work_of(carol)["no mark here"] == []


def test_the_form_offers_those_who_annotate_there(as_alice, bob, dave, project):
    project.add_members([bob], "observer")
    page = html(as_alice.get(f"/datasets/{project.dataset.pk}/add/"))
    assert 'value="@carol"' in page and 'value="accepted"' in page
    assert 'value="@bob"' not in page and 'value="@dave"' not in page


@pytest.mark.parametrize("whose", ["@dave", "@bob", "@nobody", "carol", "done"])
def test_nobody_else_gets_marks(as_alice, bob, dave, project, whose):
    project.add_members([bob], "observer")
    assert post(as_alice, project, MARKED, whose=whose).status_code == 422
    assert not Annotation.objects.exists() and Item.objects.filter(dataset=project.dataset).count() == 3


def test_of_a_member_who_left_meanwhile_nothing_is_stored(as_alice, carol, project):
    upload = post(as_alice, project, MARKED, whose="@carol")
    project.remove_member(project.membership_set.get(user=carol))
    response = as_alice.post(f"{upload.get_absolute_url()}store/")
    assert "“carol” is no member of the project who annotates." in html(as_alice.get(response["Location"]))
    assert not Annotation.objects.exists() and Item.objects.filter(dataset=project.dataset).count() == 3


def test_annotators_and_strangers_import_nothing(as_carol, as_bob, as_dave, project):
    found = [post(each, project, MARKED, whose="@carol").status_code for each in (as_carol, as_bob, as_dave)]
    assert found == [403, 404, 404]
    assert not Upload.objects.filter(dataset=project.dataset).exists()


def test_what_a_manager_has_begun_to_import_is_not_for_annotators(as_alice, as_carol, as_dave, project):
    upload = post(as_alice, project, MARKED, whose="@carol")
    for verb in ("store", "discard", "decide"):
        assert as_carol.post(f"{upload.get_absolute_url()}{verb}/").status_code == 403
        assert as_dave.post(f"{upload.get_absolute_url()}{verb}/").status_code == 404
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("whose", ["accepted", "suggested", "@carol", ""])
def test_the_command_does_the_same(alice, carol, project, tmp_path, whose):
    (tmp_path / "marks.json").write_text(json.dumps(MARKED))
    code, out, errors = run(tmp_path / "marks.json", "--whose", whose, into=project.dataset.pk)
    assert (code, errors, out[-1]) == (0, "", str(project.dataset.pk))
    made, own = Annotation.objects.get(), whose == "@carol"
    assert (made.annotator, made.imported_by) == ((carol, alice) if own else (None, None))
    status = {"@carol": "accepted", "": project.dataset.given_status}.get(whose, whose)
    assert {entity.status for entity in Entity.objects.all()} == {status}


@pytest.mark.parametrize("whose", ["@dave", "@nobody"])
def test_the_command_refuses_people_who_do_not_annotate_there(alice, dave, project, tmp_path, whose):
    (tmp_path / "marks.json").write_text(json.dumps(MARKED))
    code, out, errors = run(tmp_path / "marks.json", "--whose", whose, into=project.dataset.pk)
    assert (code, out) == (1, []) and "is no member of the project who annotates" in errors
    assert not Annotation.objects.exists()


def test_the_command_refuses_words_that_are_nobody(alice, project, tmp_path):
    (tmp_path / "marks.json").write_text(json.dumps(MARKED))
    code, out, errors = run(tmp_path / "marks.json", "--whose", "done", into=project.dataset.pk)
    assert (code, out) == (1, []) and errors
    assert not Annotation.objects.exists() and Item.objects.filter(dataset=project.dataset).count() == 3


def test_in_a_blueprint_marks_are_nobodys_work(alice, carol, tmp_path):
    blueprint = factories.dataset(owner=alice)
    (tmp_path / "lines.txt").write_text("one more\n")
    code, _, errors = run(tmp_path / "lines.txt", "--whose", "@carol", into=blueprint.pk)
    assert code == 1 and "in the dataset of a project only" in errors


# --- Marks alone ---


def test_marks_are_put_on_the_item_with_the_same_text(as_alice, alice, carol, project):
    upload = store(as_alice, post_marks(as_alice, project, [OIL]))
    assert (upload.found.marked, upload.found.items) == (1, 0)
    assert Item.objects.filter(dataset=project.dataset).count() == 3
    made = Annotation.objects.get()
    assert made.item == project.dataset.items()[0]
    assert (made.annotator, made.imported_by, made.imported_from) == (carol, alice, "marks.json")
    assert marks_of(made) == [("Activity/Replace", 0, 0), ("PhysicalObject", 1, 2)]


def test_marks_are_put_on_the_item_with_the_external_id(as_alice, carol, project):
    first, second, _ = project.dataset.items()
    Item.objects.filter(pk=second.pk).update(external_id="wo-2")
    document = [new(second.original, ("State", 0, 0), external_id="wo-2"), OIL]
    store(as_alice, post_marks(as_alice, project, document))
    assert work_of(carol) == {
        second.original: [("State", 0, 0)],
        first.original: [("Activity/Replace", 0, 0), ("PhysicalObject", 1, 2)],
    }


def test_others_of_the_same_file_become_new_items(as_alice, carol, project):
    upload = store(as_alice, post_marks(as_alice, project, [OIL, *MARKED]))
    assert (upload.found.marked, upload.found.items) == (1, 1)
    assert Item.objects.filter(dataset=project.dataset).count() == 4
    assert [*work_of(carol)] == ["replace engine oil", "grease the bearing"]


def test_other_tokens_of_the_same_text_are_found_by_their_characters(as_alice, carol, project):
    document = [{**OIL, "tokens": ["replace", "engine oil"], "entities": [{"id": "a", "start": 1, "end": 1, "label": "State"}],
                 "relations": []}]  # fmt: skip
    store(as_alice, post_marks(as_alice, project, document))
    assert work_of(carol) == {"replace engine oil": [("State", 1, 2)]}
    assert project.dataset.items()[0].tokens == ["replace", "engine", "oil"]


def test_a_mark_that_begins_inside_of_a_token_is_refused(as_alice, project):
    document = [{**OIL, "tokens": ["re", "place", "engine", "oil"],
                 "entities": [{"id": "a", "start": 1, "end": 1, "label": "State"}], "relations": []}]  # fmt: skip
    upload = post_marks(as_alice, project, document)
    assert problems(upload) == ["item 1: A mark begins or ends inside a token of item 1 of the dataset."]


def test_an_item_with_this_external_id_and_another_text_is_refused(as_alice, project):
    Item.objects.filter(pk=project.dataset.items()[0].pk).update(external_id="wo-1")
    upload = post_marks(as_alice, project, [new("something else", ("State", 0, 0), external_id="wo-1")])
    assert problems(upload) == ["item 1: Item 1 of the dataset has another text."]


def test_what_the_person_has_begun_is_refused(as_alice, carol, project):
    factories.annotation(project.dataset.items()[0], carol)
    upload = post_marks(as_alice, project, [OIL])
    assert problems(upload) == ["item 1: “carol” has begun item 1 of the dataset, or has suggestions there."]
    as_alice.post(f"{upload.get_absolute_url()}decide/", {"bad": "drop"})
    as_alice.post(f"{upload.get_absolute_url()}store/")
    assert Annotation.objects.get().imported_by is None


def test_what_the_person_begins_meanwhile_is_refused(as_alice, carol, project):
    upload = post_marks(as_alice, project, [OIL])
    assert upload.state == "checked"
    begun = factories.annotation(project.dataset.items()[0], carol)
    as_alice.post(f"{upload.get_absolute_url()}store/")
    assert Annotation.objects.get() == begun and not Entity.objects.exists()
    upload.refresh_from_db()
    assert problems(upload)


def test_a_text_that_is_corrected_while_the_file_is_read_gets_no_marks(as_alice, alice, project, monkeypatch):
    upload, locked = post_marks(as_alice, project, [OIL]), ImportContext.locked_dataset
    item = project.dataset.items()[0]

    def correct_first(context):
        monkeypatch.undo()
        TextCorrection.make(item, cut_anew(item, "oil"), by=alice, was_version=1)
        return locked(context)

    monkeypatch.setattr(ImportContext, "locked_dataset", correct_first)
    upload.store()
    assert Annotation.objects.get().item.original == "replace engine oil"  # a new item


def test_what_others_have_begun_is_not_in_the_way(as_alice, alice, carol, project):
    factories.annotation(project.dataset.items()[0], alice)
    store(as_alice, post_marks(as_alice, project, [OIL]))
    assert work_of(carol) == {"replace engine oil": [("Activity/Replace", 0, 0), ("PhysicalObject", 1, 2)]}


def test_the_same_external_id_twice_is_refused(as_alice, project):
    Item.objects.filter(pk=project.dataset.items()[0].pk).update(external_id="wo-1")
    upload = post_marks(as_alice, project, [{**OIL, "external_id": "wo-1"}] * 2)
    assert problems(upload) == ["item 2: “wo-1” is the external id of item 1: its marks came twice."]


def test_the_same_text_twice_is_refused(as_alice, project):
    upload = post_marks(as_alice, project, [OIL, OIL])
    assert len(problems(upload)) == 1 and problems(upload)[0].startswith("item 2: ")


def test_the_same_item_by_its_external_id_and_by_its_text_is_refused(as_alice, project):
    Item.objects.filter(pk=project.dataset.items()[0].pk).update(external_id="wo-1")
    upload = post_marks(as_alice, project, [{**OIL, "external_id": "wo-1"}, OIL])
    assert len(problems(upload)) == 1 and problems(upload)[0].startswith("item 2: ")


def test_of_many_items_each_is_refused_that_came_before(as_alice, project):
    """More than are compared at once."""
    more = [new(f"text number {n}", ("State", 0, 0)) for n in range(120)]
    upload = post_marks(as_alice, project, [OIL, *more, OIL])
    assert len(problems(upload)) == 1 and problems(upload)[0].startswith("item 122: ")


def test_marks_alone_are_somebodys(as_alice, project):
    upload = post(as_alice, project, [OIL], duplicates="mark")
    assert "choose whose they are" in html(as_alice.get(upload.get_absolute_url(), follow=True))
    as_alice.post(f"{upload.get_absolute_url()}store/")
    assert not Annotation.objects.exists()


def test_the_command_marks_items_that_are_there(alice, carol, project, tmp_path):
    (tmp_path / "marks.json").write_text(json.dumps([OIL]))
    options = ["--whose", "@carol", "--duplicates", "mark"]
    code, out, _ = run(tmp_path / "marks.json", *options, into=project.dataset.pk)
    assert code == 0 and "1 item of the dataset marked" in out[0]
    assert [*work_of(carol)] == ["replace engine oil"]
    assert run(tmp_path / "marks.json", *options, into=project.dataset.pk)[0] == 1
    assert Annotation.objects.count() == 1


# --- Constraints ---


@pytest.fixture
def bound(alice, project):
    """The project with a rule: states share no word with objects."""
    blueprint = project.entity_ontology.copied_from
    document = [{"domain": "State", "excludes": ["PhysicalObject"]}]
    project.use(
        make("entity_constraints", owner=alice, entities=blueprint, relations=None, document=document), by=alice
    )
    return Project.objects.get(pk=project.pk)


@pytest.mark.parametrize(
    "how", [{"whose": "@carol"}, {"whose": "@carol", "duplicates": "mark"}, {"whose": "suggested"}]
)
def test_the_constraints_of_the_project_bind_them(as_alice, bound, how):
    document = [new("replace engine oil", ("State", 1, 1), ("PhysicalObject", 1, 2))]
    upload = post(as_alice, bound, document, **how)
    assert upload.state == "refused" and upload.found.violation_total == 1
    as_alice.post(f"{upload.get_absolute_url()}decide/", {"violations": "drop"})
    upload.refresh_from_db()
    store(as_alice, upload)
    assert [entity.label.fullname for entity in Entity.objects.all()] == ["State"]


# --- Agreement ---


def test_imported_work_is_a_voice_apart_until_its_person_changes_something(as_alice, carol, project):
    store(as_alice, post_marks(as_alice, project, [OIL]))
    item = project.dataset.items()[0]
    [voice] = voices_in([item.pk])[item.pk]
    assert voice.who == IMPORTED - carol.pk
    assert names_for(project)[voice.who] == "carol (imported)"
    Annotation.objects.update(changed_at="2026-01-01T00:00:00Z")
    [voice] = voices_in([item.pk])[item.pk]
    assert voice.who == carol.pk
    assert "carol (imported)" not in names_for(project).values()


def test_what_the_person_does_there_makes_it_their_own(as_alice, as_carol, carol, project):
    store(as_alice, post_marks(as_alice, project, [OIL]))
    item = project.dataset.items()[0]
    label = factories.item(project.entity_ontology, "State")
    url = f"/projects/{project.pk}/items/{item.pk}/"

    def send(what, **values):
        assert as_carol.post(f"{url}{what}/", values, content_type="application/json").status_code == 200

    send("done", done=False)
    send("entities/add", uid="new-entity", label=label.uid, start=0, end=0)
    send("done", done=True)
    [voice] = voices_in([item.pk])[item.pk]
    assert (voice.who, len(voice.marked.entities)) == (carol.pk, 3)


def test_agreement_compares_imported_work_with_that_of_others(as_alice, alice, project):
    store(as_alice, post_marks(as_alice, project, [OIL]))
    item = project.dataset.items()[0]
    own = factories.annotation(item, alice)
    own.add_entity(uid="a", label=factories.item(project.entity_ontology, "State"), start=0, end=0)
    Annotation.objects.filter(pk=own.pk).update(done_at="2026-01-01T00:00:00Z")
    make_report(project)
    page = html(as_alice.get(f"/projects/{project.pk}/agreement/", follow=True))
    assert "carol (imported)" in page


def test_the_figures_of_the_project_count_it(as_alice, carol, project):
    store(as_alice, post_marks(as_alice, project, [OIL]))
    row = html(as_alice.get(f"/projects/{project.pk}/items/?state=done-1"))
    assert "replace engine oil" in row and "left air conditioner" not in row
