"""The page of what somebody did to all alike."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation_service.models import start_job
from datasets.models import Annotation
from tests import factories
from tests.queries import queries_of
from work.models import Batch

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text="pump\npump leaks\nthe pump\n")


@pytest.fixture
def page(client, carol, project):
    client.force_login(carol)
    return lambda **query: client.get(reverse("annotations:batches", args=[project.pk]), query).text


@pytest.fixture
def make(project, carol):
    def make(words="pump", label="State", items=3, **fields):
        """A batch, and its marks on the first items."""
        label = project.entity_ontology.items().get(name=label)
        batch = Batch.objects.create(
            **{"dataset": project.dataset, "person": carol, "verb": "propagate", "kind": "entity", "label": label.uid}
            | {"words": words, "made": items, "stored_at": timezone.now(), **fields}
        )
        at = Batch.objects.count()
        for item in project.dataset.items()[:items]:
            annotation, _ = Annotation.objects.get_or_create(item=item, annotator=carol)
            place = {"uid": f"{at}", "start": at, "end": at, "origin": "propagation"}
            mark = annotation.entity_set.create(label=label, batch=batch, updated_at=batch.created_at, **place)
            batch.changes.create(annotation=annotation, kind="entity", mark=mark.pk)
        return batch

    return make


def test_without_any_it_says_how_to_make_one(page):
    assert "No batches yet" in page() and "All alike…" in page()


def test_a_batch_tells_what_is_left_of_it(page, make, project):
    batch = make(left_out={"unticked": 2, "rules": [{"rule": "No.", "count": 3}]})
    assert "3 places, 2 unticked, 3 left out by rules" in page() and "all still as they were left" in page()
    project.dataset.items()[0].annotation_set.get().entity_set.update(updated_at=timezone.now())
    html = page()
    assert "2 still as they were left" in html and f'items/?batch={batch.pk}">in 2 items</a>' in html
    batch.start_undo()
    html = page()
    assert "undone" in html and "1 changed or removed since" in html and "Undo…" not in html


def test_others_see_nothing_of_it(page, make, bob):
    make(person=bob)
    assert "No batches yet" in page()


def test_words_and_labels_are_searched(page, make):
    make("air freight"), make("pump", "Activity")
    assert page(q="FREIGHT").count('id="batch-') == page(q="activ").count('id="batch-') == 1
    assert "Nothing found" in page(q="nothing like that")


def test_more_batches_take_no_more_queries(page, make, django_assert_num_queries):
    make()
    page()
    one = queries_of(page)
    for _ in range(5):
        make()
    with django_assert_num_queries(len(one)):
        page()


def test_what_was_asked_for_is_not_read(page, make):
    make()
    queries = queries_of(page)
    assert not [query for query in queries if '"asked"' in query]


def test_undoing_is_told_before_and_refused_twice(client, page, make, project):
    page()
    batch = make()
    url = reverse("annotations:confirm_undo", args=[project.pk, batch.pk])
    assert "takes back <b>3</b> of 3 places" in client.get(url).text
    answer = client.post(url)
    assert answer.status_code == 200 and "3 places are as before." in answer.headers["HX-Trigger"]
    assert not Annotation.objects.filter(entity__batch=batch).exists()
    answer = client.post(url)
    assert answer.status_code == 422
    assert "batchesChanged" in answer.headers["HX-Trigger"]  # the list beside it may not say so yet


def test_every_place_is_accounted_for_before_undoing(client, page, make, project):
    page()
    batch = make()
    first, second, _ = [item.annotation_set.get().entity_set for item in project.dataset.items()]
    first.all().delete()
    second.update(updated_at=timezone.now())
    html = client.get(reverse("annotations:confirm_undo", args=[project.pk, batch.pk])).text
    assert "takes back <b>1</b> of 3 places: this mark goes." in html
    assert "2 places were changed, removed or related since and stay as they are." in html
    assert "· 1 still as it was left" in page()


def test_one_that_is_being_stored_can_be_stopped(client, page, make, carol, project):
    batch = make(stored_at=None)
    target = {"batch": batch.pk, "project": project.pk, "page": batch.get_absolute_url()}
    Batch.objects.filter(pk=batch.pk).update(job=start_job("store_batch", title="All alike", by=carol, target=target))
    html = page()
    assert (
        "being stored" in html and "it waits until a worker runs" in html and "every 1s" in html and "Undo…" not in html
    )
    answer = client.post(reverse("cancel_job", args=[Batch.objects.get().job_id]), follow=True)
    html = answer.text
    assert "stopped half-way" in html and "Undo…" in html and "every 1s" not in html


def test_its_items_can_be_listed(client, page, make, project):
    page()
    batch, other = make(items=2), make(items=3)
    removed = Batch.objects.create(**fields_of(batch), verb="remove")
    mark = project.dataset.items()[0].annotation_set.get().entity_set.get(batch=batch)
    removed.changes.create(annotation=mark.annotation, kind="entity", mark=mark.pk)

    def listed(**query):
        return client.get(reverse("annotations:items", args=[project.pk]), query).text.count('class="row-link"')

    assert [listed(batch=each.pk) for each in (batch, other, removed)] == [2, 3, 1]
    assert listed(batch="x") == listed(batch=10**17) == 0
    assert listed(batch=batch.pk, q="leaks") == 1


def fields_of(batch):
    return {name: getattr(batch, name) for name in ("dataset", "person", "kind", "label", "words", "stored_at")}
