"""What several people do to a constraint set, and to its labels, at the same moment."""

import pytest

from annotation_service.inputs import Refused
from resources.models import ConstraintSet
from tests.ontologies.test_together import at_the_same_time
from tests.resource_sets import document_of, make
from tests.threads import at_once, for_each

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rules(alice, labels):
    return make("entity_constraints", owner=alice, document=[{"domain": "State", "excludes": []}], **labels)


def test_eight_people_edit_at_once_and_nothing_gets_lost(alice, rules, labels):
    (state,) = (row.key for row in rules.rules_with_keys())
    others = [label.uid for label in labels["entities"].labels() if label.uid != state]

    def edit(number):
        mine = ConstraintSet.objects.get(pk=rules.pk)
        if number < len(others):
            mine.add_rule(others[number], excludes=[state], by=alice)
            mine.add_label(state, "excludes", others[number], by=alice)
        else:
            mine.change_rule(state, can_contain=[], by=alice)

    for_each(edit, range(8))
    first, *rest = document_of(rules)
    assert len(first["excludes"]) == len(rest) == len(others) and first["can_contain"] == []
    assert [row.position for row in rules.rows()] == list(range(len(others) + 1))
    versions = rules.changes.order_by("version").values_list("version", flat=True)
    assert list(versions) == list(range(1, 2 * len(others) + 3))


@pytest.mark.parametrize("is_rule_first", [True, False])
def test_a_label_is_put_into_a_rule_while_it_is_taken_back(alice, rules, labels, is_rule_first):
    ontology = labels["entities"]
    fan = ontology.add_item("Fan", by=alice)
    mine = ConstraintSet.objects.get(pk=rules.pk)  # as a request would read it
    acts = [lambda: mine.add_rule(fan.uid, by=alice), lambda: ontology.undo(by=alice)]
    first, second = at_the_same_time(*(acts if is_rule_first else reversed(acts)))
    assert first is None and isinstance(second, Refused)
    assert len(document_of(rules)) == (2 if is_rule_first else 1)
    assert ontology.items().filter(name="Fan").exists() == is_rule_first


def test_the_checks_are_of_one_moment(as_alice, alice, rules, monkeypatch):
    find = ConstraintSet.mistakes

    def find_and_remove(constraints):
        found = find(constraints)
        at_once(lambda: rules.remove_rule(rules.rules_with_keys().get().key, by=alice))
        return found

    monkeypatch.setattr(ConstraintSet, "mistakes", find_and_remove)
    shown = as_alice.get(f"/constraints/{rules.pk}/checks/").text
    assert "Rule 1: State" in shown and "it can be left out" in shown
    assert not rules.rows().exists()
