"""What two people do at the same moment."""

import threading
import time

import pytest

from annotation_service.db import write
from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity
from tests import factories
from tests.threads import for_each


def at_the_same_time(first, second):
    """``second`` begins while the transaction of ``first`` is still open; returns what each raised, or None."""
    begun = threading.Event()

    def outcome(work):
        try:
            work()
        except Exception as error:
            return error
        finally:
            begun.set()

    def hold():
        with write():
            first()
            begun.set()
            time.sleep(0.3)  # so that the other one gets as far as it can

    def follow():
        begun.wait()
        second()

    return for_each(outcome, [hold, follow])


@pytest.fixture
def race(transactional_db):
    """A label that was just added to a project's ontology, somebody who marks with it, and somebody who takes it back."""
    alice = factories.manager("alice")
    project = factories.project(by=alice)
    ontology = project.entity_ontology
    label = ontology.add_item("Just added", by=alice)
    item = project.dataset.items()[0]

    def mark():
        with write():
            annotation = Annotation.objects.create(item=item, annotator=alice)
            annotation.add_entity(uid="a-mark-00", label=annotation.label("entity", label.uid), start=0, end=0)

    return ontology, label, mark, lambda: ontology.undo(by=alice)


def test_a_label_that_is_being_marked_with_is_not_removed(race):
    ontology, label, mark, undo = race
    first, second = at_the_same_time(mark, undo)
    assert first is None and isinstance(second, Refused) and "1 mark" in str(second)
    assert Entity.objects.get().label == ontology.items().get(uid=label.uid)


def test_a_label_that_is_being_removed_is_not_marked_with(race):
    ontology, label, mark, undo = race
    first, second = at_the_same_time(undo, mark)
    assert first is None and isinstance(second, Refused)
    assert not Entity.objects.exists() and not ontology.items().filter(uid=label.uid).exists()
