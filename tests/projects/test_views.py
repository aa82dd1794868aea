import io
import json
import re
import zipfile

import pytest
from django.urls import reverse

from annotation_service import jobs
from annotation_service.models import Job
from datasets.models import Annotation, Dataset
from projects.models import Project
from tests import factories
from tests.answers import text_of
from tests.queries import queries_of


def page_of(response):
    return response.text


@pytest.fixture
def blueprints(alice):
    return {
        "dataset": factories.dataset(owner=alice).pk,
        "entity_ontology": factories.ontology(owner=alice).pk,
        "relation_ontology": factories.ontology(owner=alice, kind="relation").pk,
    }


def test_a_project_is_created_with_people_by_user_name(as_alice, carol, dave, blueprints):
    data = {"name": "Pumps", "annotators": "carol, dave", **blueprints}
    response = as_alice.post("/projects/new/", data)
    project = Project.objects.get()
    assert response["Location"] == f"/projects/{project.pk}/"
    assert {member.user.username for member in project.membership_set.all()} == {"alice", "carol", "dave"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "a\tb"}, "A name cannot contain"),
        ({"annotators": "carol nobody"}, "no account with the user name “nobody”"),
        ({"dataset": ""}, "This field is required"),
        ({"dataset": "999"}, "Select a valid choice"),
        ({"annotators_per_item": "0"}, "A whole number from 1 to 100 was expected."),
    ],
)
def test_wrong_values_are_refused_where_they_stand_and_nothing_is_lost(as_alice, carol, blueprints, change, reason):
    data = {"name": "Pumps", "annotators": "carol", "guidelines": "Think first.", **blueprints, **change}
    response = as_alice.post("/projects/new/", data)
    assert response.status_code == 422
    assert reason in page_of(response)
    assert "Think first." in page_of(response)
    assert not Project.objects.exists()


def test_an_ontology_of_the_wrong_kind_is_no_choice(as_alice, blueprints):
    data = {"name": "P", **blueprints, "entity_ontology": blueprints["relation_ontology"]}
    assert as_alice.post("/projects/new/", data).status_code == 422


def test_a_large_project_is_created_by_a_job(as_alice, carol, blueprints, settings):
    settings.JOB_ROWS = 5
    response = as_alice.post("/projects/new/", {"name": "Pumps", "annotators": "carol", **blueprints})
    job = Job.objects.get()
    assert response["Location"] == f"/jobs/{job.pk}/"
    assert not Project.objects.exists()
    jobs.run(jobs.claim())
    project = Project.objects.get()
    assert as_alice.get(f"/jobs/{job.pk}/")["Location"] == f"/projects/{project.pk}/"
    assert project.membership_set.filter(user=carol).exists()


def test_without_blueprints_the_page_says_what_to_make_first(as_alice):
    text = page_of(as_alice.get("/projects/new/"))
    assert "/ontologies/new/" in text and "/datasets/new/" in text


def test_a_chosen_blueprint_is_selected(as_alice, blueprints):
    text = page_of(as_alice.get(f"/projects/new/?dataset={blueprints['dataset']}"))
    assert f'<option value="{blueprints["dataset"]}" selected>' in text


def test_use_offers_the_projects_that_somebody_manages(as_alice, as_bob, blueprints):
    factories.project(by=as_alice.user, name="Lacking", relations=False)
    factories.project(by=as_alice.user, name="Complete")
    factories.project(by=as_bob.user, name="Of somebody else", relations=False)
    text = page_of(as_alice.get(f"/projects/use/?ontology={blueprints['relation_ontology']}"))
    assert "Lacking" in text and "Complete" in text and "somebody else" not in text


def test_staff_see_every_project_but_only_their_own_work(as_sam, as_alice):
    project = factories.project(by=as_alice.user, name="Elsewhere")
    assert "Elsewhere" not in page_of(as_sam.get("/"))
    assert "not a member" in page_of(as_sam.get("/projects/"))
    project.add_members([as_sam.user], role="manager")
    assert "Elsewhere" in page_of(as_sam.get("/"))
    assert "not a member" not in page_of(as_sam.get("/projects/"))


def test_the_page_of_a_manager_shows_people_and_progress(as_alice, carol):
    project = factories.project(by=as_alice.user, annotators=[carol])
    Annotation.start(project.dataset.items().first(), carol).finish()
    text = page_of(as_alice.get(f"/projects/{project.pk}/"))
    assert "carol" in text and "1 / 3" in text


def test_the_page_of_an_annotator_shows_their_work_only(as_carol, as_alice, dave):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user, dave])
    text = page_of(as_carol.get(f"/projects/{project.pk}/"))
    assert "items given to you" in text
    assert "dave" not in text and "Download" not in text
    assert reverse("projects:add_members", args=[project.pk]) not in text


def test_people_are_added_and_removed(as_alice, carol):
    project = factories.project(by=as_alice.user)
    add = f"/projects/{project.pk}/people/add/"
    assert "carol" in page_of(as_alice.post(add, {"people": "carol", "role": "annotator"}))
    again = as_alice.post(add, {"people": "carol", "role": "annotator"})
    assert again.status_code == 422 and "member of this project already" in page_of(again)
    unknown = as_alice.post(add, {"people": "whoever", "role": "annotator"})
    assert unknown.status_code == 422 and "whoever" in page_of(unknown)
    member = project.membership_set.get(user=carol)
    assert as_alice.post(f"/projects/{project.pk}/people/{member.pk}/remove/").status_code == 200
    assert not project.membership_set.filter(user=carol).exists()


def test_the_last_manager_is_told_why_they_stay(as_alice):
    project = factories.project(by=as_alice.user)
    member = project.membership_set.get()
    response = as_alice.post(f"/projects/{project.pk}/people/{member.pk}/remove/")
    assert response.status_code == 422 and "needs a manager" in page_of(response)


def test_the_bundle_is_downloaded_at_once_or_by_a_job(as_alice, monkeypatch):
    project = factories.project(by=as_alice.user, name="Pümps & Co")
    response = as_alice.post(f"/projects/{project.pk}/download/")
    assert "pumps-co-" in response["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
        assert json.loads(archive.read("manifest.json"))["counts"]["items"] == 3
    monkeypatch.setattr("projects.views.DOWNLOAD_MARKS_AT_ONCE", 1)
    url = as_alice.post(f"/projects/{project.pk}/download/")["Location"]
    jobs.run(jobs.claim())
    assert "3 items" in page_of(as_alice.get(url))
    with zipfile.ZipFile(io.BytesIO(as_alice.get(f"{url}file/").getvalue())) as archive:
        assert "annotations.json" in archive.namelist()


def test_the_figures_count_marks_and_labels(as_alice, carol):
    project = factories.project(by=as_alice.user, annotators=[carol])
    label = project.entity_ontology.items().first()
    Annotation.start(project.dataset.items().first(), carol).add_entity(uid="12345678", label=label, start=0, end=1)
    text = page_of(as_alice.get(f"/projects/{project.pk}/figures/"))
    assert "<b>1</b><span>entity" in text
    assert "PhysicalObject" in text
    assert "6 active without marks" in text


def test_home_shows_each_person_what_is_theirs(as_alice, as_carol, as_dave):
    factories.project(by=as_alice.user, name="Pumps", annotators=[as_carol.user])
    manager = page_of(as_alice.get("/"))
    assert "Pumps" in manager and "Work orders" in manager and "entity labels" in manager
    annotator = page_of(as_carol.get("/"))
    assert (
        "Pumps" in annotator and "3 items given to you, 0 of them done" in annotator and "Work orders" not in annotator
    )
    assert "add you to a project" in page_of(as_dave.get("/"))


def test_own_work_is_shown_to_annotators_and_to_managers_who_began_to_annotate(as_alice, as_carol):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user])
    address = project.get_absolute_url()
    assert 'id="own-work"' in page_of(as_carol.get(address))
    page = page_of(as_alice.get(address))
    assert 'id="own-work"' not in page and "Batches" not in page and ">Annotate</a>" in page
    Annotation.start(project.dataset.items().first(), as_alice.user)
    page = page_of(as_alice.get(address))
    assert "Batches" in page and page.index('id="people"') < page.index('id="own-work"')


def test_the_dialog_of_a_project_begins_in_the_field_that_is_to_be_changed(as_alice):
    address = f"/projects/{factories.project(by=as_alice.user).pk}/edit/"
    assert "autofocus" not in page_of(as_alice.get(address)) + page_of(as_alice.get(f"{address}?field=other"))
    assert re.search(r'<select name="history"[^>]* autofocus', page_of(as_alice.get(f"{address}?field=history")))


@pytest.mark.parametrize("annotators_per_item", [None, 1])
def test_home_offers_work_to_those_who_have_some(as_alice, as_carol, annotators_per_item):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user], annotators_per_item=annotators_per_item)
    assert "Annotate 3 items wait" in text_of(as_carol.get("/"))
    manager = page_of(as_alice.get("/"))
    assert "3 items, 0 of them done · 0 begun · 3 untouched" in manager
    assert ("Annotate <span" in manager) == (annotators_per_item is None)  # managers may annotate what everybody gets
    project.dataset.remove(project.dataset.items(), by=as_alice.user)
    for client in (as_alice, as_carol):
        page = page_of(client.get("/"))
        assert "There are no items in it" in page and "Annotate" not in page


def test_a_newcomer_among_the_managers_is_led_to_the_first_steps(as_bob):
    assert "three steps away" in page_of(as_bob.get("/"))


@pytest.mark.parametrize("url", ["/", "/projects/"])
def test_queries_do_not_grow_with_projects(as_alice, url, django_assert_num_queries):

    as_alice.get(url)
    factories.project(by=as_alice.user)
    few = queries_of(as_alice.get, url)  # of a new project, whose items are counted first
    for _ in range(5):
        factories.project(by=as_alice.user)
    with django_assert_num_queries(len(few)):
        as_alice.get(url)


def test_odd_addresses_do_no_harm(as_alice):
    for query in (
        "?page=x",
        "?page=-1",
        "?page=99999999999999999999",
        "?q=%25_%5C",
        "?q=" + "x" * 5000,
        "?owner__password=x",
    ):
        assert as_alice.get(f"/projects/{query}").status_code == 200
    assert as_alice.get("/projects/?q=%00").status_code == 400


def test_edits_of_two_people_do_not_overwrite_each_other(as_alice, as_bob):
    project = factories.project(by=as_alice.user, name="Pumps")
    project.add_members([as_bob.user], role="manager")
    url = f"/projects/{project.pk}/edit/"
    hidden = dict(re.findall(r'name="(was_\w+)" value="(\w+)"', page_of(as_bob.get(url))))
    assert set(hidden) == {"was_name", "was_description", "was_guidelines", "was_history", "was_counted"}
    as_alice.post(url, {"name": "Pumps", "description": "", "guidelines": "Line one.\r\nLine two.", **hidden})
    # Bob only renames: what Alice wrote meanwhile stays.
    assert as_bob.post(url, {"name": "Bob's", "description": "", "guidelines": "", **hidden}).status_code == 200
    project.refresh_from_db()
    assert (project.name, project.guidelines) == ("Bob's", "Line one.\nLine two.")
    # Alice, who saw the old name, renames, too: she is shown Bob's name, and may insist.
    data = {"name": "Alice's", "description": "", "guidelines": "", **hidden}
    conflict = as_alice.post(url, data)
    assert conflict.status_code == 409
    assert "Somebody changed this meanwhile, to “Bob&#x27;s”" in page_of(conflict)
    assert "Alice&#x27;s" in page_of(conflict)
    hidden = dict(re.findall(r'name="(was_\w+)" value="(\w+)"', page_of(conflict)))
    assert as_alice.post(url, {**data, **hidden}).status_code == 200
    project.refresh_from_db()
    assert (project.name, project.guidelines) == ("Alice's", "Line one.\nLine two.")


def test_the_dialogs_of_blueprints_show_conflicts_and_deletions(as_alice, monkeypatch):
    dataset = factories.dataset(owner=as_alice.user)
    url = f"/datasets/{dataset.pk}/edit/"
    hidden = dict(re.findall(r'name="(was_\w+)" value="(\w+)"', page_of(as_alice.get(url))))
    dataset.edit(name="Other", description="a\r\nb")
    dataset.refresh_from_db()
    assert dataset.description == "a\nb"
    assert as_alice.post(url, {"name": "Mine", "description": "", **hidden}).status_code == 409
    monkeypatch.setattr("annotation_service.access.editable", lambda *args: dataset)
    Dataset.objects.get(pk=dataset.pk).erase()
    assert "deleted meanwhile" in page_of(as_alice.post(url, {"name": "Mine", "description": ""}))
    assert "deleted meanwhile" in page_of(as_alice.post(f"/datasets/{dataset.pk}/delete/"))


def test_names_of_people_are_found_whatever_their_case_and_many_are_refused(as_alice, carol):
    project = factories.project(by=as_alice.user)
    add = f"/projects/{project.pk}/people/add/"
    assert as_alice.post(add, {"people": "CAROL", "role": "annotator"}).status_code == 200
    assert project.membership_set.filter(user=carol).exists()
    many = as_alice.post(add, {"people": " ".join(f"n{n}" for n in range(501)), "role": "annotator"})
    assert many.status_code == 422 and "At most 500 people" in page_of(many)
    some = page_of(as_alice.post(add, {"people": " ".join(f"n{n}" for n in range(50)), "role": "annotator"}))
    assert "(and 40 more)" in some
