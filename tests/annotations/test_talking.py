"""Flags and comments in the workspace, and on the screen of those who read somebody's marks."""

import io

import pytest
from django.urls import reverse

from annotation_service.models import User
from datasets.models import Annotation
from projects import bundle
from tests.annotations.conftest import UID
from work.models import Comment, Flag


@pytest.fixture
def say(project, item):
    """``say(client, "Why?", kind=..., uid=...)`` on one's own work, or with ``on=carol`` on hers."""

    def say(client, text, *, on=None, to=None, **about):
        args = [project.pk, *([on.pk] if on else []), (to or item).pk]
        url = reverse(f"annotations:comment{'_on' if on else ''}", args=args)
        return client.post(url, {"text": text, **about})

    return say


@pytest.fixture
def look(project, item):
    """The page of the item: one's own, or as somebody's."""

    def look(client, on=None):
        args = [project.pk, *([on.pk] if on else []), item.pk]
        return client.get(reverse(f"annotations:{'read' if on else 'item'}", args=args))

    return look


def test_a_flag_is_set_said_why_and_taken_away(as_carol, send, look):
    answer = send(as_carol, "flags/", {"kind": "uncertain", "is_set": True}).json()
    assert answer["flags"] == [{"kind": "uncertain", "name": "Uncertain", "why": ""}]
    send(as_carol, "flags/", {"kind": "issue", "is_set": True, "why": "Two"})
    answer = send(as_carol, "flags/", {"kind": "uncertain", "is_set": True, "why": "<b>&"}).json()
    assert [(flag["kind"], flag["why"]) for flag in answer["flags"]] == [("issue", "Two"), ("uncertain", "<b>&")]
    assert look(as_carol).context["state"]["items"][0]["flags"] == answer["flags"]
    assert b"<b>&" not in look(as_carol).content
    answer = send(as_carol, "flags/", {"kind": "issue", "is_set": False, "why": "Two"}).json()
    assert [flag["kind"] for flag in answer["flags"]] == ["uncertain"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "nonsense", "is_set": True},
        {"kind": "issue"},
        {"kind": "issue", "is_set": "yes"},
        {"kind": "issue", "is_set": True, "why": "x" * 201},
    ],
)
def test_what_is_no_flag_is_refused(as_carol, send, body):
    response = send(as_carol, "flags/", body)
    assert response.status_code == 422 and response.json()["error"]
    assert not Flag.objects.exists()


def test_neither_begins_an_item_and_a_done_item_takes_both(as_carol, carol, item, send, say, look):
    send(as_carol, "flags/", {"kind": "issue", "is_set": True})
    assert say(as_carol, "Why?").status_code == 200
    assert not Annotation.objects.filter(item=item).exists()
    Annotation.start(item, carol).finish()
    assert say(as_carol, "And now?").status_code == 200
    assert send(as_carol, "flags/", {"kind": "quality", "is_set": True}).status_code == 200


def test_a_comment_on_a_mark_names_its_words(as_carol, send, say, entity, look):
    send(as_carol, "entities/add/", entity())
    response = say(as_carol, "One thing?", kind="entity", uid=UID)
    assert f'data-uid="{UID}"' in response.text and "air conditioner" in response.text
    send(as_carol, "entities/remove/", {"uid": UID})
    assert "air conditioner</a>" in look(as_carol).text
    refused = say(as_carol, "And this?", kind="entity", uid=UID)
    assert refused.status_code == 422 and refused["HX-Retarget"] == "find [data-failure]"
    assert "not there any more" in refused.text
    assert "not text" in say(as_carol, "And this?", kind="entity", uid=f"{UID}\0").text


def test_what_is_refused_is_said_beside_the_field(as_carol, say):
    for text in ("", "x" * 2001, "a\0b"):
        response = say(as_carol, text)
        assert (response.status_code, response["HX-Reswap"]) == (422, "innerHTML")
    assert not Comment.objects.exists()


def test_words_are_shown_as_they_are(as_carol, say, look):
    say(as_carol, "<script>alert(1)</script>\nsecond line")
    page = look(as_carol).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;<br>second line" in page and "<script>alert" not in page


def test_a_reader_sees_flags_and_comments_answers_and_asks(as_alice, as_carol, carol, alice, send, say, look):
    send(as_carol, "flags/", {"kind": "issue", "is_set": True, "why": "Two machines"})
    say(as_carol, "One thing?")
    page = look(as_alice, on=carol)
    assert page.context["state"]["items"][0]["flags"][0]["why"] == "Two machines" and "One thing?" in page.text
    assert b'id="flag-menu"' not in page.content
    say(as_alice, "And what is this?", on=carol)
    asked = Comment.objects.get(author=alice)
    assert asked.person == carol and "And what is this?" in look(as_carol).text


def test_everybody_sees_only_what_is_said_about_their_own_work(as_alice, as_carol, carol, alice, send, say, look):
    """Managers annotate, too: what is said about their work is not shown to annotators, nor on the work of others."""
    send(as_alice, "flags/", {"kind": "issue", "is_set": True, "why": "Hers"})
    say(as_alice, "To myself")
    page = look(as_carol)
    assert page.context["state"]["items"][0]["flags"] == [] and "To myself" not in page.text
    assert "To myself" not in look(as_alice, on=carol).text
    assert "To myself" in look(as_alice).text


def test_nobody_flags_or_comments_on_what_is_not_given_to_them(project, item, as_carol, as_dave, send, say, dave):
    project.annotators_per_item = 1
    project.save()
    for client in (as_carol, as_dave):
        assert send(client, "flags/", {"kind": "issue", "is_set": True}).status_code == 404
        assert say(client, "Why?").status_code == 404
    assert say(as_carol, "Why?", on=dave).status_code == 403
    assert not (Flag.objects.exists() or Comment.objects.exists())


def test_what_is_said_on_an_item_that_went_elsewhere_is_still_read(project, item, as_alice, as_carol, carol, say, look):
    say(as_carol, "Why?")
    project.annotators_per_item = 1
    project.save()
    assert "Why?" in look(as_alice, on=carol).text
    assert look(as_carol).status_code == 404


def test_somebody_who_left_is_still_read(project, as_alice, as_carol, carol, say, look):
    say(as_carol, "Why?")
    project.remove_member(project.membership_set.get(user=carol))
    assert "Why?" in look(as_alice, on=carol).text
    assert look(as_carol).status_code == 404


def test_a_page_takes_the_same_queries_with_many_comments(
    as_carol, carol, alice, item, look, django_assert_max_num_queries
):
    look(as_carol)
    for number in range(5):
        comment = Comment.begin(item, carol, by=carol, text=f"Question {number}")
        comment.answer("Answer", by=User.objects.get(pk=alice.pk))
    with django_assert_max_num_queries(20):
        page = look(as_carol).text
    assert page.count('class="comment"') == 5


def test_the_figures_agree_wherever_they_stand(project, carol, alice, as_carol, as_alice):
    """In the person's own list, in the list of the project, on its page, and in the bundle."""
    first, second, third = project.dataset.items()
    Comment.begin(first, carol, by=carol, text="One?").resolve(by=alice)
    Comment.begin(second, carol, by=carol, text="Two?")
    for item, kind in ((first, "issue"), (second, "issue"), (third, "quality")):
        Flag.put(item, carol, kind=kind)
    talk = as_alice.get(reverse("projects:page", args=[project.pk])).context["talk"]
    counts = bundle.write(project, io.BytesIO())["counts"]
    assert (talk["flags"], talk["open"], talk["comments"]) == (3, 1, 2)
    assert (counts["flags"], counts["open_comments"], counts["comments"]) == (3, 1, 2)
    assert {kind: count for _, kind, count in talk["kinds"]} == {"issue": 2, "quality": 1}
    for has, query, count in (
        ("issue", "flag=issue", 2),
        ("quality", "flag=quality", 1),
        ("flags", "flag=any", 3),
        ("open", "state=open", 1),
    ):
        own = as_carol.get(f"{reverse('annotations:items', args=[project.pk])}?has={has}")
        assert own.context["page"].paginator.count == count, has
        for client in (as_alice, as_carol):
            listed = client.get(f"{reverse('projects:comments', args=[project.pk])}?{query}")
            assert listed.context["page"].paginator.count == count, query
