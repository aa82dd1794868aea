"""The list of flags and comments of a project, and what is done with comments there."""

import re

import pytest
from django.urls import reverse

from datasets.models import Item
from projects import access
from tests import factories
from tests.queries import queries_of
from work.models import Answer, Comment, Flag

TEXT = "replace engine oil\nleft thermostat not working\ncheck coolant level\nGrüße vom Kühler\n"


@pytest.fixture
def project(alice, carol, dave):
    return factories.project(by=alice, annotators=[carol, dave], text=TEXT)


@pytest.fixture
def items(project):
    return list(project.dataset.items())


@pytest.fixture
def url(project):
    return reverse("projects:comments", args=[project.pk])


@pytest.fixture
def said(items, alice, carol, dave):
    """carol is waiting on item 1; alice has answered on item 2, where dave has a flag; on item 4 all is resolved."""
    waiting = Comment.begin(items[0], carol, by=carol, text="Which oil?")
    answered = Comment.begin(items[1], carol, by=carol, text="Broken?")
    answered.answer("Yes, it is DEFECTIVE.", by=alice)
    Flag.put(items[1], dave, kind="uncertain", why="Two readings")
    resolved = Comment.begin(items[3], dave, by=dave, text="Hello")
    resolved.resolve(by=alice)
    Flag.put(items[3], carol, kind="issue")
    return {"waiting": waiting, "answered": answered, "resolved": resolved}


def numbers(response):
    return [entry["item"].number for entry in response.context["entries"]]


def act(client, project, verb, comment, **data):
    return client.post(reverse(f"projects:{verb}_comment", args=[project.pk, comment.pk]), data)


# --- The list ----------------------------------------------------------------------------------------------------------


def test_the_address_has_only_what_was_chosen(as_alice, url, said):
    asked = {"q": "", "flag": "any", "state": "", "who": "", "sort": "waiting"}
    assert as_alice.get(url, asked)["HX-Replace-Url"] == f"{url}?flag=any&sort=waiting"


def test_managers_see_all_and_first_what_waits_for_them(as_alice, url, said):
    response = as_alice.get(url)
    assert numbers(response) == [1, 2, 4]
    for words in ("Which oil?", "DEFECTIVE", "Two readings", "Resolved by alice"):
        assert words in response.text


def test_annotators_see_their_own_and_first_what_was_answered(as_carol, as_dave, url, said):
    response = as_carol.get(url)
    assert numbers(response) == [2, 1, 4]
    assert "Two readings" not in response.text and "Hello" not in response.text
    assert 'name="who"' not in response.text and "Waiting for you first" in response.text
    assert numbers(as_dave.get(url)) == [4, 2]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("flag=any", [2, 4]),
        ("flag=issue", [4]),
        ("flag=quality", []),
        ("state=open", [1, 2]),
        ("state=waiting", [1]),
        ("state=resolved", [4]),
        ("flag=uncertain&state=open", [2]),
        ("flag=issue&state=open", []),
        ("sort=item", [1, 2, 4]),
        ("sort=changed", [4, 2, 1]),
        ("q=OIL", [1]),
        ("q=grüsse", [4]),
        ("q=GRÜSSE", [4]),
        ("q=kühler", [4]),
        ("q=defective", [2]),
        ("q=two+READINGS", [2]),
        ("q=broken&flag=any", [2]),
        ("q=nowhere", []),
        ("flag=x&state=x&who=x&sort=x", [1, 2, 4]),
        ("who=" + "9" * 30, [1, 2, 4]),
        ("page=99", [1, 2, 4]),
    ],
)
def test_it_is_searched_filtered_and_sorted(as_alice, url, said, query, found):
    assert numbers(as_alice.get(f"{url}?{query}")) == found


def test_only_what_the_filters_leave_is_searched(as_alice, url, said, items, dave):
    Comment.begin(items[0], dave, by=dave, text="In which unit?").resolve(by=dave)
    assert numbers(as_alice.get(f"{url}?q=unit")) == [1]
    assert numbers(as_alice.get(f"{url}?q=unit&state=open")) == []
    assert numbers(as_alice.get(f"{url}?q=unit&who={dave.pk}")) == [1]
    assert numbers(as_alice.get(f"{url}?q=which&state=open&who={dave.pk}")) == []
    assert numbers(as_alice.get(f"{url}?q=engine&state=open")) == [1]  # the words of the item


def test_it_shows_the_work_of_one_person_to_those_who_may_see_it(as_alice, as_carol, url, said, dave):
    response = as_alice.get(f"{url}?who={dave.pk}")
    assert sorted(numbers(response)) == [2, 4]
    assert "Two readings" in response.text and "Broken?" not in response.text
    assert numbers(as_alice.get(f"{url}?who={dave.pk}&state=open")) == []
    assert numbers(as_carol.get(f"{url}?who={dave.pk}")) == [2, 1, 4]  # her own: there is no such choice
    assert numbers(as_carol.get(f"{url}?q=readings")) == []


def test_its_links_open_the_item_as_the_person_has_it(as_alice, as_carol, project, items, url, said, carol):
    read = reverse("annotations:read", args=[project.pk, carol.pk, items[0].pk])
    assert f'href="{read}"' in as_alice.get(url).text
    assert f'href="{reverse("annotations:item", args=[project.pk, items[0].pk])}"' in as_carol.get(url).text
    for link in re.findall(r'href="(/projects/[^"#]+)', as_alice.get(url).text):
        assert as_alice.get(link, follow=True).status_code == 200


def test_removed_items_and_other_projects_are_not_in_it(as_alice, alice, carol, project, items, url, said):
    other = factories.project(by=alice, annotators=[carol], text=TEXT)
    Comment.begin(other.dataset.items()[0], carol, by=carol, text="Elsewhere")
    project.dataset.remove(Item.objects.filter(pk=items[0].pk), by=alice)
    assert numbers(as_alice.get(url)) == [2, 4]
    assert act(as_alice, project, "answer", said["waiting"], text="Yes").status_code == 404
    assert act(as_alice, project, "answer", Comment.objects.get(text="Elsewhere"), text="Yes").status_code == 404


def test_an_empty_list_says_what_to_do(as_alice, as_carol, url):
    assert "nobody has asked anything" in as_alice.get(url).text
    assert "<kbd>Alt</kbd> <kbd>C</kbd>" in as_carol.get(url).text
    assert "Nothing matches" in as_alice.get(f"{url}?flag=any").text


def test_it_comes_in_pages_with_the_same_queries(as_alice, alice, carol, django_assert_max_num_queries):
    project = factories.project(by=alice, annotators=[carol], text="".join(f"text {n}\n" for n in range(45)))
    for item in project.dataset.items():
        Comment.begin(item, carol, by=carol, text="Why?").answer("So.", by=alice)
        Flag.put(item, carol, kind="issue")
    url = reverse("projects:comments", args=[project.pk])
    with django_assert_max_num_queries(16):
        response = as_alice.get(f"{url}?sort=item&page=3")
    assert numbers(response) == [41, 42, 43, 44, 45] and "45 items" in response.text


# --- What is done with a comment ---------------------------------------------------------------------------------------


def test_a_comment_is_answered_and_resolved_at_once(as_alice, project, said):
    response = act(as_alice, project, "answer", said["waiting"], text="15W-40", resolve="1")
    assert "15W-40" in response.text and "Resolved by alice" in response.text
    assert "Reopen" in response.text
    assert "Resolved" not in act(as_alice, project, "reopen", said["waiting"]).text


def test_resolving_needs_no_words_but_an_answer_does(as_alice, as_carol, project, said):
    assert act(as_alice, project, "answer", said["waiting"], text=" ").status_code == 422
    response = act(as_alice, project, "answer", said["waiting"], text="x" * 2001, resolve="1")
    assert response.status_code == 422 and "characters; at most" in response.text
    assert Comment.objects.open().filter(pk=said["waiting"].pk).exists()
    assert act(as_carol, project, "answer", said["waiting"], text=" ", resolve="1").status_code == 200
    assert not Comment.objects.open().filter(pk=said["waiting"].pk).exists()
    assert Answer.objects.count() == 1


def test_what_one_wrote_is_changed_or_deleted_until_it_is_answered(as_alice, as_carol, project, said):
    assert "Change or delete" in act(as_carol, project, "edit", said["waiting"], text="Which oil is it?").text
    assert act(as_carol, project, "delete", said["waiting"]).content == b""
    answer = Answer.objects.get()
    assert act(as_carol, project, "edit", said["answered"], text="No", answer=answer.pk).status_code == 422
    assert act(as_carol, project, "delete", said["answered"]).status_code == 422
    response = act(as_alice, project, "delete", said["answered"], answer=answer.pk)
    assert "Broken?" in response.text and not Answer.objects.exists()


def test_an_annotator_without_the_item_any_more_does_not_reach_it(as_carol, as_alice, project, said):
    project.annotators_per_item = 1
    project.save()
    assert act(as_carol, project, "answer", said["waiting"], text="Me again").status_code == 404
    assert act(as_alice, project, "answer", said["waiting"], text="Oil").status_code == 200


def test_a_manager_answers_the_manager_who_annotates(as_alice, alice, project, items):
    own = Comment.begin(items[0], alice, by=alice, text="Note to myself")
    assert act(as_alice, project, "answer", own, text="Done").status_code == 200
    assert (
        reverse("annotations:item", args=[project.pk, items[0].pk])
        in as_alice.get(reverse("projects:comments", args=[project.pk])).text
    )


# --- The page of the project -------------------------------------------------------------------------------------------


def counted(client, project):
    talk = client.get(reverse("projects:page", args=[project.pk])).context["talk"]
    return {name: talk[name] for name in ("flags", "comments", "open", "resolved", "waiting")}


def test_the_page_of_the_project_counts_them(as_alice, as_carol, project, said):
    assert counted(as_alice, project) == {"flags": 2, "comments": 3, "open": 2, "resolved": 1, "waiting": 1}
    assert counted(as_carol, project) == {"flags": 1, "comments": 2, "open": 2, "resolved": 0, "waiting": 1}
    page = as_alice.get(reverse("projects:page", args=[project.pk])).text
    assert "1 waits for you" in page and "?flag=uncertain" in page


def test_home_tells_everybody_as_many_comments_as_the_page_lists(
    as_carol, as_dave, as_alice, project, alice, url, said
):
    link = f'<a class="chip warn" href="{url}?state=waiting">'
    assert f"{link}1 comment waits for you</a>" in as_carol.get("/").text
    assert link not in as_dave.get("/").text
    assert f"{link}1 comment waits for you</a>" in as_alice.get("/").text
    assert numbers(as_alice.get(f"{url}?state=waiting")) == [1]
    assert numbers(as_carol.get(f"{url}?state=waiting")) == [2]
    said["answered"].answer("Thanks", by=as_carol.user)
    said["resolved"].answer("One more thing", by=alice)
    assert link not in as_carol.get("/").text
    assert f"{link}1 comment waits for you</a>" in as_dave.get("/").text


def test_annotators_are_told_of_answers_in_other_items_too(as_carol, as_dave, project, items, url, said):
    def told(client):
        page = client.get(f"/projects/{project.pk}/annotate/{items[0].pk}/").text
        return re.findall(rf'href="{url}\?state=waiting"[^>]*>([^<]*)<', page)

    assert told(as_carol) == ["1 waits for you"] and told(as_dave) == []
    said["answered"].answer("Thanks", by=as_carol.user)
    assert told(as_carol) == []


def test_the_figures_are_those_of_the_list(as_alice, as_carol, project, url, said):
    for client in (as_alice, as_carol):
        figures = counted(client, project)
        listed = {state: len(numbers(client.get(f"{url}?state={state}"))) for state in ("open", "waiting", "resolved")}
        assert listed == {state: figures[state] for state in listed}
        assert len(numbers(client.get(f"{url}?flag=any"))) == figures["flags"]


def test_the_page_takes_the_same_queries_with_many(as_alice, project, items, carol, django_assert_max_num_queries):
    address = reverse("projects:page", args=[project.pk])
    as_alice.get(address)
    before = queries_of(as_alice.get, address)
    for item in items:
        Comment.begin(item, carol, by=carol, text="Why?")
        for kind in Flag.Kind.values:
            Flag.put(item, carol, kind=kind)
    with django_assert_max_num_queries(len(before)):
        as_alice.get(address)


def test_nothing_is_said_in_a_project_that_is_archived_meanwhile(as_alice, project, items, said, carol, monkeypatch):
    comment_on = reverse("annotations:comment_on", args=[project.pk, carol.username, items[0].pk])
    monkeypatch.setattr(access, "_lock_item", lambda pk: project.archive())
    for say in (
        lambda: act(as_alice, project, "answer", said["waiting"], text="Late"),
        lambda: as_alice.post(comment_on, {"text": "Late"}),
    ):
        assert say().status_code == 403
        project.restore()
    assert not Answer.objects.filter(text="Late") and not Comment.objects.filter(text="Late")
