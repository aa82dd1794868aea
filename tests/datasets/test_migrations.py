"""That migrations fill new fields of what is there, also after they were interrupted."""

from importlib import import_module

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db.migrations import RunPython
from django.utils import timezone

from datasets.models import Annotation, Entity, Item
from tests import factories
from work.models import Batch, Flag
from work.models.figures import count_some


@pytest.mark.django_db(transaction=True)
def test_the_times_of_own_work_are_filled_after_a_failure(alice, carol, monkeypatch):
    project = factories.project(by=alice, annotators=[carol], text="pump leaks\nseal worn\nmotor hot\n")
    given, begun, done = project.dataset.items()
    now = timezone.now()
    Annotation.objects.create(item=given, annotator=None, started_at=now)
    Annotation.objects.create(item=begun, annotator=carol, started_at=now)
    Annotation.objects.create(item=done, annotator=carol, started_at=now, done_at=(later := timezone.now()))
    call_command("migrate", "datasets", "0014", verbosity=0)
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(RunPython, "database_forwards", full_disk)
        call_command("migrate", verbosity=0)
    call_command("migrate", verbosity=0)
    assert list(Annotation.objects.order_by("item").values_list("changed_at", flat=True)) == [None, now, later]


@pytest.mark.django_db(transaction=True)
def test_items_of_before_know_how_many_tokens_they_have(alice, monkeypatch):
    dataset = factories.dataset(owner=alice, text="one\ntwo words\n\nthree more words\n")
    dataset.remove(dataset.items().filter(position=1), by=alice)
    monkeypatch.setattr(import_module("datasets.migrations.0023_fill_token_count"), "ITEMS", 2)
    call_command("migrate", "datasets", "0021", verbosity=0)
    call_command("migrate", verbosity=0)
    assert list(Item.with_removed.order_by("position").values_list("token_count", flat=True)) == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_annotations_of_before_know_how_many_marks_they_have(alice, carol, monkeypatch):
    project = factories.project(by=alice, annotators=[carol], text="pump leaks\nseal worn\nmotor hot\n")
    label = project.entity_ontology.items()[0]
    for number, item in enumerate(project.dataset.items()):
        annotation = Annotation.objects.create(item=item, annotator=carol)
        for start in range(number):
            annotation.entity_set.create(uid=f"e{start}", label=label, start=start, end=start)
    annotation.entity_set.filter(start=0).update(status="suggested")
    count_some(60)
    monkeypatch.setattr(import_module("datasets.migrations.0028_fill_kept_marks"), "ANNOTATIONS", 2)
    call_command("migrate", "datasets", "0025", verbosity=0)
    call_command("migrate", verbosity=0)
    kept = Annotation.objects.order_by("item").values_list("accepted", "suggested")
    assert list(kept) == [(0, 0), (1, 0), (1, 1)]


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
