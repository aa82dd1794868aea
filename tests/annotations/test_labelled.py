"""How words were labelled before: the key that every mark has of its words, and the request that counts."""

import random

import pytest

from annotation_service.inputs import Refused
from datasets import cleaned
from datasets.cleaned import key_of
from datasets.models import Annotation, Entity
from ontologies.models import OntologyItem
from resources.models import PreannotationSet
from tests import factories
from tests.resource_sets import make
from tests.soak import amount
from work.suggestions import history as labelled

from .test_workspace import state_of

TEXT = "Replace the Pump\nthe pump of the PUMP\nİstanbul pump STRASSE straße\n"


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text=TEXT)


@pytest.fixture
def asked(project):
    """``asked(client, "the pump")``: the answer, with the names of labels."""

    def asked(client, text):
        url = state_of(client.get(f"/projects/{project.pk}/annotate/", follow=True))["urls"]["words"]
        answer = client.get(url, {"text": text}).json()
        names = dict(OntologyItem.objects.values_list("uid", "name"))
        return [{names[uid]: n for uid, n in answer[which].items()} for which in ("own", "given", "project")]

    return asked


def test_marks_of_the_same_words_are_counted_for_each_label(as_carol, as_alice, carol, alice, mark, asked):
    mark(carol, 1, 2, 2, "PhysicalObject")
    mark(carol, 2, 1, 1, "PhysicalObject")
    mark(carol, 2, 4, 4, "State")
    mark(carol, 2, 0, 1, "Activity")  # other words
    mark(carol, 3, 1, 1, "Activity", status="rejected")
    mark(alice, 3, 1, 1, "Thermostat")
    mark(None, 1, 2, 2, "State", status="suggested", origin="given")
    mark(None, 2, 1, 1, "State", status="suggested", origin="preannotation")
    mark(alice, 1, 2, 2, "Activity", status="suggested", origin="given")  # a copy, not yet decided
    own, given = {"PhysicalObject": 2, "State": 1}, {"State": 1}
    assert asked(as_carol, "pUMP") == [own, given, {}]
    assert asked(as_alice, "pump") == [{"Thermostat": 1}, given, {**own, "Thermostat": 1}]
    assert asked(as_carol, "the pump") == [{"Activity": 1}, {}, {}]
    for nothing in ("", "pum", " pump", "of the"):
        assert asked(as_carol, nothing) == [{}, {}, {}]


def test_annotators_see_the_counts_of_all_where_the_project_lets_them(as_carol, carol, dave, project, mark, asked):
    mark(carol, 1, 2, 2, "State")
    mark(dave, 2, 1, 1, "Activity")
    assert asked(as_carol, "pump") == [{"State": 1}, {}, {}]
    project.edit(counted="everybody")
    assert asked(as_carol, "pump") == [{"State": 1}, {}, {"State": 1, "Activity": 1}]
    with pytest.raises(Refused, match="Counts of labels: choose one of '', 'everybody'"):
        project.edit(counted="anna")


def test_case_is_folded_in_any_script(as_carol, carol, mark, asked):
    mark(carol, 3, 2, 2, "State")
    mark(carol, 3, 3, 3, "State")
    assert asked(as_carol, "Strasse")[0] == {"State": 2}


def test_marks_of_removed_items_and_of_other_projects_are_not_counted(
    as_alice, alice, carol, dave, project, mark, asked
):
    other = factories.project(by=alice, name="Other", annotators=[carol], text=TEXT)
    for item in other.dataset.items():
        annotation = Annotation.start(item, carol)
        annotation.add_entity(uid="e", label=other.entity_ontology.items()[0], start=1, end=1)
    mark(carol, 2, 1, 1, "State")
    assert asked(as_alice, "pump")[2] == {"State": 1}
    project.dataset.remove(project.dataset.items().filter(position=1), by=alice)
    assert asked(as_alice, "pump")[2] == {}


def test_of_many_marks_the_newest_of_people_and_the_oldest_given_ones_are_counted(
    as_alice, alice, carol, mark, asked, monkeypatch
):
    monkeypatch.setattr(labelled, "MARKS", 2)
    mark(None, 1, 2, 2, "State", status="suggested", origin="given")
    for annotator in (carol, alice):
        mark(annotator, 1, 2, 2, "State")
        mark(annotator, 2, 1, 1, "State")
    assert asked(as_alice, "pump") == [{"State": 2}, {"State": 1}, {"State": 2}]
    for name in ("Activity", "Thermostat"):
        mark(alice, 2, 1, 1, name)
    assert len(asked(as_alice, "pump")[2]) == 3
    monkeypatch.setattr(labelled, "LABELS", 2)
    assert len(asked(as_alice, "pump")[2]) == 2


def test_the_request_takes_few_queries_and_no_long_texts(as_carol, project, django_assert_max_num_queries):
    url = f"/projects/{project.pk}/words/"
    as_carol.get(url)
    with django_assert_max_num_queries(9):
        assert as_carol.get(url, {"text": "pump"}).status_code == 200
    assert as_carol.get(url, {"text": "x" * 500}).status_code == 200
    answer = as_carol.get(url, {"text": "x" * 501})
    assert answer.status_code == 422 and "500" in answer.json()["error"]


# --- The key -------------------------------------------------------------------------------------------------------------


def wrong_keys():
    marks = Entity.objects.select_related("annotation__item")
    return [mark for mark in marks if mark.words_key != key_of(mark.annotation.item.tokens[mark.start : mark.end + 1])]


def marked_project(alice, people, labels):
    """Of a document with marks, and with preannotations."""
    document = [
        {
            "original": line,
            "tokens": line.split(),
            "entities": [{"start": 0, "end": 1, "label": "State"}, {"start": 1, "end": 2, "label": "Activity"}],
        }
        for line in TEXT.splitlines()
    ]
    options = {"kind": "preannotated_entity", "format": "json", "name": "Marked"}
    options["entity_ontology"] = labels["entities"].pk
    dataset = factories.upload(document, by=alice, options=options).store()
    assert Entity.objects.count() == 6 and not wrong_keys()
    forms = [{"surface_form": form, "label": label} for form, label in (("pump", "State"), ("the", "Activity/Replace"))]
    preannotations = make("entity_preannotations", owner=alice, document=forms, **labels)
    type(preannotations)._default_manager.filter(pk=preannotations.pk).update(ignore_case=True)
    preannotations.refresh_from_db()
    return factories.project(by=alice, of=dataset, annotators=people, resources=[preannotations], **labels)


@pytest.mark.parametrize("seed", range(amount(2, 40)))
def test_every_mark_has_the_key_of_its_words_whatever_is_done(as_carol, alice, carol, labels, send, settings, seed):
    settings.PREANNOTATION_RESOURCES = True
    rng, project = random.Random(seed), marked_project(alice, [carol], labels)
    assert Entity.objects.filter(origin="preannotation").exists() and not wrong_keys()
    items = list(project.dataset.items())
    uids = list(project.entity_ontology.items().values_list("uid", flat=True))
    done = 0
    for n in range(60):
        item = rng.choice(items)
        mine = list(Entity.objects.filter(annotation__item=item, annotation__annotator=carol))
        uid = rng.choice(mine).uid if mine else "e"
        start = rng.randrange(len(item.tokens))
        span = {"start": start, "end": rng.randrange(start, len(item.tokens))}
        path, body = rng.choice(
            [
                ("add", {"uid": f"new-{n}", "label": rng.choice(uids), **span}),
                ("label", {"uid": uid, "label": rng.choice(uids)}),
                ("resize", {"uid": uid, **span}),
                ("remove", {"uid": uid}),
                ("suggest", {"uid": uid, "label": rng.choice(uids), **span}),
            ]
        )
        answer = send(as_carol, f"entities/{path}/", body, to=item, project_pk=project.pk)
        done += answer.status_code == 200
        if n % 20 == 0:
            project.take_set_away(PreannotationSet, "entity", by=alice)
            project.suggest()
        assert not wrong_keys(), (path, body)
    assert done > 20
    copied = factories.project(
        by=alice, name="Copy", of=project.dataset, entities=project.entity_ontology, relations=False, annotators=[carol]
    )
    assert Entity.objects.filter(annotation__item__dataset=copied.dataset).exists() and not wrong_keys()


def test_keys_of_long_texts_are_not_kept_in_memory():
    kept = cleaned._key_of.cache_info().currsize
    assert key_of(["long"] * 100) == key_of(["LONG"] * 100) != key_of(["long"] * 99)
    assert cleaned._key_of.cache_info().currsize == kept
