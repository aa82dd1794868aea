"""All alike: what is shown before, what a batch does, and what its undo leaves."""

import re
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from annotation_service import jobs
from annotation_service.blueprints import purge_deleted
from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Rejection, Relation
from ontologies.models import OntologyItem
from projects import all_alike, roles
from projects.assignment.rule import AssignmentRule
from projects.models import Assignment, ItemCounts
from resources.matching import EntityForm
from tests import factories
from tests.queries import queries_of
from tests.resource_sets import broken_places, make
from work.alike import preview as previews
from work.alike.asked import Asked, ReadText
from work.alike.places import Finder, Place, SeenEntity, SeenItem, SeenRelation
from work.alike.storing import Storing
from work.models import Batch

SUGGESTED = {"status": "suggested", "origin": "given"}
TEXT = "the feed pump leaks\nfeed pump of line 3, Feed Pump of line 4\nthe pump feeds\nfeed pump\n"


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol], text=TEXT)


@pytest.fixture
def label(project):
    def label(name, kind="entity"):
        return OntologyItem.objects.get(ontology__project=project, ontology__kind=kind, name=name)

    return label


@pytest.fixture
def form(label):
    def form(words="feed pump", name="PhysicalObject"):
        return {"tokens": words.split(), "label": label(name).uid}

    return form


@pytest.fixture
def asked(form):
    """``asked(verb, …)``: the body of a request about an entity."""

    def asked(verb="propagate", words="feed pump", name="PhysicalObject", **more):
        return {"verb": verb, "kind": "entity", "form": form(words, name), **more}

    return asked


@pytest.fixture
def related(form, label):
    def related(verb="propagate", **more):
        ends = {"source": form(), "target": form("line", "State")}
        relation = {**ends, "offset": 3, "label": label("hasPart", "relation").uid}
        return {"verb": verb, "kind": "relation", "form": relation, **more}

    return related


@pytest.fixture
def send(project, as_carol):
    def send(path, body, client=as_carol, status=200):
        response = client.post(f"/projects/{project.pk}/{path}", body, content_type="application/json")
        assert response.status_code == status, response.content
        return response.json()

    return send


@pytest.fixture
def apply(send):
    def apply(body, **more):
        return Batch.objects.get(pk=send("alike/apply/", {**body, **more})["batch"]["id"])

    return apply


@pytest.fixture
def item(project):
    return lambda number: project.dataset.items()[number - 1]


def marks(person):
    found = Entity.objects.filter(annotation__annotator=person).order_by("annotation__item__position", "start", "end")
    return list(found.values_list("annotation__item__position", "start", "end", "status"))


def given(item, label, start, end, uid="given-1"):
    annotation = factories.annotation(item)
    return annotation.entity_set.create(uid=uid, label=label, start=start, end=end, **SUGGESTED)


def test_a_place_with_as_many_marks_as_can_be_is_left_out(send, asked, apply, item, carol, label, settings):
    annotation = Annotation.start(item(1), carol)
    for end in (1, 2, 3):
        annotation.add_entity(uid=f"s{end}", label=label("State"), start=1, end=end)
    settings.MAX_TOKEN_MARKS = 3
    (forbidden,) = send("alike/preview/", asked())["forbidden"]
    assert forbidden == {"rule": "At most 3 marks can share a word.", "count": 1}
    assert apply(asked()).made == 2 and annotation.entity_set.count() == 3


@pytest.mark.parametrize("verb", ["propagate", "accept", "reject", "remove"])
@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_the_steps_of_a_preview_grow_as_the_text_does(verb, kind, asked, related, project, carol):
    """Not with its square: marks and relations are looked up by where they stand."""

    def steps(words):
        question = Asked.of(project.dataset, related(verb) if kind == "relation" else asked(verb))
        source, target = (EntityForm(("pump",), form.label) for form in (question.forms[0], question.forms[-1]))
        forms = (source,) if kind == "entity" else (source, target)
        question = replace(question, forms=forms, offset=0 if kind == "entity" else 1, where="any")
        state, known = SeenItem(), {"accept": "suggested", "reject": "suggested", "remove": "accepted"}.get(verb)
        ends = [SeenEntity(n + 1, forms[n % len(forms)].label, n, n, known) for n in range(words)] if known else []
        for end in ends:
            state.entities.add(end)
        if kind == "relation":
            for one, other in pairwise(ends):
                state.relate(SeenRelation(one.pk, question.label.pk, one, other, known))
        count = 0

        def trace(frame, event, _):
            nonlocal count
            count += event == "line"
            return trace if re.search(r"/alike/|/spans\.py", frame.f_code.co_filename) else None

        sys.settrace(trace)
        try:
            places = sum(1 for _ in Finder(question, None).places(1, ReadText(["pump"] * words, 1), state))
        finally:
            sys.settrace(None)
        assert places > words // 3
        return count

    few = steps(100)
    assert steps(200) < 2.2 * few and steps(400) < 4.4 * few


def test_a_preview_shows_the_places_in_their_context(send, asked, project, item):
    found = send("alike/preview/", asked())
    assert (found["places"], found["count_items"], found["forbidden"], found["next"]) == (3, 3, [], None)
    assert [place["number"] for place in found["page"]] == [1, 2, 4]
    first, second, last = (place["parts"] for place in found["page"])
    assert first == [["the ", ""], ["feed pump", "mark"], [" leaks", ""]]
    assert second == [["feed pump", "mark"], [" of line 3, Feed Pump of line 4", ""]]
    assert last == [["feed pump", "mark"]]
    assert found["page"][0]["key"] == f"{item(1).pk}:1-2"
    assert found["page"][0]["url"] == f"/projects/{project.pk}/annotate/{item(1).pk}/"
    assert not Batch.objects.exists() and not Annotation.objects.exists()


def test_a_preview_has_pages(send, asked, monkeypatch):
    monkeypatch.setattr(previews, "ON_A_PAGE", 1)
    body = asked(ignore_case=True)
    found = send("alike/preview/", body)
    keys = [found["page"][0]["key"]]
    while found["next"]:
        found = send("alike/places/", {**body, "after": found["next"]})
        keys += [place["key"] for place in found["page"]]
    monkeypatch.undo()
    assert len(keys) == 4
    assert keys == [place["key"] for place in send("alike/preview/", body)["page"]]


def test_places_are_chosen_by_case_by_items_by_a_filter_and_by_ticks(send, asked, apply, item, carol):
    assert send("alike/preview/", asked(ignore_case=True))["places"] == 4
    assert send("alike/preview/", asked(words="FEED PUMP"))["places"] == 0
    assert send("alike/preview/", asked(items=[item(1).pk, item(3).pk]))["places"] == 1
    assert send("alike/preview/", asked(filter="q=leaks"))["places"] == 1
    assert apply(asked(), ticked=[f"{item(2).pk}:0-1"]).made == 1
    assert marks(carol) == [(1, 0, 1, "accepted")]
    Annotation.start(item(1), carol)
    assert send("alike/preview/", asked(filter="state=begun"))["places"] == 1
    assert apply(asked(filter="state=untouched&sort=-length")).made == 1


def test_a_batch_marks_all_but_the_unticked_and_is_undone_as_one(send, asked, apply, carol, item):
    batch = apply(asked(), unticked=[f"{item(2).pk}:0-1"])
    assert marks(carol) == [(0, 1, 2, "accepted"), (3, 0, 1, "accepted")]
    assert (batch.made, batch.left_out) == (2, {"unticked": 1, "rules": []})
    assert set(Entity.objects.values_list("origin", "batch")) == {("propagation", batch.pk)}
    answer = send(f"batches/{batch.pk}/undo/", {})["batch"]
    assert (answer["state"], answer["kept"]) == ("undone", {"changed": 0, "done": 0})
    assert not Entity.objects.exists() and not Annotation.objects.exists()
    assert send(f"batches/{batch.pk}/undo/", {}, status=422)["error"] == "This was undone already."


def test_what_somebody_touched_stays(send, asked, apply, carol, item, label):
    batch = apply(asked())
    annotation = Annotation.start(item(1), carol)
    annotation.entity_set.get().relabel(label("State"))
    done = Annotation.start(item(4), carol)
    done.finish()
    assert batch.to_undo() == (1, 1, 1)
    answer = send(f"batches/{batch.pk}/undo/", {})["batch"]
    assert answer["kept"] == {"changed": 1, "done": 1}
    assert marks(carol) == [(0, 1, 2, "accepted"), (3, 0, 1, "accepted")]


def test_a_mark_that_was_removed_and_brought_back_stays_and_is_told(send, asked, apply, carol, item, label):
    batch = apply(asked())
    annotation = Annotation.start(item(1), carol)
    mark = annotation.entity_set.get()
    token = mark.restore_token(mark.label)
    mark.remove()
    assert batch.to_undo() == (2, 1, 0)
    annotation.add_entity(uid=mark.uid, label=mark.label, start=1, end=2, restore_token=token)
    answer = send(f"batches/{batch.pk}/undo/", {})["batch"]
    assert answer["kept"] == {"changed": 1, "done": 0}
    assert marks(carol) == [(0, 1, 2, "accepted")]


def test_a_mark_that_was_related_stays(asked, apply, carol, item, label):
    batch = apply(asked())
    annotation = Annotation.start(item(1), carol)
    annotation.add_entity(uid="leaks", label=label("State"), start=3, end=3)
    mark = annotation.entity_set.get(batch=batch)
    annotation.add_relation(uid="r", label=label("hasPart", "relation"), source=mark.uid, target="leaks")
    assert batch.to_undo() == (2, 1, 0)
    batch.start_undo()
    assert marks(carol) == [(0, 1, 2, "accepted"), (0, 3, 3, "accepted")]


def test_a_mark_of_a_batch_that_is_removed_was_no_suggestion(asked, apply, carol, item, send):
    apply(asked())
    Annotation.start(item(1), carol).entity_set.get().remove()
    assert not Rejection.objects.exists()
    assert send("alike/preview/", asked())["places"] == 1


def test_it_goes_where_the_words_have_no_mark_with_this_label_or_none_at_all(send, asked, carol, item, label):
    Annotation.start(item(1), carol).add_entity(uid="x", label=label("State"), start=2, end=3)
    assert send("alike/preview/", asked())["places"] == 3
    assert send("alike/preview/", asked(where="any"))["places"] == 2
    Annotation.start(item(2), carol).add_entity(uid="x", label=label("PhysicalObject"), start=1, end=2)
    assert send("alike/preview/", asked())["places"] == 2


def test_propagated_marks_do_not_begin_an_item(alice, carol, asked, apply, project, as_carol, item, label):
    apply(asked())
    assert not Annotation.objects.exclude(started_at=None).exists()
    ItemCounts.objects.update(begun=0, done=0)
    before = Annotation.objects.get(item=item(1)).revision
    annotation = Annotation.start(item(1), carol)
    assert annotation.started_at and annotation.revision == before + 1
    assert ItemCounts.objects.get(project=project).begun == 1


def test_a_suggestion_at_the_place_is_accepted(asked, apply, carol, item, label, send):
    given(item(1), label("PhysicalObject"), 1, 2)
    assert send("alike/preview/", asked())["page"][0]["is_suggested"]
    batch = apply(asked())
    mine = Entity.objects.get(annotation__annotator=carol, annotation__item=item(1))
    assert (mine.status, mine.origin, mine.batch) == ("accepted", "given", batch)
    assert Entity.objects.filter(annotation__annotator=None, status="suggested").count() == 1
    batch.start_undo()
    assert not Annotation.objects.exclude(annotator=None).exists()


def test_what_a_rule_forbids_is_left_out_and_told(alice, project, send, asked, apply, carol, item, label):
    forbid_state(project, alice)
    Annotation.start(item(1), carol).add_entity(uid="x", label=label("State"), start=2, end=3)
    told = [{"rule": "“State” excludes “PhysicalObject”.", "count": 1}]
    found = send("alike/preview/", asked())
    assert (found["places"], found["forbidden"]) == (2, told)
    assert [place["against"] for place in found["page"]] == [told[0]["rule"], "", ""]
    assert [place["state"] for place in found["page"]] == ["begun", "untouched", "untouched"]
    assert apply(asked()).left_out == {"unticked": 0, "rules": told}
    assert not broken_places(project)


def forbid_state(project, by):
    rules = make(
        "entity_constraints",
        owner=by,
        entities=project.entity_ontology.copied_from,
        relations=None,
        document=[{"domain": "State", "excludes": ["PhysicalObject"]}],
    )
    project.use(rules, by=by)


def test_accepting_all_alike(asked, apply, carol, item, label, send):
    for number, start in ((1, 1), (2, 0), (3, 0)):
        given(item(number), label("PhysicalObject"), start, start + 1)
    Annotation.start(item(1), carol)
    batch = apply(asked("accept"))
    assert batch.made == 2
    assert marks(carol) == [(0, 1, 2, "accepted"), (1, 0, 1, "accepted")]
    batch.start_undo()
    assert marks(carol) == [(0, 1, 2, "suggested")]
    assert not Entity.objects.filter(batch__isnull=False).exists()


def test_an_undo_leaves_what_was_suggested_before(asked, apply, carol, item, label, project, as_carol):
    project.edit(history="own")
    Annotation.start(item(1), carol).entity_set.create(uid="x", label=label("PhysicalObject"), start=1, end=2)
    as_carol.post(f"/projects/{project.pk}/items/{item(4).pk}/history/", {}, content_type="application/json")
    batch = apply(asked("accept"))
    assert batch.made == 1
    batch.start_undo()
    assert marks(carol) == [(0, 1, 2, "accepted"), (3, 0, 1, "suggested")]


def test_rejecting_all_alike(asked, apply, carol, item, label, send):
    mark = given(item(1), label("PhysicalObject"), 1, 2)
    other = given(item(1), label("State"), 3, 3, uid="given-2")
    has_part = label("hasPart", "relation")
    mark.annotation.relation_set.create(uid="r", label=has_part, source=mark, target=other, **SUGGESTED)
    Annotation.start(item(1), carol)
    batch = apply(asked("reject"))
    assert marks(carol) == [(0, 1, 2, "rejected"), (0, 3, 3, "suggested")]
    assert Relation.objects.get(annotation__annotator=carol).status == "rejected"
    assert Rejection.objects.count() == 2
    assert send("alike/preview/", asked())["places"] == 2
    batch.start_undo()
    assert marks(carol) == [(0, 1, 2, "suggested"), (0, 3, 3, "suggested")]
    assert Relation.objects.get(annotation__annotator=carol).status == "suggested"
    assert not Rejection.objects.exists()


def test_removing_all_alike(asked, apply, carol, item, label, send):
    first = apply(asked())
    annotation = Annotation.start(item(1), carol)
    mark = annotation.entity_set.get()
    annotation.add_entity(uid="leaks", label=label("State"), start=3, end=3)
    has_part = label("hasPart", "relation")
    annotation.add_relation(uid="r", label=has_part, source=mark.uid, target="leaks")
    Annotation.start(item(2), carol).finish()
    before = as_stored()
    found = send("alike/preview/", asked("remove"))
    assert (found["places"], found["relations"]) == (2, 1)
    batch = apply(asked("remove"))
    assert (batch.made, batch.in_words()) == (2, "“feed pump” as “PhysicalObject”: 2 places removed")
    assert marks(carol) == [(0, 3, 3, "accepted"), (1, 0, 1, "accepted")]
    assert not Relation.objects.exists() and not Rejection.objects.exists()
    assert batch.to_undo() == (2, 0, 0)
    batch.start_undo()
    assert as_stored() == before
    assert not batch.changes.exists()
    first.start_undo()
    assert marks(carol) == [(0, 1, 2, "accepted"), (0, 3, 3, "accepted"), (1, 0, 1, "accepted")]


def as_stored():
    return {model: list(model.objects.order_by("pk").values()) for model in (Entity, Relation, Rejection)}


def test_accepted_suggestions_that_are_removed_come_back_as_they_were(asked, apply, carol, item, label):
    for number, start in ((1, 1), (2, 0)):
        given(item(number), label("PhysicalObject"), start, start + 1)
        Annotation.start(item(number), carol).entity_set.get().accept()
    Rejection.note(
        Annotation.start(item(2), carol).pk, [Entity.objects.last().what]
    )  # as if it had been rejected before it was accepted
    before = as_stored()
    batch = apply(asked("remove"))
    assert Rejection.objects.count() == 2
    batch.start_undo()
    assert as_stored() == before


def test_what_is_marked_again_is_not_brought_back(asked, apply, carol, item, label, send):
    for number, start in ((1, 1), (2, 0), (4, 0)):
        Annotation.start(item(number), carol).add_entity(
            uid="x", label=label("PhysicalObject"), start=start, end=start + 1
        )
    batch = apply(asked("remove"))
    Annotation.start(item(1), carol).add_entity(uid="y", label=label("PhysicalObject"), start=1, end=2)
    Annotation.start(item(2), carol).finish()
    assert batch.to_undo() == (1, 1, 1)
    assert send(f"batches/{batch.pk}/undo/", {})["batch"]["kept"] == {"changed": 1, "done": 1}
    assert marks(carol) == [(0, 1, 2, "accepted"), (3, 0, 1, "accepted")]


def test_only_what_broke_a_rule_before_breaks_it_when_it_is_brought_back(
    alice, project, asked, apply, carol, item, label
):
    physical, state = label("PhysicalObject"), label("State")
    for number, start in ((1, 1), (2, 0)):
        Annotation.start(item(number), carol).add_entity(uid="x", label=physical, start=start, end=start + 1)
    Annotation.start(item(1), carol).add_entity(uid="s", label=state, start=1, end=1)
    forbid_state(project, alice)
    batch = apply(asked("remove"))
    Annotation.start(item(2), carol).add_entity(uid="s", label=state, start=1, end=1)
    batch.start_undo()
    assert marks(carol) == [(0, 1, 1, "accepted"), (0, 1, 2, "accepted"), (1, 1, 1, "accepted")]
    assert len(broken_places(project)) == 1


def test_a_relation_whose_ends_were_removed_one_after_the_other_comes_back_with_the_last(
    asked, apply, carol, item, label
):
    annotation = Annotation.start(item(1), carol)
    source = annotation.add_entity(uid="a", label=label("PhysicalObject"), start=1, end=2)
    annotation.add_entity(uid="b", label=label("State"), start=3, end=3)
    annotation.add_relation(uid="r", label=label("hasPart", "relation"), source=source.uid, target="b")
    before = as_stored()
    batches = [apply(asked("remove")), apply(asked("remove", "leaks", "State"))]
    for batch in batches:
        batch.start_undo()
    assert as_stored() == before


def test_what_was_undone_is_done_again(asked, apply, carol, item, send):
    batch = apply(asked(), unticked=[f"{item(2).pk}:0-1"])
    assert send(f"batches/{batch.pk}/redo/", {}, status=422)["error"] == "This was not undone."
    batch.start_undo()
    again = send(f"batches/{batch.pk}/redo/", {})["batch"]
    assert (again["made"], again["left_out"]["unticked"]) == (2, 1)
    assert again["id"] != batch.pk and marks(carol) == [(0, 1, 2, "accepted"), (3, 0, 1, "accepted")]


def test_relations_with_the_same_forms_and_distance(related, apply, send, carol):
    found = send("alike/preview/", related())
    assert found["places"] == 1
    assert found["page"][0]["parts"][:3] == [["feed pump", "source"], [" of ", ""], ["line", "target"]]
    assert send("alike/preview/", related(new_ends=False))["places"] == 0
    batch = apply(related(ignore_case=True))
    assert batch.made == 2 and batch.words == "feed pump → line"
    assert Relation.objects.count() == 2 and Entity.objects.count() == 4
    batch.start_undo()
    assert not Annotation.objects.exists()


def test_both_ends_of_a_relation_cannot_be_the_same_mark(form, label, send):
    ends = {"source": form("pump"), "target": form("Pump")}
    body = {"form": {**ends, "offset": 0, "label": label("hasPart", "relation").uid}, "ignore_case": True}
    answer = send("alike/apply/", {"verb": "propagate", "kind": "relation", **body}, status=422)
    assert answer["error"] == "A relation connects two different marks."


def test_relations_are_accepted_with_their_ends(related, apply, carol, item, label):
    source = given(item(2), label("PhysicalObject"), 0, 1)
    target = given(item(2), label("State"), 3, 3, uid="given-2")
    has_part = label("hasPart", "relation")
    source.annotation.relation_set.create(uid="r", label=has_part, source=source, target=target, **SUGGESTED)
    Annotation.start(item(2), carol)
    batch = apply(related("accept"))
    mine = Annotation.objects.get(annotator=carol)
    assert {mark.status for mark in (*mine.entity_set.all(), *mine.relation_set.all())} == {"accepted"}
    batch.start_undo()
    assert {mark.status for mark in (*mine.entity_set.all(), *mine.relation_set.all())} == {"suggested"}


def test_nothing_of_others_and_nothing_that_is_done_or_not_given_is_touched(alice, carol, dave, label, client):
    project = factories.project(by=alice, annotators=[carol, dave], annotators_per_item=1, text="pump\n" * 8)
    uid = project.entity_ontology.items().get(name="State").uid
    hers = list(project.items_for(carol))
    Annotation.start(hers[0], carol).finish()
    project.dataset.remove(project.dataset.items().filter(pk=hers[1].pk), by=alice)
    hers = list(project.items_for(carol))
    body = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["pump"], "label": uid}}
    batch = all_alike.apply(project, carol, body)
    touched = set(Entity.objects.values_list("annotation__item", "annotation__annotator"))
    assert touched == {
        (item.pk, carol.pk) for item in hers if not Annotation.objects.filter(item=item, done_at__isnull=False)
    }
    assert batch.made == len(touched)


def test_what_was_not_begun_goes_with_the_assignment(alice, carol, dave):
    project = factories.project(by=alice, annotators=[carol], annotators_per_item=1, text="pump\n" * 8)
    uid = project.entity_ontology.items().get(name="State").uid
    body = {"verb": "propagate", "kind": "entity", "form": {"tokens": ["pump"], "label": uid}}
    all_alike.apply(project, carol, body)
    begun = Annotation.start(project.items_for(carol)[0], carol)
    project.add_members([dave])
    assert Assignment.objects.filter(annotator=dave).count() == 4
    left = Annotation.objects.filter(annotator=carol)
    assert set(left.values_list("item", flat=True)) == set(
        Assignment.objects.filter(annotator=carol).values_list("item", flat=True)
    )
    project.remove_member(project.membership_set.get(user=carol))
    assert Annotation.objects.get() == begun
    assert set(Assignment.objects.values_list("annotator", flat=True)) == {dave.pk}


def test_what_was_not_begun_goes_with_the_right_to_annotate(asked, apply, project, carol):
    apply(asked())
    project.membership_set.filter(user=carol).update(role=roles.OBSERVER)
    project.assign_items()
    assert not Annotation.objects.exists()


def test_many_are_stored_and_undone_by_a_worker(asked, apply, send, carol, monkeypatch):
    monkeypatch.setattr("work.models.batch.JOB_ITEMS", 0)
    batch = apply(asked())
    assert batch.state == "storing" and not marks(carol)
    assert "being worked on" in send(f"batches/{batch.pk}/undo/", {}, status=422)["error"]
    jobs.run(jobs.claim())
    batch.refresh_from_db()
    assert (batch.state, batch.made, len(marks(carol))) == ("stored", 3, 3)
    assert batch.job.result["text"] == "“feed pump” as “PhysicalObject”: 3 places marked."
    assert send(f"batches/{batch.pk}/undo/", {})["batch"]["state"] == "undoing"
    jobs.run(jobs.claim())
    batch.refresh_from_db()
    assert (batch.state, batch.job.result["text"]) == ("undone", "3 places are as before.")
    assert not Annotation.objects.exists()


@pytest.fixture
def after_one_item(monkeypatch):
    """Do something when one item was stored, or undone."""
    monkeypatch.setattr("work.models.batch.ITEMS_AT_ONCE", 1)

    def after_one_item(then):
        monkeypatch.setattr(jobs.Progress, "__call__", lambda self, done, total, phase: then() if done == 1 else None)

    return after_one_item


def test_what_stops_half_way_is_told_and_can_be_undone(asked, project, carol, as_carol, after_one_item, send):
    after_one_item(project.archive)
    with pytest.raises(Refused, match="is archived"):
        all_alike.apply(project, carol, asked())
    project.restore()
    after_one_item(lambda: None)
    batches = [Batch.objects.get(), all_alike.apply(project, carol, asked())]
    after_one_item(project.archive)
    assert "is archived" in send(f"batches/{batches[1].pk}/undo/", {}, status=422)["error"]
    project.restore()
    html = as_carol.get(batches[0].get_absolute_url()).text
    assert ">stopped half-way<" in html and ">undo stopped half-way<" in html and html.count("Undo…") == 2
    assert [(batch.state, batch.made) for batch in Batch.objects.order_by("pk")] == [
        ("stopped", 1),
        ("undo_stopped", 2),
    ]
    assert len(marks(carol)) == 2
    after_one_item(lambda: None)
    for batch in batches:
        answer = send(f"batches/{batch.pk}/undo/", {})["batch"]
        assert (answer["state"], answer["kept"]) == ("undone", {"changed": 0, "done": 0})
    assert not Annotation.objects.exists()


def test_it_goes_on_by_a_rule_that_was_changed_meanwhile(asked, project, carol, after_one_item):
    after_one_item(lambda: project.set_rule(AssignmentRule(calibration=1), by=project.created_by))
    all_alike.apply(project, carol, asked())
    assert [mark[0] for mark in marks(carol)] == [0]


def test_a_label_that_is_switched_off_meanwhile_is_not_applied(asked, project, carol, alice, label, after_one_item):
    after_one_item(lambda: label("PhysicalObject").switch(False, by=alice))
    with pytest.raises(Refused, match="switched off"):
        all_alike.apply(project, carol, asked())
    assert len(marks(carol)) == Batch.objects.get().made == 1


def test_open_screens_notice_a_batch_and_its_undo(asked, apply, carol, item, project, as_carol, label):
    annotation = Annotation.start(item(1), carol)
    batch = apply(asked())
    annotation.refresh_from_db()
    assert annotation.revision == 2
    batch.start_undo()
    annotation.refresh_from_db()
    assert annotation.revision == 3
    fresh = [apply(asked()) for _ in (1, 2)]
    revision = Annotation.visible_to(carol, item(4)).revision
    fresh[0].start_undo()
    apply(asked())
    assert Annotation.visible_to(carol, item(4)).revision > revision


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"verb": "delete"}, "Marks are propagated, accepted, rejected or removed: entities or relations."),
        ({"where": "x"}, "Places are left out that have a mark with this label, or any mark: “label” or “any”."),
        ({"form": {"tokens": ["a"], "label": "x"}}, "The project has no such label. Reload the page."),
        ({"form": {"tokens": [], "label": "{}"}}, "A form has 1 to 100 tokens."),
        ({"form": {"tokens": [1], "label": "{}"}}, "The words of a form are a list of tokens."),
        ({"filter": "q=%00"}, "The NUL character is not text."),
        ({"items": ["a"]}, "The items are at most 100 numbers."),
        ({"ticked": [1]}, "This must be a list of places."),
    ],
)
def test_what_is_wrong_is_said(send, asked, label, change, error):
    body = asked() | change
    body["form"]["label"] = body["form"]["label"].replace("{}", label("State").uid)
    assert error in send("alike/apply/", body, status=422)["error"]


def test_a_label_that_is_switched_off_is_not_applied(send, asked, label, alice):
    label("PhysicalObject").switch(False, by=alice)
    assert "is switched off" in send("alike/apply/", asked(), status=422)["error"]


def test_a_preview_of_more_items_asks_no_more_queries(asked, project, carol):
    def queries():
        return len(queries_of(all_alike.preview, project, carol, asked()))

    before = queries()
    for item in project.dataset.items():
        Annotation.start(item, carol)
    assert queries() <= before + 1


def test_a_batch_stops_when_its_project_is_deleted_and_goes_with_it(asked, apply, project, carol, monkeypatch):
    apply(asked())
    monkeypatch.setattr("work.models.batch.JOB_ITEMS", 0)
    waiting = all_alike.apply(project, carol, asked())
    with monkeypatch.context() as patch:
        patch.setattr("annotation_service.blueprints.purge_deleted", lambda seconds: 0)
        project.erase()
    jobs.run(jobs.claim())
    waiting.refresh_from_db()
    assert waiting.job.errors["problems"] == [["", "The project was deleted."]]
    purge_deleted(60)
    assert not Batch.objects.exists() and not Entity.objects.exists()


# --- Texts that are corrected meanwhile -----------------------------------------------------------------------------------------


def test_places_of_a_corrected_text_are_told_from_those_before(send, asked, apply, carol, item, correct):
    correct("the old feed pump", item(4))
    keys = [place["key"] for place in send("alike/preview/", asked())["page"]]
    assert keys == [f"{item(1).pk}:1-2", f"{item(2).pk}:0-1", f"{item(4).pk}:2-3@2"]
    assert apply(asked(), ticked=keys[1:]).made == 2
    assert marks(carol) == [(1, 0, 1, "accepted"), (3, 2, 3, "accepted")]


@pytest.mark.parametrize("name", ["ticked", "unticked"])
def test_ticks_are_not_for_other_words(asked, apply, carol, item, correct, name):
    """Here, the places of before are those of other words that are alike."""
    chosen = [place.key for place in (Place(item(2).pk, ((0, 1),), None), Place(item(1).pk, ((1, 2),), None))]
    correct("feed pump and feed pump of line 3", item(2))
    batch = apply(asked(), **{name: chosen})
    assert marks(carol) == ([(0, 1, 2, "accepted")] if name == "ticked" else [(3, 0, 1, "accepted")])
    assert batch.left_out["unticked"] == 3


def test_a_batch_is_undone_and_done_again_where_its_ticks_are_known(send, asked, apply, carol, item, correct):
    batch = apply(asked(), unticked=[f"{item(2).pk}:0-1"])
    send(f"batches/{batch.pk}/undo/", {})
    correct("the feed pump feeds", item(2))
    correct("a feed pump leaks", item(1))
    send(f"batches/{batch.pk}/redo/", {})
    assert marks(carol) == [(0, 1, 2, "accepted"), (3, 0, 1, "accepted")]


@pytest.mark.parametrize(("verb", "after"), [("propagate", [(0, 2, 3)]), ("remove", [])])
def test_a_text_that_is_corrected_before_its_marks_are_stored(
    asked, apply, carol, item, correct, label, monkeypatch, verb, after
):
    if verb == "remove":
        Annotation.start(item(1), carol).add_entity(uid="m", label=label("PhysicalObject"), start=1, end=2)
    hold = Storing._hold_labels

    def correct_first(storing):
        correct("the old feed pump leaks", item(1))
        correct("fed pump", item(4))
        monkeypatch.setattr(Storing, "_hold_labels", hold)
        hold(storing)

    monkeypatch.setattr(Storing, "_hold_labels", correct_first)
    apply(asked(verb, items=[item(1).pk, item(4).pk]))
    assert [place[:3] for place in marks(carol)] == after


def test_a_preview_shows_no_place_of_a_text_that_was_corrected_meanwhile(
    send, asked, item, correct, project, monkeypatch
):
    preview = previews.preview

    def correct_last(*args):
        found = preview(*args)
        correct("a pump", item(1))
        return found

    monkeypatch.setattr(previews, "preview", correct_last)
    assert [place["number"] for place in send("alike/preview/", asked())["page"]] == [2, 4]
