"""What programs suggest: through the verb, on what items came with and on what people have begun."""

import json
from importlib import import_module

import pytest
from django.db import connection

from annotation_service.inputs import Refused
from datasets.models import Annotation, Entity, Layer, Relation
from projects.assignment.rule import AssignmentRule
from tests import factories
from work.models import Source

TEXT = "check engine oil pump\nOil pump broken\nreplace the oil pump of the engine\n"


@pytest.fixture
def project(alice, carol, dave):
    made = factories.project(by=alice, text=TEXT, annotators=[carol, dave])
    for item in made.dataset.items():
        item.external_id = f"w{item.number}"
        item.save(update_fields=["external_id"])
    return made


@pytest.fixture
def push(project, alice):
    def pushed(*lines, version="1", name="tagger"):
        return Source.of(project.dataset, name).suggest(map(json.dumps, lines), version=version, by=alice)

    return pushed


def line(number, *entities, relations=()):
    marks = [
        dict(zip(("start", "end", "label", "score", "id"), (*each, f"e{n}"), strict=True))
        for n, each in enumerate(entities)
    ]
    return {"external_id": f"w{number}", "entities": marks, "relations": list(relations)}


def there(project, annotator=None, status="suggested"):
    layer = Layer.OWN if annotator else Layer.GIVEN
    marks = Entity.objects.filter(
        annotation__item__dataset=project.dataset,
        annotation__layer=layer,
        annotation__annotator=annotator,
        status=status,
    )
    return [
        (e.annotation.item.number, e.start, e.end, e.label.name, e.score)
        for e in marks.order_by("annotation__item__position", "start", "end", "label")
    ]


def begun(project, person, number=1):
    return Annotation.start(project.dataset.items().get(position=number - 1), person)


def told(outcome):
    return outcome.made, outcome.unchanged, outcome.withdrawn, [each[:3] for each in outcome.refused]


PUMP, STATE = "PhysicalObject", "State"


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_suggestions_come_with_source_and_score_and_the_same_again_changes_nothing(project, push, carol):
    own = begun(project, carol, 2)
    lines = line(1, (2, 3, PUMP, 0.9)), line(2, (0, 1, PUMP, 0.5), (2, 2, STATE, None))
    assert told(push(*lines)) == (3, 0, 0, [])
    expected = [(1, 2, 3, PUMP, 0.9), (2, 0, 1, PUMP, 0.5), (2, 2, 2, STATE, None)]
    assert there(project) == expected
    assert there(project, carol) == expected[1:]
    rows = list(Entity.objects.order_by("pk").values())
    revision = Annotation.objects.get(pk=own.pk).revision
    assert told(push(*lines)) == (0, 3, 0, [])
    assert list(Entity.objects.order_by("pk").values()) == rows
    assert Annotation.objects.get(pk=own.pk).revision == revision
    assert {mark.suggested_by.name for mark in Entity.objects.all()} == {"tagger"}
    assert set(Entity.objects.values_list("origin", flat=True)) == {"program"}


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_what_nobody_touched_is_replaced_item_by_item(project, push, carol, dave, alice):
    mine, other = begun(project, carol), begun(project, dave)
    push(line(1, (2, 3, PUMP, 0.9), (1, 1, PUMP, 0.4), (0, 0, STATE, 0.1)), line(2, (0, 1, PUMP, 0.5)))
    mine.entity_set.get(start=2).accept()
    mine.entity_set.get(start=0).remove()
    other.finish()
    assert told(push(line(1, (1, 1, PUMP, 0.6), (0, 0, STATE, 0.2)), version="2")) == (0, 2, 1, [])
    assert there(project) == [(1, 0, 0, STATE, 0.2), (1, 1, 1, PUMP, 0.6), (2, 0, 1, PUMP, 0.5)]
    assert there(project, carol) == [(1, 1, 1, PUMP, 0.6)]
    assert there(project, carol, "accepted") == [(1, 2, 3, PUMP, 0.9)]
    assert there(project, carol, "rejected") == [(1, 0, 0, STATE, 0.1)]
    assert len(there(project, dave)) == 3, "what is done stays as it is"
    source = Source.objects.get(name="tagger")
    assert source.finish(by=alice) == 1, "that of the item that did not come again"
    assert there(project) == [(1, 0, 0, STATE, 0.2), (1, 1, 1, PUMP, 0.6)]
    assert source.finish(by=alice) == 0
    assert len(there(project, dave)) == 3


@pytest.mark.django_db
def test_a_mark_keeps_its_source_when_it_is_changed_and_the_figures_tell(project, push, carol):
    own = begun(project, carol)
    push(line(1, (2, 3, PUMP, 0.9), (1, 1, PUMP, 0.4), (0, 0, PUMP, 0.1)), line(2, (0, 1, PUMP, 0.5)))
    own.entity_set.get(start=2).accept()
    changed = own.entity_set.get(start=1)
    changed.relabel(factories.item(project.entity_ontology, STATE))
    own.entity_set.get(start=0).remove()
    changed.refresh_from_db()
    assert (changed.suggested_by.name, changed.score, changed.origin) == ("tagger", 0.4, "program")
    source = Source.objects.get(name="tagger")
    pk = {name: factories.item(project.entity_ontology, name).pk for name in (PUMP, STATE)}
    assert source.figures() == {pk[PUMP]: (3, 1, 0, 1, 1), pk[STATE]: (1, 0, 1, 0, 0)}
    own.suggest_again(Entity, uid=changed.uid, label=factories.item(project.entity_ontology, PUMP))
    assert source.figures() == {pk[PUMP]: (4, 1, 0, 1, 2)}


@pytest.mark.django_db
def test_characters_are_tokens_of_the_text_of_now(project, push):
    def at(first, last, **more):
        return {"external_id": "w2", "entities": [{"start_char": first, "end_char": last, "label": PUMP, **more}]}

    assert told(push(at(0, 8))) == (1, 0, 0, [])
    assert there(project) == [(2, 0, 1, PUMP, None)]
    for wrong in (at(1, 8), at(0, 2), at(9, 8), at(0, 900), at(0, 8, start=0, end=1), at(0, 8, start=0)):
        assert [each[:3] for each in push(wrong).refused] == [(1, "w2", "$.entities[0]")]


@pytest.mark.django_db
def test_relations_come_with_their_ends(project, push, carol):
    own = begun(project, carol)
    relation = {"source_id": "e0", "target_id": "e1", "label": "hasParticipant/hasPatient", "score": 0.7}
    lines = line(1, (0, 0, STATE, 0.9), (2, 3, PUMP, 0.4), relations=[relation])
    assert told(push(lines)) == (3, 0, 0, [])
    assert told(push(lines)) == (0, 3, 0, [])
    assert [(r.source.start, r.target.start, r.score) for r in own.relation_set.all()] == [(0, 2, 0.7)]
    wrong = [{**relation, "target_id": "e9"}, {**relation, "target_id": "e0"}, {**relation, "label": "hasNothing"}]
    outcome = push(line(1, (0, 0, STATE, 0.9), (2, 3, PUMP, 0.4), relations=[relation, *wrong, relation]))
    assert [each.place for each in outcome.refused] == [f"$.relations[{n}]" for n in range(1, 5)]
    assert told(push(line(1))) == (0, 0, 3, [])
    assert not Relation.objects.exists() and not Entity.objects.exists()


@pytest.mark.django_db
def test_each_refused_one_is_named(project, push, alice, carol):
    item = project.dataset.items().get(position=2)
    project.dataset.remove(project.dataset.items().filter(pk=item.pk), by=alice)
    factories.item(project.entity_ontology, STATE).switch(False, by=alice)
    source = Source.of(project.dataset, "tagger")
    lines = [
        "{",
        "",
        "[]",
        json.dumps({"entities": []}),
        json.dumps(line(1, (9, 9, PUMP, 1), (1, 0, PUMP, 1), (0, 0, "Nothing", 1), (0, 0, STATE, 1), (1, 1, PUMP, 1))),
        json.dumps(line(1, (0, 0, PUMP, 1))),
        json.dumps(line(3)),
        json.dumps(line(4)),
        json.dumps(line(2, (0, 0, PUMP, 2))),
        json.dumps({"id": item.pk - 1, "entities": [{"start": 0, "end": 0, "label": PUMP, "colour": 1}]}),
        b"\xff",
    ]
    outcome = source.suggest(lines, by=alice)
    assert outcome.made == 1
    assert sorted(each[:3] for each in outcome.refused) == [
        (1, "", "$"),
        (3, "", "$"),
        (4, "", "$"),
        (5, "w1", "$.entities[0]"),
        (5, "w1", "$.entities[1]"),
        (5, "w1", "$.entities[2]"),
        (5, "w1", "$.entities[3]"),
        (6, "w1", "$"),
        (7, "w3", "$"),
        (8, "w4", "$"),
        (9, "w2", "$.entities[0].score"),
        (10, "", "$.entities[0]"),
        (11, "", "$"),
    ]
    assert "switched off" in " ".join(each.text for each in outcome.refused)
    with pytest.raises(Refused, match="do not manage"):
        source.suggest([], by=carol)
    with pytest.raises(Refused, match="own suggestions"):
        Source.of(project.dataset, "History")


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_off_it_takes_what_nobody_touched_away_and_suggests_nothing(project, push, alice, carol):
    own = begun(project, carol)
    push(line(1, (2, 3, PUMP, 0.9), (1, 1, PUMP, 0.4)), line(2, (0, 1, PUMP, 0.5)))
    push(line(2, (2, 2, STATE, 0.5)), name="other")
    own.entity_set.get(start=2).accept()
    source = Source.objects.get(name="tagger")
    assert source.untouched() == sum(figures.open for figures in source.figures().values()) == 2
    source.switch(False, by=alice)
    assert there(project) == [(2, 2, 2, STATE, 0.5)]
    assert there(project, carol) == [] and len(there(project, carol, "accepted")) == 1
    with pytest.raises(Refused, match="switched off"):
        push(line(2, (0, 1, PUMP, 0.5)))
    source.switch(True, by=alice)
    assert push(line(2, (0, 1, PUMP, 0.5))).made == 1
    with pytest.raises(Refused, match="do not manage"):
        source.switch(False, by=carol)


@pytest.mark.django_db
def test_items_for_calibration_get_none(project, push, alice, carol):
    project.set_rule(AssignmentRule(calibration=1), by=alice)
    outcome = push(line(1, (2, 3, PUMP, 0.9)), line(2, (0, 1, PUMP, 0.5)))
    assert told(outcome) == (1, 0, 0, [(1, "w1", "$")])
    assert there(project) == [(2, 0, 1, PUMP, 0.5)]
    begun(project, carol, 2)
    project.set_rule(AssignmentRule(calibration=2), by=alice)
    assert there(project) == there(project, carol) == []
    assert push(line(3, (0, 0, STATE, 0.5))).made == 1


def test_so_many_refusals_that_something_is_wrong_with_all_end_it(project, push, monkeypatch):
    monkeypatch.setattr("work.models.source.MOST_REFUSED", 2)
    entity = (0, 0, STATE, 0.5)
    assert len(push(line(1, entity), line(8, entity), line(9, entity)).refused) == 2
    with pytest.raises(
        Refused, match=r"More than 2 are refused.*The first is in line 1, \$: The project has no such item\."
    ):
        push(*(line(number, entity) for number in (7, 8, 9)))


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_suggestions_from_before_there_were_sources_get_theirs(project, carol):
    fill = import_module("datasets.migrations.0038_fill_sources").Migration.operations
    own, label = begun(project, carol), factories.item(project.entity_ontology, STATE)
    for n, origin in enumerate(("history", "preannotation", "preannotation", "person")):
        own.entity_set.create(uid=str(n), label=label, start=n, end=n, origin=origin)
    for _ in range(2):  # also after it was interrupted
        with connection.schema_editor() as editor:
            for operation in fill:
                editor.execute(operation.sql)
    found = own.entity_set.order_by("start").values_list("suggested_by__name", flat=True)
    assert list(found) == ["History", "Preannotations", "Preannotations", None]
    assert Source.own(project.dataset.pk, Source.Kind.HISTORY).kind == "history"
    assert project.dataset.sources.count() == 2
