"""Pages of several items in the workspace: which stand on one, and what the page knows about them."""

import json
import re

import pytest

from datasets.models import Annotation
from tests import factories
from tests.annotations.own_work import mark, work
from tests.queries import queries_of
from work.models import Comment, Flag

TEXT = "".join(f"{'replace' if n % 2 else 'check'} pump {n}\n" for n in range(1, 31))


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


@pytest.fixture
def shown(project, as_carol):
    """``shown(7, "?on_page=5")``: the numbers of the items on the page of an item, and where the neighbouring pages begin."""

    def shown(number, query="", client=as_carol):
        item = project.dataset.items()[number - 1]
        page = client.get(f"/projects/{project.pk}/annotate/{item.pk}/{query}").text
        state = json.loads(re.search(r'<script id="state" type="application/json">(.*?)</script>', page)[1])
        numbers = [each["item"]["number"] for each in state["items"]]
        return numbers, [number_at(project, state["urls"][name]) for name in ("previous", "next")]

    return shown


def number_at(project, url):
    found = url and re.search(r"/annotate/(\d+)/", url)
    return found and project.dataset.items().get(pk=found[1]).number


def test_a_page_is_a_slice_of_the_list_that_is_walked_through(shown):
    for number, query, numbers, neighbours in (
        (1, "", [1], [None, 2]),
        (1, "?on_page=5", [1, 2, 3, 4, 5], [None, 6]),
        (6, "?on_page=5", [6, 7, 8, 9, 10], [1, 11]),
        (3, "?on_page=5", [3, 4, 5, 6, 7], [1, 8]),
        (26, "?on_page=5", [26, 27, 28, 29, 30], [21, None]),
        (29, "?on_page=10", [29, 30], [19, None]),
        (2, "?on_page=5&q=check", [2, 4, 6, 8, 10], [None, 12]),
        (3, "?on_page=5&q=check", [3, 4, 6, 8, 10], [2, 12]),  # it does not match itself, and is shown
        (9, "?on_page=5&sort=-number", [9, 8, 7, 6, 5], [14, 4]),
        *((5, f"?on_page={wrong}", [5], [4, 6]) for wrong in ("2", "0", "-5", "x", "1000000", "²")),
    ):
        assert shown(number, query) == (numbers, neighbours), (number, query)
    walked, at = [], 11
    while at:  # the longest texts first
        page, (_, at) = shown(at, "?on_page=10&sort=-length")
        walked += page
    assert sorted(walked) == list(range(1, 31))


def test_how_many_is_kept_for_the_person_and_an_address_goes_on_with_its_own(shown, project, carol, as_carol, as_dave):
    carol.choose_comfort("on_page", "10")
    assert len(shown(1)[0]) == 10
    assert len(shown(1, client=as_dave)[0]) == 1
    assert len(shown(1, "?on_page=5")[0]) == 5
    first = project.dataset.items()[0]
    page = as_carol.get(f"/projects/{project.pk}/annotate/{first.pk}/?on_page=5")
    text, state = page.text, page.context["state"]
    assert "Items 1 to 5 of 30" in text and 'class="chip walk"' not in text
    assert state["urls"]["next"].endswith("?on_page=5")
    assert as_carol.get(state["items"][4]["urls"]["undone"]).headers["Location"].endswith("?on_page=5")
    as_carol.post(f"/projects/{project.pk}/items/{first.pk}/done/", {"done": True}, content_type="application/json")
    assert as_carol.get(state["items"][0]["urls"]["undone"]).headers["Location"] == state["items"][1]["urls"]["page"]


def test_a_page_has_only_what_is_given_to_the_person(alice, carol, dave, as_carol):
    project = factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text=TEXT)
    given = list(project.items_for(carol).values_list("pk", flat=True))
    assert 10 < len(given) < 20
    page = as_carol.get(f"/projects/{project.pk}/annotate/{given[0]}/?on_page=20")
    assert [each["item"]["pk"] for each in page.context["state"]["items"]] == given
    assert f"Items 1 to {len(given)} of {len(given)}" in page.text


def test_readers_see_one_item(project, carol, alice, as_alice):
    alice.choose_comfort("on_page", "10")
    item = project.dataset.items()[0]
    page = as_alice.get(f"/projects/{project.pk}/marks/{carol.pk}/{item.pk}/?on_page=5")
    assert len(page.context["state"]["items"]) == 1


def test_each_item_comes_with_its_own_marks_flags_and_comments(project, carol, dave, as_carol):
    first, second, third = project.dataset.items()[:3]
    work(project, carol, {1: "done", 2: "suggested"})
    mark(project, dave, 3)
    given = Annotation.objects.get(item=second, annotator=None)
    Flag.objects.create(item=second, person=carol, kind="issue", why="Two pumps")
    Flag.objects.create(item=second, person=dave, kind="quality")
    for item, author, text in ((first, carol, "First?"), (third, carol, "Third?"), (third, dave, "Of dave")):
        Comment.begin(item, author, by=author, text=text)
    page = as_carol.get(f"/projects/{project.pk}/annotate/{first.pk}/?on_page=5")
    states = page.context["state"]["items"]
    assert [[mark["status"] for mark in state["entities"]] for state in states[:3]] == [["accepted"], ["suggested"], []]
    assert [state["done"] for state in states] == [True, False, False, False, False]
    assert [[flag["why"] for flag in state["flags"]] for state in states[:3]] == [[], ["Two pumps"], []]
    assert [[said.text for said in each["comments"]] for each in page.context["items"][:3]] == [
        ["First?"],
        [],
        ["Third?"],
    ]
    assert [state["revision"] for state in states[1:3]] == [given.revision, 0]


def test_a_page_takes_the_same_queries_for_all_sizes(project, carol, as_carol):
    for item in project.dataset.items()[:20]:
        mark(project, carol, item.number)
        Flag.objects.create(item=item, person=carol, kind="issue")
        Comment.begin(item, carol, by=carol, text="Why?")
    counts, address = [], f"/projects/{project.pk}/annotate/{project.dataset.items()[0].pk}/"
    for size in (1, 5, 20):
        counts.append(len(queries_of(as_carol.get, f"{address}?on_page={size}")))
    assert counts[1] == counts[2] <= counts[0] + 3, counts


def test_around_a_short_item_stand_the_beginnings_of_its_neighbours(as_carol, as_alice, alice, carol):
    texts = [" ".join(["pump"] * count) for count in (2000, 100, 101, 3)]
    project = factories.project(by=alice, annotators=[carol], text="\n".join(texts) + "\n")
    items = list(project.dataset.items())

    def around(item, query="", client=as_carol, of="annotate"):
        page = client.get(f"/projects/{project.pk}/{of}/{item.pk}/{query}")
        found = page.context["items"][0].get("around", {})
        assert all(f'href="{each["url"]}"' in page.text for each in found.values())
        return {way: (each["item"].number, len(each["text"])) for way, each in found.items()}

    assert around(items[1]) == {"before": (1, 300), "after": (3, 300)}
    assert around(items[3]) == {"before": (3, 300)}
    assert around(items[1], of="marks/carol", client=as_alice).keys() == {"before", "after"}
    assert around(items[1], "?sort=-number")["before"][0] == 3  # as previous and next lead
    assert around(items[1], "?on_page=5") == {}
    assert around(items[0]) == around(items[2]) == {}  # a long text needs the room itself
    few, many = (
        len(queries_of(as_carol.get, f"/projects/{project.pk}/annotate/{at.pk}/")) for at in (items[2], items[1])
    )
    assert many == few + 1
