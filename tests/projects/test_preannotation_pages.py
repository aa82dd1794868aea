"""The preannotations of a project on its pages: chosen, matched again, taken away, and how they fare."""

import re
from itertools import count

import pytest
from django.urls import reverse

from annotation_service import jobs
from annotation_service.models import Job
from datasets.models import Annotation, Entity
from projects.models import Project
from resources.models import PreannotationSet
from tests import factories
from tests.factories import item
from tests.resource_sets import make

TEXT = "check engine oil pump\nOil pump broken\nreplace the oil pump of the engine\n"
FORMS = [
    {"surface_form": "oil pump", "label": "PhysicalObject"},
    {"surface_form": "engine", "label": "State"},
    {"surface_form": "nowhere", "label": "State"},
]


pytestmark = pytest.mark.usefixtures("with_preannotations")


@pytest.fixture
def project(alice, carol, labels):
    return factories.project(by=alice, text=TEXT, entities=labels["entities"], relations=False, annotators=[carol])


@pytest.fixture
def lexicon(alice, labels):
    return make("entity_preannotations", owner=alice, name="Lexicon", document=FORMS, **labels)


def url(name, project, *args):
    return reverse(f"projects:{name}", args=[project.pk, *args])


def text_of(answer):
    return " ".join(re.sub(r"<[^>]*>", " ", answer.text).split())


def run_jobs():
    while job := jobs.claim():
        jobs.run(job)


def suggested(project):
    marks = Entity.objects.filter(annotation__item__dataset__project=project, origin="preannotation")
    return marks.filter(annotation__annotator=None).count()


def test_they_are_chosen_later_replaced_and_taken_away(as_alice, project, lexicon, labels, alice):
    assert "Choose entity preannotations…" in text_of(as_alice.get(url("page", project)))
    assert "Choose relation" not in text_of(as_alice.get(url("page", project)))
    place = url("preannotations", project, "entity")
    assert "Lexicon · about “entity labels” · alice" in text_of(as_alice.get(place))
    answer = as_alice.post(place, {"preannotations": lexicon.pk})
    assert answer["HX-Redirect"] == url("page", project) and suggested(project) == 4
    shown = text_of(as_alice.get(url("page", project)))
    assert (
        "“Lexicon” suggests marks in the project now." in shown and "Lexicon entity preannotations 3 preannot" in shown
    )
    assert "Replace “Lexicon”" in text_of(as_alice.get(place))
    assert "suggest nothing any more" in text_of(as_alice.get(url("remove_preannotations", project, "entity")))
    as_alice.post(url("remove_preannotations", project, "entity"))
    assert suggested(project) == 0 and PreannotationSet.objects.get() == lexicon
    assert as_alice.get(url("remove_preannotations", project, "entity")).status_code == 404
    assert as_alice.get(url("preannotations", project, "rich")).status_code == 404


def test_while_others_change_the_labels_nothing_is_taken_away(as_alice, project, lexicon, alice, monkeypatch):
    project.put_set(lexicon, by=alice)
    changes = count()
    monkeypatch.setattr(Project, "_basis", lambda project: next(changes))
    for name, *args in (("match_preannotations",), ("remove_preannotations", "entity")):
        assert "change at the moment" in as_alice.post(url(name, project, *args))["HX-Trigger"]
    assert suggested(project) == 4 and project.preannotation_sets().exists()


def test_what_does_not_go_with_the_labels_is_said_before_and_after(as_alice, alice, labels, project, lexicon):
    labels["entities"].add_item("Gear", by=alice)
    lexicon.add_row({"surface_form": "gear", "label": item(labels["entities"], "Gear").uid}, by=alice)
    place = url("preannotations", project, "entity")
    for answer in (
        as_alice.get(place, {"preannotations": lexicon.pk}),
        as_alice.post(place, {"preannotations": lexicon.pk}),
    ):
        assert answer.status_code == 422 and "Gear" in text_of(answer)
    assert suggested(project) == 0


def test_they_are_chosen_with_a_new_project(as_alice, labels, lexicon, alice, settings):
    dataset = factories.dataset(owner=alice, text=TEXT)
    form = as_alice.get(reverse("projects:create"), {"entity_preannotations": lexicon.pk})
    assert re.search(rf'<option value="{lexicon.pk}" selected>', form.text)
    values = {"name": "New", "dataset": dataset.pk, "entity_ontology": labels["entities"].pk}
    as_alice.post(reverse("projects:create"), values | {"entity_preannotations": lexicon.pk})
    assert suggested(Project.objects.get()) == 4
    settings.JOB_ROWS = 1
    as_alice.post(reverse("projects:create"), values | {"entity_preannotations": lexicon.pk})
    run_jobs()
    assert suggested(Project.objects.order_by("pk").last()) == 4
    settings.PREANNOTATION_RESOURCES = False
    assert "preannotations" not in as_alice.get(reverse("projects:create")).text


def test_changed_rows_are_matched_again(as_alice, alice, project, lexicon, settings):
    project.put_set(lexicon, by=alice)
    own = project.preannotation_sets().get()
    assert "Match again" not in text_of(as_alice.get(own.get_absolute_url()))
    own.remove_rows(own.rows().filter(surface_form="engine"), by=alice)
    assert "Match again" in text_of(as_alice.get(own.get_absolute_url()))
    assert "changed since they were matched" in text_of(as_alice.get(url("page", project)))
    figures = as_alice.get(url("preannotation_figures", project, "entity"), headers={"HX-Target": "rows"})
    assert "Match again" in text_of(figures)
    for asked_on in (own.get_absolute_url(), url("page", project)):
        headers = {"HX-Current-URL": f"http://testserver{asked_on}"}
        assert as_alice.post(url("match_preannotations", project), headers=headers)["HX-Redirect"] == asked_on
    assert suggested(project) == 2
    as_alice.post(reverse("preannotations:edit", args=[own.pk]), {"name": "Lexicon", "ignore_case": "on"})
    assert "Match again" in text_of(as_alice.get(own.get_absolute_url()))
    settings.JOB_ROWS = 1
    assert as_alice.post(url("match_preannotations", project))["HX-Redirect"] == reverse(
        "job", args=[Job.objects.get().pk]
    )
    assert "Suggestions are being made" in text_of(as_alice.get(own.get_absolute_url()))
    run_jobs()
    assert suggested(project) == 3


def test_it_is_told_how_each_form_fares(as_alice, as_carol, alice, carol, project, lexicon):
    project.put_set(lexicon, by=alice)
    annotation = Annotation.start(project.dataset.items()[0], carol)
    by_label = {mark.label.name: mark for mark in annotation.entity_set.all()}
    by_label["PhysicalObject"].accept()
    by_label["State"].remove()
    place = url("preannotation_figures", project, "entity")
    assert "Counting the suggestions" in text_of(as_alice.get(place))

    def rows(**asked):
        body = as_alice.get(place, asked, headers={"HX-Target": "rows"}).text
        return [" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in body.split("<tr")[2:]]

    assert "1 row was found nowhere" in rows()[0]
    found = rows()
    assert [re.search("oil pump|engine", row)[0] for row in found[1:3]] == ["engine", "oil pump"]
    assert [re.search("oil pump|engine", row)[0] for row in rows(sort="-accepted")[1:3]] == ["oil pump", "engine"]
    assert "4 1 1 2" in found[0] and "2 – 1 1" in found[1] and "2 1 – 1" in found[2]
    assert as_carol.get(place).status_code == 403
