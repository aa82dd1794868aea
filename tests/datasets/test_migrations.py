"""That migrations fill new fields of what is there, also after they were interrupted."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.db.migrations import RunPython
from django.db.migrations.executor import MigrationExecutor
from django.db.models.functions import Coalesce
from django.utils import timezone

from datasets.models import Annotation, Dataset, Entity, Item, Rejection, Relation
from projects import all_alike
from projects.models import Project
from tests import factories
from tests.datasets import marked
from work.models import Batch, BatchChange, Flag
from work.models.item_work import count_some

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


@pytest.mark.django_db
def test_what_removed_duplicates_says_that_white_space_was_set_aside(alice):
    say = import_module("datasets.migrations.0032_say_what_duplicates_are").say
    removed, kept = (factories.dataset(owner=alice, text="a\n") for _ in range(2))
    waiting = factories.upload("a\n", by=alice, options={"kind": "standard", "remove_duplicates": True, "name": "x"})
    for dataset, chosen in ((removed, True), (kept, False)):
        Dataset.objects.filter(pk=dataset.pk).update(
            preprocessing=dataset.preprocessing | {"remove_duplicates": chosen}
        )
    say(apps, SimpleNamespace(connection=connection))
    for dataset, operations in ((removed, ["duplicates removed that are the same but for white space"]), (kept, [])):
        dataset.refresh_from_db()
        assert [each for each in dataset.operations if "duplicates" in each] == operations
    waiting.refresh_from_db()
    assert waiting.options["remove_duplicates"] == "spacing"


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


@pytest.mark.django_db(transaction=True)
def test_batches_of_before_can_be_undone(alice, carol):
    project = factories.project(by=alice, annotators=[carol], text="pump oil leaks\noil pump\n")
    labels, has_part = project.entity_ontology.items(), project.relation_ontology.items()[0]
    suggested = {"origin": "given", "status": "suggested"}
    for item in project.dataset.items():
        given = factories.annotation(item)
        ends = [given.entity_set.create(uid=f"g{n}", label=labels[0], start=n, end=n, **suggested) for n in (0, 1)]
        given.relation_set.create(uid="r", label=has_part, source=ends[0], target=ends[1], **suggested)

    def as_stored():
        rows = [model.objects.order_by("pk").values() for model in (Entity, Relation, Rejection)]
        return [{name: row[name] for name in row if name != "updated_at"} for each in rows for row in each]

    def changes(**which):
        return list(BatchChange.objects.filter(**which).order_by("batch", "kind", "mark").values())

    states, batches = [], []
    for verb, word, label in (
        ("propagate", "pump", labels[1]),
        ("accept", "oil", labels[0]),
        ("remove", "oil", labels[0]),
        ("reject", "pump", labels[0]),
        ("remove", "pump", labels[1]),
    ):
        states.append(as_stored())
        form = {"tokens": [word], "label": label.uid}
        batches.append(all_alike.apply(project, carol, {"verb": verb, "kind": "entity", "form": form}))
    before = changes()
    assert {(row["kind"], bool(row["noted"]), bool(row["its_batch"])) for row in changes(batch__verb="remove")} == {
        ("entity", True, True),
        ("relation", True, False),
        ("entity", False, True),
    }
    removed = changes(batch__verb="remove")
    call_command("migrate", "work", "0001", verbosity=0)
    old = MigrationExecutor(connection).loader.project_state([("work", "0001_initial")]).apps
    for row in removed:
        model = old.get_model("work", f"Removed{row['kind']}")
        row |= {"removed_by_id": row["batch_id"], "batch_id": row["its_batch"], "is_noted": bool(row["noted"])}
        row["id"] = row["mark"]
        model.objects.create(**{field.attname: row[field.attname] for field in model._meta.concrete_fields})
    call_command("migrate", verbosity=0)
    for now, was in zip(changes(), before, strict=True):
        unknown = {"id", "updated_at"}
        assert {k: v for k, v in now.items() if k not in unknown} == {k: v for k, v in was.items() if k not in unknown}
    for batch, state in zip(reversed(batches), reversed(states), strict=True):
        batch.start_undo()
        assert as_stored() == state


def full_disk(*args):
    raise OSError("No space left on device")
