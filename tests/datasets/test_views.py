from html import unescape

import pytest

from tests import factories
from tests.queries import queries_of


def html(response):
    return unescape(response.text)


def shown(response):
    return [dataset.name for dataset in response.context["page"].object_list]


def texts(response):
    return [item.original for item in response.context["page"].object_list]


# List


def test_one_dataset_is_counted_as_one(as_alice):
    factories.dataset(owner=as_alice.user)
    assert "1 dataset</span>" in html(as_alice.get("/datasets/"))
    factories.dataset(owner=as_alice.user)
    assert "2 datasets</span>" in html(as_alice.get("/datasets/"))


def test_the_list_shows_everybodys_blueprints_and_no_copies(as_alice, as_bob):
    factories.dataset(owner=as_alice.user, name="Hers")
    factories.dataset(owner=as_bob.user, name="His")
    factories.project(by=as_bob.user, name="Pumps")
    response = as_alice.get("/datasets/")
    assert sorted(shown(response)) == ["Hers", "His", "Work orders"]
    assert shown(as_alice.get("/datasets/?mine=1")) == ["Hers"]


def test_the_search_in_the_list_ignores_case_in_every_script(as_alice):
    for name in ("Ärzte", "Трубы", "100% sure", "a_b"):
        factories.dataset(owner=as_alice.user, name=name)
    assert shown(as_alice.get("/datasets/", {"q": "äRZ"})) == ["Ärzte"]
    assert shown(as_alice.get("/datasets/", {"q": "ТРУ"})) == ["Трубы"]
    assert shown(as_alice.get("/datasets/", {"q": "%"})) == ["100% sure"]
    assert shown(as_alice.get("/datasets/", {"q": "_"})) == ["a_b"]
    assert "No dataset matches" in html(as_alice.get("/datasets/", {"q": "pump"}))


@pytest.mark.parametrize(
    ("sort", "names"),
    [("items", ["one", "Two"]), ("-items", ["Two", "one"]), ("name", ["one", "Two"]), ("-name", ["Two", "one"])],
)
def test_the_list_is_sorted_by_a_column(as_alice, sort, names):
    factories.dataset(owner=as_alice.user, name="Two", text="a\nb\n")
    factories.dataset(owner=as_alice.user, name="one", text="a\n")
    assert shown(as_alice.get(f"/datasets/?sort={sort}")) == names


@pytest.mark.parametrize(
    "query", ["sort=password", "sort=", "page=x", "page=-1", "page=99999999999999999999", "mine=2"]
)
def test_odd_values_in_the_address_do_no_harm(as_alice, query):
    dataset = factories.dataset(owner=as_alice.user)
    assert shown(as_alice.get(f"/datasets/?{query}")) == ["Work orders"]
    assert len(texts(as_alice.get(f"/datasets/{dataset.pk}/?{query}"))) == 3


def test_an_empty_list_says_what_to_do(as_alice):
    assert "No datasets yet" in html(as_alice.get("/datasets/"))


def test_the_queries_of_a_page_do_not_grow_with_its_rows(as_alice):
    dataset = factories.dataset(owner=as_alice.user, text="".join(f"line {n}\n" for n in range(60)))

    def queries():
        addresses = ("", f"{dataset.pk}/", f"{dataset.pk}/?q=line")
        return [len(queries_of(as_alice.get, f"/datasets/{address}")) for address in addresses]

    few = queries()
    bob = factories.manager("bob")
    for n in range(20):
        factories.dataset(owner=bob, name=f"More {n}")
    dataset = factories.dataset(owner=as_alice.user, text="".join(f"line {n}\n" for n in range(200)))
    assert queries() == few
