"""Removing and restoring items on the screens, and editing what is not text."""

import json
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation_service.edits import fingerprint
from datasets.extra_fields import Field, to_object
from datasets.models import Annotation, Dataset, Item
from tests import factories
from tests.answers import events, html
from tests.datasets import marked
from tests.soak import amount


@pytest.fixture
def dataset(alice):
    return factories.dataset(owner=alice, text="pump 1\nvalve\npump 2\npump 3\n")


def numbers(items):
    return [item.number for item in items]


def remove(client, dataset, query, **data):
    return client.post(f"/datasets/{dataset.pk}/remove/?{query}", data)


# Removing


def test_removing_says_first_what_goes(as_alice, dataset):
    first, second, *_ = dataset.items()
    page = html(as_alice.get(f"/datasets/{dataset.pk}/remove/?items={first.pk}"))
    assert "Remove item 1?" in page and "pump 1" in page and "No marks go with it" in page
    page = html(as_alice.get(f"/datasets/{dataset.pk}/remove/?items={first.pk}&items={second.pk}"))
    assert "Remove 2 items?" in page
    page = html(as_alice.get(f"/datasets/{dataset.pk}/remove/?q=pump&all=1"))
    assert "Remove 3 items?" in page and "These are all items with “pump”." in page
    assert "These are <b>all items</b> of the dataset" in html(as_alice.get(f"/datasets/{dataset.pk}/remove/?all=1"))
    assert dataset.items().count() == 4


def test_removing_counts_given_marks_and_those_of_annotators(as_alice, carol, bob):
    dataset = marked.dataset(owner=as_alice.user)
    page = html(as_alice.get(f"/datasets/{dataset.pk}/remove/?all=1"))
    assert "4 marks go with them, all of which came with the dataset." in page
    made = [marked.mark(dataset.items()[0], "State", 0, 0, annotator=person) for person in (carol, bob)]
    page = html(as_alice.get(f"/datasets/{dataset.pk}/remove/?items={dataset.items()[0].pk}"))
    assert "3 marks go with it, all of which came with the dataset." in page
    type(made[0]).objects.filter(pk__in=[mark.pk for mark in made]).update(status="accepted")
    page = html(as_alice.get(f"/datasets/{dataset.pk}/remove/?items={dataset.items()[0].pk}"))
    assert "5 marks go with it: 3 that came with the dataset, and <b>2 made by 2 annotators</b>." in page


def test_what_was_agreed_to_goes_and_can_be_taken_back_at_once(as_alice, dataset):
    response = remove(as_alice, dataset, "q=pump&all=1", count=3)
    assert response.status_code == 200 and not response.content
    assert numbers(dataset.items()) == [2]
    happened = events(response)
    assert list(happened) == ["toast", "itemsChanged", "closeDialog"]
    assert happened["toast"]["text"] == "3 items are in the bin."
    assert happened["toast"]["action"]["label"] == "Restore"
    remove(as_alice, dataset, "all=1", count=1)  # somebody else removes more meanwhile
    back = as_alice.post(happened["toast"]["action"]["url"])
    assert events(back)["toast"]["text"] == "3 items are back with all their marks."
    assert numbers(dataset.items()) == [1, 3, 4]
    dataset.refresh_from_db()
    assert dataset.item_count == 3
    [last] = dataset.bin()
    back = as_alice.post(f"/datasets/{dataset.pk}/restore/?bin=1&items={last.pk}")
    assert events(back)["toast"]["text"] == "1 item is back with all its marks."


@pytest.mark.parametrize(("data", "status"), [({"count": 2}, 409), ({}, 200), ({"count": "x"}, 200)])
def test_nothing_is_removed_before_somebody_has_agreed_to_that_number(as_alice, dataset, data, status):
    response = remove(as_alice, dataset, "q=pump&all=1", **data)
    page = html(response)
    assert response.status_code == status and ("Look again." in page) == (status == 409)
    assert 'name="count" value="3"' in page
    assert dataset.items().count() == 4


def test_items_that_come_after_the_count_are_not_removed_unasked(as_alice, dataset, monkeypatch):
    changing = Dataset.changing

    def add_first(self):
        monkeypatch.setattr(Dataset, "changing", changing)
        factories.upload("pump 4\n", by=as_alice.user, options={"format": "text"}, dataset=dataset).store()
        return changing(self)

    monkeypatch.setattr(Dataset, "changing", add_first)
    response = remove(as_alice, dataset, "q=pump&all=1", count=3)
    assert response.status_code == 409 and 'name="count" value="4"' in html(response)
    assert dataset.items().count() == 5 and dataset.bin().count() == 0


@pytest.mark.parametrize("query", ["", "q=pump", "all=0&q=pump", "all=", "has=entities"])
def test_a_filter_alone_does_not_choose(as_alice, dataset, query):
    response = remove(as_alice, dataset, query, count=4)
    assert response.status_code == 422
    assert events(response)["toast"]["text"] == "Choose the items first."
    assert as_alice.get(f"/datasets/{dataset.pk}/remove/?{query}").status_code == 422
    assert dataset.items().count() == 4


@pytest.mark.parametrize("query", ["items=x", "all=1&upload=7", "all=1&label=x", "all=1&bin=2", "items=0"])
def test_what_is_not_understood_removes_nothing(as_alice, dataset, query):
    for count in (0, 4):
        response = remove(as_alice, dataset, query, count=count)
        assert response.status_code == 422
        assert "None of these items" in events(response)["toast"]["text"]
    assert dataset.items().count() == 4


NAMES = ("q", "has", "label", "external", "upload", "removed", "bin", "sort", "items", "all", "page", "count")
VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["1", "0", "-1", "entities", "none", "-tokens", "removed", "99999999999999999999", "2026-01-01", "١"]
    ),
)


@pytest.mark.soak
@settings(max_examples=amount(25, 2000), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(NAMES), VALUES), st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_whatever_is_asked_for_nothing_breaks_and_nothing_is_removed(as_alice, dataset, query, data):
    address = f"/datasets/{dataset.pk}/"
    refused = (400, 422)
    shown = as_alice.get(address, query)
    assert shown.status_code in (200, 400)
    asked = urlencode(query)
    assert as_alice.get(f"{address}remove/?{asked}").status_code in (200, *refused)
    assert as_alice.post(f"{address}restore/?{asked}", data).status_code in (200, *refused)
    # Nobody agreed to five items: there are four.
    assert as_alice.post(f"{address}remove/?{asked}", data | {"count": "5"}).status_code in (409, *refused)
    assert dataset.items().count() == 4
    assert as_alice.get(f"{address}items/{dataset.items()[0].pk}/", query).status_code in (200, 400)


def test_items_of_another_dataset_are_not_reached(as_alice, as_bob, dataset):
    his = factories.dataset(owner=as_bob.user, text="his\n")
    assert remove(as_alice, dataset, f"items={his.items().get().pk}", count=1).status_code == 422
    assert his.items().count() == 1


def test_annotators_of_a_project_see_no_removed_item_until_it_is_restored(as_alice, as_carol):
    project = factories.project(by=as_alice.user, annotators=[as_carol.user])
    item = project.dataset.items().first()
    address = f"/projects/{project.pk}/annotate/{item.pk}/"
    assert as_carol.get(address).status_code == 200
    Annotation.start(item, as_carol.user)
    action = events(remove(as_alice, project.dataset, f"items={item.pk}", count=1))["toast"]["action"]
    assert as_carol.get(address).status_code == 302  # to the next one
    as_alice.post(action["url"])
    assert as_carol.get(address).status_code == 200
    assert Annotation.objects.get(annotator=as_carol.user).item == item


# The bin


def test_the_bin_shows_by_whom_and_for_how_long(as_alice, dataset):
    dataset.remove(dataset.items().filter(position=0), by=as_alice.user)
    page = html(as_alice.get(f"/datasets/{dataset.pk}/?bin=1"))
    assert "pump 1" in page and "valve" not in page
    assert "by you" in page and "30 days left" in page
    gone = Item.with_removed.get(dataset=dataset, position=0)
    page = html(as_alice.get(f"/datasets/{dataset.pk}/items/{gone.pk}/"))
    assert "In the bin." in page and "Restore" in page and "Edit fields…" not in page


def test_the_bin_counts_marks_when_no_other_item_has_any(as_alice):
    dataset = marked.dataset(owner=as_alice.user)
    dataset.remove(dataset.items(), by=as_alice.user)
    rows = as_alice.get(f"/datasets/{dataset.pk}/?bin=1").context["rows"]
    assert [(item.entity_count, item.relation_count) for item, *_ in rows] == [(2, 1), (1, 0), (0, 0)]


def test_selected_items_are_restored(as_alice, dataset):
    dataset.remove(dataset.items(), by=as_alice.user)
    keys = [item.pk for item in dataset.bin()][:2]
    response = as_alice.post(f"/datasets/{dataset.pk}/restore/?bin=1", {"items": keys})
    assert response.status_code == 200 and "itemsChanged" in events(response)
    assert numbers(dataset.items()) == [1, 2]
    as_alice.post(f"/datasets/{dataset.pk}/restore/?bin=1&q=pump", {"all": "1"})
    assert numbers(dataset.items()) == [1, 2, 3, 4]
    again = as_alice.post(f"/datasets/{dataset.pk}/restore/?bin=1", {"items": keys})
    assert again.status_code == 422 and "in the bin any more" in events(again)["toast"]["text"]


def test_what_comes_back_is_told_to_be_there_already(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text="Pump  A\nfan\n", lowercase=True, name="Twins")
    dataset.remove(dataset.items(), by=as_alice.user)
    options = {"kind": "standard", "format": "text"}
    factories.upload("seal\npump A\n", by=as_alice.user, options=options, dataset=dataset).store()
    restore, (pump, fan) = f"/datasets/{dataset.pk}/restore/?bin=1&items=", dataset.bin().order_by("position")
    told = events(as_alice.post(f"{restore}{fan.pk}"))["toast"]["text"]
    assert told == "1 item is back with all its marks."
    told = events(as_alice.post(f"{restore}{pump.pk}"))["toast"]["text"]
    assert told == "1 item is back with all its marks. Item 4 was there already with the same text."
    dataset.remove(dataset.items().filter(pk=pump.pk), by=as_alice.user)
    factories.upload("PUMP a\n", by=as_alice.user, options=options, dataset=dataset).store()
    told = events(as_alice.post(f"{restore}{pump.pk}"))["toast"]["text"]
    assert told.endswith("Item 4 and 1 other was there already with the same text.")


@pytest.mark.parametrize("query", ["", "bin=1", "all=1", "bin=0&all=1"])
def test_restoring_wants_items_of_the_bin(as_alice, dataset, query):
    dataset.remove(dataset.items(), by=as_alice.user)
    assert as_alice.post(f"/datasets/{dataset.pk}/restore/?{query}").status_code == 422
    assert dataset.items().count() == 0


def test_an_external_id_that_was_given_away_is_not_restored(as_alice, dataset):
    first, second, *_ = dataset.items()
    first.edit(external_id="A", extra_fields={})
    dataset.remove(dataset.items().filter(pk=first.pk), by=as_alice.user)
    second.edit(external_id="A", extra_fields={})
    response = as_alice.post(f"/datasets/{dataset.pk}/restore/?bin=1&items={first.pk}")
    assert response.status_code == 422
    assert "“A” already" in events(response)["toast"]["text"] and events(response)["toast"]["kind"] == "error"
    assert dataset.bin().count() == 1


# Fields


def edit(client, item, fields=(), **data):
    data = {"fields": json.dumps(fields)} | data
    return client.post(f"/datasets/{item.dataset_id}/items/{item.pk}/edit/", data)


def test_fields_are_edited_and_the_text_is_not(as_alice, dataset):
    item = dataset.items().first()
    lines = [("author", " Anna\r\nBell ", "text"), ("hours", "2.5", "json"), ("tags", '["a", null]', "json")]
    response = edit(as_alice, item, [*lines, ("5", "5", "text"), ("", " ", "text")], external_id=" WO 1 ", original="x")
    assert response.status_code == 200 and list(events(response)) == ["toast", "itemsChanged", "closeDialog"]
    item.refresh_from_db()
    assert item.external_id == "WO 1"
    assert item.extra_fields == {"author": " Anna\nBell ", "hours": 2.5, "tags": ["a", None], "5": "5"}
    assert (item.original, item.tokens) == ("pump 1", ["pump", "1"])


def test_a_form_that_is_sent_back_as_it_came_changes_nothing(as_alice, dataset):
    item = dataset.items().first()
    fields = {"a": "x", "b": "1\r\n2", "c": True, "d": "", "e": {"f": ["g"]}, "h": " ", "i": "\nj", "5": 5}
    fields |= {"": "", " ": 1, "k\r\nl\rm\nn": "o"}  # names as an upload may bring them
    item.edit(external_id=" A ", extra_fields=fields)
    assert to_object(Field.all_of(fields), known=fields) == fields
    sent = [(field.name, field.value, "json" if field.is_json else "text") for field in Field.all_of(fields)]
    edit(as_alice, item, sent, external_id=" A ")
    item.refresh_from_db()
    assert (item.external_id, item.extra_fields) == (" A ", fields)


def test_an_item_may_have_any_number_of_fields(as_alice, dataset):
    item = dataset.items().first()
    fields = {f"field {n}": "x" for n in range(1200)}
    sent = [(name, value, "text") for name, value in fields.items()]
    assert edit(as_alice, item, sent).status_code == 200
    item.refresh_from_db()
    assert item.extra_fields == fields


@pytest.mark.parametrize(
    "fields", ["", "x", "{}x", '{"a": 1}', "1", "[1]", '[["a", 1, "json"]]', '[["a", "\\ud800", "text"]]', "[" * 9999]
)
def test_fields_that_cannot_be_read_change_nothing(as_alice, dataset, fields):
    item = dataset.items().first()
    item.edit(external_id="A", extra_fields={"a": "b"})
    response = as_alice.post(f"/datasets/{dataset.pk}/items/{item.pk}/edit/", {"fields": fields, "external_id": "B"})
    assert response.status_code == 422 and "cannot be read" in html(response)
    item.refresh_from_db()
    assert (item.external_id, item.extra_fields) == ("A", {"a": "b"})


def test_large_numbers_do_not_keep_an_item_from_being_edited(as_alice, dataset):
    """PostgreSQL gives them back as whole numbers."""
    item = dataset.items().first()
    item.edit(external_id="", extra_fields={"a": 1e22, "b": [-5e21, 2**63 - 1]})
    item.refresh_from_db()
    sent = [(field.name, field.value, "json") for field in Field.all_of(item.extra_fields)]
    assert edit(as_alice, item, [*sent, ("c", "2", "json")]).status_code == 200
    item.refresh_from_db()
    assert item.extra_fields == {"a": 1e22, "b": [-5e21, 2**63 - 1], "c": 2}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([("", "x", "text")], "The field has no name."),
        ([("  ", "x", "text")], "The field has no name."),
        ([("a", "1", "text"), ("", "", "text"), ("", "x", "text")], "field 2"),
        ([("a", "1", "text"), ("a", "2", "text")], "two fields “a”"),
        ([("a", "Anna", "json")], "This is not JSON"),
        ([("a", "", "json")], "This is not JSON"),
        ([("a", "NaN", "json")], "NaN"),
        ([("a", '{"b": 1, "b": 2}', "json")], "stands twice"),
        ([("a", "x\0", "text")], "NUL"),
        ([("a\0", "x", "text")], "NUL"),
        ([("a", "x" * 100_001, "text")], "100\u202f000 characters"),
    ],
)
def test_what_is_wrong_with_the_fields_is_said_and_what_was_typed_is_kept(as_alice, dataset, lines, said):
    item = dataset.items().first()
    response = edit(as_alice, item, lines, external_id="Kept")
    assert response.status_code == 422
    page = html(response)
    assert said in page and 'value="Kept"' in page
    item.refresh_from_db()
    assert (item.external_id, item.extra_fields) == ("", {})


def test_an_external_id_belongs_to_one_item(as_alice, dataset):
    first, second, *_ = dataset.items()
    edit(as_alice, first, external_id="A")
    response = edit(as_alice, second, external_id="A")
    assert response.status_code == 422 and "“A” already" in html(response)
    assert "at most 200 characters" in html(edit(as_alice, second, external_id="x" * 201))


def test_two_people_edit_the_same_field(as_alice, as_sam, dataset):
    item = dataset.items().first()
    seen = {"was_external_id": fingerprint(""), "was_extra_fields": fingerprint({})}
    edit(as_sam, item, external_id="Other", **seen)
    assert edit(as_alice, item, [("b", "hers", "text")], external_id="", **seen).status_code == 200
    item.refresh_from_db()
    assert (item.external_id, item.extra_fields) == ("Other", {"b": "hers"})  # different fields are no conflict
    item.edit(external_id="", extra_fields={})
    edit(as_sam, item, [("a", "his", "text")], external_id="His", **seen)
    response = edit(as_alice, item, [("a", "hers", "text")], external_id="Hers", **seen)
    assert response.status_code == 409
    page = html(response)
    for words in ("Changed meanwhile.", "His", 'value="Hers"', '{"a": "his"}', "hers</textarea>"):
        assert words in page, words
    item.refresh_from_db()
    assert item.external_id == "His"
    again = {f"was_{name}": seen for name, seen in response.context["form"]["seen"].items()}
    assert edit(as_alice, item, [("a", "hers", "text")], external_id="Hers", **again).status_code == 200
    item.refresh_from_db()
    assert (item.external_id, item.extra_fields) == ("Hers", {"a": "hers"})


def test_a_removed_item_is_not_edited(as_alice, dataset):
    item = dataset.items().first()
    dataset.remove(dataset.items().filter(pk=item.pk), by=as_alice.user)
    response = edit(as_alice, item, external_id="A")
    assert response.status_code == 422 and "removed" in html(response)
