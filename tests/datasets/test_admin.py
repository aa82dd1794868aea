import pytest
from django.urls import reverse

from datasets.models import Annotation, Dataset, Item
from tests import factories
from tests.queries import queries_of


@pytest.fixture
def project(alice):
    project = factories.project(by=alice)
    label = project.entity_ontology.items()[0]
    relation = project.relation_ontology.items()[0]
    annotation = Annotation.start(project.dataset.items()[0], alice)
    annotation.add_entity(uid="aaaaaaaa", label=label, start=0, end=0)
    annotation.add_entity(uid="bbbbbbbb", label=label, start=1, end=1)
    annotation.add_relation(uid="cccccccc", label=relation, source="aaaaaaaa", target="bbbbbbbb")
    return project


@pytest.mark.parametrize("model", ["upload", "item", "annotation", "entity", "relation"])
def test_content_cannot_be_changed(as_sam, project, model):
    thing = as_sam.get(reverse(f"admin:datasets_{model}_changelist")).context["cl"].result_list[0]
    assert as_sam.post(reverse(f"admin:datasets_{model}_change", args=[thing.pk]), {"status": "x"}).status_code == 403


def test_name_description_and_owner_can_be_changed(as_sam, alice, bob):
    dataset = factories.dataset(owner=alice)
    as_sam.post(
        reverse("admin:datasets_dataset_change", args=[dataset.pk]),
        {"name": "Renamed", "description": "By sam", "owner": bob.pk, "kind": "rich", "item_count": 99},
    )
    dataset.refresh_from_db()
    assert (dataset.name, dataset.description, dataset.owner) == ("Renamed", "By sam", bob)
    assert (dataset.kind, dataset.item_count) == ("standard", 3)


def test_items_are_found_in_any_case_and_script(as_sam, alice):
    factories.dataset(owner=alice, text="Заменить НАСОС\nother\n")
    found = as_sam.get(reverse("admin:datasets_item_changelist"), {"q": "насос"}).context["cl"].result_list
    assert [item.original for item in found] == ["Заменить НАСОС"]


def test_the_action_deletes_blueprints_and_reports_refusals(as_sam, project):
    copy = project.dataset
    response = as_sam.post(
        reverse("admin:datasets_dataset_changelist"),
        {"action": "erase", "_selected_action": [copy.pk, copy.copied_from_id]},
        follow=True,
    )
    said = [str(message) for message in response.context["messages"]]
    assert any("was not deleted. It belongs to the project “Pumps”" in text for text in said)
    assert any("was deleted with 3 items" in text for text in said)
    assert list(Dataset.objects.all()) == [copy]
    assert Item.with_removed.count() == 3 and Annotation.objects.count() == 1


def test_queries_of_the_lists_do_not_grow(as_sam, project, alice, django_assert_max_num_queries):
    factories.dataset(owner=alice, text="".join(f"line {n}\n" for n in range(100)))
    for model in ("dataset", "upload", "item", "annotation", "entity", "relation"):
        with django_assert_max_num_queries(9):
            as_sam.get(reverse(f"admin:datasets_{model}_changelist"))


def test_no_list_counts_a_whole_table(as_sam, project):
    captured = queries_of(as_sam.get, reverse("admin:datasets_item_changelist"))
    counts = [query for query in captured if "COUNT(" in query and "datasets_item" in query]
    assert counts and all("LIMIT 10001" in sql for sql in counts)


@pytest.mark.parametrize("query", ["", "?q=line"])
def test_a_list_with_more_rows_than_are_counted_says_so(as_sam, alice, monkeypatch, query):
    factories.dataset(owner=alice, text="".join(f"line {n}\n" for n in range(5)))
    url = reverse("admin:datasets_item_changelist") + query
    monkeypatch.setattr("annotation_service.admin_base.CappedPaginator.limit", 5)
    assert "5 items" in as_sam.get(url).text
    monkeypatch.setattr("annotation_service.admin_base.CappedPaginator.limit", 4)
    page = as_sam.get(url).text
    assert "more than 4 items" in page and "\n4 items" not in page


def test_marks_of_a_file_are_found_and_say_who_brought_them(as_sam, project, alice, carol):
    project.membership_set.create(user=carol, role="annotator")
    items = project.dataset.items()
    text = "".join(f"{token}\tO\n" for token in items[1].tokens)
    options = {"format": "conll", "whose": "@carol", "duplicates": "mark", "file_kind": "preannotated_entity"}
    factories.upload(text, by=alice, options=options, dataset=project.dataset, name="carol.conll").store()
    found = as_sam.get(reverse("admin:datasets_annotation_changelist"), {"imported_by__isempty": "0"})
    (annotation,) = found.context["cl"].result_list
    assert (annotation.annotator, annotation.item, annotation.imported_by) == (carol, items[1], alice)
    assert "carol.conll" in found.text
    page = as_sam.get(reverse("admin:datasets_annotation_change", args=[annotation.pk])).text
    assert "Imported by:" in page and "carol.conll" in page and ">alice</a>" in page
    made_here = as_sam.get(reverse("admin:datasets_annotation_changelist"), {"imported_by__isempty": "1"})
    assert annotation not in made_here.context["cl"].result_list and made_here.context["cl"].result_list
