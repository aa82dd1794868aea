"""The pages of the workspace: who gets which item, and what the page knows about it."""

import json
import re

import pytest
from django.utils import timezone

from datasets.models import Annotation, Entity, Item
from ontologies.models import OntologyItem
from resources.models import ConstraintSet
from tests import factories
from tests.queries import queries_of
from work.models import Batch, Comment, Flag

from .conftest import UID
from .test_constraints import ENTITIES, constrain


def state_of(response):
    """What the page knows, and what it knows of the item that it opens."""
    found = re.search(r'<script id="state" type="application/json">(.*?)</script>', response.text)
    page = json.loads(found[1])
    item = page["items"][0]
    return {**page, **item, "urls": {**page["urls"], **item["urls"]}}


@pytest.fixture
def open_item(project, item):
    def open_item(client, which=None):
        return client.get(f"/projects/{project.pk}/annotate/{(which or item).pk}/")

    return open_item


@pytest.fixture
def start(project):
    return f"/projects/{project.pk}/annotate/"


def test_annotating_starts_at_the_first_item_that_is_not_done(as_carol, alice, carol, project, start):
    first, second, third = project.dataset.items()
    Annotation.objects.create(item=first, annotator=alice, done_at=timezone.now())  # that is not done for carol
    assert as_carol.get(start).url == f"{start}{first.pk}/"
    Annotation.objects.create(item=first, annotator=carol, done_at=timezone.now())
    Annotation.objects.create(item=second, annotator=carol)  # begun only
    assert as_carol.get(start).url == f"{start}{second.pk}/"
    assert as_carol.get(f"{start}?after=1").url == f"{start}{third.pk}/"
    assert as_carol.get(f"{start}?after=2").url == f"{start}{second.pk}/"


@pytest.mark.parametrize("after", ["", "x", "-1", "9" * 30, "²"])
def test_any_place_to_go_on_from_is_taken(as_carol, start, after):
    assert as_carol.get(start, {"after": after}).status_code == 302


def test_the_end_is_said_in_words(as_carol, carol, project, start):
    for item in project.dataset.items():
        Annotation.objects.create(item=item, annotator=carol, done_at=timezone.now())
    response = as_carol.get(start)
    assert response.status_code == 200
    assert "Everything is done" in response.text


def test_somebody_without_items_is_told_so(as_alice, alice, carol):
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1)
    assert "No items are given to you" in as_alice.get(f"/projects/{project.pk}/annotate/").text


def test_the_page_knows_its_item(as_carol, open_item, item, project):
    response = open_item(as_carol)
    assert response.status_code == 200
    assert "Item 2 of 3" in response.text
    state = state_of(response)
    assert state["item"] == {
        "pk": item.pk,
        "number": 2,
        "tokens": " ".join(item.tokens),
        "separator": " ",
        "glued": [0],
        "original": None,
        "offsets": None,
        "text_version": 1,
    }
    assert state["entities"] == state["relations"] == []
    assert not state["done"]
    assert not state["reading"]
    first, _, third = project.dataset.items()
    assert state["urls"]["previous"].endswith(f"/{first.pk}/")
    assert state["urls"]["next"].endswith(f"/{third.pk}/")


def test_tokens_may_contain_spaces_and_lack_them(as_carol, open_item, item):
    item.original, item.tokens = "oil filter, worn!", ["oil filter", ",", "worn!"]
    item.offsets = [[0, 10], [10, 11], [12, 17]]
    item.save()
    shown = state_of(open_item(as_carol))["item"]
    assert shown["tokens"].split(shown["separator"]) == item.tokens
    assert shown["separator"] == '"' and shown["glued"] == [0, 1]


def test_removed_items_are_neither_counted_nor_passed(as_carol, open_item, project):
    first, second, third = project.dataset.items()
    Item.objects.filter(pk=first.pk).update(removed_at=timezone.now())
    state = state_of(open_item(as_carol, second))
    assert state["urls"]["previous"] is None
    assert "Item 1 of" in open_item(as_carol, second).text
    assert open_item(as_carol, first).status_code == 302
    assert open_item(as_carol, third).status_code == 200


def test_annotators_see_what_managers_remove_restore_and_add(as_carol, as_alice, alice, project, start):
    def sees() -> str:
        return state_of(as_carol.get(start, follow=True))["item"]["tokens"]

    dataset = project.dataset
    first, second, _ = dataset.items()
    before = sees()
    assert before == " ".join(first.tokens)
    dialog = as_alice.get(f"/datasets/{dataset.pk}/remove/?items={first.pk}")
    assert "Annotators do not see removed items any more." in dialog.content.decode()
    dataset.remove(dataset.items().filter(pk=first.pk), by=alice)
    assert sees() == " ".join(second.tokens)
    dataset.restore(dataset.bin())
    assert sees() == before
    factories.upload("grease bearing", by=alice, options={"format": "text"}, dataset=dataset).store()
    assert as_carol.get(f"{start}{dataset.items().last().pk}/").status_code == 200


def test_text_cannot_break_out_of_the_page(as_carol, alice, carol):
    text = "</script><script>alert(1)</script> <b>bold</b> &amp;\n"
    project = factories.project(by=alice, annotators=[carol], text=text)
    response = as_carol.get(f"/projects/{project.pk}/annotate/{project.dataset.items()[0].pk}/")
    assert "<script>alert" not in response.text
    assert state_of(response)["item"]["tokens"] == text.strip()


def test_before_the_first_write_the_given_marks_are_shown_and_then_the_own_ones(
    as_carol, item, label, open_item, send, project
):
    given = factories.annotation(item)
    state = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    given.entity_set.create(uid="given-01", label=state, start=1, end=2, status="suggested")
    given.entity_set.create(uid="given-02", label=state, start=3, end=3, status="rejected")
    shown = {"uid": "given-01", "start": 1, "end": 2, "label": label("State"), "status": "suggested"}
    assert state_of(open_item(as_carol))["entities"] == [shown]
    send(as_carol, "entities/remove/", {"uid": "given-01"})
    assert state_of(open_item(as_carol))["entities"] == []


def test_another_tab_asks_for_the_marks_as_they_are_now(as_carol, open_item, send, entity, project, item):
    url = f"/projects/{project.pk}/items/{item.pk}/marks/"
    assert as_carol.get(url).json()["entities"] == []
    send(as_carol, "entities/add/", entity())
    send(as_carol, "done/", {"done": True})
    state = state_of(open_item(as_carol))
    marks = as_carol.get(url).json()
    assert {name: marks[name] for name in ("entities", "relations", "done")} == {
        name: state[name] for name in ("entities", "relations", "done")
    }
    assert state["done"] and len(state["entities"]) == 1


def test_the_page_shows_only_the_own_marks(as_carol, as_alice, open_item, send, entity):
    send(as_alice, "entities/add/", entity())
    assert state_of(open_item(as_carol))["entities"] == []
    assert [mark["uid"] for mark in state_of(open_item(as_alice))["entities"]] == [UID]


def test_relations_name_their_ends(as_carol, open_item, send, entity, label):
    send(as_carol, "entities/add/", entity())
    send(as_carol, "entities/add/", entity(uid="b" * 8, start=4, end=4))
    relation = {"uid": "c" * 8, "label": label("hasPart", "relation"), "source": UID, "target": "b" * 8}
    send(as_carol, "relations/add/", relation)
    assert state_of(open_item(as_carol))["relations"] == [{**relation, "status": "accepted"}]


def test_instead_of_a_removed_item_the_next_one_is_shown(as_carol, as_bob, project, item, open_item):
    Item.objects.filter(pk=item.pk).update(removed_at=timezone.now())
    response = as_carol.get(f"/projects/{project.pk}/annotate/{item.pk}/", follow=True)
    assert response.status_code == 200 and response.context["item"] == project.dataset.items()[1]
    assert "was removed" in response.text
    assert as_carol.get(f"/projects/{project.pk}/annotate/{10**9}/").status_code == 404
    assert as_bob.get(f"/projects/{project.pk}/annotate/{item.pk}/").status_code == 404


def test_items_dealt_to_others_are_not_found(as_carol, alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1)
    given = set(project.items_for(carol).values_list("pk", flat=True))
    assert given
    for item in project.dataset.items():
        answer = as_carol.get(f"/projects/{project.pk}/annotate/{item.pk}/")
        assert answer.status_code == (200 if item.pk in given else 404)
        if item.pk in given:
            assert f"of {len(given)}" in answer.text


def test_progress_counts_the_own_done_items(as_carol, carol, alice, project, start):
    first, second, third = project.dataset.items()
    Annotation.objects.create(item=first, annotator=carol, done_at=timezone.now())
    Annotation.objects.create(item=second, annotator=carol)
    Annotation.objects.create(item=third, annotator=alice, done_at=timezone.now())
    assert as_carol.get(f"{start}progress/").json() == {"done": 1}


def test_guidelines_are_there_if_there_are_any(as_carol, open_item, project):
    assert 'id="guidelines"' not in open_item(as_carol).text
    project.edit(name="Pumps", description="", guidelines="Mark every pump.")
    assert "Mark every pump." in open_item(as_carol).text


def test_a_page_takes_the_same_queries_with_many_marks(
    as_carol, open_item, send, entity, django_assert_max_num_queries
):
    for n in range(30):
        send(as_carol, "entities/add/", entity(uid=f"{n:08}", name=("State", "Activity")[n % 2], start=n % 6, end=5))
    with django_assert_max_num_queries(21):
        open_item(as_carol)


# --- Labels --------------------------------------------------------------------------------------------------------------


def test_labels_come_in_tree_order_with_their_parents(as_carol, open_item, label):
    labels = as_carol.get(state_of(open_item(as_carol))["urls"]["labels"]).json()
    names = ["PhysicalObject", "SensingObject", "Thermostat", "DrivingObject", "Activity", "Replace", "State"]
    assert [row[1] for row in labels["entity"]] == names
    assert [row[2] for row in labels["entity"]] == [-1, 0, 1, 0, -1, 4, -1]
    assert labels["entity"][0][5:] == ["Things that can be touched.", ["pump", "bearing"]]
    assert labels["entity"][6][0] == label("State")
    assert [row[1] for row in labels["relation"]] == ["hasPart", "hasParticipant", "hasPatient"]


def test_labels_are_kept_by_the_browser_until_they_change(as_carol, alice, open_item, project):
    url = state_of(open_item(as_carol))["urls"]["labels"]
    assert "immutable" in as_carol.get(url)["Cache-Control"]
    assert "private" in as_carol.get(url)["Cache-Control"]
    OntologyItem.objects.get(ontology=project.entity_ontology, name="State").rename("Condition", by=alice)
    stale = as_carol.get(url)
    assert stale["Cache-Control"] == "no-store"
    assert stale.json()["entity"][6][1] == "Condition"
    assert state_of(open_item(as_carol))["urls"]["labels"] != url


@pytest.fixture
def rules(project, as_carol, open_item):
    """``rules()``: the address of the rules, and what is found there."""

    def rules():
        url = state_of(open_item(as_carol))["urls"]["rules"]
        return url, as_carol.get(url).json()

    return rules


def test_rules_name_their_set_and_labels(project, rules, label):
    assert rules()[1] == {"entity": [], "relation": []}
    constrain(project, entities=[{"domain": "State", "excludes": ["Activity"]}, *ENTITIES[:1]])
    found = rules()[1]
    objects = label("PhysicalObject")
    assert found["entity"] == [
        ["entity constraints", 0, label("State"), [label("Activity")], None],
        ["entity constraints", 1, objects, [label("Activity")], [objects]],
    ]
    names = label("hasPart", "relation"), objects
    assert found["relation"] == [["relation constraints", 0, *names, [label("SensingObject")]]]


def test_every_answer_tells_where_the_rules_of_now_are(project, rules, as_carol, send, entity, item):
    before, _ = rules()
    assert "immutable" in as_carol.get(before)["Cache-Control"]
    constrain(project)
    assert as_carol.get(before)["Cache-Control"] == "no-store"
    after, _ = rules()
    assert after != before
    answers = [
        send(as_carol, "entities/add/", entity()),
        as_carol.get(f"/projects/{project.pk}/items/{item.pk}/marks/"),
        send(as_carol, "done/", {"done": True}),
    ]
    assert {answer.json()["urls"]["rules"] for answer in answers} == {after}
    ConstraintSet.mark_deleted(ConstraintSet.objects.filter(project=project))
    assert rules() == (before, {"entity": [], "relation": []})


# --- Reading somebody's marks --------------------------------------------------------------------------------------------


def test_a_manager_reads_somebodys_marks(as_alice, as_carol, carol, project, item, send, entity):
    send(as_carol, "entities/add/", entity())
    for who in ("carol", carol.pk):
        start = as_alice.get(f"/projects/{project.pk}/marks/{who}/")
        assert start.url == f"/projects/{project.pk}/marks/{carol.pk}/{item.pk}/"
        response = as_alice.get(f"/projects/{project.pk}/marks/{who}/{item.pk}/")
        assert "the marks of carol" in response.text
        assert [mark["uid"] for mark in state_of(response)["entities"]] == [UID]
        assert state_of(response)["reading"]


def test_a_reader_is_told_where_the_marks_of_an_item_that_is_not_begun_come_from(as_alice, carol, project, item):
    def told():
        return as_alice.get(f"/projects/{project.pk}/marks/carol/{item.pk}/").text

    assert "They have not begun this item." in told()
    label = project.entity_ontology.items().get(name="State")
    given = factories.annotation(item)
    given.entity_set.create(uid="came", label=label, start=0, end=0, origin="given")
    assert "not begun this item: these marks come from the dataset." in told()
    batch = Batch.objects.create(dataset=project.dataset, person=carol, verb="propagate", kind="entity")
    own = Annotation.prepare(item, carol)
    own.entity_set.create(uid="batch", label=label, start=1, end=1, origin="propagation", batch=batch)
    assert "these marks come from a batch of theirs and the dataset." in told()
    own.entity_set.filter(uid="came").delete()
    assert "these marks come from a batch of theirs." in told()


def test_reading_begins_at_the_first_item_if_there_is_no_mark(as_alice, project):
    assert as_alice.get(f"/projects/{project.pk}/marks/carol/").url.endswith(f"/{project.dataset.items()[0].pk}/")


def test_a_reader_goes_to_the_next_item_with_marks_and_to_other_people(
    as_alice, as_carol, alice, carol, project, item, send, entity
):
    first, _, third = project.dataset.items()
    send(as_carol, "entities/add/", entity(start=0, end=0), to=third)
    page = as_alice.get(f"/projects/{project.pk}/marks/carol/{first.pk}/").text
    assert f'href="/projects/{project.pk}/marks/{carol.pk}/{third.pk}/">Next item with marks' in page
    for person in (alice, carol):
        assert f'href="/projects/{project.pk}/marks/{person.pk}/"' in page
    last = as_alice.get(f"/projects/{project.pk}/marks/carol/{third.pk}/").text
    assert "Next item with marks" not in last


def test_reading_leaves_no_annotation(as_alice, carol, project, item):
    as_alice.get(f"/projects/{project.pk}/marks/carol/{item.pk}/")
    assert not Annotation.objects.exists()
    assert not Entity.objects.exists()


def test_the_marks_of_a_former_member_can_still_be_read(as_alice, as_carol, project, item, send, entity):
    send(as_carol, "entities/add/", entity())
    project.remove_member(project.membership_set.get(user__username="carol"))
    assert as_alice.get(f"/projects/{project.pk}/marks/carol/{item.pk}/").status_code == 200


def test_who_took_part_is_looked_for_in_each_table_by_itself(as_alice, carol, project, item):
    """Joined, the rows of one would be multiplied by those of the others."""
    queries = queries_of(as_alice.get, f"/projects/{project.pk}/marks/{carol.pk}/{item.pk}/")
    tables = ("projects_membership", "datasets_annotation", "datasets_flag", "datasets_comment")
    [who] = [query for query in queries if all(f'"{table}"' in query for table in tables)]
    assert " JOIN " not in who.partition(" WHERE ")[0]


@pytest.mark.parametrize("model", [Flag, Comment])
def test_who_was_only_talked_about_is_found_by_name(as_alice, dave, project, item, model):
    said = {"author": dave, "last_by": dave, "text": "?"} if model is Comment else {"kind": "issue"}
    model.objects.create(item=item, person=dave, **said)
    assert as_alice.get(f"/projects/{project.pk}/marks/dave/{item.pk}/").status_code == 200


def test_a_number_wins_over_a_name(as_alice, carol, project):
    project.add_members([factories.user(str(carol.pk))])
    assert f"/marks/{carol.pk}/" in as_alice.get(f"/projects/{project.pk}/marks/{carol.pk}/").url
