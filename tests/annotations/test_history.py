"""Suggestions from what was marked before: made when an item is opened, decided like any other, and never made again once they
were rejected."""

import random

import pytest

from datasets.models import Annotation, Entity
from projects.models import Project
from tests import factories
from tests.soak import amount
from work.models import Source
from work.suggestions import history

TEXT = "the cooling fan\nreplace the cooling fan and the fan\nfan\ncooling fan\na cooling fan\n"


@pytest.fixture
def project(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT)
    project.edit(history=Project.History.OWN)
    return project


@pytest.fixture
def opened(project, send):
    """``opened(client, 2)``: the marks of an item after it was opened, as (start, end, name, status)."""

    def opened(client, number):
        item = project.dataset.items()[number - 1]
        assert send(client, "history/", {}, to=item).status_code == 200
        return shown(client, item)

    def shown(client, item):
        marks = client.get(f"/projects/{project.pk}/items/{item.pk}/marks/").json()["entities"]
        names = {label.uid: label.name for label in project.entity_ontology.labels()}
        return sorted((mark["start"], mark["end"], names[mark["label"]], mark["status"]) for mark in marks)

    return opened


def test_words_that_were_marked_before_are_suggested_the_longest_first(as_carol, carol, mark, opened):
    mark(carol, 1, 1, 2, "PhysicalObject")
    mark(carol, 3, 0, 0, "State")
    inside = (3, 3, "State", "suggested")  # as in every other place of the word
    assert opened(as_carol, 2) == [(2, 3, "PhysicalObject", "suggested"), inside, (6, 6, "State", "suggested")]
    assert opened(as_carol, 4) == [(0, 1, "PhysicalObject", "suggested"), (1, 1, "State", "suggested")]


def test_opening_an_item_does_not_begin_it_and_opening_it_again_changes_nothing(as_carol, carol, project, mark, opened):
    mark(carol, 1, 1, 2, "PhysicalObject")
    opened(as_carol, 2)
    annotation = Annotation.objects.get(item=project.dataset.items()[1], annotator=carol)
    assert annotation.started_at is None
    opened(as_carol, 2)
    same = Annotation.objects.get(pk=annotation.pk)
    assert same.revision == annotation.revision
    opened(as_carol, 3)  # nothing to suggest
    assert not Annotation.objects.filter(item=project.dataset.items()[2])


def test_what_others_mark_is_suggested_only_where_the_project_wants_it(as_carol, dave, project, mark, opened):
    mark(dave, 1, 1, 2, "PhysicalObject")
    assert opened(as_carol, 4) == []
    project.edit(history=Project.History.EVERYBODY)
    assert opened(as_carol, 4) == [(0, 1, "PhysicalObject", "suggested")]
    project.edit(history="")
    assert opened(as_carol, 2) == []


def test_the_label_is_the_one_that_the_words_had_most_often(as_carol, carol, project, mark, opened):
    mark(carol, 1, 2, 2, "State")
    mark(carol, 2, 3, 3, "Activity")
    mark(carol, 2, 6, 6, "Activity")
    assert opened(as_carol, 3) == [(0, 0, "Activity", "suggested")]
    factories.item(project.entity_ontology, "Activity").switch(False, by=project.created_by)
    assert opened(as_carol, 3) == []  # untouched, so that it went again


def test_nothing_is_suggested_across_a_mark_or_in_an_item_that_is_done(as_carol, carol, project, mark, opened):
    mark(carol, 1, 1, 2, "PhysicalObject")
    mark(carol, 4, 1, 2, "State")
    assert opened(as_carol, 4) == [(1, 2, "State", "accepted")]
    annotation = Annotation.start(project.dataset.items()[1], carol)
    annotation.finish()
    assert opened(as_carol, 2) == []


def test_a_rejected_suggestion_stays_away_and_one_rejected_as_often_as_given_is_made_no_more(
    as_carol, carol, project, send, mark, opened
):
    mark(carol, 1, 1, 2, "PhysicalObject")
    opened(as_carol, 2)
    second = project.dataset.items()[1]
    uid = Entity.objects.get(annotation__item=second, origin="history").uid
    send(as_carol, "entities/remove/", {"uid": uid}, to=second)
    assert opened(as_carol, 2) == []
    assert opened(as_carol, 4) == []  # once right, once wrong
    mark(carol, 5, 1, 2, "PhysicalObject")
    assert opened(as_carol, 4) == [(0, 1, "PhysicalObject", "suggested")]


def test_words_are_suggested_that_are_marked_in_half_of_their_places_with_that_share(
    as_carol, carol, project, mark, opened
):
    def scores():
        Entity.objects.filter(origin="history").delete()  # a score is that of when it was suggested
        opened(as_carol, 4)
        return dict(Entity.objects.filter(origin="history").values_list("label__name", "score"))

    mark(carol, 1, 2, 2, "State")
    assert scores() == {"State": 1}
    mark(carol, 5, 0, 0, "Activity")  # “fan” stands there, too
    assert scores() == {"State": 0.5}
    Annotation.start(project.dataset.items()[1], carol)
    assert scores() == {}, "and once more in an item that was begun"


def test_the_page_of_the_source_tells_how_often_suggestions_were_right_and_off_it_makes_none(
    as_alice, as_carol, alice, carol, project, send, mark, opened
):
    mark(carol, 1, 1, 2, "PhysicalObject")
    opened(as_carol, 2)
    [made] = Entity.objects.filter(origin="history")
    send(as_carol, "entities/label/", {"uid": made.uid, "label": made.label.uid}, to=project.dataset.items()[1])
    opened(as_carol, 4)
    source = Source.objects.get()
    assert source.figures() == {made.label_id: (2, 1, 0, 0, 1)}
    page = f"/projects/{project.pk}/sources/{source.pk}/"
    assert "History" in as_alice.get(page).text
    assert "PhysicalObject" in as_alice.get(page, headers={"HX-Request": "true", "HX-Target": "rows"}).text
    assert "1 suggestion</b>" in as_alice.get(f"{page}switch/").text
    as_alice.post(f"{page}switch/", {"on": "0"})
    assert source.figures() == {made.label_id: (1, 1, 0, 0, 0)}
    assert opened(as_carol, 4) == []
    as_alice.post(f"{page}switch/", {"on": "1"})
    assert opened(as_carol, 4) == [(0, 1, "PhysicalObject", "suggested")]


def test_copies_of_given_marks_that_nobody_has_looked_at_are_nobodys_marks(as_carol, carol, project, mark, opened):
    mark(None, 1, 1, 2, "PhysicalObject", origin="given")
    mark(carol, 3, 0, 0, "State")
    opened(as_carol, 1)  # “fan” is suggested inside of it: she gets copies, and has not begun
    assert opened(as_carol, 4) == [(1, 1, "State", "suggested")]
    own_marks = f"/projects/{project.pk}/annotate/marks/"
    assert "cooling" not in as_carol.get(own_marks).text
    Annotation.start(project.dataset.items()[0], carol)
    assert "cooling" in as_carol.get(own_marks).text
    assert opened(as_carol, 4) == [(0, 1, "PhysicalObject", "suggested"), (1, 1, "State", "suggested")]


def test_what_was_found_is_not_stored_where_something_changed_meanwhile(carol, project, mark):
    mark(carol, 1, 1, 2, "PhysicalObject")
    second = project.dataset.items()[1]
    found = history.find(second, carol, project.entity_ontology, everybody=False)
    assert found.spans == {(2, 3, factories.item(project.entity_ontology, "PhysicalObject").pk): 1}
    mark(carol, 2, 3, 3, "State")
    history.suggest(second, carol, found)
    assert not Entity.objects.filter(origin="history")


def test_of_a_long_text_only_short_words_are_looked_up(carol, project, mark, monkeypatch):
    mark(carol, 1, 1, 2, "PhysicalObject")
    mark(carol, 3, 0, 0, "State")
    second = project.dataset.items()[1]
    monkeypatch.setattr(history, "SPANS", len(second.tokens))
    found = history.find(second, carol, project.entity_ontology, everybody=False)
    assert {(start, end) for start, end, _ in found.spans} == {(3, 3), (6, 6)}


def test_the_number_of_queries_does_not_grow(
    as_carol, carol, project, mark, opened, django_assert_max_num_queries, send
):
    mark(carol, 1, 1, 2, "PhysicalObject")
    mark(carol, 3, 0, 0, "State")
    opened(as_carol, 1)
    with django_assert_max_num_queries(40):
        send(as_carol, "history/", {}, to=project.dataset.items()[1])


def test_suggestions_are_those_of_a_plain_search(as_carol, carol, dave, project, mark, opened, monkeypatch):
    """Random marks, against a second way to find the same: word by word, without keys and without the database."""
    monkeypatch.setattr("work.suggestions.history.LABELS", 100)
    chance = random.Random(3)
    names = ["State", "Activity", "PhysicalObject"]
    items, begun = list(project.dataset.items()), set()
    for _ in range(amount(6, 60)):
        Entity.objects.all().delete()
        marks = []
        for number, item in enumerate(items[:3], 1):
            for start in range(len(item.tokens)):
                end = min(len(item.tokens) - 1, start + chance.randrange(3))
                name = chance.choice(names)
                if chance.random() < 0.4:
                    marks.append((tuple(item.tokens[start : end + 1]), name))
                    mark(carol, number, start, end, name)
        begun |= {tuple(items[number].tokens) for number in range(3) if Annotation.objects.filter(item=items[number])}
        tokens, expected = items[3].tokens, []
        spans = [(s, e) for s in range(len(tokens)) for e in range(s, len(tokens))]
        for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
            words = tuple(tokens[start : end + 1])
            votes = [name for marked, name in marks if marked == words]
            stand = sum(text[n : n + len(words)] == words for text in begun for n in range(len(text)))
            most = max(map(votes.count, votes), default=0)
            crosses = any(s < start <= e < end or start < s <= end < e for s, e, _ in expected)
            if votes and 2 * most >= stand and not crosses:
                expected.append((start, end, {name for name in votes if votes.count(name) == most}))
        found = opened(as_carol, 4)
        assert len(found) == len(expected)
        for (start, end, name, status), (s, e, best) in zip(
            found, sorted(expected, key=lambda span: span[:2]), strict=True
        ):
            assert (start, end, status) == (s, e, "suggested")
            assert name in best
