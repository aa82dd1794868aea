"""That migrations fill new fields of what is there, also after they were interrupted."""

from importlib import import_module

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db.migrations import RunPython
from django.db.models.functions import Coalesce
from django.utils import timezone

from datasets.models import Annotation, Entity, Item, Relation
from projects.models import Project
from tests import factories
from tests.datasets import marked
from work.models import Batch, Flag
from work.models.figures import count_some

FILLED_IN_STEPS = {
    "0011_fill_words_key": "MARKS",
    "0023_fill_token_count": "ITEMS",
    "0028_fill_kept_marks": "ANNOTATIONS",
}


def filled():
    """What migrations have filled in, as it is now."""
    fields = {
        Item: ("position", "token_count"),
        Annotation: ("changed_at", "accepted", "suggested"),
        Entity: ("origin", "words_key"),
        Relation: ("origin",),
    }
    return {model: list(model._base_manager.order_by("pk").values_list("pk", *fields[model])) for model in fields}


@pytest.mark.django_db(transaction=True)
def test_new_fields_are_filled_of_what_is_there_also_after_a_failure(alice, carol, monkeypatch):
    """All of them on one way back and forth, which takes seconds; two rows at a time."""
    dataset = marked.dataset(owner=alice)
    labels = {"entity_ontology": dataset.entity_ontology, "relation_ontology": dataset.relation_ontology}
    project = Project.create(name="Pumps", by=alice, dataset=dataset, annotators=[carol], **labels)
    begun, done, removed = project.dataset.items()
    for item in (begun, done, removed):
        annotation = Annotation.start(item, carol)
        annotation.add_entity(uid="own", label=project.entity_ontology.items().last(), start=0, end=0)
    Annotation.objects.filter(item=done, annotator=carol).update(done_at=timezone.now())
    worked = Annotation.objects.filter(annotator=carol)
    worked.update(changed_at=Coalesce("done_at", "started_at"))
    project.dataset.remove(project.dataset.items().filter(pk=removed.pk), by=alice)
    count_some(60)
    before = filled()
    assert {origin for _, origin, _ in before[Entity]} == {"given", "person"}
    for module, rows_at_once in FILLED_IN_STEPS.items():
        monkeypatch.setattr(import_module(f"datasets.migrations.{module}"), rows_at_once, 2)
    call_command("migrate", "datasets", "0025", verbosity=0)
    call_command("migrate", verbosity=0)
    assert filled() == before
    call_command("migrate", "datasets", "0005", verbosity=0)
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(RunPython, "database_forwards", full_disk)
        call_command("migrate", verbosity=0)
    call_command("migrate", verbosity=0)
    count_some(60)  # the figures of items have gone with their table
    assert filled() == before


@pytest.mark.django_db(transaction=True)
def test_models_that_moved_to_another_app_keep_their_rows_and_permissions(alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="pump leaks\n")
    flag = Flag.objects.create(item=project.dataset.items()[0], person=carol, kind="issue")
    label = project.entity_ontology.items()[0]
    batch = Batch.objects.create(dataset=project.dataset, person=carol, verb="propagate", kind="entity", words="pump")
    annotation = Annotation.objects.create(item=flag.item, annotator=carol)
    mark = annotation.entity_set.create(uid="e", label=label, start=0, end=0, batch=batch)
    known = ContentType.objects.get(app_label="work", model="flag").pk
    call_command("migrate", "work", "zero", verbosity=0)
    assert ContentType.objects.get(app_label="datasets", model="flag").pk == known
    call_command("migrate", verbosity=0)
    assert ContentType.objects.get(app_label="work", model="flag").pk == known
    assert not ContentType.objects.filter(app_label="datasets", model="flag").exists()
    assert (Flag.objects.get(), Entity.objects.get(pk=mark.pk).batch) == (flag, batch)


def full_disk(*args):
    raise OSError("No space left on device")
