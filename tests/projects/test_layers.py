"""What was decided about items, the gold, is nobody's work: no figure, list or download of people or of the dataset knows it."""

import re

import pytest

from datasets.models import Annotation, BrokenRule, Entity, Layer, Rejection, Relation, TextCorrection
from datasets.models.annotation import followers
from datasets.models.correction import cut_anew
from datasets.models.dataset import Contents
from datasets.models.judged import Judging, broken_here, broken_rules
from projects import all_alike
from projects.models import ItemCounts, Project
from projects.violation_report import ViolationReport, foreseen_in
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.datasets import marked
from tests.projects.test_bundle import read
from tests.projects.test_deletion import purged
from tests.resource_sets import DOCUMENTS, make
from work.models import ItemLabel, ItemWork
from work.models.item_work import refresh
from work.suggestions import decisions

pytestmark = pytest.mark.usefixtures("with_preannotations")

FORMS = [{"surface_form": "oil", "label": "PhysicalObject"}, {"surface_form": "broken", "label": "State"}]
PROJECT, DATASET = "/projects/{project}/", "/datasets/{dataset}/"
OF_PEOPLE = (
    "/",
    "/projects/",
    *(
        f"{PROJECT}{part}"
        for part in (
            "",
            "figures/",
            "people/",
            "people/{carol}/remove/",
            "delete/",
            "violations/",
            "violations/count/",
            "assignment/",
            *(
                f"items/?{query}"
                for query in ("", "state=undone", "has=marks", "label=State", "label=Driving", "sort=-marks")
            ),
            "items/{item}/",
            "marks/carol/{item}/",
            "marks/carol/{last}/",
        )
    ),
)
OF_THE_DATASET = tuple(
    f"{DATASET}{part}"
    for part in (
        "",
        "?has=entities",
        "?has=none",
        "?label={driving}",
        "?label={state}",
        "?label={activity}",
        "?sort=-entities",
        "items/{item}/",
        "items/{last}/",
        "statistics/",
        "statistics/figures/",
        "remove/?all=1",
        "download/json/",
        "download/json-lines/",
    )
)
OWN = (
    "/",
    *(
        f"{PROJECT}annotate/{part}"
        for part in (
            "{item}/",
            "{last}/",
            *(f"items/?{query}" for query in ("", "state=undone", "state=done", "has=marks", "has=suggestions")),
            *(f"items/?{query}" for query in ("label=State", "label=Driving", "sort=-marks")),
            "marks/",
            "marks/?kind=relation",
            "work/",
            "batches/",
        )
    ),
    f"{PROJECT}items/{{last}}/marks/",
)


@pytest.fixture(autouse=True)
def all_is_counted(monkeypatch):
    """However busy the machine is, pages wait until everything is counted."""
    for module in ("views", "item_views"):
        monkeypatch.setattr(f"projects.{module}.COUNT_SECONDS", 60)


@pytest.fixture
def project(alice, carol, dave):
    """Marks came with two of its three items, and others are suggested there. Carol has done the first and begun the second,
    Dave has begun the first."""
    dataset = marked.dataset(owner=alice)
    labels = {"entities": dataset.entity_ontology, "relations": dataset.relation_ontology}
    project = factories.project(by=alice, of=dataset, annotators=[carol, dave], **labels)
    project.edit(history=Project.History.EVERYBODY)
    project.put_set(make("entity_preannotations", owner=alice, document=FORMS, **labels), by=alice)
    first, second, _ = project.dataset.items()
    for item, person, name, place in (
        (first, carol, "State", 0),
        (first, carol, "PhysicalObject", 0),  # which the rules forbid
        (second, carol, "State", 1),
        (first, dave, "Activity", 0),
    ):
        label = factories.item(project.entity_ontology, name)
        Annotation.start(item, person).add_entity(uid=f"{name}-{place}", label=label, start=place, end=place)
    Annotation.objects.get(item=first, annotator=carol).finish()
    constrain(project, entities=DOCUMENTS["entity_constraints"], relations=None)
    count_anew(project)
    return Project.objects.get(pk=project.pk)


def labels(project):
    return {label.name: label for tree in project.ontology_set.all() for label in tree.items()}


def decide(project):
    """Gold on each item, with marks from everywhere, a rejection and a broken rule. No label is new to the project."""
    label = labels(project)
    for item in project.dataset.items():
        marks = [(label["DrivingObject"], 0, 1), (label["PhysicalObject"], 1, 1), (label["State"], 1, 1)]
        gold = factories.gold(item, *marks, relations=[(label["hasPart"], 0, 1), (label["hasPart"], 2, 1)])
        for name, origin in (("Activity", "given"), ("Thermostat", "preannotation"), ("State", "history")):
            place = {"start": 0, "end": 1, "uid": origin, "origin": origin}
            gold.entity_set.create(label=label[name], **place)
        suggested = {"label": label["Thermostat"], "status": "suggested", "origin": "preannotation"}
        gold.entity_set.create(uid="suggested", start=1, end=1, **suggested)
        gold.relation_set.filter(uid="goldr0").update(origin="preannotation")
        gold.relation_set.filter(uid="goldr1").update(origin="given")
        Rejection.note(gold.pk, [f"0-0:{label['State'].pk}", f"2-2:{label['PhysicalObject'].pk}"])
        if item.position == 0:
            gold.finish()
    count_anew(project)


def count_anew(project):
    items = list(project.dataset.items().values_list("pk", flat=True))
    Judging(items, all_of_them=True).store(items)
    Annotation.objects.filter(layer=Layer.OWN).update(counted=0)
    assert refresh(project.dataset.pk, 60)


def page(client, path, project, carol):
    items = list(project.dataset.items())
    named = {"project": project.pk, "dataset": project.dataset.pk, "item": items[0].pk, "last": items[2].pk}
    labels = project.entity_ontology.labels().by_fullname
    named |= {
        "driving": labels["PhysicalObject/DrivingObject"].uid,
        "state": labels["State"].uid,
        "activity": labels["Activity"].uid,
    }
    answer = client.get(path.format(**named, carol=project.membership_set.get(user=carol).pk))
    assert answer.status_code == 200, path
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return re.sub(r"\b[A-Za-z0-9]{64}\b", "", content.decode())  # the tokens of forms


@pytest.mark.parametrize("path", OF_PEOPLE)
def test_the_figures_of_people_are_without_gold(project, as_alice, carol, path):
    before = page(as_alice, path, project, carol)
    decide(project)
    assert page(as_alice, path, project, carol) == before


@pytest.mark.parametrize("path", OF_THE_DATASET)
def test_what_came_with_the_dataset_is_without_gold(project, as_alice, carol, path):
    before = page(as_alice, path, project, carol)
    decide(project)
    assert page(as_alice, path, project, carol) == before


@pytest.mark.parametrize("path", OWN)
def test_ones_own_lists_are_without_gold(project, as_carol, carol, path):
    before = page(as_carol, path, project, carol)
    decide(project)
    assert page(as_carol, path, project, carol) == before


def test_the_kept_figures_of_items_are_without_gold(project):
    def figures():
        found = [list(ItemWork.objects.order_by("item").values()), list(ItemCounts.objects.order_by("pk").values())]
        return found, sorted(ItemLabel.objects.values_list("item", "label"))

    before = figures()
    decide(project)
    assert figures() == before


def test_the_bundle_is_without_gold(project, alice):
    removed = project.dataset.items()[2]
    project.dataset.remove(project.dataset.items().filter(pk=removed.pk), by=alice)
    before = read(project)
    decide(project)
    factories.gold(removed)
    after = read(project)
    assert after["annotations.json"] == before["annotations.json"]
    assert after["dataset.json"] == before["dataset.json"]
    assert [after["manifest.json"][name] for name in ("counts", "violations", "left_out")] == [
        before["manifest.json"][name] for name in ("counts", "violations", "left_out")
    ]


def test_suggestions_are_matched_with_people_and_the_dataset_alone(project, alice):
    """Nothing is suggested in gold, and gold does not stand for a given annotation."""
    Annotation.objects.filter(item=project.dataset.items()[2]).delete()
    decide(project)
    gold = list(Entity.objects.filter(annotation__layer=Layer.GOLD).order_by("pk").values())
    revisions = list(Annotation.objects.filter(layer=Layer.GOLD).values_list("pk", "revision"))
    forms = [{"surface_form": "check", "label": "Activity"}, {"surface_form": "oil", "label": "Activity"}]
    trees = {"entities": project.entity_ontology.copied_from, "relations": project.relation_ontology.copied_from}
    project.put_set(make("entity_preannotations", owner=alice, document=forms, name="More", **trees), by=alice)
    suggested = Entity.objects.filter(origin="preannotation", status="suggested").exclude(uid="suggested")
    assert {each.annotation.layer for each in suggested.select_related("annotation")} == {Layer.OWN, Layer.GIVEN}
    came = Annotation.objects.get(item=project.dataset.items()[2], layer=Layer.GIVEN)
    assert [each.label.name for each in came.entity_set.all()] == ["Activity"]
    assert list(Entity.objects.filter(annotation__layer=Layer.GOLD).order_by("pk").values()) == gold
    assert list(Annotation.objects.filter(layer=Layer.GOLD).values_list("pk", "revision")) == revisions


def test_how_preannotations_fared_is_what_people_decided(project):
    [own] = project.preannotation_sets()
    before = decisions.figures_of(own, project.dataset)
    decide(project)
    assert before and decisions.figures_of(own, project.dataset) == before


def test_all_alike_is_done_where_people_have_marks(project, carol):
    label = labels(project)

    def foreseen(verb, word, name):
        form = {"tokens": word.split(), "label": label[name].uid}
        found = all_alike.preview(project, carol, {"verb": verb, "kind": "entity", "form": form})
        return found.places, found.items, found.forbidden

    asked = [
        ("propagate", "check", "Activity"),
        ("remove", "thermostat broken", "DrivingObject"),
        ("accept", "it", "State"),
    ]
    before = [foreseen(*each) for each in asked]
    decide(project)
    assert [foreseen(*each) for each in asked] == before
    gold = list(Entity.objects.filter(annotation__layer=Layer.GOLD).order_by("pk").values())
    form = {"tokens": ["check"], "label": label["Activity"].uid}
    batch = all_alike.apply(project, carol, {"verb": "propagate", "kind": "entity", "form": form})
    own = Annotation.objects.get(item=project.dataset.items()[2], layer=Layer.OWN)
    assert (own.revision, [each.batch for each in own.entity_set.all()]) == (batch.pk, [batch])
    assert list(Entity.objects.filter(annotation__layer=Layer.GOLD).order_by("pk").values()) == gold


def test_progress_is_of_people(project, monkeypatch):
    told = []
    monkeypatch.setattr("datasets.models.annotation.followers", [*followers, lambda *step: told.append(step)])
    gold = factories.gold(project.dataset.items()[2])
    gold.finish()
    gold.reopen()
    assert told == []
    project.dataset.remove(project.dataset.items().filter(pk=gold.item_id), by=project.created_by, unbegun=True)


def test_gold_is_judged_as_peoples_marks_are_and_told_by_no_report(project):
    before = ViolationReport(project).counts, ViolationReport(project, now=True).counts
    decide(project)
    of_gold = broken_rules(project.dataset.pk).filter(annotation__layer=Layer.GOLD)
    assert of_gold.count() >= 3
    count, places = broken_here(Annotation.gold(project.dataset.items()[2]))
    assert count == sum(row.count for row in of_gold.filter(annotation__item=project.dataset.items()[2])) and places
    assert (ViolationReport(project).counts, ViolationReport(project, now=True).counts) == before
    Entity.objects.filter(annotation__layer=Layer.GOLD).update(status="suggested")  # none counts, whatever its origin
    items = [item.pk for item in project.dataset.items()]
    Judging(items, all_of_them=True).store(items)
    assert not of_gold.exists()


def test_a_set_that_is_chosen_foresees_nothing_of_gold(project, alice):
    document = [{"domain": "PhysicalObject/DrivingObject", "excludes": ["State"]}]
    trees = {"entities": project.entity_ontology.copied_from, "relations": project.relation_ontology.copied_from}
    chosen = make("entity_constraints", owner=alice, document=document, name="More", **trees)
    before = foreseen_in(project, chosen).total
    decide(project)
    assert foreseen_in(project, chosen).total == before


@pytest.mark.parametrize("contents", [Contents.GIVEN, Contents.EVERYBODY])
def test_a_copy_with_everybodys_marks_has_the_gold_and_one_with_the_given_marks_has_none(project, alice, contents):
    decide(project)
    copy = project.duplicate(by=alice, name="Again", contents=contents)

    def gold(of):
        here = {"annotation__layer": Layer.GOLD, "annotation__item__dataset__project": of}
        place = "annotation__item__position"
        return (
            sorted(
                Entity.objects.filter(**here).values_list(
                    place, "uid", "label__uid", "start", "end", "status", "origin"
                )
            ),
            sorted(
                Relation.objects.filter(**here).values_list(place, "uid", "source__uid", "target__uid", "label__uid")
            ),
            Rejection.objects.filter(**here).count(),
        )

    def layers(of):
        found = Annotation.objects.filter(item__dataset__project=of, started_at__isnull=False)
        return sorted(found.values_list("item__position", "layer", "annotator"), key=str)

    came = [each for each in layers(project) if each[1] == Layer.GIVEN]
    if contents == Contents.EVERYBODY:
        assert gold(copy) == gold(project) and layers(copy) == layers(project)
    else:
        assert gold(copy) == ([], [], 0) and layers(copy) == came


def test_gold_goes_into_the_bin_and_back_with_its_item_and_is_deleted_with_it(project, alice, as_alice):
    decide(project)
    first = project.dataset.items().first()
    project.dataset.remove(project.dataset.items().filter(pk=first.pk), by=alice)
    assert Annotation.gold(first).entity_set.count() == 7
    project.dataset.restore(project.dataset.bin())
    assert Annotation.gold(first).entity_set.count() == 7
    Project.objects.get(pk=project.pk).erase()
    purged()
    assert not Annotation.objects.filter(layer=Layer.GOLD).exists()
    assert not BrokenRule.objects.exists() and not Rejection.objects.exists()


def test_a_correction_moves_gold_and_says_whose_marks_change(project, alice, as_alice):
    decide(project)
    item = project.dataset.items()[1]
    url = f"/datasets/{project.dataset.pk}/items/{item.pk}/"
    shown = as_alice.post(f"{url}text/", {"text": "thermostats broken", "version": 1}).text
    assert "the gold" in shown and "the dataset" in shown and "carol" in shown
    gold = Annotation.gold(item)
    TextCorrection.make(item, cut_anew(item, "the thermostat broken"), by=alice, was_version=1)
    spans = gold.entity_set.order_by("uid").values_list("uid", "start", "end")
    assert {uid: place for uid, *place in spans}["gold1"] == [2, 2]
    assert Rejection.objects.get(annotation=gold, what__endswith=f":{labels(project)['State'].pk}").what[:4] == "1-1:"
    assert Annotation.gold(item).revision == gold.revision + 1
