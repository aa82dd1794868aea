"""Marks read and written by programs: a whole set, what changed since, and who sees what."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation_service.db import write
from api.work_operations import FEW_CHANGES, LONGEST_WRITE
from datasets.models import Annotation, Entity, Layer, Relation, TextCorrection
from datasets.models.correction import cut_anew
from ontologies.models import OntologyItem
from projects.models import Project
from quality.review import Review
from tests import factories
from tests.api.asks import request, token_of
from tests.projects.test_imported_marks import MARKED, new, post, post_marks, store
from tests.resource_sets import make

TEXT = "replace engine oil\nleft air conditioner thermostat not working\nthe oil\noil pump\n"
LONG_AGO = timezone.now() - timedelta(days=1000)


@pytest.fixture
def project(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol, dave], text=TEXT)
    project.edit(history=Project.History.OWN)
    return project


@pytest.fixture
def item(project):
    return project.dataset.items()[1]


@pytest.fixture
def ask(project):
    """``ask("carol", "PUT", "items/4/annotations/me", {...})``: what is answered, below the project."""

    def ask(who, method, path, body=None, **headers):
        return request(method, f"/api/v1/projects/{project.pk}/{path}", token_of(who), body, **headers)

    return ask


@pytest.fixture
def put(ask, item):
    def put(*entities, relations=(), who="carol", headers=None, **fields):
        body = {"entities": list(entities), "relations": list(relations), **fields}
        return ask(who, "PUT", f"items/{item.pk}/annotations/me", body, **(headers or {}))

    return put


def entity(uid, label, start, end=None, **fields):
    return {"id": uid, "label": label, "start": start, "end": start if end is None else end, **fields}


def relation(uid, label, source, target):
    return {"id": uid, "label": label, "source_id": source, "target_id": target}


def told(answer):
    assert answer.status_code == 200, answer.content
    value = answer.json()
    return (
        [(each["id"], each["label"], each["start"], each["end"]) for each in value["entities"]],
        [(each["id"], each["label"], each["source_id"], each["target_id"]) for each in value["relations"]],
    )


def keys(carol):
    return {uid: pk for model in (Entity, Relation) for uid, pk in model.objects.values_list("uid", "pk")}


# --- A whole set ---


def test_a_set_becomes_ones_marks_by_the_fewest_changes(put, carol):
    first = put(
        entity("a", "PhysicalObject", 1, 2), entity("b", "State", 4, 5), relations=[relation("r", "hasPart", "a", "b")]
    )
    assert told(first) == (
        [("a", "PhysicalObject", 1, 2), ("b", "State", 4, 5)],
        [("r", "hasPart", "a", "b")],
    )
    before = keys(carol)
    changed = put(
        entity("a", "PhysicalObject", 1, 3),
        entity("c", "Activity/Replace", 0),
        entity("b", "State", 4, 5),
        relations=[relation("r", "hasPart", "b", "a")],
    )
    assert sorted(told(changed)[0]) == [
        ("a", "PhysicalObject", 1, 3),
        ("b", "State", 4, 5),
        ("c", "Activity/Replace", 0, 0),
    ]
    assert told(changed)[1] == [("r", "hasPart", "b", "a")]
    assert {uid: pk for uid, pk in keys(carol).items() if uid in before} == before
    assert told(put(entity("c", "Activity/Replace", 0))) == ([("c", "Activity/Replace", 0, 0)], [])


def test_what_was_read_can_be_put_again_and_changes_no_mark(ask, put, item, carol):
    put(entity("a", "PhysicalObject", 1, 2), entity("b", "State", 4), relations=[relation("r", "hasPart", "a", "b")])
    path = f"items/{item.pk}/annotations/me"
    read = ask("carol", "GET", path)
    before = list(Entity.objects.values()), list(Relation.objects.values())
    body = {name: read.json()[name] for name in ("entities", "relations", "text_version")}
    assert ask("carol", "PUT", path, body, **{"If-Match": read["ETag"]}).status_code == 200
    assert (list(Entity.objects.values()), list(Relation.objects.values())) == before


def test_a_mark_is_known_by_what_it_says_where_its_id_is_new(put):
    put(entity("a", "PhysicalObject", 1, 2))
    again = put(
        entity("z", "PhysicalObject", 1, 2), entity("b", "State", 4), relations=[relation("r", "hasPart", "z", "b")]
    )
    assert told(again) == ([("a", "PhysicalObject", 1, 2), ("b", "State", 4, 4)], [("r", "hasPart", "a", "b")])


def test_marks_may_change_places_in_a_row_and_be_named_by_uid_and_characters(put, project):
    state = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    put(entity("a", "State", 0), entity("b", "State", 1))
    assert told(put(entity("a", "State", 1), entity("b", state.uid, 2)))[0] == [
        ("a", "State", 1, 1),
        ("b", "State", 2, 2),
    ]
    by_characters = put({"id": "a", "label": "State", "start_char": 5, "end_char": 20})
    assert told(by_characters)[0] == [("a", "State", 1, 2)]


def test_suggestions_stay_unless_they_are_sent_or_named_as_accepted(put, item, project):
    given, state = factories.annotation(item), OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    for place in (0, 1):
        given.entity_set.create(
            uid=f"g{place}", label=state, start=place, end=place, status="suggested", origin="given"
        )
    answer = put(entity("g0", "State", 0), entity("g1", "State", 1, status="suggested")).json()
    assert {each["id"]: each["status"] for each in answer["entities"]} == {"g0": "accepted", "g1": "suggested"}
    answer = put().json()
    assert {each["id"]: each["status"] for each in answer["entities"]} == {"g1": "suggested"}


def test_a_set_with_one_wrong_mark_changes_nothing_and_all_that_is_wrong_is_told(put, ask, item):
    put(entity("a", "PhysicalObject", 1, 2))
    before = ask("carol", "GET", f"items/{item.pk}/annotations/me").json()
    wrong = put(
        entity("a", "Nothing", 1),
        entity("b", "State", 40),
        {"id": "c", "label": "State"},
        {"id": "d", "label": "State", "start_char": 1, "end_char": 3},
        entity("e", "State", 2),
        entity("e", "State", 3),
        entity("f", "State", 2),
    )
    assert wrong.status_code == 422
    assert [each["place"] for each in wrong.json()["problems"]] == [f"$.entities[{n}]" for n in (0, 1, 2, 3, 5, 6)]
    wrong = put(
        entity("a", "State", 1), relations=[relation("r", "hasPart", "a", "b"), relation("s", "hasPart", "a", "a")]
    )
    assert [each["place"] for each in wrong.json()["problems"]] == ["$.relations[0]"]
    wrong = put(entity("x", "State", 1), relations=[relation("s", "hasPart", "x", "x")])
    assert [each["place"] for each in wrong.json()["problems"]] == ["$.relations[0]"]
    assert ask("carol", "GET", f"items/{item.pk}/annotations/me").json() == before


def test_a_label_that_is_off_is_refused_at_its_place_and_stays_where_it_is(put, project, alice):
    put(entity("a", "State", 1))
    OntologyItem.objects.get(ontology=project.entity_ontology, name="State").switch(False, by=alice)
    wrong = put(entity("a", "State", 1), entity("b", "State", 2))
    assert [each["place"] for each in wrong.json()["problems"]] == ["$.entities[1]"]
    assert told(put(entity("a", "State", 1), entity("b", "Activity", 2)))[0][0] == ("a", "State", 1, 1)


def test_a_set_is_for_the_marks_and_the_text_that_were_read(ask, put, item, alice, carol):
    first = put(entity("a", "State", 1))
    put(entity("a", "State", 2))
    late = put(entity("a", "State", 3), headers={"If-Match": first["ETag"]})
    assert late.status_code == 412
    now = ask("carol", "GET", f"items/{item.pk}/annotations/me")
    assert put(entity("a", "State", 3), headers={"If-Match": now["ETag"]}).status_code == 200
    TextCorrection.make(item, cut_anew(item, "the left air conditioner"), by=alice, was_version=1)
    assert put(entity("a", "State", 0), text_version=1).status_code == 422
    assert put(entity("a", "State", 0), text_version=2).status_code == 200


def test_the_first_set_is_for_what_came_with_the_item(ask, put, item):
    factories.annotation(item, revision=7)
    read = ask("carol", "GET", f"items/{item.pk}/annotations/me")
    assert (read["ETag"], read.json()["layer"]) == ('"7"', "given")
    answer = put(entity("a", "State", 1), headers={"If-Match": read["ETag"]})
    assert (answer.status_code, answer.json()["layer"]) == (200, "own")


def test_a_set_can_end_and_reopen_the_item(put):
    assert put(entity("a", "State", 1), done=True).json()["done_at"]
    assert put(entity("a", "State", 1)).json()["done_at"]  # nothing changes
    wrong = put(entity("a", "State", 2))
    assert wrong.status_code == 422 and "Reopen" in wrong.json()["detail"]
    assert told(put(entity("a", "State", 2), done=False))[0] == [("a", "State", 2, 2)]


def test_so_many_changes_are_made_at_once(put, monkeypatch):
    monkeypatch.setattr("annotations.mark_sets.MAX_CHANGES", 2)
    assert put(*(entity(f"e{n}", "State", n) for n in range(3))).status_code == 422
    assert put(*(entity(f"e{n}", "State", n) for n in range(2))).status_code == 200


def test_several_operations_are_answered_each_by_itself(ask, item, project):
    uid = OntologyItem.objects.get(ontology=project.entity_ontology, name="State").uid
    add = {"do": "add_entity", "uid": "a", "label": uid, "start": 0, "end": 0}
    body = {"operations": [add, {**add, "uid": "b", "start": 90, "end": 90}, {"do": "done", "done": True}]}
    answers = ask("carol", "POST", f"items/{item.pk}/operations", body).json()["answers"]
    assert [each["status"] for each in answers] == [200, 422, 422]
    assert Entity.objects.filter(annotation__annotator__username="carol").count() == 1
    unknown = ask("carol", "POST", f"items/{item.pk}/operations", {"operations": [{"do": "erase"}]})
    assert [each["place"] for each in unknown.json()["problems"]] == ["$.operations[0].do"]
    in_gold = ask("alice", "POST", f"items/{item.pk}/gold/operations", {"operations": [{"do": "done", "done": True}]})
    assert in_gold.status_code == 422


# --- What changed since ---


def state_of_all():
    """The marks and the state of each annotation."""
    found = {}
    for each in Annotation.objects.filter(item__removed_at=None).exclude(layer=Layer.OWN, started_at=None):
        marks = [list(model.objects.filter(annotation=each).order_by("pk").values()) for model in (Entity, Relation)]
        found[each.pk] = [each.done_at, each.started_at, each.item.text_version, *marks]
    return found


def reviewed(project, item):
    [found] = Review.of(project, [item])
    return found


@pytest.mark.django_db
def test_no_change_of_marks_is_missed_whoever_makes_it(
    project, item, ask, put, alice, carol, as_alice, monkeypatch, with_preannotations
):
    label = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    other = OntologyItem.objects.get(ontology=project.entity_ontology, name="Activity")
    own = f"items/{item.pk}"
    _, _, third, last = project.dataset.items()
    alike = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["oil"], "label": label.uid}}
    batch = {}

    def do(who, path, body, method="POST"):
        answer = ask(who, method, path, body)
        assert answer.status_code < 300, answer.content
        return answer.json() if answer.content else None

    def mark(who, place, token):
        body = {"uid": f"x{token}", "label": label.uid, "start": token, "end": token}
        return do(who, f"items/{place.pk}/entities", body)

    def correct():
        now = project.dataset.items()[1]
        TextCorrection.make(now, cut_anew(now, "the left air conditioner"), by=alice, was_version=now.text_version)

    def decide():
        with write():
            found = reviewed(project, project.dataset.items()[1])
            found.decide(next(each.sign for each in found.seen), "1", by=alice)

    def turn(verb):
        with write():
            getattr(reviewed(project, project.dataset.items()[1]), verb)(by=alice)

    def preannotate(form):
        labels = {"entities": project.entity_ontology.copied_from, "relations": project.relation_ontology.copied_from}
        document = [{"surface_form": form, "label": "Activity"}]
        project.use(make("entity_preannotations", owner=alice, document=document, **labels), by=alice)

    def match_anew():
        rows = project.preannotation_sets().get()
        rows.change_row(rows.rows().get().pk, {"surface_form": "the"}, by=alice)
        project.match_preannotations(by=alice)

    def in_bin():
        """What changed in an item that is restored was not told while it was away."""
        items = project.dataset.items().filter(pk=item.pk)
        project.dataset.remove(items, by=alice)
        project.dataset.restore(project.dataset.bin())
        for pk in Annotation.objects.filter(item=item).values_list("pk", flat=True):
            before[pk] = None

    ways = [
        ("set", lambda: put(entity("a", "State", 1), entity("b", "State", 2))),
        (
            "relation",
            lambda: put(
                entity("a", "State", 1), entity("b", "State", 2), relations=[relation("r", "hasPart", "a", "b")]
            ),
        ),
        ("relabel", lambda: do("carol", f"{own}/entities/label", {"uid": "a", "label": other.uid})),
        ("resize", lambda: do("carol", f"{own}/entities/span", {"uid": "a", "start": 0, "end": 1})),
        ("reverse", lambda: do("carol", f"{own}/relations/direction", {"uid": "r"})),
        ("remove", lambda: do("carol", f"{own}/relations/removal", {"uid": "r"})),
        ("done", lambda: do("carol", f"{own}/done", {"done": True})),
        ("reopen", lambda: do("carol", f"{own}/done", {"done": False})),
        ("a person's marks", lambda: mark("carol", third, 0)),
        ("batch", lambda: batch.update(do("carol", "batches", alike)["batch"])),
        ("undo batch", lambda: do("carol", f"batches/{batch['id']}/undo", None)),
        ("redo batch", lambda: do("carol", f"batches/{batch['id']}/redo", None)),
        ("somebody else's marks", lambda: mark("dave", third, 1)),
        ("the same", lambda: mark("dave", last, 1)),
        ("history", lambda: do("dave", f"items/{last.pk}/history", None)),
        ("matching", lambda: preannotate("oil")),
        ("matching anew", match_anew),
        ("correction", correct),
        ("undo of a correction", lambda: TextCorrection.objects.latest("pk").undo(by=alice)),
        ("import of given marks", lambda: store(as_alice, post(as_alice, project, MARKED))),
        (
            "import of somebody's marks",
            lambda: store(as_alice, post_marks(as_alice, project, [new("grease the bearing", ("State", 1, 1))])),
        ),
        ("dave is done", lambda: put(entity("d", "Activity", 0), who="dave", done=True)),
        ("carol is done", lambda: do("carol", f"{own}/done", {"done": True})),
        ("gold decided", decide),
        ("gold undone", lambda: turn("undo")),
        ("gold brought back", lambda: turn("redo")),
        (
            "gold edited",
            lambda: do("alice", f"{own}/gold/entities", {"uid": "g", "label": label.uid, "start": 5, "end": 5}),
        ),
        (
            "gold set",
            lambda: do("alice", f"{own}/gold", {"entities": [entity("g", "State", 4)], "relations": []}, "PUT"),
        ),
        ("gold finished", lambda: turn_all(project, item, alice)),
        ("gold reopened", lambda: do("alice", f"{own}/review/reopen", None)),
        ("bin", in_bin),
    ]
    for name, way in ways:
        Annotation.objects.update(touched_at=LONG_AGO)
        before = state_of_all()
        way()
        after = state_of_all()
        changed = {pk for pk in after if after[pk] != before.get(pk, "none")}
        assert changed, name
        since = (timezone.now() - timedelta(minutes=1)).isoformat()
        answer = ask("alice", "GET", f"annotations?limit=1000&changed_since={since}")
        found = {(each["item_id"], each["annotator"], each["layer"]) for each in answer.json()["results"]}
        rows = Annotation.objects.filter(pk__in=changed).values_list("item", "annotator__username", "layer")
        assert set(rows) <= found, name


def turn_all(project, item, by):
    """Decide what is left, and finish."""
    with write():
        found = reviewed(project, project.dataset.items().get(pk=item.pk))
        while found.deliberation.disputes:
            group = next(each for each in found.seen if each.standing in found.deliberation.disputes)
            found.decide(group.sign, "neither", by=by)
        found.finish(by=by)


def test_what_nobody_has_begun_is_told_when_it_is_asked_for(ask, put, project):
    label = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    alike = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["oil"], "label": label.uid}}
    assert ask("carol", "POST", "batches", alike).json()["batch"]["made"] == 3
    assert ask("alice", "GET", "annotations").json()["results"] == []
    assert len(ask("alice", "GET", "annotations?unbegun=1").json()["results"]) == 3
    assert ask("alice", "GET", "annotations?unbegun=1&changed_since=2026-01-01").status_code == 422
    put_on = project.dataset.items()[0]
    ask("carol", "PUT", f"items/{put_on.pk}/annotations/me", {"entities": [], "relations": []})
    assert len(ask("alice", "GET", "annotations").json()["results"]) == 1


@pytest.mark.parametrize("few", [0, FEW_CHANGES])
def test_whoever_asks_with_the_time_of_the_answer_misses_nothing(ask, put, item, monkeypatch, few):
    monkeypatch.setattr("api.work_operations.FEW_CHANGES", few)
    first = ask("alice", "GET", "annotations")
    since = first["Next-Changed-Since"]
    # What was stored in a transaction that ends after the answer has a time from before it.
    put(entity("a", "State", 1))
    Annotation.objects.update(touched_at=timezone.now() - LONGEST_WRITE + timedelta(seconds=5))
    assert ask("alice", "GET", f"annotations?changed_since={since}").json()["results"]
    Annotation.objects.update(touched_at=LONG_AGO)
    assert ask("alice", "GET", f"annotations?changed_since={since}").json()["results"] == []
    assert ask("alice", "GET", "annotations?changed_since=yesterday").status_code == 422


def test_only_the_first_page_tells_the_time_to_ask_with_next(ask, put):
    """The later ones come later: what changed meanwhile on those before would be missed."""
    put(entity("a", "State", 1))
    put(entity("a", "State", 1), who="dave")
    page = ask("alice", "GET", "annotations?limit=1")
    assert "Next-Changed-Since" in page
    following = request("GET", page.json()["next"].partition("testserver")[2], token_of("alice"))
    assert following.json()["results"] and "Next-Changed-Since" not in following
    lines = ask("alice", "GET", "annotations", Accept="application/x-ndjson")
    assert len([json.loads(line) for line in b"".join(lines.streaming_content).splitlines()]) == 2
    assert "Next-Changed-Since" in lines


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_follow_the_items_and_nothing_comes_twice_or_never(ask, project, limit):
    items = list(project.dataset.items())
    assert len(items) > 2
    for who in ("dave", "carol"):  # the later one on an earlier item has the higher key
        for item in reversed(items):
            body = {"entities": [entity(f"{who}-{item.pk}", "State", 0)], "relations": []}
            assert ask(who, "PUT", f"items/{item.pk}/annotations/me", body).status_code == 200
    answer = ask("alice", "GET", f"annotations?limit={limit}&layer=own").json()
    found = answer["results"]
    while answer["next"]:
        answer = request("GET", answer["next"].partition("testserver")[2], token_of("alice")).json()
        assert len(answer["results"]) <= limit
        found += answer["results"]
    told = [(each["item_id"], each["annotator"]) for each in found]
    assert told == [(item.pk, who) for item in items for who in ("dave", "carol")]
    lines = ask("alice", "GET", "annotations?layer=own", Accept="application/x-ndjson")
    assert [json.loads(line) for line in b"".join(lines.streaming_content).splitlines()] == found


def test_a_cursor_leads_on_in_its_own_list_alone(ask):
    for cursor in ("1-0", f"{'9' * 19}-{'9' * 19}", f"0-{'9' * 19}"):
        assert ask("alice", "GET", f"annotations?cursor={cursor}").status_code == 200
    assert ask("alice", "GET", f"members?cursor={'9' * 19}").json()["results"] == []  # what is in memory
    for path in ("annotations?cursor=1", "comments?cursor=1-1", "annotations?cursor=1-"):
        refused = ask("alice", "GET", path)
        assert refused.status_code == 422 and refused.json()["problems"][0]["place"] == "cursor"


# --- Who sees what ---


def test_annotators_read_their_own_marks_and_before_they_begin_what_came_with_their_items(ask, put, item, project):
    given = factories.annotation(project.dataset.items()[0])
    factories.annotation(item)
    factories.gold(item)
    put(entity("a", "State", 1))
    put(entity("b", "State", 2), who="dave")
    found = ask("carol", "GET", "annotations").json()["results"]
    assert [(each["item_id"], each["annotator"], each["layer"]) for each in found] == [
        (given.item_id, None, "given"),
        (item.pk, "carol", "own"),
    ]
    everything = ask("alice", "GET", f"items/{item.pk}/annotations").json()["results"]
    assert sorted(each["layer"] for each in everything) == ["given", "gold", "own", "own"]
    one = ask("alice", "GET", "annotations?annotator=dave&layer=own").json()["results"]
    assert [each["annotator"] for each in one] == ["dave"]


def test_items_beyond_those_of_the_calibration_are_not_read(alice, carol, ask, project):
    assert len(ask("carol", "GET", "my-items").json()["results"]) == 4
    Project.objects.filter(pk=project.pk).update(calibration=1)
    items = ask("carol", "GET", "my-items").json()["results"]
    assert [each["number"] for each in items] == [1]
    assert ask("carol", "GET", f"items/{project.dataset.items()[2].pk}/annotations/me").status_code == 404
    assert ask("carol", "GET", f"items/{project.dataset.items()[2].pk}/annotations").status_code == 404


def test_given_marks_are_read_with_what_came_with_the_dataset(ask, item, project):
    state = OntologyItem.objects.get(ontology=project.entity_ontology, name="State")
    factories.annotation(item).entity_set.create(
        uid="g", label=state, start=0, end=0, status="accepted", origin="given"
    )
    found = ask("alice", "GET", "annotations?layer=given").json()["results"]
    assert [[mark["id"] for mark in each["entities"]] for each in found] == [["g"]]


def test_my_items_come_in_their_order_with_their_state(ask, put, item):
    put(entity("a", "State", 1), done=True)
    found = ask("carol", "GET", "my-items").json()["results"]
    assert [(each["number"], each["state"], each["marks"]) for each in found][:2] == [
        (1, "untouched", 0),
        (2, "done", 1),
    ]
    following = ask("carol", "GET", "my-items?state=undone&limit=2").json()
    assert [each["number"] for each in following["results"]] == [1, 3] and following["next"]


# --- Reviews ---


def test_names_are_hidden_in_every_answer_where_reviews_are_blind(ask, put, item, project, alice, carol, dave):
    rita = factories.user("rita")
    project.add_members([rita], "reviewer")
    for who, start in (("carol", 1), ("dave", 2)):
        put(entity(f"mark{start}", "State", start), who=who, done=True)
    with write():
        found = reviewed(project, project.dataset.items()[1])
        found.decide(found.seen[0].sign, "1", by=alice)
    path = f"items/{item.pk}/review"
    open_review = ask("rita", "GET", path).json()
    assert set(open_review["people"].values()) == {"carol", "dave"}
    assert {each["by"] for each in open_review["decisions"]} == {"alice"}
    project.set_review(is_blind=True, shows_decisions=True)
    for answered in (path, "reviews", "review-progress", f"items/{item.pk}/gold"):
        answer = ask("rita", "GET", answered)
        assert answer.status_code == 200
        assert not [name for name in ("carol", "dave", "alice") if f'"{name}"' in answer.content.decode()], answered
    of_item = f"items/{item.pk}/annotations"
    for refused in ("annotations", of_item, f"{of_item}/carol", "agreement"):
        assert ask("rita", "GET", refused).status_code == 403, refused
    lessons = ask("dave", "GET", "my-lessons").json()["results"]
    assert not [each for each in lessons if each["by"]]


def test_a_review_is_decided_undone_and_finished_by_signs(ask, put, item):
    for who, start in (("carol", 1), ("dave", 2)):
        put(entity(who, "State", start), who=who, done=True)
    path = f"items/{item.pk}/review"
    read = ask("alice", "GET", path).json()
    assert read["disputes"] == len([each for each in read["groups"] if each["state"] == "open"]) > 0
    for group in read["groups"]:
        body = {"sign": group["sign"], "choice": "1", "reason": "As agreed"}
        done = ask("alice", "POST", f"{path}/decisions", body)
        assert done.status_code == 200, done.content
    assert (
        ask("alice", "POST", f"{path}/decisions", {"sign": read["groups"][0]["sign"], "choice": "1"}).status_code == 422
    )
    undone = ask("alice", "POST", f"{path}/undo", {"seen": done.json()["undoable"]}).json()
    assert undone["redoable"] == done.json()["undoable"]
    again = ask("alice", "POST", f"{path}/redo", {"seen": undone["redoable"]}).json()
    assert ask("alice", "POST", f"{path}/finish", {"sign": read["sign"]}).status_code == 422
    assert ask("alice", "POST", f"{path}/finish", {"sign": again["sign"]}).json()["decided_at"]
    [listed] = ask("alice", "GET", "reviews").json()["results"]
    assert (listed["id"], bool(listed["decided_at"]), listed["done_by"]) == (item.pk, True, 2)
    gold = ask("alice", "GET", "annotations?layer=gold&done=1").json()["results"]
    assert [each["item_id"] for each in gold] == [item.pk]
    assert Annotation.objects.get(layer=Layer.GOLD).entity_set.exists()


def test_reviews_are_shared_out_among_those_who_review(ask):
    answer = ask("alice", "POST", "review-shares", {"people": ["carol"]})
    assert answer.status_code == 422 and "carol" in answer.json()["problems"][0]["text"]
