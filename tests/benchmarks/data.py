"""What the benchmarks work on: made here, the same in every run, in transactions of the product, which end with statistics."""

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.contrib.auth.models import Group
from django.core.files.base import ContentFile
from django.utils import timezone

from annotation_service.db import execute, write
from annotation_service.models import PROJECT_MANAGERS, User
from datasets.models import Annotation, Dataset, Entity, Layer, Relation, Upload
from ontologies.documents import read_ontology
from ontologies.models import Ontology
from projects.models import Project
from resources.models import ConstraintSet

MANAGER = "manager"
ANNOTATORS = [f"annotator{n}" for n in range(8)]
SYLLABLES = ["ba", "co", "di", "fu", "ga", "he", "ki", "lo", "mu", "na", "pe", "ri", "so", "ta", "ve", "wi"]
BATCH = 5000


def make_people() -> None:
    """Nobody needs a password: the browsers get their sessions without one."""
    people = User.objects.bulk_create(User(username=name) for name in (MANAGER, *ANNOTATORS))
    people[0].groups.add(Group.objects.get(name=PROJECT_MANAGERS))


def manager() -> User:
    return User.objects.get(username=MANAGER)


@cache
def text(lines: int) -> str:
    rng = random.Random(1)
    vocabulary = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(5000)]
    return "".join(f"{' '.join(rng.choices(vocabulary, k=15)).capitalize()}.\n" for _ in range(lines))


def ontology_json(size: int, children: int = 10) -> str:
    """A tree in which every item has up to ten children, filled level by level."""
    items: list[dict[str, Any]] = [_item(n) for n in range(size)]
    for number in range(children, size):
        items[number // children - 1]["children"].append(items[number])
    return json.dumps(items[:children])


def _item(number: int) -> dict[str, Any]:
    return {"name": f"Label {number}", "description": f"Things of the kind {number}.", "children": []}


def ontology(size: int, kind: str = "entity", name: str = "Labels") -> Ontology:
    items = read_ontology(ontology_json(size), kind)
    return Ontology.create(kind=kind, name=name, owner=manager(), items=items)


def dataset(lines: int, name: str = "Texts", source: str = "") -> Dataset:
    """Made once, by whoever needs it first."""
    if known := Dataset.objects.filter(project=None, name=name, item_count=lines).first():
        return known
    options = {"kind": "standard", "format": "text", "name": name}
    return Upload.begin(
        ContentFile((source or text(lines)).encode(), "texts.txt"), by=manager(), options=options
    ).store()


def marked_items(count: int, entities: Ontology, relations: Ontology) -> Iterator[dict[str, Any]]:
    """Items with three entities each, and one or two relations."""
    names, relation_names = ([label.fullname for label in ontology.labels()] for ontology in (entities, relations))
    for n, line in enumerate(text(count).splitlines()):
        marks = [
            {"id": f"e{k}", "start": 4 * k, "end": 5 * k, "label": names[(3 * n + k) % len(names)]} for k in range(3)
        ]
        related = [
            {"source_id": f"e{k}", "target_id": f"e{k + 1}", "label": relation_names[(n + k) % len(relation_names)]}
            for k in range(1 + n % 2)
        ]
        yield {
            "original": line,
            "tokens": line.split(),
            "external_id": f"WO-{n}",
            "entities": marks,
            "relations": related,
        }


def project(lines: int, name: str = "Project", labels: int = 100, texts: Dataset | None = None) -> Project:
    return Project.create(
        name=name,
        by=manager(),
        dataset=texts or dataset(lines),
        entity_ontology=ontology(labels),
        relation_ontology=ontology(20, "relation"),
        annotators=list(User.objects.filter(username__in=ANNOTATORS)),
    )


def constrain(project: Project, rules: list[dict[str, Any]]) -> None:
    """Let the project obey these rules about entities."""
    blueprint = ConstraintSet.create(
        kind="entity",
        source=json.dumps(rules),
        name="Rules",
        owner=manager(),
        entity_ontology=project.entity_ontology.copied_from,
    )
    project.use(blueprint, by=manager())


@write()
def add_marks(dataset: Dataset, annotator: User | None, ontologies: list[Ontology]) -> None:
    """30,000 entities and 15,000 relations on the first 10,000 items: three a piece, and one or two."""
    labels, relation_labels = (list(ontology.items()) for ontology in ontologies)
    items = dataset.items()[:10_000]
    layer = Layer.OWN if annotator else Layer.GIVEN
    annotations = [Annotation(item=item, annotator=annotator, layer=layer) for item in items]
    Annotation.objects.bulk_create(annotations, batch_size=BATCH)
    entities = [
        Entity(annotation=annotation, label=labels[n % len(labels)], uid=f"entity-{k}")
        for n, annotation in enumerate(annotations)
        for k in range(3)
    ]
    for n, entity in enumerate(entities):
        entity.put(start=n % 3 * 4, end=n % 3 * 5)
    Entity.objects.bulk_create(entities, batch_size=BATCH)
    relations = [
        Relation(
            annotation=source.annotation,
            label=relation_labels[n % len(relation_labels)],
            uid=f"relation-{n}",
            source=source,
            target=entities[n + 1],
        )
        for n, source in enumerate(entities)
        if n % 3 == 0 or n % 6 == 1
    ]
    Relation.objects.bulk_create(relations, batch_size=BATCH)


@write()
def annotate_every_item(project: Project) -> None:
    """Finished work of every annotator on each item, without marks."""
    execute(
        "INSERT INTO datasets_annotation (item_id, annotator_id, started_at, done_at)"
        " SELECT i.id, m.user_id, %(now)s, %(now)s FROM datasets_item i JOIN datasets_dataset d ON d.id = i.dataset_id"
        " JOIN projects_membership m ON m.project_id = d.project_id AND m.role = 'annotator' WHERE d.project_id = %(project)s",
        {"project": project.pk, "now": timezone.now()},
    )


@write()
def mark_every_item(dataset: Dataset, annotator: User, ontology: Ontology) -> None:
    """An entity on each item of a dataset, written inside the database."""
    params = {"dataset": dataset.pk, "annotator": annotator.pk, "label": ontology.items()[0].pk, "now": timezone.now()}
    execute(
        "INSERT INTO datasets_annotation (item_id, annotator_id, started_at)"
        " SELECT id, %(annotator)s, %(now)s FROM datasets_item WHERE dataset_id = %(dataset)s",
        params,
    )
    execute(
        "INSERT INTO datasets_entity"
        ' (annotation_id, label_id, uid, start, "end", words_key, status, origin, created_at, updated_at)'
        " SELECT a.id, %(label)s, 'e', 0, 0, 0, 'accepted', 'person', %(now)s, %(now)s FROM datasets_annotation a"
        " JOIN datasets_item i ON i.id = a.item_id WHERE i.dataset_id = %(dataset)s AND a.annotator_id = %(annotator)s",
        params,
    )
