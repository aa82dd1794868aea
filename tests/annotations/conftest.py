import json
from types import SimpleNamespace

import pytest

from datasets.models import Annotation, Item, TextCorrection
from datasets.models.correction import cut_anew
from ontologies.models import OntologyItem
from tests import factories

UID = "0123456789abcdef"


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol])


@pytest.fixture
def item(project):
    return project.dataset.items()[1]  # left air conditioner thermostat not working


@pytest.fixture
def send(project, item):
    """``send(client, "entities/add/", {...})``: a request of the workspace about the item."""

    def send(client, path, body, *, to=None, project_pk=None, **headers):
        url = f"/projects/{project_pk or project.pk}/items/{(to or item).pk}/{path}"
        data = body if isinstance(body, bytes | str) else json.dumps(body)
        return client.post(
            url,
            data,
            content_type="application/json",
            headers={"Accept": "application/json", "HX-Request": "", **headers},
        )

    return send


@pytest.fixture
def label(project):
    """``label("State")`` is the uid of a label of the project."""

    def label(name, kind="entity"):
        return OntologyItem.objects.get(ontology__project=project, ontology__kind=kind, name=name).uid

    return label


@pytest.fixture
def entity(label):
    """The body of a request that marks words."""

    def entity(uid=UID, name="PhysicalObject", start=1, end=2):
        return {"uid": uid, "label": label(name), "start": start, "end": end}

    return entity


@pytest.fixture
def correct(item, alice):
    """``correct(text)``: a manager corrects the text of the item."""

    def correct(text, which=item):
        now = Item.objects.get(pk=which.pk)
        TextCorrection.make(now, cut_anew(now, text), by=alice, was_version=now.text_version)

    return correct


@pytest.fixture
def stored(item, carol):
    """``stored()``: carol's marks of the item as they are in the database, ``stored(user)`` somebody else's."""

    def stored(user=None):
        annotation = Annotation.objects.filter(item=item, annotator=user or carol).first()
        if annotation is None:
            return SimpleNamespace(entities=[], relations=[], done=False)
        entities = annotation.entity_set.order_by("start", "end", "pk").values_list(
            "uid", "label__name", "start", "end"
        )
        relations = annotation.relation_set.order_by("pk").values_list(
            "uid", "label__name", "source__uid", "target__uid"
        )
        return SimpleNamespace(entities=list(entities), relations=list(relations), done=annotation.done_at is not None)

    return stored


@pytest.fixture
def mark(project):
    """``mark(carol, 1, 0, 1, "State")``: an accepted mark of somebody's, or of the dataset's."""

    def mark(annotator, number, start, end, name, **fields):
        item = project.dataset.items()[number - 1]
        annotation = factories.annotation(item, annotator)
        label = factories.item(project.entity_ontology, name)
        uid = f"e{annotation.entity_set.count()}"
        return annotation.entity_set.create(uid=uid, label=label, start=start, end=end, **fields)

    return mark
