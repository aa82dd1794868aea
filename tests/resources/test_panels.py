"""The rules that name a label or reach it, in its details."""

import html
import re

import pytest
from django.urls import reverse

from ontologies.models import Ontology
from resources.rules import Rules
from resources.rules_page import reaches, rules_panel
from tests import factories, resource_sets

from .test_matrix import ENTITIES, RELATIONS
from .test_rules import NAMES, entity_rules, lineage, relation_rules

ENTITY_RULES = Rules(
    entity_rules(("Activity", "Object"), ("Object", "", "State Sensor"), ("Motor", "Motor", ""), ("State", ""))
)
RELATION_RULES = Rules(
    [
        *relation_rules(
            ("hasPart", "Object", "Sensor"), ("hasPart", "Motor", ""), ("hasParticipant", "Activity", "Object")
        ),
        *relation_rules(("hasVictim", "Activity", "State")),
    ]
)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (
            "Object",
            [
                "cannot share words with Activity",
                "can contain only State Sensor",
                "hasPart leads from it only to Sensor",
                "hasParticipant may lead to it from Activity",
            ],
        ),
        (
            "Thermostat",
            [
                "cannot share words with Activity (Object)",
                "can contain only State Sensor (Object)",
                "may stand inside Object (Sensor)",
                "hasPart leads from it only to Sensor (Object)",
                "hasPart may lead to it from Object (Sensor)",
                "hasParticipant may lead to it from Activity (Object)",
            ],
        ),
        (
            "Motor",  # its own list and its own row of the relation replace those of the type above
            [
                "cannot share words with Activity (Object)",
                "cannot share words with Motor",
                "can contain nothing",
                "hasPart leads nowhere",
                "hasParticipant may lead to it from Activity (Object)",
            ],
        ),
        ("Broken", ["may stand inside Object (State)", "hasVictim may lead to it from Activity (State)"]),
        (
            "Replace",
            [
                "cannot share words with Object (Activity)",
                "hasParticipant leads from it only to Object (Activity)",
                "hasVictim leads from it only to State (Activity)",
            ],
        ),
        ("hasPart", ["Object leads to Sensor", "Motor leads nowhere"]),
        ("hasPatient", ["Activity leads to Object (hasParticipant)"]),
        ("hasVictim", ["Activity leads to State"]),
    ],
)
def test_what_rules_say_of_a_label(label, expected):
    line = lineage(label)
    found = []
    for each in (*reaches(ENTITIES, ENTITY_RULES, line), *reaches(RELATIONS, RELATION_RULES, line)):
        words = [NAMES.get(each.first, ""), each.words, *(NAMES[x] for x in each.labels)]
        above = "" if each.named == line[0] else f" ({NAMES[each.named]})"
        found.append(" ".join(word for word in words if word) + above)
    assert found == expected


def told(client, ontology, name):
    uid = factories.item(ontology, name).uid
    page = client.get(reverse("ontologies:usage", args=[ontology.pk, uid]), headers={"HX-Request": "true"}).text
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_details_of_a_label_list_its_rules(client, db, django_assert_max_num_queries):
    alice, ben = factories.manager("alice"), factories.user("ben")
    entities, relations = factories.ontology(owner=alice), factories.ontology(owner=alice, kind="relation")
    rules = {
        format: resource_sets.make(format, owner=alice, entities=entities, relations=relations, name=name)
        for format, name in (("entity_constraints", "Who contains whom"), ("relation_constraints", "Who leads where"))
    }
    project = factories.project(by=alice, annotators=[ben])
    client.force_login(alice)
    text = told(client, entities, "DrivingObject")
    assert "Who contains whom cannot share words with State Activity rule 1, from PhysicalObject" in text
    assert "hasPart leads from it only to DrivingObject Thermostat rule 1, from PhysicalObject" in text
    assert "hasPatient may lead to it from Activity rule 3, from PhysicalObject" in text
    assert "Activity leads to PhysicalObject rule 3" in told(client, relations, "hasPatient")
    assert "Rules" not in told(client, project.entity_ontology, "DrivingObject")  # of others' ontologies
    rules["entity_constraints"].rows().filter(position=0).delete()
    rules["entity_constraints"].touch()
    assert "Who contains whom" not in told(client, entities, "DrivingObject")
    resource_sets.make("entity_constraints", owner=alice, entities=entities, relations=None, name="Third")
    with django_assert_max_num_queries(40):
        assert "Third" in told(client, entities, "DrivingObject")


def test_the_rules_of_a_project_are_for_those_who_may_read_its_sets(client, db):
    alice, ben = factories.manager("alice"), factories.user("ben")
    entities = factories.ontology(owner=alice)
    constraints = resource_sets.make("entity_constraints", owner=alice, entities=entities, relations=None, name="Ours")
    bound = factories.project(
        by=alice, name="Bound", entities=entities, relations=False, resources=[constraints], annotators=[ben]
    )
    client.force_login(alice)
    assert "Ours" in told(client, bound.entity_ontology, "State")
    client.force_login(ben)
    assert "Ours" not in told(client, bound.entity_ontology, "State")


def test_nothing_is_said_of_a_label_that_is_gone_by_now(rf, db):
    """Adding it is undone while its details are on their way."""
    request = rf.get("/")
    request.user = factories.manager("alice")
    ontology = factories.ontology(owner=request.user)
    resource_sets.make("entity_constraints", owner=request.user, entities=ontology, relations=None, name="Ours")
    item = ontology.add_item("Pump", by=request.user)
    Ontology.objects.get(pk=ontology.pk).undo(by=request.user)
    assert rules_panel(request, item) is None
