"""The archive, the bin and duplicates of projects: what each means for everybody, and that it is done wholly or not at all."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.urls import reverse
from django.utils import timezone

from annotation_service import jobs
from annotation_service.inputs import Refused
from annotation_service.models import Job, JobState, start_job
from datasets.models import Annotation, Contents, Dataset, Entity, Item, Rejection, Relation
from datasets.models.item import BIN
from projects.jobs import empty_bin
from projects.models import COPIED, Assignment, Membership, Project
from resources.models import ConstraintSet
from tests import factories, faults
from tests.projects.test_deletion import Doomed, purged, rows_left
from tests.soak import amount


@pytest.fixture(autouse=True)
def enabled(settings):
    settings.PREANNOTATION_RESOURCES = True


@pytest.fixture
def doomed(alice, carol):
    return Doomed(alice, carol, items=3)


@pytest.fixture
def project(doomed):
    return doomed.project


def found(client, text):
    return [hit["title"] for hit in client.get("/find/", {"q": text}).json()["hits"]]


# --- The archive ---------------------------------------------------------------------------------------------------------


def test_an_archived_project_is_read_and_not_changed(doomed, project, as_alice, as_carol, as_sam):
    page = f"/projects/{project.pk}/"
    assert as_alice.post(f"{page}archive/").status_code == 302
    refused = doomed.save(as_carol)
    assert refused.status_code == 403
    assert refused.json()["error"].startswith("The project “Doomed project” is archived: it can be read")
    ontology = project.entity_ontology
    for client in (as_alice, as_sam):
        assert b"is archived" in client.post(f"{page}edit/", {"name": "New"}).content
        renamed = client.post(reverse("ontologies:edit", args=[ontology.pk]), {"name": "New"})
        assert renamed.status_code == 403 and b"is archived" in renamed.content
        for address in (page, f"{page}settings/", f"{page}figures/", f"/ontologies/{ontology.pk}/"):
            assert client.get(address).status_code == 200
        assert client.post(f"{page}download/").status_code == 200
    assert b"This project was archived" in as_carol.get(page).content
    assert as_alice.post(f"{page}restore/").status_code == 302
    assert doomed.save(as_carol).status_code == 200


def test_whoever_annotated_in_an_archived_project_reads_their_own_work_and_nobody_elses(
    project, as_carol, carol, dave, as_dave
):
    project.add_members([dave])
    item = project.dataset.items()[0]
    page = f"/projects/{project.pk}/"
    own = f"{page}marks/{carol.pk}/{item.pk}/"
    project.archive()
    shown = as_carol.get(page).text
    assert f'href="{page}annotate/items/"' in shown and f'href="{page}annotate/"' not in shown
    for name in ("items", "own_marks", "work"):
        assert as_carol.get(reverse(f"annotations:{name}", args=[project.pk])).status_code == 200
    assert as_carol.get(f"{page}annotate/{item.pk}/")["Location"] == own
    reading = as_carol.get(own).text
    assert "You are reading your own marks: the project is archived" in reading and "Marks of <b>" not in reading
    assert as_dave.get(own).status_code == 403
    assert as_carol.get(f"{page}marks/nobody/{item.pk}/").status_code == 403
    assert as_carol.get(f"{page}annotate/").status_code == 403


def test_no_verb_changes_an_archived_project(project, alice, bob):
    rules, lexicon = (project.resources()[place] for place in (0, -1))
    rule = rules.rules_with_keys().first().key
    label = project.entity_ontology.items().first()
    project.archive()
    dataset = project.dataset
    for write in (
        lambda: project.add_members([bob]),
        lambda: project.edit(name="New"),
        lambda: project.take_set_away(ConstraintSet, "entity", by=alice),
        lambda: dataset.remove(dataset.items(), by=alice),
        lambda: dataset.items()[0].edit(external_id="new", extra_fields={}),
        lambda: project.match_preannotations(by=alice),
        lambda: dataset.edit(name="New"),
        lambda: project.entity_ontology.edit(name="New"),
        lambda: label.rename("New", by=alice),
        lambda: project.entity_ontology.undo(by=alice),
        lambda: lexicon.edit(name="New"),
        lambda: rules.change_rule(rule, can_contain=[], by=alice),
        project.archive,
    ):
        with pytest.raises(Refused, match="is archived"):
            write()


def test_archived_projects_stand_apart(project, as_alice, as_carol):
    factories.project(by=as_alice.user, name="Pumps", annotators=[as_carol.user])
    relation = project.relation_ontology.copied_from
    assert (
        b"Doomed project"
        in as_alice.get(f"/projects/use/?constraints={project.constraint_sets()[0].copied_from_id}").content
    )
    project.archive()
    for client in (as_alice, as_carol):
        at_work, archived = (client.get(f"/projects/{query}").context["projects"] for query in ("", "?archived=1"))
        assert [[each.name for each in shown] for shown in (at_work, archived)] == [["Pumps"], ["Doomed project"]]
        assert b"Doomed project" not in client.get("/").content
        assert "Doomed project" in found(client, "doomed")
    assert b"Doomed project" not in as_alice.get(f"/projects/use/?ontology={relation.pk}").content
    assert (
        b"Doomed project"
        not in as_alice.get(f"/projects/use/?constraints={project.constraint_sets()[0].copied_from_id}").content
    )


# --- The bin -------------------------------------------------------------------------------------------------------------


def test_deleting_takes_the_name_and_says_what_goes(project, as_alice):
    address = f"/projects/{project.pk}/delete/"
    assert b"2 items" in as_alice.get(address).content
    assert as_alice.post(address, {"name": "doomed project"}).status_code == 422
    assert Project.objects.filter(pk=project.pk).exists()
    assert as_alice.post(address, {"name": "Doomed project"})["HX-Redirect"] == "/projects/"
    shown = as_alice.get("/projects/bin/").text
    assert "Doomed project" in shown and "30 days" in shown


def test_from_the_bin_everything_comes_back_as_it_was(project, as_alice, as_bob, as_carol, as_sam):
    purged()  # what else the worker does between its jobs
    before = faults.rows()
    project.put_into_bin()
    restore = f"/projects/bin/{project.pk}/restore/"
    for client in (as_bob, as_carol):
        assert client.post(restore).status_code == 404
        assert b"Doomed project" not in client.get("/projects/bin/").content
    assert b"Doomed project" in as_sam.get("/projects/bin/").content
    assert not purged()
    assert as_alice.post(restore)["Location"] == f"/projects/{project.pk}/"
    assert faults.rows() == before
    assert as_alice.post(restore).status_code == 404
    project.refresh_from_db()
    project.archive()
    project.put_into_bin()
    project.take_out_of_bin()
    assert Project.objects.get().archived_at


def test_what_was_taken_out_of_the_bin_is_not_deleted_for_good(project, as_alice, monkeypatch):
    """By whoever chose it while it was there."""
    project.put_into_bin()
    Project._base_manager.update(deleted_at=timezone.now() - BIN)
    erase_from_bin = Project.erase_from_bin

    def too_late(chosen, **options):
        Project._base_manager.get().take_out_of_bin()
        erase_from_bin(chosen, **options)

    monkeypatch.setattr(Project, "erase_from_bin", too_late)
    assert empty_bin(1)
    assert Project.objects.get() == project
    project.put_into_bin()
    answer = as_alice.post(f"/projects/bin/{project.pk}/delete/", {"name": "Doomed project"})
    assert answer["HX-Redirect"] == "/projects/"
    assert "“Doomed project” is no longer in the bin." in as_alice.get("/projects/").text


def test_the_worker_deletes_nothing_that_has_just_come_into_the_bin(project):
    project.put_into_bin()
    with pytest.raises(Refused, match="no longer in the bin"):
        project.erase_from_bin(deleted_until=timezone.now() - BIN)


@pytest.mark.parametrize("verb", ["archive", "restore"])
def test_who_was_too_late_is_told_on_the_list(project, as_alice, verb, monkeypatch):
    locked = Project.locked_as_it_is

    def too_late(chosen):
        Project.objects.update(deleted_at=timezone.now())
        return locked(chosen)

    monkeypatch.setattr(Project, "locked_as_it_is", too_late)
    assert as_alice.post(f"/projects/{project.pk}/{verb}/")["HX-Redirect"] == "/projects/"
    assert "was deleted meanwhile" in as_alice.get("/projects/").text


def test_what_is_in_the_bin_is_nowhere_else(doomed, project, as_alice, as_carol, as_sam, capfdbinary):
    label = doomed.entities.items().get(name="PhysicalObject")
    dataset, ontology = project.dataset, project.entity_ontology
    upload = factories.upload("[]", by=as_alice.user, options=doomed.options, dataset=dataset, name="Late.json")
    waiting = [
        start_job(kind, title=kind, by=as_alice.user, target=target)
        for kind, target in [
            ("bundle", {"project": project.pk}),
            ("match_preannotations", {"project": project.pk}),
            ("duplicate_project", {"project": project.pk, "name": "New", "people": True, "contents": "given"}),
            ("duplicate", {"model": "datasets.Dataset", "pk": dataset.pk, "name": "New"}),
            ("store_upload", {"upload": upload.pk}),
        ]
    ]
    done = start_job("bundle", title="bundle", by=as_alice.user, target={"project": project.pk})
    Job.objects.filter(pk=done.pk).update(state=JobState.DONE)
    assert label.usage([project.pk]).projects and as_alice.get(f"/jobs/{done.pk}/").status_code == 200
    project.put_into_bin()
    assert not label.usage([project.pk]).projects
    assert as_alice.get(f"/jobs/{done.pk}/").status_code == 404
    assert doomed.save(as_carol).status_code == 404
    for client in (as_alice, as_carol, as_sam):
        assert "Doomed project" not in found(client, "doomed")
        for address in ("/", "/projects/", "/projects/?archived=1", "/admin/projects/project/"):
            content = client.get(address, follow=True).content
            assert b"Doomed project" not in content and b"Late.json" not in content
    for pages, thing in (("datasets", dataset), ("ontologies", ontology)):
        assert as_sam.get(f"/{pages}/{thing.pk}/").status_code == 404
    for model in (Item, Annotation, Entity, Membership, Assignment):
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        shown = as_sam.get(f"{address}?q=").context["cl"]
        assert model not in (Membership, Assignment) or shown.result_count == 0
    with pytest.raises(SystemExit):
        call_command("export", "project", str(project.pk), stdout=io.StringIO())
    assert b"no " in capfdbinary.readouterr().err
    while job := jobs.claim():
        jobs.run(job)
    for job in waiting:
        job.refresh_from_db()
        assert job.state == JobState.FAILED and "deleted" in json.dumps(job.errors), job
    assert uses_of(as_alice, doomed.dataset) == 0


def uses_of(client, dataset):
    """In how many projects the list says that a blueprint is used."""
    return next(each.uses for each in client.get("/datasets/").context["page"].object_list if each.pk == dataset.pk)


def test_after_thirty_days_the_worker_deletes_it(doomed, project):
    purged()  # what else the worker does between its jobs
    project.put_into_bin()
    before = rows_left()
    Project._base_manager.update(deleted_at=timezone.now() - BIN + timedelta(minutes=1))
    assert purged() == 0 and rows_left() == before
    Project._base_manager.update(deleted_at=timezone.now() - BIN)
    assert purged() > 0
    assert not Project._base_manager.exists() and not Dataset._base_manager.exclude(project=None).exists()
    assert doomed.dataset.items().count() == 3 and not faults.orphans()


def test_it_can_be_deleted_for_good_at_once(project, as_alice):
    project.put_into_bin()
    address = f"/projects/bin/{project.pk}/delete/"
    assert b"cannot be undone" in as_alice.get(address).content
    assert as_alice.post(address, {"name": "Doomed"}).status_code == 422
    assert as_alice.post(address, {"name": "Doomed project"})["HX-Redirect"] == "/projects/bin/"
    purged()
    assert not Project._base_manager.exists() and not Membership.objects.exists() and not faults.orphans()


# --- Duplicates ----------------------------------------------------------------------------------------------------------


def marks(project):
    """Everybody's marks, by what does not depend on keys."""
    here = {"annotation__item__dataset__project": project, "annotation__item__removed_at": None}
    place = ("annotation__item__position", "annotation__annotator__username", "uid", "label__uid", "status", "origin")
    return {
        model: sorted(model.objects.filter(**here).values_list(*place, *more), key=str)
        for model, more in ((Entity, ("start", "end")), (Relation, ("source__uid", "target__uid")))
    }


def test_a_duplicate_of_everything_has_everything(doomed, project, alice, carol):
    label = project.entity_ontology.items().first()
    Rejection.objects.update(what=f"0-0:{label.pk}")
    before = faults.rows()
    copy = project.duplicate(name="Again", by=alice, people=True, contents=Contents.EVERYBODY)
    assert marks(copy) == marks(project) and all(marks(copy).values())
    assert dict(copy.membership_set.values_list("user__username", "role")) == {"alice": "manager", "carol": "annotator"}
    assert [i.original for i in copy.all_items()] == [i.original for i in project.all_items()]
    assert [copy.task, copy.annotators_per_item, copy.guidelines] == [project.task, 1, project.guidelines]
    own, theirs = ({each.kind: each for each in p.resources()} for p in (copy, project))
    assert own.keys() == theirs.keys() and not {*own.values()} & {*theirs.values()}
    assert copy.dataset.copied_from == project.dataset.copied_from == doomed.dataset
    for model in (Annotation, Assignment):
        kept = {"item__dataset__project": copy} | ({"annotator": carol} if model is Annotation else {})
        assert model.objects.filter(**kept).count() == 2
    rejected = Rejection.objects.get(annotation__item__dataset__project=copy)
    assert rejected.what == f"0-0:{copy.entity_ontology.items().get(uid=label.uid).pk}"
    after = faults.rows()
    assert all(set(rows) <= set(after[name]) for name, rows in before.items())  # the source is as it was


@pytest.mark.parametrize(
    ("contents", "items", "annotators"), [("nothing", 0, set()), ("items", 2, set()), ("given", 2, {None})]
)
def test_a_duplicate_takes_along_what_is_wished(contents, items, annotators, project, as_bob):
    project.add_members([as_bob.user], "manager")
    project.archive()
    wishes = {"name": "Again", "contents": contents}
    response = as_bob.post(f"/projects/{project.pk}/duplicate/", wishes)
    copy = Project.objects.get(name="Again")
    assert response["HX-Redirect"] == f"/projects/{copy.pk}/" and not copy.archived_at
    assert dict(copy.membership_set.values_list("user__username", "role")) == {"bob": "manager"}
    assert copy.dataset.item_count == copy.dataset.items().count() == items
    given = Entity.objects.filter(annotation__item__dataset__project=copy, origin="given")
    assert set(given.values_list("annotation__annotator", flat=True)) == annotators
    assert not Annotation.objects.filter(item__dataset__project=copy, annotator__isnull=False).exists()


def test_a_large_duplicate_is_a_job_that_asks_for_the_right_again(project, as_alice, bob, settings):
    settings.JOB_ROWS = 1
    project.add_members([bob], "manager")
    wishes = {"name": "Again", "people": "on", "contents": "everybody"}
    for name in ("Again", "Once more"):
        response = as_alice.post(f"/projects/{project.pk}/duplicate/", wishes | {"name": name})
        assert response["HX-Redirect"].startswith("/jobs/")
    jobs.run(jobs.claim(kind="duplicate_project"))
    assert Project.objects.filter(name="Again").exists()
    project.remove_member(project.membership_set.get(user=as_alice.user))
    jobs.run(jobs.claim(kind="duplicate_project"))
    assert not Project.objects.filter(name="Once more").exists()


def test_who_loses_the_right_a_moment_before_duplicates_nothing(project, alice, monkeypatch):
    locked = Project.locked_as_it_is

    def too_late(source):
        source.members().filter(user=alice).update(role="observer")
        return locked(source)

    monkeypatch.setattr(Project, "locked_as_it_is", too_late)
    with pytest.raises(Refused, match="do not manage"):
        project.duplicate(name="Again", by=alice)


def test_who_may_duplicate(project, as_carol, as_bob, as_dave):
    project.add_members([as_dave.user], "manager")  # who makes no projects
    statuses = [each.get(f"/projects/{project.pk}/duplicate/").status_code for each in (as_carol, as_bob, as_dave)]
    assert statuses == [403, 404, 403]


# --- All or nothing ------------------------------------------------------------------------------------------------------


class Broken(DatabaseError):
    """What a test makes go wrong."""


def break_off():
    raise Broken


class Verb:
    """What is done with a project, and whether it is done wholly."""

    def __init__(self, name):
        self.alice = factories.manager("alice")
        self.project = Doomed(self.alice, factories.user("carol"), items=2).project
        self.do, self.is_done = getattr(self, name), getattr(self, f"{name}_is_done")
        if name == "restore":
            self.project.put_into_bin()

    def bin(self):
        self.project.put_into_bin()

    def bin_is_done(self):
        copies = [model._base_manager.filter(project=self.project.pk, deleted_at=None) for model in COPIED]
        return not Project.objects.exists() and not any(each.exists() for each in copies)

    def restore(self):
        Project._base_manager.get(pk=self.project.pk).take_out_of_bin()

    def restore_is_done(self):
        copies = [model._base_manager.filter(project=self.project.pk).exclude(deleted_at=None) for model in COPIED]
        return Project.objects.exists() and not any(each.exists() for each in copies)

    def erase(self):
        self.project.erase()

    def erase_is_done(self):
        return not Project._base_manager.exists() and not Membership.objects.exists()

    def duplicate(self):
        self.project.duplicate(name="Again", by=self.alice, people=True, contents=Contents.EVERYBODY)

    def duplicate_is_done(self):
        copy = Project.objects.get(name="Again")
        return marks(copy) == marks(self.project) and len(copy.resources()) == 4 and copy.annotators().count() == 1


@pytest.mark.parametrize("name", ["bin", "restore", "erase", "duplicate"])
@pytest.mark.django_db(transaction=True)
def test_what_is_broken_off_leaves_nothing(name):
    """At each statement in the long form, at some in the short one."""
    verb, number = Verb(name), 1
    before = faults.rows()
    while faults.rows() == before:
        try:
            with faults.watching(faults.at(number, break_off)):
                verb.do()
        except Broken:
            connection.close()
            number += amount(31 if name == "duplicate" else 11, 1)
    assert number > 1 and verb.is_done() and not faults.orphans()


@pytest.mark.parametrize("name", ["bin", "restore", "duplicate"])
@pytest.mark.django_db(transaction=True)
def test_what_is_killed_leaves_nothing(name):
    verb, number = Verb(name), 1
    before = faults.rows()
    while faults.rows() == before:
        faults.killed_at(number, verb.do)
        number += amount(41 if name == "duplicate" else 4, 1)
    assert number > 2 and verb.is_done() and not faults.orphans()
