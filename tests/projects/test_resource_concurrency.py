"""Constraints are made while others change the labels and the project: real threads on a real database."""

import pytest

from annotation_service.inputs import Refused
from ontologies.models import Ontology
from resources.models import ConstraintSet
from tests import factories
from tests.resource_sets import document_of, make
from tests.soak import amount
from tests.threads import for_each

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak]


def outcomes(*works):
    """What becomes of each work when all begin at the same time: True, or the refusal."""

    def outcome(work):
        try:
            work()
        except Refused as error:
            return str(error)
        return True

    return for_each(outcome, works)


def test_a_label_is_never_removed_from_under_a_constraint():
    alice = factories.manager("alice")
    labels = {"entities": factories.ontology(owner=alice), "relations": None}
    document = [{"domain": "Fan", "excludes": []}]
    for _ in range(amount(8, 80)):
        labels["entities"].add_item("Fan", by=alice)
        made, undone = outcomes(
            lambda: make("entity_constraints", owner=alice, document=document, **labels),
            lambda: Ontology.objects.get().undo(by=alice),
        )
        if made is True:
            assert "used by 1 constraint and" in undone
            resource = ConstraintSet.objects.get()
            assert document_of(resource) == document
            resource.erase()
            Ontology.objects.get().undo(by=alice)
        else:
            assert undone is True and ("Fan" in made or "was changed" in made)
            assert not ConstraintSet.objects.exists()
        assert not labels["entities"].items().filter(name="Fan").exists()


def test_a_project_gets_constraints_once_and_a_rename_does_not_disturb():
    alice = factories.manager("alice")
    blueprint = make("entity_constraints", owner=alice, entities=factories.ontology(owner=alice), relations=None)
    for number in range(amount(5, 50)):
        project = factories.project(
            by=alice, entities=Ontology.objects.get(pk=blueprint.entity_ontology_id), relations=False
        )
        label = project.entity_ontology.items().get(name="State")
        *used, renamed = outcomes(
            lambda: project.use(blueprint, by=alice),  # noqa: B023
            lambda: project.use(blueprint, by=alice),  # noqa: B023
            lambda: label.rename(f"Condition {number}", by=alice),  # noqa: B023
        )
        assert renamed is True
        assert sorted(used, key=str)[1] is True and "has its entity constraints already" in sorted(used, key=str)[0]
        [copy] = project.resources()
        assert f"Condition {number}" in [row["domain"] for row in document_of(copy)]
