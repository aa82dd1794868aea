"""Marks point to their labels: after any series of changes they are intact, and every file has the new full names."""

import io
import json
import zipfile

import hypothesis.strategies as st
import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings

from annotation_service.inputs import Refused
from datasets.exports import json_document
from datasets.models import Entity, Relation
from ontologies.models import Ontology
from projects import bundle
from tests import factories
from tests.datasets import marked
from tests.soak import amount

EXAMPLES = settings(max_examples=amount(15, 300), deadline=None, suppress_health_check=list(HealthCheck))
STEPS = st.tuples(
    st.sampled_from(["rename", "rename", "switch", "switch alone", "move", "undo", "redo"]),
    st.sampled_from(["entity", "relation"]),
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from(["A", "B", "Ç", "Pump 🚀"]),
    st.booleans(),
)


@pytest.fixture
def project(alice):
    """With one text, for one mark with each label."""
    dataset = marked.dataset(owner=alice, items=["left air conditioner thermostat not working"])
    return factories.project(by=alice, of=dataset)


def mark(project, annotator):
    """One mark with each label, of the annotator or, without one, given with the dataset."""
    annotation = factories.annotation(project.dataset.items()[0], annotator)
    entities = [
        annotation.add_entity(uid=f"entity-{label.uid}", label=label, start=place % 5, end=place % 5)
        for place, label in enumerate(project.entity_ontology.items())
    ]
    for label in project.relation_ontology.items():
        source, target = entities[0].uid, entities[1].uid
        annotation.add_relation(uid=f"relation-{label.uid}", label=label, source=source, target=target)
    if not annotator:
        for model in (Entity, Relation):
            model.objects.filter(annotation=annotation).update(origin=Entity.Origin.GIVEN)


def stored():
    entities = Entity.objects.order_by("pk").values_list(
        "pk", "annotation", "uid", "label__uid", "start", "end", "status"
    )
    relations = Relation.objects.order_by("pk").values_list("pk", "annotation", "uid", "label__uid", "source", "target")
    return list(entities), list(relations)


def take(step, ontology, which, to, name, on, by):
    items = list(ontology.items().select_related("ontology", "parent"))
    item = items[which % len(items)]
    match step:
        case "rename":
            item.rename(name, by=by)
        case "switch":
            item.switch(on, by=by)
        case "switch alone":
            item.switch(on, reach="item" if on else "branch", up=True, by=by)
        case "move":
            item.move(to=items[to % len(items)] if on else None, by=by)
        case "undo":
            ontology.undo(by=by)
        case "redo":
            ontology.redo(by=by)


def full_names(ontology):
    """By uid, from the parents of the items alone."""
    by_pk = {item.pk: item for item in ontology.items()}

    def name(item):
        above = by_pk.get(item.parent_id)
        return f"{name(above)}/{item.name}" if above else item.name

    return {item.uid: name(item) for item in by_pk.values()}


def flat(document):
    for item in document:
        yield item
        yield from flat(item["children"])


def check_files(project, ontologies):
    target = io.BytesIO()
    bundle.write(project, target)
    with zipfile.ZipFile(target) as archive:
        files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    [annotation] = files["annotations.json"]
    given = [files["dataset.json"], json.loads("".join(json_document(project.dataset)))]
    for kind, marks in {"entity": annotation["entities"], "relation": annotation["relations"]}.items():
        names = full_names(ontologies[kind])
        assert {mark["id"]: mark["label"] for mark in marks} == {f"{kind}-{uid}": name for uid, name in names.items()}
        for document in (files[f"{kind}_ontology.json"], json.loads(ontologies[kind].as_json())):
            assert {item["id"]: item["fullname"] for item in flat(document)} == names
        for [item] in given:
            assert {mark["label"] for mark in item["entities" if kind == "entity" else "relations"]} == set(
                names.values()
            )


@pytest.mark.soak
def test_marks_are_intact_and_files_have_the_new_names(project, alice, settings):
    settings.ONTOLOGY_MOVE_ITEMS = True
    for annotator in (alice, None):
        mark(project, annotator)
    ontologies = {"entity": project.entity_ontology.pk, "relation": project.relation_ontology.pk}
    before = stored()

    @EXAMPLES
    @given(st.lists(STEPS, max_size=amount(12, 30)))
    def series(steps):
        with transaction.atomic():
            for step, kind, *rest in steps:
                Ontology.objects.get(pk=ontologies[kind]).labels()  # as a page that is open keeps them
                try:
                    with transaction.atomic():
                        take(step, Ontology.objects.get(pk=ontologies[kind]), *rest, alice)
                except Refused:  # the name is taken, or there is nothing to undo
                    pass
            assert stored() == before
            check_files(project, {kind: Ontology.objects.get(pk=pk) for kind, pk in ontologies.items()})
            transaction.set_rollback(True)

    series()
