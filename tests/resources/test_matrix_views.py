"""The page of the matrix, and what it says of a cell."""

import html
import re

import pytest
from django.urls import reverse

from tests import factories, resource_sets

CELL = re.compile(r'<td class="([^"]+)"(?: title="([^"]*)")?>(.?)</td>')


@pytest.fixture
def ontologies(alice):
    return {
        "entities": factories.ontology(owner=alice),
        "relations": factories.ontology(owner=alice, kind="relation"),
    }


def fetch(client, constraints, **values):
    response = client.get(reverse("resources:matrix", args=[constraints.pk]), values, HTTP_HX_REQUEST="true")
    assert response.status_code == 200
    return response.text


def table(page):
    """The cells by the labels of row and column: a letter for the state, large for the rule's own, and the rule."""
    found = {}
    heads = re.findall(r'<th scope="col"[^>]*><span>([^<]+)</span>', page)
    for row in re.findall(r'<th scope="row".*?</tr>', page, re.S):
        name = re.search(r'<span class="name">([^<]+)<', row)[1]
        cells = CELL.findall(row)
        assert len(cells) == len(heads)
        for column, (style, title, _) in zip(heads, cells, strict=True):
            letter = style[0].upper() if style.endswith(" own") else style[0]
            found[name, column] = letter, html.unescape(title)
    return found


def test_entities(as_alice, alice, ontologies):
    constraints = resource_sets.make("entity_constraints", owner=alice, **ontologies)
    page = fetch(as_alice, constraints)
    cells = table(page)
    assert list(dict(cells))[:3] == [
        ("PhysicalObject", name) for name in ("PhysicalObject", "SensingObject", "Thermostat")
    ]
    assert cells["PhysicalObject", "State"] == ("E", "Rule 1: PhysicalObject excludes State and Activity")
    assert cells["State", "PhysicalObject"] == cells["PhysicalObject", "State"]
    assert cells["Thermostat", "Replace"][0] == "e"
    assert cells["PhysicalObject", "Thermostat"][0] == "I"
    assert cells["SensingObject", "PhysicalObject"] == (
        "i",
        "Rule 1: PhysicalObject can contain only Thermostat and PhysicalObject",
    )
    assert cells["Replace", "State"] == ("O", "Rule 3: Replace can contain nothing")
    assert cells["State", "Replace"] == ("f", "")
    assert "DrivingObject" not in page
    whole = fetch(as_alice, constraints, tree=f"{factories.item(ontologies['entities'], 'PhysicalObject').uid}*")
    assert ("DrivingObject", "DrivingObject") in table(whole)


def test_relations(as_alice, alice, ontologies):
    constraints = resource_sets.make("relation_constraints", owner=alice, **ontologies)
    cells = table(fetch(as_alice, constraints))  # of the first relation that has rules
    assert cells["PhysicalObject", "Thermostat"] == (
        "L",
        "Rule 1: hasPart leads from PhysicalObject only to DrivingObject and Thermostat",
    )
    assert cells["DrivingObject", "Thermostat"][0] == "l"
    assert cells["Activity", "Thermostat"] == ("B", "Rule 2: hasPart leads from Activity nowhere")
    patient, participant = (factories.item(ontologies["relations"], name) for name in ("hasPatient", "hasParticipant"))
    cells = table(fetch(as_alice, constraints, relation=patient.uid))
    assert set(cells) == {(a, b) for a in ("PhysicalObject", "Activity") for b in ("PhysicalObject", "Activity")}
    assert [cells["Activity", "PhysicalObject"][0], cells["PhysicalObject", "Activity"]] == ["L", ("b", "")]
    free = fetch(as_alice, constraints, relation=participant.uid)
    assert "No rule limits “hasParticipant”" in free and table(free) == {}


def test_of_many_relations_those_with_rules_are_offered(as_alice, alice, ontologies, monkeypatch):
    monkeypatch.setattr("resources.matrix.OFFERED_RELATIONS", 0)
    constraints = resource_sets.make("relation_constraints", owner=alice, **ontologies)
    offered = re.compile(r"<option[^>]*>([^<]+?) *<")
    with_rules = ["hasPart · 2 rules", "hasParticipant/hasPatient · 1 rule"]
    assert offered.findall(fetch(as_alice, constraints)) == with_rules
    free = factories.item(ontologies["relations"], "hasParticipant").uid
    chosen = offered.findall(fetch(as_alice, constraints, relation=free))
    assert chosen == ["hasPart · 2 rules", "hasParticipant · free", "hasParticipant/hasPatient · 1 rule"]


def test_a_set_without_rules_and_odd_addresses(as_alice, alice, ontologies):
    empty = resource_sets.make("entity_constraints", owner=alice, document=[], **ontologies)
    assert "No rules yet" in fetch(as_alice, empty)
    full = resource_sets.make("entity_constraints", owner=alice, **ontologies)
    expected = table(fetch(as_alice, full))
    for tree in ("gone,-gone,gone*", "⁂,'--", "," * 5000, "x" * 20_000):
        assert table(fetch(as_alice, full, tree=tree, relation="⁂")) == expected
    page = as_alice.get(reverse("resources:matrix", args=[full.pk]), headers={"HX-Request": ""}).text
    assert "<h1>" in page and table(page) == expected
    cell = reverse("resources:cell", args=[full.pk])
    for values in ({}, {"row": "gone", "column": "⁂"}):
        assert as_alice.get(cell, values).status_code == 404


@pytest.mark.parametrize(
    ("row", "column", "sentences"),
    [
        (
            "Thermostat",
            "Replace",
            ["“Thermostat” cannot share words with “Replace”: rule 1 of “Rules” excludes “Activity”"],
        ),
        (
            "PhysicalObject",
            "DrivingObject",
            [
                "“DrivingObject” may stand inside “PhysicalObject”: rule 1 lists “PhysicalObject”",
                "“PhysicalObject” may stand inside “DrivingObject”: rule 1",
            ],
        ),
        ("State", "State", ["no rule limits what “State” can contain"]),
    ],
)
def test_a_cell_is_explained(as_alice, alice, ontologies, row, column, sentences):
    constraints = resource_sets.make("entity_constraints", owner=alice, name="Rules", **ontologies)
    uids = {side: factories.item(ontologies["entities"], name).uid for side, name in (("row", row), ("column", column))}
    page = html.unescape(as_alice.get(reverse("resources:cell", args=[constraints.pk]), uids).text)
    assert len(re.findall("<p>", page)) == len(sentences)
    assert all(sentence in page for sentence in sentences)
    for link in re.findall('href="([^"]+)"', page):
        place, _, anchor = link.partition("#")
        assert f'id="{anchor}"' in as_alice.get(place).text
    assert ("Go to rule 1" in page) == (row != "State")


def test_a_large_tree_is_shown_in_part_and_with_few_queries(as_alice, alice, django_assert_max_num_queries):
    items = [{"name": f"B{n}", "children": [{"name": f"B{n}.{k}"} for k in range(100)]} for n in range(20)]
    entities = factories.ontology(owner=alice, items=items)
    document = [{"domain": f"B{n}/B{n}.{k}", "excludes": [f"B{n}"]} for n in range(20) for k in range(0, 100, 10)]
    constraints = resource_sets.make(
        "entity_constraints", owner=alice, entities=entities, relations=None, document=document
    )
    fetch(as_alice, constraints)
    with django_assert_max_num_queries(12):
        page = fetch(as_alice, constraints)
    assert len(table(page)) == 40 * 40 and "10 below" in page
    opened = [label.uid for label in entities.labels() if label.level == 1]
    assert len(table(fetch(as_alice, constraints, tree="*,".join([*opened, ""])))) == 100 * 100
