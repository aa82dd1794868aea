"""Flags and comments: what their verbs store and refuse."""

import pytest

from annotation_service import limits
from annotation_service.inputs import Refused
from datasets.models import Annotation, Item
from tests import factories
from work.models import Answer, Comment, Flag
from work.models.remarks import talked_about

UID = "0123456789abcdef"


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol])


@pytest.fixture
def item(project):
    return project.dataset.items()[1]  # left air conditioner thermostat not working


@pytest.fixture
def mark(project, item, carol):
    annotation = Annotation.start(item, carol)
    label = factories.item(project.entity_ontology, "PhysicalObject")
    return annotation.add_entity(uid=UID, label=label, start=1, end=2)


@pytest.fixture
def comment(item, carol):
    return Comment.begin(item, carol, by=carol, text="Is this one thing?")


def words(comment):
    comment = Comment.objects.with_words().get(pk=comment.pk)
    return [said.text for said in (comment, *comment.answers)]


# --- Flags -------------------------------------------------------------------------------------------------------------


def test_a_flag_is_set_once_and_may_say_why_later(item, carol):
    Flag.put(item, carol, kind="uncertain")
    Flag.put(item, carol, kind="uncertain", why="  two\n machines ")
    Flag.put(item, carol, kind="issue")
    assert list(Flag.objects.order_by("kind").values_list("kind", "why")) == [
        ("issue", ""),
        ("uncertain", "two machines"),
    ]
    for _ in range(2):
        Flag.take_away(item, carol, kind="uncertain")
    assert Flag.objects.get().kind == "issue"


def test_everybody_has_flags_of_their_own(item, carol, alice):
    Flag.put(item, carol, kind="issue", why="hers")
    Flag.put(item, alice, kind="issue", why="another's")
    Flag.take_away(item, alice, kind="issue")
    assert Flag.objects.get().why == "hers"


@pytest.mark.parametrize(
    "values",
    [{"kind": "nonsense"}, {"kind": ""}, {"kind": "issue", "why": "x" * 201}, {"kind": "issue", "why": "a\0b"}],
)
def test_no_other_flags_are_taken(item, carol, values):
    with pytest.raises(Refused):
        Flag.put(item, carol, **values)
    assert not Flag.objects.exists()


# --- Comments ----------------------------------------------------------------------------------------------------------


def test_neither_a_flag_nor_a_comment_begins_an_item(item, carol, alice, comment):
    Flag.put(item, carol, kind="issue")
    comment.answer("Yes.", by=alice)
    comment.resolve(by=alice)
    assert not Annotation.objects.filter(item=item).exists()


def test_a_comment_is_answered_resolved_and_reopened(comment, carol, alice):
    assert comment.is_unanswered and comment.is_open
    comment.answer("  One.\r\n\r\nSee rule 3. ", by=alice)
    comment.refresh_from_db()
    assert (comment.last_by, comment.is_unanswered) == (alice, False)
    comment.resolve(by=carol)
    comment.resolve(by=alice)
    comment.refresh_from_db()
    assert comment.resolved_by == carol and not comment.is_open and not Comment.objects.open().exists()
    comment.reopen()
    comment.refresh_from_db()
    assert comment.is_open and comment.resolved_by is None
    assert words(comment) == ["Is this one thing?", "One.\n\nSee rule 3."]


def test_an_answer_opens_what_was_resolved_meanwhile(comment, carol, alice):
    comment.resolve(by=alice)
    comment.answer("But look at item 3.", by=carol)
    assert Comment.objects.open().get() == comment


def test_what_is_sent_twice_is_stored_once(item, carol, alice, comment):
    assert Comment.begin(item, carol, by=carol, text="Is this one thing?") == comment
    for _ in range(2):
        comment.answer("Yes.", by=alice)
    assert words(comment) == ["Is this one thing?", "Yes."]
    comment.answer("Yes.", by=carol)  # somebody else may say the same
    assert Answer.objects.count() == 2
    assert Comment.begin(item, carol, by=carol, text="Is this one thing?") != comment  # asked anew, for it was answered


@pytest.mark.parametrize("text", ["", " \n ", "a\0b", "\ud800", "x" * 2001, "e" + "\u0301" * 31])
def test_words_go_through_the_gate(item, carol, comment, text):
    for say in (
        lambda: Comment.begin(item, carol, by=carol, text=text),
        lambda: comment.answer(text, by=carol),
        lambda: comment.edit(text, by=carol),
    ):
        with pytest.raises(Refused):
            say()
    assert words(comment) == ["Is this one thing?"] and Comment.objects.count() == 1


def test_what_one_has_written_may_be_changed_until_it_is_answered(comment, carol, alice):
    comment.edit(" Is this one thing? ", by=carol)
    assert Comment.objects.get().edited_at is None  # it says the same
    comment.edit("Is this one?", by=carol)
    assert Comment.objects.get().edited_at
    with pytest.raises(Refused, match="Only who has written"):
        comment.edit("Mine", by=alice)
    comment.answer("Yes.", by=alice)
    with pytest.raises(Refused, match="answered"):
        comment.edit("Too late", by=carol)
    with pytest.raises(Refused, match="answered"):
        comment.take_back(by=carol)
    answer = Answer.objects.get()
    comment.edit("Yes, one.", by=alice, answer=answer.pk)
    with pytest.raises(Refused, match="Only who has written"):
        comment.take_back(by=carol, answer=answer.pk)
    assert words(comment) == ["Is this one?", "Yes, one."]


def test_an_answer_that_is_taken_back_gives_the_last_word_to_the_one_before(comment, carol, alice):
    comment.answer("Yes.", by=alice)
    answer = Answer.objects.get().pk
    for _ in range(2):
        comment.take_back(by=alice, answer=answer)
    comment.refresh_from_db()
    assert comment.last_by == carol and comment.is_unanswered
    comment.take_back(by=carol)
    assert not Comment.objects.exists()
    with pytest.raises(Refused, match="not there any more"):
        comment.answer("Still there?", by=alice)


def test_an_answer_to_another_comment_is_not_reached(item, comment, carol, alice):
    other = Comment.begin(item, carol, by=carol, text="Another")
    other.answer("Yes.", by=alice)
    with pytest.raises(Refused):
        comment.edit("Mine", by=alice, answer=Answer.objects.get().pk)
    comment.take_back(by=alice, answer=Answer.objects.get().pk)
    assert words(other) == ["Another", "Yes."]


def test_a_comment_on_a_mark_keeps_its_words_when_the_mark_goes(item, carol, mark):
    comment = Comment.begin(item, carol, by=carol, text="One thing?", kind="entity", uid=UID)
    mark.remove()
    comment.refresh_from_db()
    assert (comment.kind, comment.uid, comment.words) == ("entity", UID, "air conditioner")


def test_a_comment_on_a_relation_has_its_three_parts(project, item, carol, mark):
    state = factories.item(project.entity_ontology, "State")
    mark.annotation.add_entity(uid="other", label=state, start=4, end=5)
    label = factories.item(project.relation_ontology, "hasPart")
    mark.annotation.add_relation(uid="rel", label=label, source=UID, target="other")
    comment = Comment.begin(item, carol, by=carol, text="Really?", kind="relation", uid="rel")
    assert comment.words == "air conditioner hasPart not working"


@pytest.mark.parametrize(
    "about",
    [
        {"kind": "entity", "uid": "unknown"},
        {"kind": "relation", "uid": UID},
        {"kind": "", "uid": UID},
        {"kind": "x", "uid": UID},
    ],
)
def test_a_mark_that_is_not_there_is_not_commented_on(item, carol, mark, about):
    with pytest.raises(Refused, match="not there any more"):
        Comment.begin(item, carol, by=carol, text="What?", **about)


def test_a_mark_of_somebody_else_is_not_commented_on(item, alice, mark):
    with pytest.raises(Refused, match="not there any more"):
        Comment.begin(item, alice, by=alice, text="What?", kind="entity", uid=UID)


def test_there_are_so_many_comments_and_answers_at_most(item, carol, comment, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ITEM_COMMENTS", 2)
    monkeypatch.setattr(limits, "MAX_COMMENT_ANSWERS", 1)
    Comment.begin(item, carol, by=carol, text="Second")
    with pytest.raises(Refused, match="2 comments"):
        Comment.begin(item, carol, by=carol, text="Third")
    comment.answer("First", by=carol)
    with pytest.raises(Refused, match="new comment"):
        comment.answer("Second", by=carol)


# --- Where they are found, and when they go ----------------------------------------------------------------------------


def test_items_are_found_by_what_somebody_says_about_them(project, item, carol, alice, comment):
    others = list(project.dataset.items())
    Flag.put(others[0], carol, kind="issue")
    Flag.put(others[2], alice, kind="issue")
    assert list(project.all_items().filter(talked_about(carol))) == [others[0], item]


def empty_bin(project, item, by):
    project.dataset.remove(Item.objects.filter(pk=item.pk), by=by)
    assert Comment.objects.exists() and Flag.objects.exists()
    Item.with_removed.filter(pk=item.pk).update(removed_at="2020-01-01T00:00Z")
    project.dataset.empty_bin(60)


def erase(project, item, by):
    project.erase()


@pytest.mark.parametrize("delete", [empty_bin, erase])
def test_they_go_with_their_items(project, item, carol, alice, comment, delete):
    comment.answer("Yes.", by=alice)
    Flag.put(item, carol, kind="issue")
    delete(project, item, alice)
    assert not any(model._base_manager.exists() for model in (Comment, Answer, Flag))
    assert not Item.with_removed.filter(pk=item.pk).exists()


def test_a_copy_of_the_dataset_has_none_of_them_and_they_stay_when_a_member_leaves(
    project, item, carol, alice, comment
):
    Flag.put(item, carol, kind="issue")
    project.dataset.copy_to(by=alice, name="Copy")
    assert Comment.objects.count() == Flag.objects.count() == 1
    project.remove_member(project.membership_set.get(user=carol))
    assert Comment.objects.get() == comment and Flag.objects.exists()
