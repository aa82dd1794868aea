"""A person's own items: found, sorted, walked through, and left for later."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from datasets.models import Annotation
from projects.progress import with_progress
from tests import factories
from tests.annotations.own_work import label_of, mark, work
from tests.queries import queries_of
from work.models import Batch, Comment, Flag
from work.models.item_work import count_some

TEXT = "replace pump\nleft PUMP leaking\nvalve stuck again\noil low\npump and valve noisy\ncheck filter\n"


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


@pytest.fixture
def numbers(project, as_carol):
    """``numbers("?q=pump")``: the numbers of the items in carol's list."""

    def numbers(query="", client=as_carol):
        page = client.get(f"/projects/{project.pk}/annotate/items/{query}").text
        return [int(number) for number in re.findall(r'<td class="num faint">(\d+)</td>\s*<td class="text">', page)]

    return numbers


def item(project, number):
    return project.dataset.items()[number - 1]


def workspace(project, number, query=""):
    return f"/projects/{project.pk}/annotate/{item(project, number).pk}/{query}"


# --- Filters -------------------------------------------------------------------------------------------------------------


def test_texts_are_searched_in_any_case(numbers):
    assert numbers() == [1, 2, 3, 4, 5, 6]
    assert numbers("?q=Pump") == [1, 2, 5]
    assert numbers("?q=nowhere") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=undone", [2, 3, 4, 5, 6]),
        ("state=untouched", [3, 4, 5, 6]),
        ("state=begun", [2]),
        ("state=done", [1]),
        ("has=suggestions", [4]),
        ("state=undone&q=pump", [2, 5]),
        ("state=done&has=suggestions", []),
        ("state=other", []),
        ("has=other", []),
        ("label=nothing", []),
    ],
)
def test_states_and_suggestions(project, carol, dave, numbers, query, found):
    work(project, carol, {1: "done", 2: "begun", 4: "suggested"})
    work(project, dave, {3: "done", 5: "begun"})  # somebody else's work is not one's own
    assert numbers(f"?{query}") == found


def test_suggestions_are_those_that_the_person_sees(project, carol, numbers):
    """In an item that they have begun, their own: what came with it may be decided there."""
    work(project, carol, {4: "suggested"})
    own = Annotation.start(item(project, 4), carol)
    assert numbers("?has=suggestions") == [4]
    own.mark(own.entity_set.model, "came").remove()
    assert numbers("?has=suggestions") == []


def test_what_a_batch_put_there_does_not_begin_an_item(project, carol, numbers):
    annotation = Annotation.objects.create(item=item(project, 2), annotator=carol, started_at=None)
    annotation.entity_set.create(uid="batch", label=label_of(project, "State"), start=0, end=0, origin="propagation")
    assert numbers("?state=untouched") == [1, 2, 3, 4, 5, 6]
    assert numbers("?state=begun") == []
    assert numbers("?label=State") == numbers("?has=marks") == [2]
    mark(project, carol, 2, "Activity")
    assert numbers("?state=begun") == [2]


def test_the_list_tells_that_a_batch_marked_an_item_that_is_not_begun(project, carol, as_carol):
    address = f"/projects/{project.pk}/annotate/items/"
    work(project, carol, {1: "begun"})
    assert "marked by a batch" not in as_carol.get(address).text
    batch = Batch.objects.create(dataset=project.dataset, person=carol, verb="propagate", kind="entity")
    for number in (1, 2):
        annotation, _ = Annotation.objects.get_or_create(
            item=item(project, number), annotator=carol, defaults={"started_at": None}
        )
        place = {"start": 1, "end": 1, "origin": "propagation"}
        annotation.entity_set.create(uid="batch", label=label_of(project, "State"), batch=batch, **place)
    page = as_carol.get(address).text
    assert page.count("marked by a batch") == 1 and "A batch put 1 mark there" in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?q=pump&sort=-length", "in “pump”, by length:"),
        ("?sort=length", ">by length:"),
        ("?sort=-number", ">from the end:"),
    ],
)
def test_the_way_is_named(project, as_carol, query, words):
    assert words in as_carol.get(workspace(project, 1, query)).text


def test_flags_and_comments(project, carol, dave, numbers):
    Flag.put(item(project, 1), carol, kind="uncertain")
    Flag.put(item(project, 2), carol, kind="issue")
    Flag.put(item(project, 3), dave, kind="issue")
    Comment.begin(item(project, 4), carol, by=carol, text="Is this a pump?")
    Comment.begin(item(project, 5), carol, by=carol, text="Is this one?").resolve(by=carol)
    Comment.begin(item(project, 6), dave, by=dave, text="And this?")
    assert numbers("?has=flags") == [1, 2]
    assert numbers("?has=issue") == [2]
    assert numbers("?has=flags&q=left") == [2]
    assert numbers("?has=comments") == [4, 5]
    assert numbers("?has=open") == [4]


def test_labels_with_those_below_them(project, carol, dave, numbers):
    mark(project, carol, 1, "Thermostat")
    mark(project, carol, 2, "PhysicalObject")
    mark(project, carol, 3, "State")
    mark(project, dave, 4, "Thermostat")
    uid = label_of(project, "PhysicalObject").uid
    assert numbers(f"?label={uid}") == [1, 2]
    assert numbers("?label=PhysicalObject/SensingObject") == [1]
    assert numbers("?label=THERMO") == [1]
    assert numbers("?label=e") == [1, 2, 3]
    Annotation.start(item(project, 3), carol).entity_set.update(status="rejected")
    assert numbers("?label=State") == []


def test_sorting(project, carol, numbers):
    work(project, carol, {2: "begun", 5: "begun"})
    mark(project, carol, 5, start=1, end=1)
    mark(project, carol, 3)
    Annotation.objects.filter(item=item(project, 3)).update(changed_at=timezone.now() - timedelta(days=1))
    assert numbers("?sort=-number") == [6, 5, 4, 3, 2, 1]
    assert numbers("?sort=-length") == [5, 2, 3, 1, 6, 4]
    assert numbers("?sort=length")[:1] == [4]
    assert numbers("?sort=-marks") == [5, 2, 3, 1, 4, 6]
    assert numbers("?sort=-changed") == [5, 2, 3, 1, 4, 6]
    assert numbers("?sort=changed") == [1, 4, 6, 3, 2, 5]
    assert numbers("?sort=nonsense") == [1, 2, 3, 4, 5, 6]


def test_counted_or_not_the_marks_are_those_of_now(project, carol, dave, numbers):
    """Most annotations know how many marks they have, those that were changed a moment ago do not."""
    work(project, carol, {2: "begun", 5: "done"})
    mark(project, dave, 6)
    count_some(60)
    for start in (1, 2):
        mark(project, carol, 3, start=start, end=start)
    Annotation.objects.get(item=item(project, 2), annotator=carol).reopen()
    for _ in range(2):
        assert numbers("?sort=-marks") == [3, 2, 5, 1, 4, 6]
        assert numbers("?has=marks&sort=marks") == [2, 5, 3]
        assert numbers("?has=suggestions") == []
        count_some(60)
    changed = Annotation.start(item(project, 2), carol)
    changed.entity_set.update(status="suggested")
    for _ in range(2):
        assert numbers("?sort=-marks") == [3, 5, 1, 2, 4, 6]
        assert numbers("?has=marks") == [3, 5]
        assert numbers("?has=suggestions") == [2]
        count_some(60)


@pytest.mark.parametrize("way", ["marks", "-marks", "changed", "-changed", "-marks&state=undone", "changed&q=e"])
def test_the_way_leads_through_the_list_in_its_order(project, carol, as_carol, numbers, way):
    work(project, carol, {2: "begun", 5: "done"})
    mark(project, carol, 5 - 1, start=0, end=0)
    mark(project, carol, 4, start=1, end=1)
    Annotation.prepare(item(project, 6), carol)
    listed = numbers(f"?sort={way}")
    places = [place(as_carol, project, number, f"?sort={way}")[0] for number in listed]
    assert places == list(range(1, len(listed) + 1))
    for number, before, after in zip(listed, [None, *listed], [*listed[1:], None], strict=False):
        found = links(as_carol, workspace(project, number, f"?sort={way}"))
        for name, there in (("previous", before), ("next", after)):
            led = (found[name] or "").partition("?")[0]
            assert led == (workspace(project, there) if there else ""), (number, name)


def test_what_a_batch_marked_is_sorted_with_the_rest(many, carol, as_carol):
    """In an item that nobody has begun."""
    work(many, carol, dict.fromkeys(range(1, 61), "begun"))
    prepared = Annotation.prepare(item(many, 100), carol)
    for start in (0, 1):
        prepared.entity_set.create(uid=f"e{start}", label=label_of(many, "State"), start=start, end=start)
    page = as_carol.get(f"/projects/{many.pk}/annotate/items/?sort=-marks").text
    assert re.findall(r'href="../(\d+)/', page)[0] == str(prepared.item_id)


def test_everybody_sees_their_own_items(alice, carol, dave, as_carol, as_dave):
    """An address that is opened by somebody else shows theirs."""
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT, annotators_per_item=1)
    work(project, carol, {project.items_for(carol)[0].number: "done"})
    seen = {}
    for client in (as_carol, as_dave):
        page = client.get(f"/projects/{project.pk}/annotate/items/").text
        seen[client.user] = set(re.findall(r'href="../(\d+)/', page))
        assert seen[client.user] == {str(key) for key in project.items_for(client.user).values_list("pk", flat=True)}
    assert not seen[carol] & seen[dave]
    page = as_dave.get(f"/projects/{project.pk}/annotate/items/?state=done").text
    assert "Nothing found" in page


# --- Pages ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def many(alice, carol):
    return factories.project(by=alice, annotators=[carol], text="".join(f"pump no {n}\n" for n in range(1, 121)))


def test_the_page_of_the_item_that_is_open(many, as_carol):
    url, at = f"/projects/{many.pk}/annotate/items/", many.dataset.items()[109]
    for query in ("", "&sort=-number", "&has=comments", "&q=pump", "&page=1"):
        page = as_carol.get(f"{url}?at={at.pk}{query}").text
        assert ('aria-current="true"' in page) == (query not in ("&has=comments", "&page=1")), query
    assert 'aria-current="true"' not in as_carol.get(url).text


def test_pages_hold_every_item_once(many, carol, as_carol):
    work(many, carol, dict.fromkeys(range(1, 120, 2), "begun"))
    for query in (
        "",
        "sort=-changed",
        "sort=-marks",
        "sort=marks",
        "sort=changed",
        "sort=-length",
        "label=State",
        "state=undone",
    ):
        found = []
        for page in (1, 2, 3):
            text = as_carol.get(f"/projects/{many.pk}/annotate/items/?{query}&page={page}").text
            found += re.findall(r'href="../(\d+)/', text)
            if query == "label=State" and page == 2:
                break
        assert len(found) == len(set(found)) == (60 if query == "label=State" else 120), query


def test_the_number_of_queries_does_not_grow(many, carol, as_carol):
    def count(query):
        return len(queries_of(as_carol.get, f"/projects/{many.pk}/annotate/items/{query}"))

    for query in ("", "?q=pump&state=undone", "?has=flags", "?label=State", "?sort=-marks"):
        before = count(query)
        for number in range(1, 40):
            Flag.put(item(many, number), carol, kind="issue")
            if not Annotation.objects.filter(item=item(many, number), annotator=carol).exists():
                mark(many, carol, number)
        assert count(query) <= before + 1, query  # a page that is not the only one is counted


# --- The way -------------------------------------------------------------------------------------------------------------


def links(client, address):
    page = client.get(address).text
    return {
        name: (found and found[1].replace("&amp;", "&"))
        for name in ("previous", "next")
        for found in [re.search(rf'id="{name}"[^>]*? href="([^"]+)"', page)]
    }


def test_previous_and_next_lead_through_the_list(project, as_carol):
    query = "?q=pump"
    assert links(as_carol, workspace(project, 2, query)) == {
        "previous": workspace(project, 1, query),
        "next": workspace(project, 5, query),
    }
    # From an item that is not in it, to those that are.
    assert links(as_carol, workspace(project, 3, query)) == {
        "previous": workspace(project, 2, query),
        "next": workspace(project, 5, query),
    }
    assert links(as_carol, workspace(project, 5, query))["next"] is None
    assert links(as_carol, workspace(project, 2, "?sort=-number"))["next"] == workspace(project, 1, "?sort=-number")
    assert links(as_carol, workspace(project, 2))["next"] == workspace(project, 3)


def place(client, project, number, query=""):
    url = f"/projects/{project.pk}/items/{item(project, number).pk}/place/{query}"
    return tuple(client.get(url).json().values())


def test_the_place_in_the_list(project, carol, as_carol):
    assert place(as_carol, project, 5, "?q=pump") == (3, 3)
    assert place(as_carol, project, 4, "?q=pump") == (None, 3)
    assert place(as_carol, project, 5, "?sort=-number") == (2, 6)
    work(project, carol, {1: "begun", 2: "begun"})
    assert place(as_carol, project, 2, "?label=State") == (2, 2)


def next_after(client, project, number, query=""):
    answer = client.get(f"/projects/{project.pk}/annotate/?after={number - 1}{query}")
    return answer.headers.get("Location")


def test_the_next_undone_item_of_the_list(project, carol, as_carol):
    work(project, carol, {2: "done"})
    assert next_after(as_carol, project, 1, "&q=pump") == workspace(project, 5, "?q=pump")
    assert next_after(as_carol, project, 5, "&q=pump") == workspace(project, 1, "?q=pump")
    assert next_after(as_carol, project, 1) == workspace(project, 3)
    work(project, carol, {1: "done", 5: "done"})
    page = as_carol.get(f"/projects/{project.pk}/annotate/?after=0&q=pump").text
    assert "Everything in this list is done" in page
    assert "with “pump”" in page


def skip(client, project, number):
    answer = client.post(f"/projects/{project.pk}/items/{item(project, number).pk}/skip/")
    assert answer.status_code == 204


def test_what_is_left_for_later_comes_last(project, carol, as_carol, as_dave):
    work(project, carol, {1: "done", 4: "done", 6: "done"})
    skip(as_carol, project, 2)
    assert next_after(as_carol, project, 2) == workspace(project, 3)
    assert next_after(as_carol, project, 5) == workspace(project, 3)
    skip(as_carol, project, 3)
    skip(as_carol, project, 5)
    assert next_after(as_carol, project, 5) == workspace(project, 2)  # the one that was left first
    skip(as_carol, project, 2)
    assert next_after(as_carol, project, 2) == workspace(project, 3)
    assert as_carol.get(f"/projects/{project.pk}/annotate/").headers["Location"] == workspace(project, 3)
    # It is each person's own, and a step by hand leads to it as ever.
    assert as_dave.get(f"/projects/{project.pk}/annotate/").headers["Location"] == workspace(project, 1)
    assert links(as_carol, workspace(project, 1))["next"] == workspace(project, 2)


def test_what_is_left_for_later_is_listed_and_taken_up_again(project, carol, as_carol, as_dave, numbers):
    address = f"/projects/{project.pk}/annotate/items/"
    assert "left for later</a>" not in as_carol.get(address).text
    for number in (5, 2, 3):
        skip(as_carol, project, number)
    assert "3 items left for later</a>" in as_carol.get(address).text
    assert numbers("?has=later") == [2, 3, 5]
    assert numbers("?has=later&q=pump&sort=-number") == [5, 2]
    for query, is_offered in (
        ("?q=pump", True),
        ("?has=later", False),
    ):  # what is kept in a session a batch cannot ask for
        page = as_carol.get(workspace(project, 2) + query).text
        assert ('<option value="listed"' in page) is is_offered
    assert numbers("?has=later", as_dave) == []
    work(project, carol, {3: "done"})
    assert numbers("?has=later") == [2, 5]
    taken = as_carol.post(f"/projects/{project.pk}/items/{item(project, 2).pk}/skip/take-back/")
    assert (taken.status_code, taken.content) == (200, b"")
    assert numbers("?has=later") == [5]
    assert next_after(as_carol, project, 1) == workspace(project, 2)


def test_a_number_leads_to_an_item_of_ones_own(alice, carol, as_carol, project):
    def jump(to, number):
        return as_carol.get(f"/projects/{to.pk}/annotate/items/?number={number}").headers["Location"]

    assert jump(project, 3) == workspace(project, 3)
    assert jump(project, 99) == f"/projects/{project.pk}/annotate/items/"
    page = as_carol.get(jump(project, 99)).text
    assert "There is no item 99; the last is 6." in page and 'name="number" min="1" max="6"' in page
    project.dataset.remove(project.dataset.items().filter(position=2), by=alice)
    assert jump(project, 3).endswith(f"/{project.dataset.items().get(position=3).pk}/")


# --- Figures -------------------------------------------------------------------------------------------------------------


def test_figures_agree_in_the_list_the_workspace_and_the_project(project, carol, dave, as_carol):
    work(project, carol, {1: "done", 2: "begun", 3: "done", 4: "suggested"})
    work(project, dave, {1: "done", 5: "done"})
    [seen] = with_progress([project], carol)

    def listed(state):
        page = as_carol.get(f"/projects/{project.pk}/annotate/items/?state={state}").text
        return int(re.search(r'<b class="num">(\d+) items?</b>', page)[1])

    done = as_carol.get(f"/projects/{project.pk}/annotate/progress/").json()["done"]
    assert done == listed("done") == seen.progress.done == 2
    assert listed("begun") == seen.progress.begun == 1
    assert listed("untouched") == seen.progress.untouched == 3
    assert listed("undone") == seen.progress.total - seen.progress.done == 4
