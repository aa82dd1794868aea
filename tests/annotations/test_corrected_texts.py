"""Requests that were made for another version of an item's text: they are about the same words in that of now, or are refused."""

import pytest

from datasets.models import Entity, Item
from tests import factories
from tests.threads import at_once
from work.own_items import OwnItems
from work.suggestions import history

from .conftest import UID
from .test_workspace import state_of

OTHER = "fedcba9876543210"
CORRECTED = "The text of this item was corrected meanwhile"
GONE = f"{CORRECTED}, and these words are not in it any more."
LONGER = "the left air conditioner thermostat not working"
OTHER_WORDS = "left heater thermostat not working"


@pytest.fixture
def save(as_carol, send):
    """``save(path, body, status=200)``: the answer. The body is about the first version of the text if it names no other."""

    def save(path, body, status=200):
        response = send(as_carol, path, {"text_version": 1, **body})
        assert response.status_code == status, response.json()
        return response.json()

    return save


@pytest.fixture
def related(save, entity, label):
    """Carol has marked “air conditioner” and “not”, and related them."""
    save("entities/add/", entity())
    save("entities/add/", entity(uid=OTHER, name="State", start=4, end=4))
    save("relations/add/", {"uid": "r", "label": label("hasPart", "relation"), "source": OTHER, "target": UID})


def test_each_answer_names_the_version_of_the_text(as_carol, project, item, save, entity, correct):
    assert save("entities/add/", entity())["text_version"] == 1
    correct(LONGER)
    page = as_carol.get(f"/projects/{project.pk}/annotate/{item.pk}/")
    assert state_of(page)["item"]["text_version"] == 2
    assert as_carol.get(f"/projects/{project.pk}/items/{item.pk}/marks/").json()["text_version"] == 2
    assert save("done/", {"done": True}, 422)["text_version"] == 2


def test_words_that_moved_are_marked_where_they_are(save, entity, stored, correct, label):
    correct(LONGER)
    assert save("entities/add/", entity())["entity"] == {**entity(start=2, end=3), "status": "accepted"}
    save("entities/resize/", {"uid": UID, "start": 0, "end": 2})
    assert stored().entities == [(UID, "PhysicalObject", 1, 3)]
    save("entities/add/", {**entity(uid=OTHER, name="State", start=4, end=5), "text_version": 2})
    assert stored().entities[1] == (OTHER, "State", 4, 5)
    correct("left air conditioner thermostat not working at all")
    save("relations/add/", {"uid": "r", "label": label("hasPart", "relation"), "source": OTHER, "target": UID})
    assert stored().relations == [("r", "hasPart", OTHER, UID)]


CHANGES = [
    ("entities/add/", {"uid": "new", "label": "State", "start": 1, "end": 1}),
    ("entities/resize/", {"uid": OTHER, "start": 1, "end": 4}),
    ("entities/suggest/", {"uid": "new", "label": "State", "start": 1, "end": 2}),
    ("entities/label/", {"uid": UID, "label": "State"}),
    ("entities/suggest/", {"uid": UID, "label": "State"}),
    ("entities/remove/", {"uid": UID}),
    ("relations/add/", {"uid": "new", "label": "hasPart", "source": UID, "target": OTHER}),
    ("relations/label/", {"uid": "r", "label": "hasPart"}),
    ("relations/reverse/", {"uid": "r", "source": UID, "target": OTHER}),
    ("relations/remove/", {"uid": "r"}),
]


@pytest.mark.parametrize(("path", "body"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
def test_nothing_is_done_to_words_that_were_corrected(save, stored, related, correct, label, path, body):
    correct("left ar conditioner thermostat not working")
    before = stored()
    assert before.relations  # the words are others, but their marks have stayed
    if "label" in body:
        body = {**body, "label": label(body["label"], "relation" if path.startswith("relations") else "entity")}
    assert save(path, body, 422)["error"] == GONE
    assert stored() == before


def test_an_item_is_not_done_before_its_text_was_seen(save, stored, correct):
    correct(LONGER)
    assert save("done/", {"done": True}, 422)["error"] == f"{CORRECTED}. Look at it before it is done."
    assert not stored().done
    save("done/", {"done": True, "text_version": 2})
    save("done/", {"done": False})
    assert not stored().done


@pytest.mark.parametrize("version", [2, -1, 2**70])
def test_a_version_that_there_never_was_is_refused(save, entity, stored, version):
    save("entities/add/", {**entity(), "text_version": version}, 422)
    assert not stored().entities


@pytest.mark.parametrize("place", [(-1, 0), (3, 2), (2, 6), (2**62, 2**62)])
def test_a_place_that_the_text_never_had_is_refused(save, entity, stored, correct, place):
    correct(LONGER)
    assert save("entities/add/", entity(start=place[0], end=place[1]), 422)["error"] == GONE
    assert not stored().entities


def test_a_page_that_names_no_version_is_about_the_first_text(as_carol, send, entity, stored, correct):
    assert send(as_carol, "entities/add/", entity()).status_code == 200
    correct(LONGER)
    refused = send(as_carol, "entities/add/", entity(uid=OTHER, start=4, end=4))
    assert refused.status_code == 422 and "Reload the page" in refused.json()["error"]
    assert len(stored().entities) == 1


def test_what_was_undone_is_no_correction(save, entity, stored, correct):
    correct(OTHER_WORDS)
    correct("left air conditioner thermostat not working")
    assert save("entities/add/", entity())["text_version"] == 3
    assert stored().entities == [(UID, "PhysicalObject", 1, 2)]


@pytest.mark.parametrize(("text", "status"), [(LONGER, 200), ("left ar conditioner thermostat not working", 422)])
def test_what_was_switched_off_comes_back_on_its_words(save, entity, project, alice, stored, correct, text, status):
    save("entities/add/", entity())
    [was] = save("entities/remove/", {"uid": UID})["was"]
    factories.item(project.entity_ontology, "PhysicalObject").switch(False, by=alice)
    correct(text)
    save("entities/add/", {**entity(), "proof": was["proof"]}, status)
    assert [place[2:] for place in stored().entities] == [(2, 3)] * (status == 200)


def test_a_resized_mark_goes_back_to_its_words(save, entity, project, alice, stored, correct):
    save("entities/add/", entity())
    [was] = save("entities/resize/", {"uid": UID, "start": 1, "end": 3})["was"]
    factories.item(project.entity_ontology, "PhysicalObject").switch(False, by=alice)
    correct(LONGER)
    save("entities/resize/", {"uid": UID, "start": 2, "end": 3, "text_version": 2, "proof": was["proof"]})
    assert stored().entities == [(UID, "PhysicalObject", 2, 3)]


def test_the_new_text_comes_with_the_marks_and_with_where_words_are_now(as_carol, send, save, entity, correct, alice):
    save("entities/add/", entity())
    correct(LONGER)
    correct(f"{LONGER} today")
    answer = send(as_carol, "text/", {"spans": [[1, 1, 2], [2, 0, 0], [3, 7, 7], [1, 9, 9]]}).json()
    assert answer["spans"] == [[2, 3], [0, 0], [7, 7], None]
    assert (answer["by"], answer["item"]["text_version"]) == (str(alice), 3)
    assert answer["item"]["tokens"] == f"{LONGER} today"
    assert [(mark["start"], mark["end"]) for mark in answer["entities"]] == [(2, 3)]


@pytest.mark.parametrize("spans", [[1], [[1, 0]], [[1, 0, "0"]], [[True, 0, 0]], [[4, 0, 0]]])
def test_only_places_of_texts_can_be_asked_for(as_carol, send, spans):
    assert send(as_carol, "text/", {"spans": spans}).status_code == 422


def test_a_page_shows_marks_on_the_text_that_they_are_on(as_carol, project, item, save, entity, correct, monkeypatch):
    """It may be corrected after the page has read it, and before it reads the marks."""
    save("entities/add/", entity())
    in_the_middle = iter([lambda: correct(LONGER)])
    page_of = OwnItems.page_from

    def page_from(*args):
        found = page_of(*args)
        next(in_the_middle)()
        return found

    monkeypatch.setattr(OwnItems, "page_from", page_from)
    state = state_of(as_carol.get(f"/projects/{project.pk}/annotate/{item.pk}/"))
    assert state["item"]["tokens"] == LONGER and state["item"]["text_version"] == 2
    assert [(mark["start"], mark["end"]) for mark in state["entities"]] == [(2, 3)]


def test_nothing_is_suggested_by_words_that_were_corrected_meanwhile(project, item, carol, dave, correct, mark):
    mark(dave, 2, 1, 2, "PhysicalObject")
    found = history.find(item, carol, project.entity_ontology, everybody=True)
    assert len(found.spans) == 1
    correct(LONGER)
    history.suggest(Item.objects.get(pk=item.pk), carol, found)
    assert not Entity.objects.filter(annotation__annotator=carol).exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_saved_while_the_text_is_corrected_is_on_its_words(as_carol, send, item, entity, correct):
    texts = [LONGER, "conditioner of the left thermostat", "left air conditioner", "the air of a conditioner"]
    for n, text in enumerate(texts):
        seen = Item.objects.get(pk=item.pk)
        at = seen.tokens.index("conditioner")
        body = {**entity(uid=f"m{n}", start=at, end=at), "text_version": seen.text_version}
        saved, _ = at_once(lambda body=body: send(as_carol, "entities/add/", body), lambda text=text: correct(text))
        assert saved.status_code in (200, 422)
        marks = Entity.objects.filter(annotation__item=item)
        words = Item.objects.get(pk=item.pk).tokens
        assert {tuple(words[start : end + 1]) for start, end in marks.values_list("start", "end")} <= {("conditioner",)}
        assert not saved.json().get("error") or CORRECTED in saved.json()["error"]
