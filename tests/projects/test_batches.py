"""Batches whatever else is done: their undo leaves everything as it was, and they touch nothing that is not theirs."""

import random
import threading
import uuid
from collections import Counter
from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service.inputs import Refused
from datasets.models import MARKS, Annotation, Dataset, Entity, Rejection, Relation
from ontologies.models import OntologyItem
from projects import all_alike
from projects.models import Project
from tests import factories
from tests.resource_sets import broken_places, make
from tests.soak import amount
from work.models import Batch, BatchChange
from work.models import batch as batches

TEXT = "pump oil\noil pump oil\npump\nthe oil\noil oil pump\npump oil pump\n"
WORDS = ["pump", "oil", "pump oil"]
LABELS = ["PhysicalObject", "Activity", "State"]
number = st.integers(0, 10**6)
STATUS = Entity.Status


@pytest.fixture
def project(alice, carol, dave, monkeypatch):
    monkeypatch.setattr(batches, "ITEMS_AT_ONCE", 2)
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT)
    rules(project, alice)
    return project


def rules(project, by):
    for kind, document in (
        ("entity", [{"domain": "State", "excludes": ["PhysicalObject"]}]),
        ("relation", [{"relation": "hasPart", "domain": "PhysicalObject", "range": ["State", "PhysicalObject"]}]),
    ):
        ontologies = {
            "entities": project.entity_ontology.copied_from,
            "relations": project.relation_ontology.copied_from,
        }
        project.use(make(f"{kind}_constraints", owner=by, document=document, **ontologies), by=by)


class Work:
    """What carol and dave can do, at random places."""

    def __init__(self, project, people, draw):
        self.project, self.people, self.draw = project, people, draw
        self.labels = {label.name: label for label in project.entity_ontology.items()}
        self.has_part = project.relation_ontology.items().get(name="hasPart")
        self.items = list(project.dataset.items())
        self.count = 0

    def choose(self, things):
        things = list(things)
        return things[self.draw(number) % len(things)] if things else None

    def suggest(self):
        """Marks that came with the dataset."""
        item = self.choose(self.items)
        annotation = factories.annotation(item)
        entities = []
        for start in range(min(2, len(item.tokens))):
            label = self.labels[self.choose(LABELS)]
            if not annotation.entity_set.filter(start=start, end=start, label=label):
                entities.append(
                    annotation.entity_set.create(
                        uid=f"g{start}{label.pk}",
                        label=label,
                        start=start,
                        end=start,
                        status="suggested",
                        origin="given",
                    )
                )
        if len(entities) == 2:
            source, target = entities
            annotation.relation_set.create(
                uid=f"r{source.pk}",
                label=self.has_part,
                source=source,
                target=target,
                status="suggested",
                origin="given",
            )

    def decide(self):
        """Something that a person does in an item."""
        with suppress(Refused), transaction.atomic():
            annotation = Annotation.start(self.choose(self.items), self.choose(self.people))
            mark = self.choose(annotation.entity_set.exclude(status="rejected"))
            relation = self.choose(annotation.relation_set.exclude(status="rejected"))
            do = self.draw(number) % 9
            self.count += 1
            label = self.labels[self.choose(LABELS)]
            if do == 0:
                start = self.draw(number) % len(annotation.item.tokens)
                annotation.add_entity(uid=f"p{self.count}", label=label, start=start, end=start)
            elif do == 1:
                annotation.finish()
            elif do == 2:
                annotation.reopen()
            elif do == 3 and relation:
                self.choose([relation.remove, relation.accept])()
            elif mark and do == 4:
                mark.relabel(label)
            elif mark and do == 5:
                mark.remove()
            elif mark and do == 6:
                mark.resize(0, self.draw(number) % len(annotation.item.tokens))
            elif mark and do == 7:
                mark.accept()
            elif do == 8 and (target := self.choose(annotation.entity_set.exclude(pk=mark and mark.pk))) and mark:
                annotation.add_relation(uid=f"q{self.count}", label=self.has_part, source=mark.uid, target=target.uid)

    def form(self):
        return {"tokens": self.choose(WORDS).split(), "label": self.labels[self.choose(LABELS)].uid}

    def batch(self, person):
        values = {"verb": self.choose(Batch.Verb.values), "kind": "entity", "form": self.form()}
        if self.draw(number) % 2:
            ends = {"source": self.form(), "target": self.form()}
            offset = len(ends["source"]["tokens"])
            values |= {"kind": "relation", "form": {**ends, "label": self.has_part.uid, "offset": offset}}
        values["where"] = self.choose(["label", "any"])
        places = all_alike.preview(self.project, person, values).page
        if places and self.draw(number) % 2:
            values["unticked"] = [self.choose(places).key]
        return all_alike.apply(self.project, person, values)


def rows():
    """Everything that people see or that decides what is suggested, without keys, times and revisions."""
    annotation = ("annotation__item", "annotation__annotator")
    entities = Entity.objects.values_list(
        *annotation, "start", "end", "label", "status", "origin", "batch", "annotation__done_at"
    )
    relations = Relation.objects.values_list(
        *annotation, "source__uid", "target__uid", "label", "status", "origin", "batch", "annotation__done_at"
    )
    annotations = Annotation.objects.values_list("item", "annotator", "started_at", "done_at")
    rejections = Rejection.objects.values_list(*annotation, "what")
    return Counter((*entities, *relations, *annotations, *rejections))


def as_left():
    """The marks that stay as they are: of each its row, by its key."""
    return {model: {row["id"]: row for row in model.objects.values()} for model in (Entity, Relation)}


@settings(
    max_examples=amount(6, 400),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_a_batch_and_its_undo(project, carol, dave, data):
    with transaction.atomic():
        work = Work(project, [carol, dave], data.draw)
        for _ in range(data.draw(st.integers(0, 3))):
            work.suggest()
        for _ in range(data.draw(st.integers(0, 6))):
            work.decide()
        for _ in range(data.draw(st.integers(0, 2))):
            work.batch(carol)
        before, broken = rows(), len(broken_places(project))
        batch = work.batch(carol)
        after = rows()
        check_touched(before, after, carol)
        assert len(broken_places(project)) == broken
        if data.draw(st.booleans()):
            batch.start_undo()
            assert rows() == before
        else:
            for _ in range(data.draw(st.integers(1, 5))):
                data.draw(st.sampled_from([work.decide, work.decide, work.decide, lambda: work.batch(carol)]))()
            check_brought_back(batch) if batch.verb == "remove" else check_undo(batch)
            assert len(broken_places(project)) == broken
            check_unbegun()
        transaction.set_rollback(True)


def check_touched(before, after, person):
    """Only the person's annotations that are not done have changed, and none of them was begun."""
    for row in (before - after) + (after - before):
        assert row[1] == person.pk
        if len(row) == 9:
            assert row[-1] is None
        elif len(row) == 4:
            assert row[2:] == (None, None)


def check_undo(batch):
    """The marks that the batch made and that nobody changed or related are gone; those about which it decided are suggested."""
    before, told = as_left(), batch.to_undo()
    open_annotations = set(Annotation.objects.filter(done_at=None).values_list("pk", flat=True))
    unbegun = set(Annotation.objects.filter(started_at=None, annotator__isnull=False).values_list("pk", flat=True))
    batch.start_undo()
    after = as_left()

    def is_left(row):
        is_untouched = row["batch_id"] == batch.pk and row["updated_at"] == batch.created_at
        return is_untouched and row["annotation_id"] in open_annotations

    undone_relations = {pk for pk, row in before[Relation].items() if is_left(row)}
    related = {
        end
        for pk, row in before[Relation].items()
        if row["status"] == "accepted" and pk not in undone_relations
        for end in (row["source_id"], row["target_id"])
    }
    of_kind = before[Entity if batch.kind == "entity" else Relation].values()
    kept = batch.made - sum(row["batch_id"] == batch.pk for row in of_kind)  # what was removed
    for model in (Entity, Relation):
        for pk, row in before[model].items():
            now = after[model].get(pk)
            if row["annotation_id"] in unbegun and now is None:
                continue  # it went as a whole
            if not is_left(row):
                if model is Relation and not {row["source_id"], row["target_id"]} <= after[Entity].keys():
                    assert row["status"] != "accepted"
                else:
                    assert now == row
            elif model is Entity and pk in related:
                assert now == row
            elif row["origin"] == "propagation" and batch.verb != "reject":
                assert now is None
            elif model is Entity or batch.verb != "reject":
                assert (now["status"], now["batch_id"]) == ("suggested", None)
            kept += now is not None and now["batch_id"] == batch.pk and model.kind == batch.kind
    assert kept == sum(batch_again(batch).kept.values()) == told.changed + told.done


def check_brought_back(batch):
    """What the batch removed is there again as it was, unless the item is done, or something since then is in its place or in its
    way. All else is as it was."""
    before, told = as_left(), batch.to_undo()
    open_annotations = set(Annotation.objects.filter(done_at=None).values_list("pk", flat=True))
    removed = {
        model: {row["mark"]: as_mark(row, model) for row in batch.changes.filter(kind=kind).values()}
        for kind, model in MARKS.items()
    }
    batch.start_undo()
    after = as_left()
    back = {model: after[model].keys() - before[model].keys() for model in before}
    for model in (Entity, Relation):
        assert back[model] <= removed[model].keys()
        for pk in back[model]:
            assert removed[model][pk] == after[model][pk]
            assert after[model][pk]["annotation_id"] in open_annotations
        assert all(row == after[model].get(pk) for pk, row in before[model].items())
    excluding = {label.pk for label in OntologyItem.objects.filter(name__in=["State", "PhysicalObject"])}
    for pk in removed[Entity].keys() - back[Entity]:
        row = removed[Entity][pk]
        others = [each for each in after[Entity].values() if each["annotation_id"] == row["annotation_id"]]
        assert row["annotation_id"] not in open_annotations or any(
            each["uid"] == row["uid"]
            or (
                each["start"] <= row["end"]
                and each["end"] >= row["start"]
                and {each["label_id"], row["label_id"]} <= excluding
            )
            or (each["start"], each["end"], each["label_id"]) == (row["start"], row["end"], row["label_id"])
            for each in others
        )
    kept = batch_again(batch).kept
    assert sum(kept.values()) == len(removed[MARKS[batch.kind]]) - len(back[MARKS[batch.kind]])
    assert kept["done"] == told.done


def as_mark(change, model):
    row = {**change, "id": change["mark"], "batch_id": change["its_batch"]}
    return {field.attname: row[field.attname] for field in model._meta.concrete_fields}


def check_unbegun():
    """A batch has left or removed something there."""
    for annotation in Annotation.objects.filter(started_at=None, annotator__isnull=False):
        marks = (*annotation.entity_set.all(), *annotation.relation_set.all())
        is_cleared = BatchChange.objects.filter(annotation=annotation, batch__verb="remove").exists()
        assert is_cleared or any(mark.batch_id for mark in marks)


def batch_again(batch):
    return Batch.objects.get(pk=batch.pk)


# --- All at once -------------------------------------------------------------------------------------------------------


class Person(threading.Thread):
    """Propagates, decides about suggestions, undoes, marks and finishes, as the workspace asks for it."""

    def __init__(self, project, user, seed, actions):
        super().__init__()
        self.project, self.user, self.actions, self.random = project, user, actions, random.Random(seed)
        self.client = Client()
        self.client.force_login(user)
        self.statuses, self.errors, self.made = Counter(), [], 0

    def run(self):
        try:
            self.labels = {label.name: label.uid for label in self.project.entity_ontology.items()}
            self.items = list(self.project.items_for(self.user).values_list("pk", flat=True))
            for _ in range(self.actions):
                self.random.choice([self.apply, self.apply, self.undo, self.mark, self.mark, self.mark, self.finish])()
        except Exception as error:
            self.errors.append(error)
        finally:
            connection.close()

    def post(self, path, body):
        url = f"/projects/{self.project.pk}/{path}"
        response = self.client.post(url, body, content_type="application/json")
        self.statuses[response.status_code] += 1
        return response

    def apply(self):
        form = {"tokens": self.random.choice(WORDS).split(), "label": self.labels[self.random.choice(LABELS)]}
        verb = self.random.choice(Batch.Verb.values)
        self.post("alike/apply/", {"verb": verb, "kind": "entity", "form": form})

    def undo(self):
        batch = Batch.objects.filter(person=self.user, undone_at=None).order_by("?").first()
        if batch:
            self.post(f"batches/{batch.pk}/undo/", {})

    def mark(self):
        """With a label that no batch uses."""
        body = {"uid": uuid.uuid4().hex, "label": self.labels["Replace"], "start": 0, "end": 0}
        item = self.random.choice(self.items)
        answer = self.post(f"items/{item}/entities/add/", body)
        self.made += answer.status_code == 200 and answer.json()["entity"]["uid"] == body["uid"]

    def finish(self):
        self.post(f"items/{self.random.choice(self.items)}/done/", {"done": self.random.random() < 0.5})


def check_counts():
    """Every mark of a batch is there, was removed by another and can come back, or was lost to one that was undone too late."""
    missing = lost = 0
    for batch in Batch.objects.all():
        left = sum(batch.kept.values()) if batch.undone_at else batch.made
        if batch.verb == "remove":
            assert batch.changes.filter(kind="entity").count() == (0 if batch.undone_at else batch.made)
            lost += left * bool(batch.undone_at)
        else:
            removed = BatchChange.objects.filter(its_batch=batch.pk, batch__verb="remove", kind="entity")
            there = Entity.objects.filter(batch=batch).count() + removed.count()
            assert there <= left
            missing += left - there
    assert missing <= lost


@pytest.mark.django_db(transaction=True)
def test_eight_people_at_once():
    alice = factories.manager("alice")
    people = [factories.user(f"person{n}") for n in range(8)]
    project = factories.project(by=alice, annotators=people, text=TEXT * 10)
    rules(project, alice)
    label = project.entity_ontology.items().get(name="PhysicalObject")
    for item in project.dataset.items()[::3]:
        given_one = factories.annotation(item)
        given_one.entity_set.create(uid="g", label=label, start=0, end=0, status="suggested", origin="given")
    threads = [Person(Project.objects.get(), user, seed, amount(15, 300)) for seed, user in enumerate(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [error for thread in threads for error in thread.errors]
    answers = sum((thread.statuses for thread in threads), Counter())
    assert set(answers) <= {200, 422} and answers[200] > answers[422]
    assert broken_places(project) == []
    check_counts()
    for thread in threads:
        own = Entity.objects.filter(annotation__annotator=thread.user, origin="person")
        assert own.count() == thread.made
    for annotation in Annotation.objects.filter(started_at=None):
        is_cleared = BatchChange.objects.filter(annotation=annotation, batch__verb="remove").exists()
        assert is_cleared or annotation.entity_set.filter(batch__isnull=False).exists()
    assert Dataset.objects.count() == 2
