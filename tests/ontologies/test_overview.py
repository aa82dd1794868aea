"""The overview of an ontology, and the filters that it leads to."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.urls import reverse
from django.utils import timezone

from datasets.models import Annotation
from tests import factories


def found(client, ontology, query):
    answer = client.get(f"{reverse('ontologies:find', args=[ontology.pk])}?{query}")
    page = answer.text
    return re.findall(r'data-match>.*?class="name">(?:<mark>)?(\w+)', page), page


@pytest.fixture
def labels(alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    labels = project.entity_ontology
    labels.refresh_from_db()
    annotation = Annotation.start(project.dataset.item_set.first(), carol)
    annotation.add_entity(uid="aaaaaaaa", label=factories.item(labels, "Thermostat"), start=0, end=0)
    factories.item(labels, "Activity").switch(False, by=alice)
    factories.item(labels, "State").describe("Such as broken.", by=alice)
    labels.refresh_from_db()
    return labels


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("only=undescribed", ["SensingObject", "Thermostat", "DrivingObject", "Activity", "Replace"]),
        ("only=unused", ["PhysicalObject", "SensingObject", "DrivingObject", "State"]),
        ("only=off", ["Activity", "Replace"]),
        ("only=level-2", ["SensingObject", "DrivingObject", "Replace"]),
        ("only=level-9", []),
        ("only=off&q=replace", ["Replace"]),
        ("only=undescribed,off", ["Activity", "Replace"]),
        ("only=undescribed,level-1", ["Activity"]),
        ("only=mine", ["Activity", "Replace", "State"]),
        ("only=off,nonsense", []),
        ("only=nonsense", []),
        ("only=level-0", []),
    ],
)
def test_a_filter_lets_some_labels_through(as_alice, labels, query, names):
    assert found(as_alice, labels, query)[0] == names


def test_the_overview_counts_what_its_filters_show(as_alice, labels):
    page = as_alice.get(reverse("ontologies:overview", args=[labels.pk])).text
    counted = re.findall(r'data-only="([\w-]+)".*?(?:class="end">|class="count">)(\d+)', page)
    assert [key for key, _ in counted] == ["undescribed", "unused", "off", "level-1", "level-2", "level-3"]
    for key, count in counted:
        assert len(found(as_alice, labels, f"only={key}")[0]) == int(count) > 0
    assert "Describe “State”" in page and "Switch off 2 items" in page


def test_the_overview_of_an_empty_ontology_has_no_figures(as_alice, alice):
    empty = factories.ontology(owner=alice, items=[])
    page = as_alice.get(reverse("ontologies:overview", args=[empty.pk])).text
    assert "Overview" in page and "data-only" not in page and "Last changes" not in page


def test_an_unknown_filter_says_so(as_alice, labels):
    names, page = found(as_alice, labels, "only=off,since-never")
    assert not names and "Unknown filter" in page and "Switched off" in page


NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("key", "names", "title"),
    [
        ("since-today", ["State"], "Changed today"),
        ("since-7-days", ["Activity", "State"], "Changed in the last 7 days"),
        ("since-30-days", ["Activity", "Replace", "State"], "Changed in the last 30 days"),
        ("since-2026-11-19", ["Activity", "State"], "Changed since 19 Nov 2026"),
        ("since-2026-11-20T08:00Z", [], "Changed since 20 Nov 2026, 08:00 UTC"),
        ("since-9999-12-31T23:59-23:00", [], "Unknown filter"),
        ("since-20 Nov", [], "Unknown filter"),
    ],
)
def test_what_was_changed_since_a_time(as_alice, alice, monkeypatch, key, names, title):
    ontology = factories.ontology(owner=alice)
    ontology.items().update(updated_at=NOW - timedelta(days=60))
    for name, ago in {
        "State": timedelta(hours=3),
        "Activity": timedelta(days=1),
        "Replace": timedelta(days=20),
    }.items():
        ontology.items().filter(name=name).update(updated_at=NOW - ago)
    monkeypatch.setattr("ontologies.label_filters.timezone.now", lambda: NOW)
    shown, page = found(as_alice, ontology, f"only={quote(key)}")
    assert shown == names and title in page


def test_mine_is_what_i_added_or_changed_last(as_alice, alice, bob):
    ontology = factories.ontology(owner=alice)  # what came with it was neither added nor changed by anybody

    def mine():
        return found(as_alice, ontology, "only=mine")[0]

    assert mine() == []
    ontology.add_item("Pump", by=alice)
    factories.item(ontology, "State").rename("Condition", by=alice)
    ontology.switch_items([factories.item(ontology, "Activity").uid], False, by=alice)
    assert mine() == ["Activity", "Replace", "Condition", "Pump"]
    for name in ("Condition", "Pump"):
        factories.item(ontology, name).describe("Changed by somebody else.", by=bob)
    assert mine() == ["Activity", "Replace", "Pump"]
    ontology.undo(by=bob)
    factories.item(ontology, "Condition").recolor("#102030", by=alice)
    assert mine() == ["Activity", "Replace", "Condition", "Pump"]


def test_a_project_and_its_ontology_agree_on_what_is_unused(as_alice, alice, carol):
    project = factories.project(by=alice, annotators=[carol])
    ontology = project.entity_ontology
    first, second, third = project.dataset.items()
    factories.item(ontology, "Activity").switch(False, by=alice)  # with what is below it, which has a mark
    Annotation.start(first, carol).add_entity(
        uid="aaaaaaaa", label=factories.item(ontology, "Thermostat"), start=0, end=0
    )
    for item, annotator, name, status in (
        (second, None, "State", "accepted"),
        (third, carol, "SensingObject", "suggested"),
        (third, carol, "DrivingObject", "rejected"),
        (first, None, "Replace", "accepted"),
    ):
        annotation = factories.annotation(item, annotator)
        label = factories.item(ontology, name)
        annotation.entity_set.create(uid=f"mark-{name[:3]}", label=label, start=0, end=0, status=status)
    type(second).objects.filter(pk=second.pk).update(removed_at=timezone.now())
    ontology.refresh_from_db()
    names, _ = found(as_alice, ontology, "only=unused")
    assert names == ["PhysicalObject", "SensingObject", "DrivingObject", "State"]
    assert "4 active without marks" in as_alice.get(f"/projects/{project.pk}/figures/").text
    overview = as_alice.get(reverse("ontologies:overview", args=[ontology.pk])).text
    assert re.search(r'data-only="unused".*?(\d+) of', overview)[1] == "4"
