"""What constraint sets learn from: the counts of a dataset's marks against the marks one by one."""

import random
from collections import Counter

import pytest
from django.utils import timezone

from datasets.models import Annotation, Entity, Layer, Relation
from resources.proposals import can_contain, relating
from tests import factories, resource_sets
from tests.datasets import marked
from work.evidence import Evidence, LearnedFrom


@pytest.fixture
def alice(db):
    return factories.manager("alice")


GOLD = "what was decided"


def scatter(dataset, rng, people):
    """Marks of all kinds on ten texts: given ones, and of people who are done with some of them."""
    labels = {kind: list(getattr(dataset, f"{kind}_ontology").items()) for kind in ("entity", "relation")}
    for position in range(10):
        item = marked.add(dataset, position, "a b c d e f g h i j")
        for person in (None, *people, GOLD):
            done = timezone.now() if person and rng.random() < 0.7 else None
            annotation = factories.gold(item) if person == GOLD else factories.annotation(item, person, done_at=done)
            entities = {}
            for number in range(8):
                start = rng.randrange(8)
                place = (rng.choice(labels["entity"]), start, start + rng.randrange(5) // 2)
                entities[place] = Entity(
                    annotation=annotation,
                    words_key=0,
                    label=place[0],
                    start=place[1],
                    end=place[2],
                    uid=f"e{number}",
                    status=rng.choice(Entity.Status.values),
                    origin="given" if person in (None, GOLD) else "person",
                )
            Entity.objects.bulk_create(entities.values())
            relations = {}
            for number in range(5):
                source, target = rng.sample(list(entities.values()), 2)
                label = rng.choice(labels["relation"])
                relations[source.pk, target.pk, label.pk] = Relation(
                    annotation=annotation,
                    label=label,
                    source=source,
                    target=target,
                    uid=f"r{number}",
                    status=rng.choice(Relation.Status.values),
                    origin="given" if person in (None, GOLD) else "person",
                )
            Relation.objects.bulk_create(relations.values())
    dataset.items().filter(position=3).update(removed_at=timezone.now())


def counted(dataset, source):
    """The same, mark by mark, in full names."""
    long, nested, related = Counter(), Counter(), Counter()
    names = {
        label.pk: label.fullname
        for ontology in (dataset.entity_ontology, dataset.relation_ontology)
        for label in ontology.labels()
    }
    for annotation in Annotation.objects.filter(item__in=dataset.items()):
        if annotation.layer != (Layer.GIVEN if source == LearnedFrom.GIVEN else Layer.OWN):
            continue
        if source == LearnedFrom.DONE and annotation.done_at is None:
            continue

        def counts(mark):
            return source == LearnedFrom.GIVEN or mark.status == "accepted"

        entities = [entity for entity in annotation.entity_set.all() if counts(entity)]
        for one in entities:
            tokens = set(range(one.start, one.end + 1))
            long[names[one.label_id]] += len(tokens) > 1
            for other in entities:
                if tokens > set(range(other.start, other.end + 1)):
                    nested[names[one.label_id], names[other.label_id]] += 1
        for relation in annotation.relation_set.select_related("source", "target"):
            if counts(relation):
                ends = relation.source.label_id, relation.label_id, relation.target.label_id
                related[tuple(names[label] for label in ends)] += 1
    return +long, nested, related


def named(observed, resource_set):
    for propose in (can_contain, relating):
        assert len(propose(observed, 1)) <= len(propose(observed, 9))
    names = {label.pk: label.fullname for o in resource_set.ontologies.values() for label in o.labels()}
    for label, line in observed.lines.items():
        assert [names[label].rsplit("/", n)[0] for n in range(len(line))] == [names[above] for above in line]
    long = Counter({names[label]: count for label, count in observed.long.items()})
    nested, related = (
        Counter({tuple(names[label] for label in labels): count for labels, count in counts.items()})
        for counts in (observed.nested, observed.related)
    )
    return long, nested, related


@pytest.mark.parametrize("source", LearnedFrom)
def test_marks_are_counted_as_one_by_one(alice, source):
    dataset = marked.dataset(owner=alice, items=[])
    scatter(dataset, random.Random(source.value), [factories.user(name) for name in ("ben", "cleo")])
    other = marked.dataset(owner=alice)  # counts nowhere
    expected = counted(dataset, source)
    assert all(expected) and all(counted(other, LearnedFrom.GIVEN)[1:])
    ontologies = {"entities": dataset.entity_ontology, "relations": dataset.relation_ontology}
    for format, empty in (("entity_constraints", 2), ("relation_constraints", 0)):
        made = resource_sets.make(format, owner=alice, **ontologies)
        evidence = Evidence(made, dataset, source)
        assert evidence.missing == []
        found = named(evidence.observed, made)
        counts = evidence.observed.nested if empty else evidence.observed.related
        for labels in list(counts)[:5]:
            lines = evidence.observed.lines
            number = sum(
                count
                for others, count in counts.items()
                if all(x in lines[y] for x, y in zip(labels, others, strict=True))
            )
            relation = labels[1] if len(labels) > 2 else None
            assert len(evidence.examples(labels[0], labels[-1], relation, 999)) == number
        if empty:
            assert found == (*expected[:2], Counter())
        else:
            assert found == (Counter(), Counter(), expected[2])


def test_labels_of_another_ontology_are_found_by_uid_or_full_name(alice):
    dataset = marked.dataset(owner=alice)
    marked.mark(dataset.items()[0], "State", 0, 2)
    copy = dataset.entity_ontology.copy_to(by=alice)
    factories.item(copy, "State").rename("Condition", by=alice)
    items = [{"name": "PhysicalObject", "children": [{"name": "DrivingObject"}]}]
    apart = factories.ontology(owner=alice, items=items)
    for ontology, nested, missing in (
        (copy, {("PhysicalObject", "PhysicalObject/DrivingObject"): 1, ("Condition", "PhysicalObject"): 1}, []),
        (apart, {("PhysicalObject", "PhysicalObject/DrivingObject"): 1}, ["State"]),
    ):
        made = resource_sets.make("entity_constraints", owner=alice, entities=ontology, relations=None, document=[])
        evidence = Evidence(made, dataset, LearnedFrom.GIVEN)
        found = named(evidence.observed, made)[1]
        assert {pair: found[pair] for pair in nested} == nested
        assert evidence.missing == missing
