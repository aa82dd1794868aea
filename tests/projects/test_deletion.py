"""What is deleted is gone at once for everybody; its rows go in steps, between which others write and a worker may be killed."""

import io
import itertools
import math
import os
import signal
import threading
import time
from datetime import timedelta
from functools import partial
from unittest import mock

import pytest
from django.contrib import admin
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation_service import blueprints, jobs
from annotation_service.inputs import Refused
from annotation_service.models import JobState, start_job
from datasets.models import Annotation, Dataset, Entity, Item, Rejection, Relation, TextCorrection, Upload
from datasets.models.correction import cut_anew
from graph.counting import refresh as refresh_graph
from graph.models import Graph
from ontologies.models import Ontology, OntologyItem
from projects import all_alike
from projects.members import Invitation
from projects.models import Membership, Project
from resources.models import FORMATS, RESOURCE_SETS
from tests import factories, faults
from tests.resource_sets import make
from tests.soak import amount
from tests.threads import at_once, running
from work.models import Batch, Comment, Flag
from work.models.item_work import refresh as refresh_work


@pytest.fixture(autouse=True)
def slowly(monkeypatch, settings):
    """Nothing goes in the request, and a few rows in each step."""
    settings.PREANNOTATION_RESOURCES = True
    monkeypatch.setattr(blueprints, "purge_deleted", lambda seconds: 0)
    monkeypatch.setattr(jobs, "STEP", 0)


purge = blueprints.purge_deleted


def document(items):
    return [
        {
            "original": f"Doomed engine oil {n}",
            "tokens": ["Doomed", "engine", "oil", str(n)],
            "entities": [
                {"id": "r1", "start": 0, "end": 0, "label": "Activity/Replace"},
                {"id": "x", "start": 1, "end": 2, "label": "PhysicalObject"},
            ],
            "relations": [{"source_id": "r1", "target_id": "x", "label": "hasParticipant/hasPatient"}],
        }
        for n in range(items)
    ]


class Doomed:
    """A dataset with marks, its ontologies and resource sets; and a project of them, in which carol has begun every item."""

    def __init__(self, alice, carol, items=5):
        self.alice = alice
        self.entities = factories.ontology(owner=alice, name="Doomed labels")
        self.relations = factories.ontology(owner=alice, kind="relation", name="Doomed relations")
        self.entities.add_item("Doomed label", by=alice)
        labels = {"entities": self.entities, "relations": self.relations}
        keys = {"entity_ontology": self.entities.pk, "relation_ontology": self.relations.pk}
        self.options = {"kind": "preannotated_relation", "format": "json", "name": "Doomed texts", **keys}
        self.dataset = factories.upload(document(items), by=alice, options=self.options, name="Doomed.json").store()
        self.sets = [make(format, owner=alice, name="Doomed set", **labels) for format in FORMATS]
        options = {"resources": self.sets, "annotators": [carol], "annotators_per_item": 1}
        self.project = factories.project(by=alice, name="Doomed project", of=self.dataset, **options, **labels)
        self.copies = [self.project.dataset, *self.project.ontology_set.all(), *self.project.resources()]
        self.item, self.label = self.project.dataset.items().first(), self.project.entity_ontology.items().first()
        for item in self.project.dataset.items():
            annotation = Annotation.start(item, carol)
        Rejection.note(annotation.pk, ["0-0:1"])
        TextCorrection.make(item, cut_anew(item, f"{item.original} doomed"), by=alice, was_version=1)
        Flag.put(item, carol, kind="issue", why="Doomed")
        Comment.begin(item, carol, by=carol, text="Doomed?").answer("Doomed.", by=alice)
        form = {"tokens": self.item.tokens[:1], "label": self.label.uid}
        self.batch = all_alike.apply(self.project, carol, {"verb": "propagate", "kind": "entity", "form": form})
        graph = Graph.of(self.project)
        refresh_graph(graph)
        one, two, three = graph.forms.values_list("digest", flat=True)
        graph.merge(one, [two], by=alice)
        graph.keep_apart(one, three, by=alice)
        removed = self.project.dataset.items().filter(position=1)
        self.project.dataset.remove(removed, by=alice)

    def erase(self):
        for thing in (self.project, *self.sets, self.dataset, self.entities, self.relations):
            thing.erase()

    def save(self, client):
        """A mark by somebody."""
        body = {"uid": "new", "label": self.label.uid, "start": 0, "end": 0}
        url = f"/projects/{self.project.pk}/items/{self.item.pk}/entities/add/"
        return client.post(url, body, content_type="application/json")


@pytest.fixture
def doomed(alice, carol):
    return Doomed(alice, carol)


def purged():
    """Let the worker go on until nothing is left; returns how many steps it took."""
    steps = 0
    while any(work(0) for work in jobs.PURGES):
        steps += 1
    return steps


def rows_left():
    kinds = (Item, Annotation, Batch, Entity, Relation, Flag, Comment, OntologyItem, Upload, Membership)
    return {model.__name__: model._base_manager.count() for model in kinds if model._base_manager.exists()}


# --- Gone at once --------------------------------------------------------------------------------------------------------


def test_its_rows_are_there_until_the_worker_deletes_them(doomed):
    doomed.erase()
    left = rows_left()
    assert (
        left["Item"] == 10 and left["Entity"] == 30 + doomed.batch.made and not {"Upload", "Membership"} & left.keys()
    )
    assert not Project.objects.exists()
    purged()
    assert rows_left() == {} and not faults.orphans()
    assert not any(m._base_manager.exists() for m in (Dataset, Ontology, *RESOURCE_SETS))


def test_no_page_names_it(doomed, as_alice, as_carol, as_sam):
    factories.upload("[]", by=doomed.alice, options=doomed.options, dataset=doomed.dataset, name="Doomed too.json")
    pages = [reverse(name) for name in ("home", "datasets:list", "ontologies:list", "projects:list", "projects:create")]
    for page in pages:
        assert b"Doomed" in as_alice.get(page).content, page
    doomed.erase()
    for client, page in itertools.product((as_alice, as_carol, as_sam), pages):
        assert b"Doomed" not in client.get(page).content, page


def admin_pages():
    for model in admin.site._registry:
        if model._meta.app_label in faults.APPS:
            yield model, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


@pytest.fixture
def doomed_fully(doomed, dave):
    """Also what only batches, people who come and go, and counting leave behind."""
    project, carol, items = doomed.project, doomed.batch.person, doomed.project.dataset.items()
    factories.upload("[]", by=doomed.alice, options=doomed.options, dataset=doomed.dataset)
    for marks in (Entity.objects, Relation.objects):
        marks.filter(annotation__annotator=carol).update(status="accepted")
    form = {"tokens": ["Doomed"], "label": OntologyItem.objects.get(ontology__project=project, name="Replace").uid}
    all_alike.apply(project, carol, {"verb": "remove", "kind": "entity", "form": form})
    Invitation.make(project, role="annotator", by=doomed.alice)
    project.add_members([dave, erin := factories.user("erin")])
    project.change_by_hand("take", items.filter(position=2), [dave], by=doomed.alice)
    project.remove_member(project.membership_set.get(user=erin))
    refresh_work(project.dataset.pk, 10)
    return doomed


def test_the_administration_has_no_rows_of_it(doomed_fully, as_sam):
    changes = {}
    for model, address in admin_pages():
        pk = model._base_manager.order_by("-pk").values_list("pk", flat=True).first()
        changes[address] = f"{address}{pk}/change/"
        assert as_sam.get(address).context["cl"].result_count > 0, address
        assert as_sam.get(changes[address]).status_code == 200, address
    doomed_fully.erase()
    for address, change in changes.items():
        assert as_sam.get(address).context["cl"].result_count == 0, address
        assert as_sam.get(change).status_code == 302, address  # “doesn’t exist. Perhaps it was deleted?”


def commands(doomed):
    """Every command that takes the number of such a thing."""
    dataset, entities = doomed.dataset.pk, doomed.entities.pk
    yield "export", "dataset", dataset
    yield "export", "ontology", entities
    yield "export", "project", doomed.project.pk
    yield "export", "dataset", doomed.copies[0].pk
    new = ["--name=New", "--manager=alice"]
    yield "create_project", *new, f"--dataset={dataset}", f"--entity-ontology={doomed.copies[1].pk}"


def test_every_command_takes_it_for_unknown(doomed, capfdbinary):
    doomed.erase()
    for name, *arguments in commands(doomed):
        with pytest.raises(SystemExit) as caught:
            call_command(name, *map(str, arguments), stdout=io.StringIO())
        assert caught.value.code == 1, (name, arguments)
        assert b"no " in capfdbinary.readouterr().err
    call_command("check_trees")
    assert capfdbinary.readouterr().out == b"0 ontologies, 0 items: all sound\n"


def waiting_jobs(doomed):
    dataset, alice = doomed.dataset, doomed.alice
    keys = {"dataset": dataset.pk, "entity_ontology": doomed.entities.pk, "relation_ontology": doomed.relations.pk}
    words = {"name": "New", "description": "", "guidelines": "", "annotators": [], "annotators_per_item": None}
    yield "create_project", keys | words
    for thing in (dataset, doomed.entities, doomed.copies[0]):
        yield "duplicate", {"model": thing._meta.label, "pk": thing.pk, "name": "New"}
    yield "bundle", {"project": doomed.project.pk}
    for thing in (dataset, doomed.copies[0]):
        upload = factories.upload("[]", by=alice, options=doomed.options, dataset=thing)
        yield "check_upload", {"upload": upload.pk}
        yield "store_upload", {"upload": upload.pk}


def test_every_job_that_waits_for_it_is_refused(doomed):
    waiting = [start_job(kind, title=kind, by=doomed.alice, target=t) for kind, t in waiting_jobs(doomed)]
    doomed.erase()
    while job := jobs.claim():
        jobs.run(job)
    for job in waiting:
        job.refresh_from_db()
        assert job.state == JobState.FAILED and "deleted" in str(job.errors["problems"]), job
    assert not Dataset.objects.exists() and not Project.objects.exists()


def test_a_mark_that_comes_too_late_is_refused(doomed, as_carol):
    assert doomed.save(as_carol).status_code == 200
    doomed.project.erase()
    assert doomed.save(as_carol).status_code == 404
    assert Item.objects.filter(pk=doomed.item.pk).exists()


def test_whoever_has_read_it_before_changes_nothing(doomed, alice):
    doomed.erase()
    for write in (
        lambda: doomed.dataset.remove(doomed.dataset.items(), by=alice),
        lambda: doomed.copies[0].remove(doomed.dataset.items(), by=alice),
        lambda: doomed.dataset.copy_to(by=alice),
        lambda: doomed.entities.add_item("New", by=alice),
        lambda: doomed.entities.copy_to(by=alice),
        lambda: doomed.sets[0].copy_to(by=alice),
        lambda: doomed.project.add_members([alice]),
        lambda: doomed.project.edit(name="New"),
        lambda: doomed.dataset.edit(name="New"),
        doomed.dataset.erase,
        doomed.project.erase,
    ):
        with pytest.raises(Refused, match="was deleted meanwhile"):
            write()


def test_what_it_used_has_no_uses_left(doomed, alice):
    label = doomed.entities.items().get(name="PhysicalObject")
    assert label.usage([doomed.project.pk]).own and label.usage([doomed.project.pk]).projects
    assert doomed.entities.marks_by_uid()
    with pytest.raises(Refused, match="2 constraint sets, 2 preannotation sets and 1 dataset use its labels"):
        doomed.entities.erase()
    for thing in (doomed.project, *doomed.sets, doomed.dataset):
        thing.erase()
    usage = label.usage([doomed.project.pk])
    assert not usage.own and not usage.projects and not usage.elsewhere
    assert not doomed.entities.marks_by_uid()
    doomed.entities.erase()
    purged()
    assert not Ontology._base_manager.filter(pk=doomed.entities.pk).exists()


def test_an_addition_is_undone_when_the_marks_with_it_are_deleted(doomed, alice):
    doomed.project.erase()
    purged()
    added = doomed.entities.add_item("Added", by=alice)
    Entity.objects.filter(start=1).update(label=added)
    with pytest.raises(Refused, match="used by 5 marks"):
        doomed.entities.undo(by=alice)
    doomed.dataset.erase()
    with pytest.raises(Refused, match="was deleted just now"):
        doomed.entities.undo(by=alice)
    purged()
    doomed.entities.undo(by=alice)
    assert not doomed.entities.items().filter(name="Added").exists()


def test_a_project_copy_and_its_blueprint_forget_each_other(doomed, as_alice):
    doomed.dataset.erase()
    doomed.project.refresh_from_db()
    assert doomed.project.dataset.copied_from is None
    doomed.project.erase()
    assert Dataset._base_manager.filter(copied_from=None, project=None).count() == 2
    purged()
    assert not Dataset._base_manager.exists() and not faults.orphans()


# --- In steps ------------------------------------------------------------------------------------------------------------


ITEMS = amount(150, 3000)
FIRST = 32  # so many rows go in a step, whatever the time


def deleted_at_a_time(work):
    """The rows that each transaction of some work deletes."""
    sizes = [0]
    commit = connection._commit

    def count(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        sizes[-1] += context["cursor"].rowcount if sql.startswith("DELETE") else 0
        return result

    def count_anew():
        commit()
        sizes.append(0)

    with connection.execute_wrapper(count), mock.patch.object(connection, "_commit", count_anew):
        work()
    return sizes


@pytest.mark.django_db(transaction=True)
def test_others_save_between_the_steps():
    """However many rows there are, no transaction deletes many of them, and every save between two of them is stored."""
    alice, carol = factories.manager("alice"), factories.user("carol")
    kept, doomed = Doomed(alice, carol, items=3), Doomed(alice, carol, items=ITEMS)
    client = Client()
    client.force_login(carol)
    sizes = []

    def some(work):
        sizes.extend(deleted_at_a_time(work))
        assert kept.save(client).status_code == 200
        assert not faults.orphans()

    rows = sum(rows_left().values())
    some(doomed.project.erase)
    while Dataset._base_manager.exclude(deleted_at=None).exists():
        some(lambda: purge(0))
    assert max(sizes) <= FIRST and len(sizes) > rows / 2 / FIRST / 2
    assert kept.project.dataset.items().count() == 2 and doomed.dataset.items().count() == ITEMS


def test_what_uses_others_goes_before_them(doomed):
    doomed.erase()
    order = [Dataset, *reversed(RESOURCE_SETS), Ontology]
    while purge(0):
        assert not faults.orphans()
        left = [model for model in order if model._base_manager.exists()]
        assert left == order[len(order) - len(left) :]
        items = {item.pk: item.parent_id for item in OntologyItem._base_manager.all()}
        assert items.keys() >= set(items.values()) - {None}


def test_small_things_go_at_once(doomed, monkeypatch):
    monkeypatch.setattr(blueprints, "purge_deleted", lambda seconds: purge(math.inf))
    doomed.erase()
    assert rows_left() == {}


def test_a_worker_purges_between_its_jobs(doomed, monkeypatch):
    doomed.erase()
    stop = threading.Event()

    def run(job, progress):
        stop.set()
        job.finish()

    steps = []

    def step(seconds):
        steps.append(purge(seconds))
        if len(steps) == 3:
            start_job("test", title="test", by=doomed.alice, target={})
        return steps[-1]

    monkeypatch.setattr(jobs, "PURGES", [step])
    monkeypatch.setitem(jobs.KINDS, "test", jobs.JobKind(run))
    jobs.work(stop.is_set, poll=0)
    assert len(steps) == 3 and all(steps)  # the job came next, although there was more to purge
    assert purge(0)


@pytest.mark.django_db(transaction=True)
def test_steps_are_long_while_nobody_else_writes(monkeypatch):
    """Only SQLite lets writers wait for one another."""
    stop, steps = threading.Event(), []

    def step(seconds):
        steps.append(seconds)
        if steps.count(jobs.LONG_STEP) == 1 and seconds:
            at_once(lambda: factories.user("somebody"))
        elif seconds:
            stop.set()
        return 1

    monkeypatch.setattr(jobs, "QUIET", 0.05)
    monkeypatch.setattr(jobs, "PURGES", [step])
    jobs.work(stop.is_set, poll=0.01)
    lengths = [length for length, _ in itertools.groupby(steps)]
    again = [jobs.STEP, jobs.LONG_STEP] if connection.vendor == "sqlite" else []
    assert lengths == [jobs.STEP, jobs.LONG_STEP, *again]


def test_bins_are_emptied_in_steps(doomed, alice):
    purged()  # counts what was done in the items
    doomed.dataset.remove(doomed.dataset.items(), by=alice)
    assert purged() == 0
    Item.with_removed.exclude(removed_at=None).update(removed_at=timezone.now() - timedelta(days=31))
    assert purged() > 3
    assert not Item.with_removed.exclude(removed_at=None).exists() and Item.objects.count() == 4
    assert not faults.orphans()


# --- Killed --------------------------------------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_a_killed_purge_is_gone_on_with():
    """Killed at some of its statements in the short form, at each in the long one, and before and after each commit."""
    doomed = Doomed(factories.manager("alice"), factories.user("carol"), items=2)
    doomed.erase()

    def steps():
        while any(work(0) for work in jobs.PURGES):
            pass

    kills, left = 0, rows_left()
    while faults.killed_at(1 + kills * amount(7, 1), steps):
        kills += 1
        assert not faults.orphans() and not Project.objects.exists() and not Dataset.objects.exists()
        now = rows_left()
        assert sum(now.values()) <= sum(left.values())
        left = now
    assert kills > 5
    assert rows_left() == {} and not Ontology._base_manager.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_killed_is_replaced(monkeypatch):
    doomed = Doomed(factories.manager("alice"), factories.user("carol"), items=20)
    doomed.erase()
    before = sum(rows_left().values())

    def work():
        jobs.work(lambda: False, poll=0.01)

    def work_and_die():
        monkeypatch.setattr(jobs, "PURGES", [lambda seconds: purge(seconds) and faults.die()])
        work()

    assert faults.end_of(faults.start_child(work_and_die)) == -signal.SIGKILL
    assert 0 < sum(rows_left().values()) < before
    pid = faults.start_child(work)
    try:
        deadline = time.monotonic() + 60
        while rows_left() or Ontology._base_manager.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.kill(pid, signal.SIGKILL)
        faults.end_of(pid)


@pytest.mark.django_db(transaction=True)
def test_two_workers_and_people_at_work():
    """Threads on a real database: carol saves in one project while another is deleted under her hands and purged twice over."""
    alice, carol = factories.manager("alice"), factories.user("carol")
    kept, doomed = Doomed(alice, carol, items=3), Doomed(alice, carol, items=amount(30, 3000))
    answers = {kept: [], doomed: []}
    over = threading.Event()

    def save(place):
        client = Client()
        client.force_login(carol)
        while not over.is_set():
            answers[place].append(place.save(client).status_code)

    def purge_all():
        while not over.is_set() or purge(0):
            purge(0)

    with running(*(partial(save, place) for place in answers), purge_all, purge_all):
        try:
            deadline = time.monotonic() + 30
            while not all(answers.values()) and time.monotonic() < deadline:
                time.sleep(0.01)
            doomed.project.erase()
            while Dataset._base_manager.exclude(deleted_at=None).exists() and time.monotonic() < deadline + 60:
                time.sleep(0.01)
        finally:
            over.set()
    assert set(answers[kept]) == {200}
    # Once deleted, it never comes back; 422 is the request that had found the project and then missed the label.
    refused = list(itertools.dropwhile(lambda status: status == 200, answers[doomed]))
    assert set(refused) <= {404, 422}
    assert not faults.orphans() and not Item.with_removed.filter(dataset__deleted_at__isnull=False).exists()
