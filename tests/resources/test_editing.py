"""Adding, changing and removing rules, with their journal: undo, redo, revert, conflicts."""

import random

import pytest

from annotation_service.edits import Conflict, fingerprint
from annotation_service.inputs import Refused
from resources.models import ConstraintChange, ConstraintSet, rules_of
from tests.factories import item
from tests.resource_sets import DOCUMENTS, THERMOSTAT, document_of, make

KINDS = ["entity", "relation"]


@pytest.fixture
def of(alice, labels):
    """Makes sets of a kind, and finds uids by names."""

    def find(*names):
        ontologies = labels.values()
        return "-".join(
            next(o.labels().by_uid[x.uid].uid for o in ontologies for x in o.labels() if x.name == n) for n in names
        )

    find.set = lambda kind: make(f"{kind}_constraints", owner=alice, **labels)
    return find


def stored(constraints):
    return ConstraintSet.objects.get(pk=constraints.pk)


def positions(constraints):
    return [row.position for row in constraints.rows()]


def test_rules_are_added_changed_and_removed(alice, of):
    rules = of.set("entity")
    rules.add_rule(of("Activity"), excludes=[of("State")], by=alice)
    rules.change_rule(of("State"), can_contain=[], by=alice)
    rules.change_rule(of("PhysicalObject"), can_contain=None, excludes=[of("Activity"), of("State")], by=alice)
    rules.remove_rule(of("Replace"), by=alice)
    assert document_of(rules) == [
        {"domain": "PhysicalObject", "excludes": ["Activity", "State"]},
        {"domain": "State", "excludes": [], "can_contain": []},
        {"domain": "Activity", "excludes": ["State"]},
    ]
    assert positions(rules) == [0, 1, 2]
    assert [change.title for change in rules.changes.all()] == ["remove", "change", "change", "add", "create"]
    assert stored(rules).version == rules.version == 5


def test_rules_of_relations_are_named_by_relation_and_domain(alice, of):
    rules = of.set("relation")
    key = of("hasPatient", "State")
    rules.add_rule(key, range=[of("Activity"), of("Thermostat")], by=alice)
    assert document_of(rules)[-1] == {
        "relation": "hasParticipant/hasPatient",
        "domain": "State",
        "range": ["Activity", THERMOSTAT],
    }
    rules.change_rule(key, range=[], by=alice)
    rules.remove_rule(of("hasPart", "PhysicalObject"), by=alice)
    assert [row["domain"] for row in document_of(rules)] == ["Activity", "Activity", "State"]
    assert rules.changes.first().subject() == "“hasPart from PhysicalObject”"


@pytest.mark.parametrize(
    ("kind", "act", "reason"),
    [
        ("entity", lambda s, of, by: s.add_rule(of("State"), by=by), "There is a rule for “State” already"),
        ("entity", lambda s, of, by: s.add_rule("", by=by), "not there any more"),
        ("entity", lambda s, of, by: s.add_rule("ffffffff", by=by), "not there any more"),
        ("entity", lambda s, of, by: s.add_rule(of("hasPart"), by=by), "not there any more"),
        ("entity", lambda s, of, by: s.add_rule(of("Activity", "State"), by=by), "A rule needs a domain"),
        ("relation", lambda s, of, by: s.add_rule(of("Activity"), by=by), "A rule needs a relation and a domain"),
        ("entity", lambda s, of, by: s.change_rule(of("Activity"), excludes=[], by=by), "“Activity” is not there any"),
        ("entity", lambda s, of, by: s.remove_rule(of("Activity"), by=by), "The rule for “Activity” is not there"),
        (
            "entity",
            lambda s, of, by: s.change_rule(of("State"), excludes=[of("State")] * 2, by=by),
            "excludes” already",
        ),
        (
            "entity",
            lambda s, of, by: s.change_rule(of("State"), excludes=[of("State")], can_contain=[of("State")], by=by),
            "“State” stands in “excludes” already",
        ),
        (
            "entity",
            lambda s, of, by: s.change_rule(of("PhysicalObject"), excludes=[of("Thermostat")], by=by),
            "“Thermostat” stands in “excludes” already",
        ),
        ("relation", lambda s, of, by: s.remove_rule(of("hasPart"), by=by), "The rule for “hasPart” is not there"),
        ("relation", lambda s, of, by: s.change_rule(of("hasPart", "Activity"), range=["x"], by=by), "not there any"),
    ],
)
def test_what_is_wrong_is_refused_and_stores_nothing(alice, of, kind, act, reason):
    rules = of.set(kind)
    with pytest.raises(Refused, match=reason):
        act(rules, of, alice)
    assert document_of(rules) == DOCUMENTS[f"{kind}_constraints"] and stored(rules).version == 1


def test_what_changes_nothing_is_no_step(alice, of):
    rules = of.set("entity")
    rules.change_rule(of("State"), excludes=[], can_contain=None, by=alice)
    assert rules.version == 1 and not rules.undoable(alice)


def test_nobody_overwrites_what_they_have_not_seen(alice, bob, of):
    rules = of.set("entity")
    was = {"excludes": fingerprint([of("State"), of("Activity")])}
    rules.change_rule(of("PhysicalObject"), excludes=[of("State")], by=bob)
    with pytest.raises(Conflict):
        rules.change_rule(of("PhysicalObject"), was=was, excludes=[], by=alice)
    rules.change_rule(of("PhysicalObject"), was=was, excludes=[of("State")], by=alice)  # what she wants is there
    rules.change_rule(of("PhysicalObject"), was=was, can_contain=[], by=alice)  # another list
    assert document_of(rules)[0]["can_contain"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_everything_can_be_undone_and_done_again(alice, of, kind):
    rules = of.set(kind)
    first, last = (row.key for row in (rules.rows()[0], rules.rows()[2]))
    (field, *_) = rules.row_model.list_fields
    new = {"entity": of("Activity"), "relation": of("hasPart", "State")}[kind]
    seen = [document_of(rules)]
    for act in (
        lambda: rules.remove_rule(first, by=alice),
        lambda: rules.add_rule(new, **{field: [of("Replace")]}, by=alice),
        lambda: rules.change_rule(new, **{field: [of("State"), of("Replace")]}, by=alice),
        lambda: rules.remove_rule(last, by=alice),
        lambda: rules.remove_rule(new, by=alice),
        lambda: rules.add_rules({new: {field: []}, last: {field: [of("Thermostat")]}}, verb="learn", by=alice),
        lambda: rules.add_rules({new: {field: [of("State")]}, first: {field: []}}, by=alice),
    ):
        act()
        seen.append(document_of(rules))
    for expected in seen[-2::-1]:
        rules.undo(by=alice)
        assert document_of(rules) == expected and positions(rules) == list(range(len(expected)))
    with pytest.raises(Refused, match="nothing to undo"):
        rules.undo(by=alice)
    for expected in seen[1:]:
        rules.redo(by=alice)
        assert document_of(rules) == expected


def test_undo_is_refused_if_somebody_changed_it_since(alice, bob, of):
    rules = of.set("entity")
    rules.change_rule(of("State"), excludes=[of("Activity")], by=alice)
    rules.change_rule(of("State"), can_contain=[], by=bob)  # another list: nothing is in the way
    rules.undo(by=alice)
    rules.redo(by=alice)
    rules.remove_rule(of("State"), by=bob)
    with pytest.raises(Refused, match="“State” was changed by a later step: remove “State” by bob"):
        rules.undo(by=alice)
    step = rules.changes.get(version=2)
    rules.undo(by=bob)
    rules.revert(step, by=bob)
    assert document_of(rules)[1] == {"domain": "State", "excludes": [], "can_contain": []}


def test_a_rule_does_not_come_back_without_its_labels(alice, of, labels):
    rules = of.set("entity")
    labels["entities"].add_item("Fan", by=alice)
    rules.change_rule(of("State"), excludes=[of("Fan")], by=alice)
    rules.change_rule(of("State"), excludes=[], by=alice)
    labels["entities"].undo(by=alice)
    with pytest.raises(Refused, match="not there any more"):
        rules.undo(by=alice)
    assert "a label that was removed" in str(rules.history())


def test_the_rules_in_memory_change_with_every_step(alice, of):
    rules = of.set("entity")
    lines = [[item(rules.entity_ontology, name).pk] for name in ("Activity", "State")]
    found = []
    for act in (
        lambda: None,
        lambda: rules.add_rule(of("Activity"), excludes=[of("State")], by=alice),
        lambda: rules.undo(by=alice),
    ):
        act()
        found.append(rules_of([stored(rules)]).against_coexisting(*lines) is not None)
    assert found == [False, True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_copies_have_the_rules_in_their_order_and_no_history(alice, bob, of, kind):
    rules = of.set(kind)
    rules.remove_rule(rules.rows()[0].key, by=alice)
    rules.undo(by=alice)
    copy = rules.copy_to(by=bob, name="Copy")
    assert document_of(copy) == DOCUMENTS[f"{kind}_constraints"]
    assert (copy.version, copy.changes.count()) == (0, 0)
    copy.remove_rule(copy.rows()[0].key, by=bob)
    copy.erase()
    assert ConstraintChange.objects.filter(constraint_set=rules).count() == ConstraintChange.objects.count() == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_steps_of_two_people_leave_an_order_without_gaps_and_can_be_taken_back(alice, bob, of, kind, seed):
    chance, rules = random.Random(seed), of.set(kind)
    uids = [label.uid for label in rules.entity_ontology.labels()]
    fields, ends = (
        rules.row_model.list_fields,
        [[x.uid for x in o.labels()] for o in reversed(rules.ontologies.values())],
    )
    for _ in range(40):
        by, key = chance.choice([alice, bob]), "-".join(map(chance.choice, ends))
        lists = {chance.choice(fields): chance.sample(uids, chance.randrange(3))}
        act = chance.choice(["add_rule", "change_rule", "remove_rule", "undo", "redo"])
        try:
            getattr(rules, act)(*([] if "do" in act else [key]), by=by, **(lists if act[0] in "ac" else {}))
        except Refused:
            continue
        assert positions(rules) == list(range(rules.row_count))
    for step in rules.changes.filter(stands=True).exclude(kind__in=["undo", "redo"]).exclude(verb="create"):
        if rules.changes.get(pk=step.pk).stands:
            rules.revert(step, by=alice)
    assert sorted(map(str, document_of(rules))) == sorted(map(str, DOCUMENTS[f"{kind}_constraints"]))
