"""How often rules are broken, as the database counts it and as it is kept, compared with judging every two marks."""

import random
import time
from collections import Counter
from itertools import combinations

import pytest

from annotation_service import jobs
from datasets.models import Annotation, BrokenRule, Entity, Item, Layer, Relation, judged
from datasets.models.broken import judge_of
from datasets.models.judged import Judging, broken_here, broken_rules, judge_some
from resources.models import rules_of
from tests import factories
from tests.annotations.test_constraints import constrain
from tests.resource_sets import PlacedLabel, broken_between
from work.models import item_work as figures

ENTITIES = [
    {"domain": "PhysicalObject", "excludes": ["Activity"], "can_contain": ["PhysicalObject"]},
    {"domain": "State", "excludes": [], "can_contain": []},
]
RELATIONS = [{"relation": "hasPart", "domain": "PhysicalObject", "range": ["PhysicalObject/SensingObject"]}]


@pytest.fixture
def project(alice, carol, dave):
    made = factories.project(by=alice, annotators=[carol, dave], text="a b c d e f\n" * 4)
    constrain(made, entities=ENTITIES, relations=RELATIONS)
    return made


def mark(annotation, chance, count=12):
    """Marks of any label and status, and relations between them."""
    trees = {tree.kind: list(tree.items()) for tree in annotation.item.dataset.project.ontology_set.all()}
    said = [("accepted", "person"), ("accepted", "given"), ("suggested", "given"), ("rejected", "person")]
    spans = {
        (chance.choice(trees["entity"]), start := chance.randrange(6), chance.randrange(start, 6)) for _ in range(count)
    }
    new = []
    for n, (label, start, end) in enumerate(spans, annotation.entity_set.count()):
        if not annotation.entity_set.filter(label=label, start=start, end=end).exists():
            status, origin = chance.choice(said)
            place = {"start": start, "end": end, "status": status, "origin": origin}
            new.append(annotation.entity_set.create(uid=f"e{n}-{start}-{end}", label=label, words_key=0, **place))
    for source, target in zip(new[::2], new[1::2], strict=False):
        status, origin = chance.choice(said)
        label = chance.choice(trees["relation"])
        uid = f"{source.uid}>{target.uid}"
        annotation.relation_set.create(source=source, target=target, label=label, uid=uid, status=status, origin=origin)


def naive(project):
    """By annotation and rule, every two marks compared."""
    rules, found = rules_of(project.constraint_sets()), Counter()
    trees = [ontology.labels() for ontology in project.ontology_set.all()]
    lines = {label.pk: tree.lineage(label) for tree in trees for label in tree}
    for annotation in Annotation.objects.filter(item__dataset__project=project, item__removed_at=None):

        def counts(*marks, is_given=annotation.layer == Layer.GIVEN):
            return all(m.status == "accepted" for m in marks) or (is_given and all(m.origin == "given" for m in marks))

        for one, other in combinations(Entity.objects.filter(annotation=annotation), 2):
            if counts(one, other):
                spans = (PlacedLabel(each.start, each.end, lines[each.label_id]) for each in (one, other))
                found.update((annotation.pk, str(each.rule)) for each in broken_between(rules, *spans))
        for each in Relation.objects.filter(annotation=annotation).select_related("source", "target"):
            ends = (lines[key] for key in (each.source.label_id, each.label_id, each.target.label_id))
            if counts(each) and (broken := rules.against_relating(*ends)):
                found[annotation.pk, str(broken.rule)] += 1
    return found


def kept(project):
    assert figures.refresh(project.dataset.pk, 60)
    return Counter({(row.annotation_id, row.rule): row.count for row in broken_rules(project.dataset.pk)})


@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_is_what_every_two_marks_break(project, alice, carol, dave, seed, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    chance = random.Random(seed)
    items = list(project.dataset.items())
    for item in items:
        for person in (None, carol, dave):
            mark(factories.annotation(item, person), chance)
        mark(factories.gold(item), chance)
    assert kept(project) == naive(project) and naive(project)
    Annotation.start(items[0], carol)  # a change is a new revision
    mark(Annotation.objects.get(item=items[0], annotator=carol), chance)
    assert kept(project) == naive(project)
    entities = project.constraint_sets()[0]
    entities.remove_rule(entities.rows()[0].key, by=alice)
    assert kept(project) == naive(project)
    sensing = project.entity_ontology.items().get(name="SensingObject")
    sensing.move(to=project.entity_ontology.items().get(name="State"), by=alice)
    assert kept(project) == naive(project)
    project.dataset.remove(project.dataset.items().filter(pk=items[1].pk), by=alice)
    assert kept(project) == naive(project)
    for row in broken_rules(project.dataset.pk):
        assert len(row.places) == row.count


def test_of_many_places_some_of_each_rule_are_listed(project, carol, monkeypatch):
    monkeypatch.setattr(judged, "PLACES", 10)
    annotation = Annotation.objects.create(item=project.dataset.items()[0], annotator=carol)
    for n, name in enumerate(["PhysicalObject", "Activity", "Replace", "Thermostat", "State"] * 3):
        label = project.entity_ontology.items().get(name=name)
        annotation.entity_set.create(uid=f"e{n}", label=label, start=n // 5, end=5 - n // 5, words_key=0)
    figures.refresh(project.dataset.pk, 60)
    rows = BrokenRule.objects.filter(annotation=annotation)
    assert sum(row.count for row in rows) > 30 and all(0 < len(row.places) <= 10 // len(rows) for row in rows)
    count, places = broken_here(annotation)
    assert count == sum(row.count for row in rows) and len(places) == sum(len(row.places) for row in rows)


def test_what_changes_while_it_is_judged_is_left_to_the_next(project, carol):
    item = project.dataset.items()[0]
    annotation = Annotation.objects.create(item=item, annotator=carol)
    judging = Judging([item.pk])
    assert judging.store([item.pk]) == {item.pk}
    Annotation.start(item, carol)
    assert judging.store([item.pk]) == set()
    mark(annotation, random.Random(1))
    assert kept(project) == naive(project)


def test_an_item_is_judged_once_whoever_counts_it(project, alice, carol, monkeypatch):
    """After a rule has changed, too, and while somebody else judges what is left."""
    judged_items, find = [], judged._find
    monkeypatch.setattr(judged, "_find", lambda judge, items: judged_items.extend(items) or find(judge, items))
    items = [item.pk for item in project.dataset.items()]
    for pk in items:
        mark(Annotation.objects.create(item_id=pk, annotator=carol), random.Random(pk))
    assert kept(project) == naive(project) and judged_items == items
    entities = project.constraint_sets()[0]
    entities.remove_rule(entities.rows()[0].key, by=alice)
    Annotation.start(Item.objects.get(pk=items[1]), carol)
    judged_items.clear()
    assert kept(project) == naive(project) and judged_items == items
    entities.remove_rule(entities.rows()[0].key, by=alice)
    left = Judging([items[1]])
    assert judge_some(60) and left.store([items[1]]) == set()


def test_the_worker_judges_again_what_a_rule_has_changed(project, alice, carol, monkeypatch):
    monkeypatch.setattr(judged, "ITEMS_AT_ONCE", 1)
    for item in project.dataset.items():
        mark(Annotation.objects.create(item=item, annotator=carol), random.Random(item.pk))
    assert judge_some in jobs.PURGES
    assert judge_some(60) == 1 and judge_some(60) == 0
    entities = project.constraint_sets()[0]
    entities.remove_rule(entities.rows()[0].key, by=alice)
    assert not judged.judge_again(project.dataset.pk, time.monotonic() - 1) and not broken_rules(project.dataset.pk)
    assert judge_some(60) == 1 and judge_some(60) == 0
    found = broken_rules(project.dataset.pk)
    assert Counter({(row.annotation_id, row.rule): row.count for row in found}) == naive(project)


def test_a_reader_waits_for_no_other(project, carol):
    mark(Annotation.objects.create(item=project.dataset.items()[0], annotator=carol), random.Random(2))
    with figures._turn(project.dataset.pk):
        assert not figures.refresh(project.dataset.pk, 60)
    assert kept(project) == naive(project)


def test_rows_that_are_fetched_do_not_grow_with_the_pairs(project, carol, monkeypatch):
    """Of two labels there are few groups, however many marks stand inside each other."""
    fetched, rows = [], judged._rows
    monkeypatch.setattr(
        judged, "_rows", lambda *args, **parts: fetched.extend(found := list(rows(*args, **parts))) or found
    )
    item = project.dataset.items()[0]
    labels = [project.entity_ontology.items().get(name=name) for name in ("PhysicalObject", "Activity")]

    def steps(count):
        annotation, _ = Annotation.objects.get_or_create(item=item, annotator=carol)
        annotation.entity_set.all().delete()
        Entity.objects.bulk_create(
            Entity(annotation=annotation, uid=f"e{n}", label=labels[n % 2], start=n, end=2 * count - n, words_key=0)
            for n in range(count)
        )
        fetched.clear()
        assert sum(row.count for row in judged._find(judge_of(item.dataset_id), [item.pk])) > count**2 // 4
        return len(fetched)

    few = steps(50)
    assert steps(100) <= few + judged.PLACES and steps(200) == steps(100) <= 4 + judged.PLACES
