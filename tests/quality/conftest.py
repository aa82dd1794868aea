"""A project with marks of several people, told by words: "Thermostat 1-2" or "hasPart: Thermostat 1-2 > State 4"."""

import re

import pytest
from django.utils import timezone

from datasets.models import Item
from ontologies.models import OntologyItem
from quality.review import Review
from tests import factories


@pytest.fixture
def project(alice, carol, dave):
    made = factories.project(by=alice, annotators=[carol, dave, factories.user("erin")])
    made.reviews_own = True
    made.save(update_fields=["reviews_own"])
    return made


@pytest.fixture
def erin(project):
    return project.membership_set.get(user__username="erin").user


@pytest.fixture
def items(project):
    return list(project.dataset.items())


def label(project, name):
    return OntologyItem.objects.get(ontology__project=project, name=name)


def say(item, person, *marks, done=True):
    """Let somebody have just these marks in an item."""
    project = item.dataset.project
    annotation = factories.annotation(item, person)
    annotation.relation_set.all().delete()
    annotation.entity_set.all().delete()
    entities = {}
    for text in marks:
        name, _, ends = text.partition(": ")
        if ends:
            source, target = (entity(annotation, entities, each) for each in ends.split(" > "))
            annotation.relation_set.create(
                uid=f"r{len(entities)}{text}"[:30], label=label(project, name), source=source, target=target
            )
        else:
            entity(annotation, entities, text)
    annotation.done_at = timezone.now() if done else None
    annotation.revision += 1
    annotation.save()
    return annotation


def entity(annotation, entities, text):
    name, start, end = re.fullmatch(r"(\w+) (\d+)(?:-(\d+))?", text).groups()
    place = int(start), int(end or start)
    if (name, place) not in entities:
        entities[name, place] = annotation.entity_set.create(
            uid=f"e{len(entities)}",
            label=label(annotation.item.dataset.project, name),
            start=place[0],
            end=place[1],
        )
    return entities[name, place]


def review(item) -> Review:
    item = Item.objects.select_related("dataset__project").get(pk=item.pk)
    [found] = Review.of(item.dataset.project, [item])
    return found


def told(annotation):
    """The marks of an annotation as `say` takes them."""
    if annotation is None:
        return []

    def one(entity):
        place = str(entity.start) if entity.start == entity.end else f"{entity.start}-{entity.end}"
        return f"{entity.label.name} {place}"

    entities = annotation.entity_set.select_related("label").order_by("start", "end", "label__lft")
    relations = annotation.relation_set.select_related("label", "source__label", "target__label")
    return [
        *map(one, entities),
        *sorted(f"{each.label.name}: {one(each.source)} > {one(each.target)}" for each in relations),
    ]
