"""What looks like a mistake in rules, and what does not."""

import pytest

from resources.models import ConstraintSet
from tests.factories import item
from tests.resource_sets import make


def entity(domain, excludes="", can_contain=None):
    row = {"domain": domain, "excludes": excludes.split()}
    return row if can_contain is None else row | {"can_contain": can_contain.split()}


def relation(name, domain, targets=""):
    return {"relation": name, "domain": domain, "range": targets.split()}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([entity("State")], ["1: This excludes nothing and sets no limit"]),
        ([entity("State", "", "")], []),
        ([entity("State", "Activity"), entity("PhysicalObject", "State Activity")], []),
        # What is said twice
        ([entity("State", "Activity"), entity("Activity", "State")], ["2: Rule 1 excludes “State” already"]),
        ([entity("Thermostat", "State"), entity("PhysicalObject", "State")], ["1: Rule 2 excludes “State” already"]),
        (
            [entity("Thermostat", "Replace"), entity("Activity", "SensingObject")],
            ["1: Rule 2 excludes “Replace” already"],
        ),
        ([entity("Activity", "Replace Activity")], ["1: “Replace” lies below “Activity”, which is in this list"]),
        ([entity("Activity", "Activity")], []),
        ([entity("Thermostat", "PhysicalObject")], []),
        ([entity("State", "", "Thermostat PhysicalObject")], ["1: “Thermostat” lies below “PhysicalObject”"]),
        ([entity("PhysicalObject", "", "State"), entity("Thermostat", "", "State")], ["2: Rule 1 sets the same limit"]),
        ([entity("PhysicalObject", "", "State"), entity("Thermostat", "", "")], []),
        # What can never be
        (
            [entity("State", "Activity"), entity("Activity", "", "State PhysicalObject")],
            ["2: Rule 1 excludes “State” here: it can never stand inside “Activity”"],
        ),
        (
            [entity("PhysicalObject", "Activity"), entity("Thermostat", "", "Replace")],
            ["2: Rule 1 excludes “Replace” here: it can never stand inside “Thermostat”"],
        ),
        # Relations
        ([relation("hasPart", "State")], []),
        (
            [relation("hasPart", "State"), relation("hasPart", "Activity", "State")],
            ["1: Without this rule the relation could not lead from “State”, either"],
        ),
        ([relation("hasPart", "Activity", "State"), relation("hasPart", "Replace")], []),
        (
            [relation("hasPart", "Activity", "State"), relation("hasPart", "Replace", "State")],
            ["2: Rule 1 says the same for “Activity”"],
        ),
        ([relation("hasParticipant", "State", "State"), relation("hasPatient", "State", "State")], []),
        ([relation("hasPart", "State", "Replace Activity")], ["1: “Replace” lies below “Activity”"]),
    ],
)
def test_likely_mistakes(alice, labels, rows, expected):
    kind = "relation" if "relation" in rows[0] else "entity"
    rules = make(f"{kind}_constraints", owner=alice, document=rows, **labels)
    for found in (
        [f"{mistake.rule.position + 1}: {mistake.text}" for mistake in rules.mistakes()],
        [f"{problem.place.split(',')[0].removeprefix('item ')}: {problem.text}" for problem in rules.warnings.first],
    ):
        assert len(found) == len(expected)
        assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_labels_that_are_switched_off_are_told_once_a_rule(alice, labels):
    document = [entity("State", "State Activity"), entity("Activity", "", "Thermostat")]
    rules = make("entity_constraints", owner=alice, document=document, **labels)
    for name in ("State", "Thermostat"):
        item(labels["entities"], name).switch(False, by=alice)
    told = [
        (mistake.rule.position, mistake.text.partition(" is ")[0])
        for mistake in ConstraintSet.objects.get(pk=rules.pk).mistakes()
    ]
    assert told == [(0, "“State”"), (1, "“Thermostat”")]
