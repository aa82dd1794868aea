"""Which items an address means: for the table, for what is downloaded, for what is removed."""

import pytest
from django.http import QueryDict

from datasets.item_lists import ItemFilter
from datasets.models import Item
from tests import factories
from tests.datasets import marked


@pytest.fixture
def dataset(alice):
    return marked.dataset(owner=alice)


def found(dataset, query=""):
    return [item.number for item in ItemFilter.of(dataset, QueryDict(query)).items()]


def uid(dataset, name, kind="entity"):
    ontology = dataset.entity_ontology if kind == "entity" else dataset.relation_ontology
    return ontology.labels().by_fullname[name].uid


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", [1, 2, 3]),
        ("page=7&csrf=x", [1, 2, 3]),
        ("q=%20ENGINE%20", [1]),
        ("q=e&has=none", [3]),
        ("has=entities", [1, 2]),
        ("has=none", [3]),
        ("external=WO-2", [2]),
        ("external=WO-", [1, 2, 3]),
        ("external=wo-2", []),
        ("external=%25", []),
        ("has=entities&q=oil&external=1", [1]),
    ],
)
def test_everything_that_is_asked_for_must_fit(dataset, query, numbers):
    assert found(dataset, query) == numbers


def test_a_label_is_looked_for_in_entities_and_relations_with_those_below_it(dataset):
    assert found(dataset, f"label={uid(dataset, 'PhysicalObject')}") == [1, 2]
    assert found(dataset, f"label={uid(dataset, 'PhysicalObject/SensingObject')}") == [2]
    assert found(dataset, f"label={uid(dataset, 'PhysicalObject/DrivingObject')}") == [1]
    assert found(dataset, f"label={uid(dataset, 'PhysicalObject/SensingObject/Thermostat')}") == [2]
    assert found(dataset, f"label={uid(dataset, 'hasPart', 'relation')}") == [1]
    assert found(dataset, f"label={uid(dataset, 'State')}") == []


def test_marks_of_annotators_do_not_count(dataset, carol):
    third = dataset.items().last()
    marked.mark(third, "State", 0, 0, annotator=carol)
    assert found(dataset, "has=entities") == [1, 2]
    assert found(dataset, f"label={uid(dataset, 'State')}") == []


def test_a_projects_dataset_is_filtered_by_the_labels_of_its_project(dataset, alice):

    project = factories.project(by=alice, of=dataset)
    copy = project.dataset
    assert copy.entity_ontology != dataset.entity_ontology
    assert found(copy, f"label={uid(copy, 'PhysicalObject')}") == [1, 2]


def test_an_upload_is_a_range_of_items(alice):
    dataset = factories.dataset(owner=alice, text="a\nb\n")
    options = {"kind": "standard", "format": "text", "duplicates": "refuse"}
    more = factories.upload("c\nd\ne\n", by=alice, options=options, dataset=dataset)
    more.store()
    assert found(dataset, "upload=1") == [1, 2]
    assert found(dataset, "upload=2") == [3, 4, 5]
    dataset.remove(dataset.items().filter(position=3), by=alice)
    assert found(dataset, "upload=2") == [3, 5]
    assert found(dataset, "upload=2&bin=1") == [4]


def test_an_upload_that_was_not_stored_has_no_items(alice):
    dataset = factories.dataset(owner=alice, text="a\nb\n")
    factories.upload("c\n", by=alice, options={"kind": "standard", "format": "text"}, dataset=dataset)
    assert found(dataset, "upload=2") == []


def test_selected_items_are_those_of_this_dataset_only(dataset, alice):
    other = factories.dataset(owner=alice).items().first()
    first, _, third = dataset.items()
    assert found(dataset, f"items={first.pk}&items={third.pk}&items={other.pk}") == [1, 3]
    assert found(dataset, f"items={first.pk}&q=check") == []


def test_the_bin_holds_what_was_removed_and_knows_what_went_together(dataset, alice):
    dataset.remove(dataset.items().filter(position=0), by=alice)
    moment = Item.with_removed.get(dataset=dataset, position=0).removed_at
    dataset.remove(dataset.items().filter(position=1), by=alice)
    assert found(dataset) == [3]
    assert found(dataset, "bin=1") == [2, 1]  # the last removed first
    assert found(dataset, "bin=1&q=oil") == [1]
    together = ItemFilter(dataset=dataset, bin="1", removed=str(moment))
    assert found(dataset, together.query_string()) == [1]
    assert found(dataset, f"removed={moment.isoformat().replace('+', '%2B')}") == []  # not in the bin


@pytest.mark.parametrize(
    "query",
    [
        "has=x",
        "has=entities%00",
        "label=ffffffff",
        "label=x",
        "upload=0",
        "upload=-1",
        "upload=99",
        "upload=x",
        "upload=%C2%B2",
        f"upload={10**30}",
        "items=x",
        "items=-1",
        "items=",
        f"items={10**30}",
        "items=0",
        "bin=yes",
        "bin=1&removed=yesterday",
        "bin=1&removed=2026-01-01",
        "bin=1&removed=0001-01-01T00:00:00%2B14:00",
        "bin=1&removed=9999-12-31T23:59:59-14:00",
        "bin=1&removed=2026-01-02T03:04:05.678901%2B00:00",
    ],
)
def test_what_is_not_understood_fits_to_nothing(dataset, alice, query):
    dataset.remove(dataset.items().filter(position=2), by=alice)
    assert found(dataset, query) == []
    assert ItemFilter.of(dataset, QueryDict(query)).items().count() == 0


def test_an_unknown_order_is_the_usual_one(dataset):
    for sort in ("", "x", "-", "password", "original"):
        assert found(dataset, f"sort={sort}") == [1, 2, 3]


@pytest.mark.parametrize(
    ("sort", "numbers"),
    [
        ("number", [1, 2, 3]),
        ("-number", [3, 2, 1]),
        ("tokens", [2, 3, 1]),
        ("-tokens", [1, 2, 3]),
        ("external", [3, 2, 1]),
        ("entities", [3, 2, 1]),
        ("-entities", [1, 2, 3]),
        ("-relations", [1, 2, 3]),
        ("relations", [2, 3, 1]),
    ],
)
def test_items_are_sorted(dataset, sort, numbers):
    for position, external_id in enumerate("cba"):
        Item.objects.filter(dataset=dataset, position=position).update(external_id=external_id)
    assert found(dataset, f"sort={sort}") == numbers


@pytest.mark.parametrize("sort", ["number", "-number", "tokens", "-tokens", "external", "-entities", "relations"])
@pytest.mark.parametrize("q", ["", "&q=e", "&has=entities"])
def test_neighbours_stand_beside_an_item_in_every_order(dataset, sort, q):
    shown = ItemFilter.of(dataset, QueryDict(f"sort={sort}{q}"))
    keys = [item.pk for item in shown.items()]
    for place, item in enumerate(shown.items()):
        before, after = (keys[place - 1] if place else None), (keys[place + 1] if place + 1 < len(keys) else None)
        assert shown.neighbours(item) == (before, after)


def test_an_item_that_does_not_fit_has_neighbours_that_do(dataset):
    first, second, third = dataset.items()
    assert ItemFilter.of(dataset, QueryDict("has=none")).neighbours(first) == (None, third.pk)
    assert ItemFilter.of(dataset, QueryDict("external=WO-1")).neighbours(second) == (first.pk, None)


def test_neighbours_in_the_bin(dataset, alice):
    dataset.remove(dataset.items().filter(position__in=[0, 2]), by=alice)
    shown = ItemFilter.of(dataset, QueryDict("bin=1"))
    first, third = shown.items()
    assert shown.neighbours(first) == (None, third.pk)
    assert shown.neighbours(third) == (first.pk, None)


def test_an_item_that_was_restored_has_no_neighbours_in_the_bin(dataset, alice):
    dataset.remove(dataset.items().filter(position=0), by=alice)
    assert ItemFilter.of(dataset, QueryDict("bin=1")).neighbours(dataset.items().first()) == (None, None)
    assert found(dataset, "sort=removed") == found(dataset, "sort=-removed") == [2, 3]


def test_the_address_says_the_same_again_without_what_is_empty(dataset):
    shown = ItemFilter.of(dataset, QueryDict("q=a%26b&has=&label=&sort=-tokens&x=1&items=3&items=4,7"))
    assert shown.query_string() == "q=a%26b&sort=-tokens&items=3,4,7"
    assert ItemFilter.of(dataset, QueryDict(shown.query_string())) == shown
    assert shown.without_selection().query_string(page=3) == "q=a%26b&sort=-tokens&page=3"
    assert shown.without_order().without_selection().query_string() == "q=a%26b"
    assert not shown.is_empty
    assert ItemFilter.of(dataset, QueryDict("sort=-tokens&bin=1&page=2")).is_empty


def test_a_filter_in_words(dataset):
    label = uid(dataset, "PhysicalObject/DrivingObject")
    query = f"q=oil&has=entities&label={label}&external=WO&upload=2"
    assert ItemFilter.of(dataset, QueryDict(query)).in_words() == (
        "with “oil”, with entities, with the label “PhysicalObject/DrivingObject”, with “WO” in the external id, "
        "added in upload 2"
    )
    branch = ItemFilter.of(dataset, QueryDict(f"label={uid(dataset, 'PhysicalObject')}"))
    assert branch.in_words() == "with the label “PhysicalObject” or one below it"
    assert ItemFilter.of(dataset, QueryDict("has=none&items=1&items=2")).in_words() == "2 selected, without entities"
    assert ItemFilter.of(dataset, QueryDict("sort=tokens")).in_words() == ""
