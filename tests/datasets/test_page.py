"""The page of a dataset: its facts, and the table of its items."""

import re
from html import unescape
from itertools import pairwise

import pytest
from django.urls import reverse

from datasets.models import Annotation, Dataset, Item
from tests import factories
from tests.datasets import marked
from tests.queries import queries_of


def html(response):
    return unescape(response.text)


def texts(response):
    return [item.original for item in response.context["page"].object_list]


def lines(*numbers):
    return "".join(f"line {n}\n" for n in numbers)


# What is told


def test_the_page_shows_the_facts_and_the_items(as_alice):
    dataset = factories.dataset(owner=as_alice.user, lowercase=True)
    page = html(as_alice.get(f"/datasets/{dataset.pk}/"))
    for words in ("Work orders", "Standard dataset", "Blueprint", "3 items", "15 tokens", "lower-cased", "top up"):
        assert words in page
    assert f'"/projects/use/?dataset={dataset.pk}"' in page


def test_a_projects_dataset_names_the_project_and_is_not_used_again(as_alice):
    project = factories.project(by=as_alice.user)
    page = html(as_alice.get(f"/datasets/{project.dataset.pk}/"))
    assert "Project: Pumps" in page and "Copied from" in page
    assert f'href="/ontologies/{project.entity_ontology.pk}/"' in page
    assert "Use in a project" not in page and "/delete/" not in page


def test_a_preannotated_dataset_links_its_ontologies_and_counts_marks(as_alice):
    dataset = marked.dataset(owner=as_alice.user)
    response = as_alice.get(f"/datasets/{dataset.pk}/")
    page = html(response)
    for ontology in dataset.ontologies():
        assert f'href="/ontologies/{ontology.pk}/"' in page
    assert [(i.entity_count, i.relation_count) for i, *_ in response.context["rows"]] == [(2, 1), (1, 0), (0, 0)]
    assert "3 labels in use" in page
    # They are offered with those above them and the marks of their branches.
    assert re.findall(r"<option [^>]*>([^<]*\(\d+\))</option>", page) == [
        "PhysicalObject (3)",
        "PhysicalObject/SensingObject (1)",
        "PhysicalObject/SensingObject/Thermostat (1)",
        "PhysicalObject/DrivingObject (1)",
        "hasPart (1)",
    ]
    label = dataset.entity_ontology.labels().by_fullname["State"]
    page = html(as_alice.get(f"/datasets/{dataset.pk}/?label={label.uid}"))
    assert f'<option value="{label.uid}" selected hidden>State</option>' in page
    assert "No item with the label “State”." in page


def test_the_vocabulary_is_counted_after_the_page_or_when_it_is_asked_for(as_alice, monkeypatch):
    dataset = factories.dataset(owner=as_alice.user)
    address = f"/datasets/{dataset.pk}/statistics/vocabulary/"
    assert f'hx-get="{address}" hx-trigger="load"' in html(as_alice.get(f"/datasets/{dataset.pk}/"))
    monkeypatch.setattr("datasets.views.pages.COUNTED_UNASKED", 14)
    page = html(as_alice.get(f"/datasets/{dataset.pk}/"))
    assert f'hx-get="{address}"' in page and f'hx-get="{address}" hx-trigger="load"' not in page
    assert "15</span>" in html(as_alice.get(address))


def test_text_of_items_is_escaped(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text="<script>alert(1)</script> <u>\n", name="<i>name")
    item = dataset.items().get()
    item.edit(external_id="<b>id", extra_fields={"<u>": "<script>alert"})
    for address in ("", "?q=<u>", f"items/{item.pk}/", f"items/{item.pk}/edit/", "statistics/", "statistics/figures/"):
        content = as_alice.get(f"/datasets/{dataset.pk}/{address}").text
        assert not [tag for tag in ("<script>alert", "<u>", "<i>n", "<b>id") if tag in content], address


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("?q=nowhere", "No item with “nowhere”"),
        ("?external=nothing", "No item with “nothing” in the external id"),
        ("?upload=9", "No item added in upload 9"),
        ("?bin=1", "The bin is empty"),
    ],
)
def test_an_empty_table_says_what_to_do(as_alice, address, words):
    dataset = factories.dataset(owner=as_alice.user)
    assert words in html(as_alice.get(f"/datasets/{dataset.pk}/{address}"))


def test_a_dataset_without_items_says_where_they_are(as_alice):
    dataset = factories.dataset(owner=as_alice.user)
    dataset.remove(dataset.items(), by=as_alice.user)
    page = html(as_alice.get(f"/datasets/{dataset.pk}/"))
    assert "All items of this dataset were removed" in page and "?bin=1" in page and "Add items…" in page
    empty = Dataset.objects.create(kind="standard", name="Empty", owner=as_alice.user)
    assert "Paste some lines" in html(as_alice.get(f"/datasets/{empty.pk}/"))
    assert "Nothing to count" in html(as_alice.get(f"/datasets/{empty.pk}/statistics/"))


# The table


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("PUMP", ["Replace pump 100%"]),
        ("%", ["Replace pump 100%"]),
        ("_", ["snake_case"]),
        ("\\", ["back\\slash"]),
        ("STRASSE", ["Straße"]),
        ("straße", ["Straße"]),
        ("ΟΔΟΣ", ["οδός οδος"]),
        (" насос ", ["Заменить НАСОС"]),
        ("e p", ["Replace pump 100%"]),
        ("x' OR '1'='1", []),
        ("a" * 100_000, []),
    ],
)
def test_the_search_finds_parts_of_texts_in_any_case_and_script(as_alice, query, found):
    lines = ["Replace pump 100%", "snake_case", "back\\slash", "Straße", "οδός οδος", "Заменить НАСОС"]
    dataset = factories.dataset(owner=as_alice.user, text="\n".join(lines))
    response = as_alice.get(f"/datasets/{dataset.pk}/", {"q": query})
    assert response.status_code == 200
    assert texts(response) == found


def test_the_place_of_a_match_is_marked_even_far_into_a_long_text(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text="ß" * 100 + " Pump " + "x" * 1000)
    [(_, excerpt, _)] = as_alice.get(f"/datasets/{dataset.pk}/", {"q": "pump"}).context["rows"]
    assert excerpt.match == "Pump"
    assert excerpt.before.startswith("…ß") and len(excerpt.before) == 61
    assert excerpt.after.endswith("…")


def test_items_come_in_pages_of_fifty(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text=lines(*range(1, 121)))

    def page(query):
        return texts(as_alice.get(f"/datasets/{dataset.pk}/?{query}"))

    assert page("") == [f"line {n}" for n in range(1, 51)]
    assert page("page=2") == [f"line {n}" for n in range(51, 101)]
    assert page("page=3") == page("page=77") == [f"line {n}" for n in range(101, 121)]
    assert page("q=line&page=2") == page("page=2")
    assert page("sort=-number") == [f"line {n}" for n in range(120, 70, -1)]
    assert page("sort=-number&page=3") == [f"line {n}" for n in range(20, 0, -1)]
    assert page("sort=tokens&page=3") == page("page=3")
    for odd in ("sort=password", "sort=", "page=x", "page=-1", "page=9999999999999999999", "x=2"):
        assert len(page(odd)) in (50, 20), odd


def test_links_and_the_field_for_the_page_keep_the_filter(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text=lines(*range(120)))
    page = html(as_alice.get(f"/datasets/{dataset.pk}/?q=line&has=&external=&sort=-tokens&page=2&x=1"))
    assert '<a href="?q=line&sort=tokens">Tokens' in page
    assert 'href="?q=line&sort=-tokens&page=3"' in page
    assert '<input type="hidden" name="sort" value="-tokens">' in page and 'name="x"' not in page


def test_the_first_page_counts_no_live_items(as_alice):
    dataset = factories.dataset(owner=as_alice.user)
    captured = queries_of(as_alice.get, f"/datasets/{dataset.pk}/")
    counts = [query for query in captured if re.match(r'SELECT COUNT.*FROM "datasets_item"', query)]
    assert len(counts) == 1 and "removed_at" in counts[0] and "IS NULL" not in counts[0]  # those in the bin


def test_the_queries_of_a_page_do_not_grow_with_its_rows(as_alice):
    few = marked.dataset(owner=as_alice.user, items=["line"] * 3)
    many = marked.dataset(owner=as_alice.user, items=[f"line {n}" for n in range(70)])
    for dataset in (few, many):
        for item in dataset.items()[:60]:
            marked.relate(marked.mark(item, "State", 0, 0), marked.mark(item, "Activity", 0, 0), "hasPart")
        dataset.remove(dataset.items().filter(position=0), by=as_alice.user)
    addresses = ("", "?bin=1", "?q=line", "?has=entities&sort=-entities", "statistics/", "statistics/figures/")

    def queries(dataset, address):
        return len(queries_of(as_alice.get, f"/datasets/{dataset.pk}/{address}"))

    for address in addresses:
        for dataset in (few, many):
            queries(dataset, address)  # labels and figures are in memory now
        assert queries(many, address) <= queries(few, address) + 1, address  # a search for the end of the pages


def test_filtering_asks_for_the_table_alone_and_tells_the_new_address(as_alice):
    dataset = factories.dataset(owner=as_alice.user)
    headers = {"HX-Request": "true", "HX-Target": "items"}
    response = as_alice.get(f"/datasets/{dataset.pk}/?q=oil&has=&sort=", headers=headers)
    page = html(response)
    assert page.lstrip().startswith('<section id="items"') and "<html" not in page
    assert texts(response) == ["replace engine oil"]
    assert response["HX-Push-Url"] == f"/datasets/{dataset.pk}/?q=oil"
    assert "HX-Target" in response["Vary"] and "HX-Request" in response["Vary"]
    whole = as_alice.get(f"/datasets/{dataset.pk}/?q=oil", headers={"HX-Request": "true", "HX-Target": "dataset"})
    assert "<html" in html(whole) and "HX-Target" in whole["Vary"]


# One item


def test_an_item_shows_its_marks_relations_and_fields(as_alice):
    dataset = marked.dataset(owner=as_alice.user)
    item = dataset.items().first()
    item.edit(external_id="WO 7", extra_fields={"author": "Anna", "hours": [1, 2.5]})
    dataset.entity_ontology.items().get(name="DrivingObject").switch(False, by=as_alice.user)
    response = as_alice.get(f"/datasets/{dataset.pk}/items/{item.pk}/")
    page = html(response)
    assert [(label.fullname, text) for label, _, text in response.context["entities"]] == [
        ("PhysicalObject", "engine oil"),
        ("PhysicalObject/DrivingObject", "engine"),
    ]
    assert [(label.name, source, target) for source, _, label, target, _ in response.context["drawing"]["arcs"]] == [
        ("hasPart", "engine oil", "engine")
    ]
    for words in ("WO 7", "author", "Anna", "[1, 2.5]", "DrivingObject<small> off</small>", "2 entities · 1 relation"):
        assert words in page, words


def test_an_item_whose_tokens_are_not_in_its_text_says_so(as_alice):
    dataset = marked.dataset(owner=as_alice.user)
    Item.objects.filter(dataset=dataset, position=0).update(offsets=None, original="Replacing the oil")
    page = html(as_alice.get(f"/datasets/{dataset.pk}/items/{dataset.items().first().pk}/"))
    assert "Not each of them occurs in the original text" in page and "Replacing the oil" in page


def test_from_item_to_item_through_the_filter(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text="pump 1\nvalve\npump 2\npump 3\n")
    items = list(dataset.items())
    page = html(as_alice.get(f"/datasets/{dataset.pk}/items/{items[2].pk}/?q=pump&sort=-number&x=1"))
    assert f'href="/datasets/{dataset.pk}/items/{items[3].pk}/?q=pump&sort=-number"' in page
    assert f'href="/datasets/{dataset.pk}/items/{items[0].pk}/?q=pump&sort=-number"' in page
    assert f'href="/datasets/{dataset.pk}/?q=pump&sort=-number">with “pump”' in page


def test_a_manager_sees_who_has_annotated_an_item_and_is_led_to_their_marks(as_alice, carol):
    project = factories.project(by=as_alice.user, annotators=[carol])
    item = project.dataset.items().first()
    label = project.entity_ontology.items().first()
    annotation = Annotation.start(item, carol)
    for place, status in enumerate(["accepted", "rejected"]):
        annotation.entity_set.create(uid=f"mark-{place}", label=label, start=place, end=place, status=status)
    page = html(as_alice.get(f"/datasets/{project.dataset.pk}/items/{item.pk}/"))
    assert f'href="{reverse("annotations:read", args=[project.pk, carol.pk, item.pk])}">carol' in page
    assert "1 entity<" in page and "begun" in page
    other = project.dataset.items().last()
    assert "Nobody has begun" in html(as_alice.get(f"/datasets/{project.dataset.pk}/items/{other.pk}/"))


def test_the_queries_of_an_item_do_not_grow_with_its_marks(as_alice):
    dataset = marked.dataset(owner=as_alice.user, items=["a", "x " * 40])
    marked.mark(dataset.items()[0], "State", 0, 0)
    marks = [marked.mark(dataset.items()[1], "State", start, start) for start in range(40)]
    for source, target in pairwise(marks):
        marked.relate(source, target, "hasPart")

    def queries(item):
        address = f"/datasets/{dataset.pk}/items/{item.pk}/"
        as_alice.get(address)
        return len(queries_of(as_alice.get, address))

    assert queries(dataset.items()[0]) == queries(dataset.items()[1])


# Rights


def test_a_colleague_reads_and_duplicates_but_changes_nothing(as_alice, as_bob):
    dataset = factories.dataset(owner=as_alice.user)
    page = html(as_bob.get(f"/datasets/{dataset.pk}/"))
    assert "Duplicate…" in page and "Rename or describe…" not in page and "Delete…" not in page
    assert "Add items…" not in page and 'type="checkbox"' not in page
    item = html(as_bob.get(f"/datasets/{dataset.pk}/items/{dataset.items().first().pk}/"))
    assert "Remove…" not in item and "Edit fields…" not in item
    for verb in ("edit", "delete"):
        assert as_bob.get(f"/datasets/{dataset.pk}/{verb}/").status_code == 403
        assert as_bob.post(f"/datasets/{dataset.pk}/{verb}/", {"name": "Mine"}).status_code == 403
    assert as_bob.post(f"/datasets/{dataset.pk}/duplicate/", {"name": "His own"}).status_code == 200
    dataset.refresh_from_db()
    assert dataset.name == "Work orders"
    copy = Dataset.objects.get(owner=as_bob.user)
    assert (copy.name, copy.copied_from, copy.items().count()) == ("His own", dataset, 3)


def test_the_owner_renames_and_deletes(as_alice):
    dataset = factories.dataset(owner=as_alice.user)
    as_alice.post(f"/datasets/{dataset.pk}/edit/", {"name": "New name", "description": "New"})
    dataset.refresh_from_db()
    assert (dataset.name, dataset.description) == ("New name", "New")
    as_alice.post(f"/datasets/{dataset.pk}/delete/")
    assert not Dataset.objects.exists() and not Item.with_removed.exists()


@pytest.mark.parametrize("address", ["/datasets/0/", "/datasets/99999999999999999999999/", "/datasets/x/"])
def test_keys_that_cannot_be_are_not_found(as_alice, address):
    assert as_alice.get(address).status_code == 404
