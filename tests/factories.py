"""Makes what tests need, through the same methods as the product."""

import json
from functools import cache

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.core.files.base import ContentFile
from django.test import TestCase

from annotation_service.models import PROJECT_MANAGERS, User
from datasets.models import Annotation, Layer, Upload
from ontologies.documents import read_ontology
from ontologies.models import Ontology
from projects.models import Project

ENTITIES = [
    {
        "name": "PhysicalObject",
        "description": "Things that can be touched.",
        "example_terms": ["pump", "bearing"],
        "children": [{"name": "SensingObject", "children": [{"name": "Thermostat"}]}, {"name": "DrivingObject"}],
    },
    {"name": "Activity", "children": [{"name": "Replace"}]},
    {"name": "State"},
]
RELATIONS = [{"name": "hasPart"}, {"name": "hasParticipant", "children": [{"name": "hasPatient"}]}]
# The fields of a dataset or a set of resources that a copy does not share with its source.
OWN_OF_COPIES = {
    "id",
    "name",
    "owner",
    "project",
    "copied_from",
    "created_at",
    "updated_at",
    "entity_ontology",
    "relation_ontology",
    "version",
}
TEXT = "replace engine oil\nleft air conditioner thermostat not working\ncheck coolant level and top up\n"


PASSWORD = "a-long-password"


@cache
def _hashed(hasher):
    return make_password(PASSWORD)


def user(name="user", **fields):
    """Somebody, without the checks of names that `User.save` makes: nearly every test makes some people."""
    person = User(username=name, email=f"{name}@example.org", password=_hashed(settings.PASSWORD_HASHERS[0]), **fields)
    person.fold_names()
    return User.objects.bulk_create([person])[0]


def manager(name="manager"):
    # A flushed database has lost the group that the migration made.
    person = user(name)
    group = Group.objects.get_or_create(name=PROJECT_MANAGERS)[0]
    User.groups.through.objects.bulk_create([User.groups.through(user=person, group=group)])
    return person


def ontology(*, owner, kind="entity", name="", items=None):
    document = items if items is not None else (ENTITIES if kind == "entity" else RELATIONS)
    return Ontology.create(
        kind=kind, name=name or f"{kind} labels", owner=owner, items=read_ontology(json.dumps(document), kind)
    )


def item(ontology, name):
    return ontology.items().select_related("ontology", "parent").get(name=name)


def dataset(*, owner, text=TEXT, name="Work orders", **preprocessing):
    options = {"kind": "standard", "format": "text", "name": name, **preprocessing}
    with TestCase.captureOnCommitCallbacks(execute=True):  # what a test does is no commit
        return upload(text, by=owner, options=options).store()


def upload(document, *, by, options, dataset=None, name="orders.txt"):
    """A document on its way into a dataset; JSON values are written as JSON."""
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    return Upload.begin(
        ContentFile(text.encode() if isinstance(text, str) else text, name), by=by, options=options, dataset=dataset
    )


def annotation(item, annotator=None, **fields):
    """Somebody's annotation of an item or, without an annotator, the given one: made, if there is none."""
    whose = {"annotator": annotator} if annotator else {"layer": Layer.GIVEN}
    return Annotation.objects.get_or_create(item=item, **whose, defaults=fields)[0]


def gold(item, *entities, relations=(), **fields):
    """What was decided about an item: ``gold(item, (label, 0, 1), (label, 2, 2), relations=[(label, 0, 1)])``. The numbers of a
    relation are places in the list of entities."""
    made = Annotation.objects.create(item=item, layer=Layer.GOLD)
    ends = [
        made.entity_set.create(uid=f"gold{n}", label=label, start=start, end=end, **fields)
        for n, (label, start, end) in enumerate(entities)
    ]
    for n, (label, source, target) in enumerate(relations):
        made.relation_set.create(uid=f"goldr{n}", label=label, source=ends[source], target=ends[target], **fields)
    return made


def project(*, by, of=None, entities=None, relations=True, name="Pumps", annotators=(), text=TEXT, **fields):
    """A project of the dataset ``of``, with the ontologies of its marks. What is not given is made; ``relations=False``: none."""
    of = of or dataset(owner=by, text=text)
    if relations is True:
        relations = of.relation_ontology or ontology(owner=by, kind="relation")
    return Project.create(
        name=name,
        by=by,
        dataset=of,
        entity_ontology=entities or of.entity_ontology or ontology(owner=by),
        relation_ontology=relations or None,
        annotators=annotators,
        **fields,
    )
