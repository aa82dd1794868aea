import json

import pytest
from django.utils import timezone

from annotation_service import jobs
from annotation_service.inputs import Refused
from datasets import exports
from datasets.kinds import DatasetKind
from datasets.models import Annotation, Dataset, Entity, Item, Relation
from datasets.models.dataset import goes_after_marks, goes_with_annotations, goes_with_datasets, goes_with_items
from ontologies.models import OntologyItem
from tests import factories

# What a copy does not share with its source; every other field must be the same.
OWN = {
    Dataset: factories.OWN_OF_COPIES - {"version"},
    Item: {"id", "dataset"},
    Annotation: {"id", "item"},
    Entity: {"id", "annotation", "label"},
    Relation: {"id", "annotation", "label", "source", "target"},
}


def values(thing):
    fields = [f for f in type(thing)._meta.concrete_fields if f.name not in OWN[type(thing)]]
    assert len(fields) + len(OWN[type(thing)]) == len(type(thing)._meta.concrete_fields)
    return {field.name: getattr(thing, field.attname) for field in fields}


@pytest.fixture
def entity_labels(alice):
    return factories.ontology(owner=alice)


@pytest.fixture
def relation_labels(alice):
    return factories.ontology(owner=alice, kind="relation")


@pytest.fixture
def dataset(alice, entity_labels, relation_labels):
    """A dataset with an item in the bin, given marks on its second item, and every field filled."""
    dataset = factories.dataset(owner=alice, text="gone\nreplace engine oil\ncheck pump\n", lowercase=True)
    dataset.touch(
        description="Described",
        kind=DatasetKind.PREANNOTATED_RELATION,
        entity_ontology=entity_labels,
        relation_ontology=relation_labels,
    )
    first, second, _ = dataset.items()
    Item.with_removed.filter(pk=first.pk).update(removed_at=timezone.now())
    Item.with_removed.filter(pk=second.pk).update(external_id="WO-1", extra_fields={"site": "north", "n": [1, None]})
    gone, given = (factories.annotation(item, done_at=timezone.now()) for item in (first, second))
    labels = list(entity_labels.items())
    relation_label = relation_labels.items()[1]
    for annotation in (gone, given):
        given = {"annotation": annotation, "origin": "given", "status": "suggested"}
        one = Entity.objects.create(label=labels[0], start=0, end=0, uid="aaaaaaaa", **given)
        two = Entity.objects.create(label=labels[3], start=1, end=2, uid="bbbbbbbb", **given)
        Relation.objects.create(label=relation_label, source=two, target=one, uid="cccccccc", **given)
    return dataset


def check_copy(copy, source):
    """The same content; the labels have the same uids in the copy's own ontologies."""
    assert values(copy) == values(source)
    pairs = list(zip(copy.items(), source.items(), strict=True))
    assert [new.position for new, _ in pairs] == [1, 2]
    for new, old in pairs:
        assert values(new) == values(old)
        given, theirs = (list(item.annotation_set.filter(annotator=None)) for item in (new, old))
        assert [values(a) for a in given] == [values(a) for a in theirs]
    [new], [old] = (Annotation.objects.filter(item__in=d.items(), annotator=None) for d in (copy, source))
    for model in ("entity_set", "relation_set"):
        marks, theirs = (list(getattr(a, model).order_by("uid")) for a in (new, old))
        assert [values(m) for m in marks] == [values(m) for m in theirs]
        assert [m.label.uid for m in marks] == [m.label.uid for m in theirs]
        ontology = copy.entity_ontology if model == "entity_set" else copy.relation_ontology
        assert {m.label.ontology for m in marks} == {ontology}
    [relation] = new.relation_set.all()
    assert (relation.source.uid, relation.target.uid) == ("bbbbbbbb", "aaaaaaaa")
    assert {relation.source.annotation, relation.target.annotation} == {new}


def test_a_duplicate_has_the_same_content_and_the_same_ontologies(dataset, bob):
    copy = dataset.copy_to(by=bob, name="His own")
    assert (copy.owner, copy.name, copy.project, copy.copied_from) == (bob, "His own", None, dataset)
    assert (copy.entity_ontology, copy.relation_ontology) == (dataset.entity_ontology, dataset.relation_ontology)
    check_copy(copy, dataset)


def test_a_projects_copy_has_the_labels_of_the_projects_ontologies(dataset, alice, entity_labels, relation_labels):
    project = factories.project(by=alice, of=dataset, entities=entity_labels, relations=relation_labels)
    copy = project.dataset
    assert copy.entity_ontology == project.entity_ontology != entity_labels
    assert copy.relation_ontology == project.relation_ontology != relation_labels
    check_copy(copy, dataset)
    assert (
        OntologyItem.objects.filter(entity_marks__annotation__item__dataset=copy)
        .exclude(ontology=project.entity_ontology)
        .count()
        == 0
    )


def test_annotators_marks_stay_behind(dataset, alice, bob, carol):
    item = dataset.items()[0]
    own = Annotation.start(item, carol)
    assert own.entity_set.count() == 2
    copy = dataset.copy_to(by=bob)
    assert not Annotation.objects.filter(item__dataset=copy, annotator=carol).exists()
    assert Entity.objects.filter(annotation__item__dataset=copy).count() == 2


def test_suggestions_stay_behind(dataset, alice, entity_labels, relation_labels):
    """In a project's copy as in a blueprint."""
    annotation = dataset.items()[0].annotation_set.get()
    suggested = {"annotation": annotation, "status": "suggested", "origin": "preannotation"}
    one = Entity.objects.create(label=entity_labels.items()[1], start=2, end=2, uid="dddddddd", **suggested)
    end = annotation.entity_set.get(uid="aaaaaaaa")
    Relation.objects.create(label=relation_labels.items()[0], source=end, target=one, uid="eeeeeeee", **suggested)
    project = factories.project(by=alice, of=dataset, entities=entity_labels, relations=relation_labels)
    for copy in (project.dataset, dataset.copy_to(by=alice), project.dataset.copy_to(by=alice)):
        marks = Entity.objects.filter(annotation__item__dataset=copy)
        assert set(marks.values_list("uid", "origin")) == {("aaaaaaaa", "given"), ("bbbbbbbb", "given")}
        assert Relation.objects.get(annotation__item__dataset=copy).uid == "cccccccc"
    assert dataset.row_count == dataset.item_count + 2
    assert json.loads("".join(exports.json_document(dataset)))[0]["entities"] == [
        {"id": "aaaaaaaa", "start": 0, "end": 0, "label": "PhysicalObject"},
        {"id": "bbbbbbbb", "start": 1, "end": 2, "label": "PhysicalObject/DrivingObject"},
    ]


def test_marks_keep_their_origin_when_an_annotator_begins(dataset, carol):
    given = dataset.items()[0].annotation_set.get()
    given.entity_set.create(
        label_id=given.entity_set.first().label_id, start=2, end=2, uid="p", status="suggested", origin="preannotation"
    )
    own = Annotation.start(dataset.items()[0], carol)
    label = dataset.entity_ontology.items()[0]
    own.add_entity(uid="own", label=label, start=1, end=1)
    own.mark(Entity, "p").relabel(label)
    assert dict(own.entity_set.values_list("uid", "origin")) == {
        "aaaaaaaa": "given",
        "bbbbbbbb": "given",
        "p": "preannotation",
        "own": "person",
    }


def test_a_copy_and_its_source_have_nothing_to_do_with_each_other(dataset, bob):
    copy = dataset.copy_to(by=bob)
    dataset.edit(name="Changed", description="")
    Item.objects.filter(dataset=copy).update(original="changed")
    dataset.erase()
    copy.refresh_from_db()
    assert (copy.name, copy.copied_from, copy.items().count()) == ("Work orders", None, 2)
    assert Entity.objects.count() == 2


def test_a_projects_copy_goes_only_with_its_project(alice):
    project = factories.project(by=alice)
    with pytest.raises(Refused, match="belongs to the project “Pumps”"):
        project.dataset.erase()
    assert project.dataset.items().count() == 3


# --- Blueprints of a project's preannotated dataset ------------------------------------------------------------------------


@pytest.fixture
def project(dataset, alice, entity_labels, relation_labels):
    return factories.project(by=alice, of=dataset, entities=entity_labels, relations=relation_labels)


def test_it_gets_the_blueprints_that_the_projects_ontologies_were_copied_from(
    project, bob, entity_labels, relation_labels
):
    project.entity_ontology.items().first().rename("Renamed", by=bob)
    copy = project.dataset.copy_to(by=bob, name="His own")
    assert copy.project is None
    assert copy.given_ontologies() == [entity_labels, relation_labels]
    check_copy(copy, project.dataset)
    note = project.dataset.note_on_duplicate()
    assert note == "The marks that came with it get the labels of “entity labels” and “relation labels”."


def test_if_marks_carry_labels_of_the_project_its_ontology_becomes_a_blueprint(project, bob, relation_labels):
    own = project.entity_ontology.add_item("Own", by=bob)
    project.entity_ontology.add_item("Unused", by=bob)
    Entity.objects.filter(annotation__item__dataset=project.dataset, uid="aaaaaaaa").update(label=own)
    assert "A copy of the project’s “entity labels” becomes yours as well" in project.dataset.note_on_duplicate()
    copy = project.dataset.copy_to(by=bob, name="His own")
    made = copy.entity_ontology
    assert (made.owner, made.project, made.copied_from) == (bob, None, project.entity_ontology)
    assert copy.relation_ontology == relation_labels
    assert made.items().filter(name__in=["Own", "Unused"]).count() == 2
    check_copy(copy, project.dataset)


def test_if_its_blueprints_are_gone_the_projects_ontologies_become_blueprints(project, dataset, bob):
    blueprints = dataset.given_ontologies()
    dataset.erase()
    for ontology in blueprints:
        ontology.erase()
    copy = project.dataset.copy_to(by=bob)
    assert {ontology.owner for ontology in copy.given_ontologies()} == {bob}
    check_copy(copy, project.dataset)


def test_the_dialog_says_what_happens_to_the_labels(as_alice, project, dataset):
    url = f"/datasets/{project.dataset.pk}/duplicate/"
    assert "get the labels of “entity labels”" in as_alice.get(url).text
    as_alice.post(url, {"name": "Again"})
    assert Dataset.objects.get(name="Again").given_ontologies() == dataset.given_ontologies()
    assert "labels of" not in as_alice.get(f"/datasets/{dataset.pk}/duplicate/").text


def test_other_ontologies_must_cover_the_labels_of_the_marks(dataset, alice, bob, entity_labels, relation_labels):
    other = factories.ontology(owner=alice, name="Others", items=[{"name": "PhysicalObject"}])
    with pytest.raises(Refused, match=r"The marks of “.+” have the labels? “.+”, which “Others” does not have"):
        dataset.copy_to(by=bob, ontologies={entity_labels.pk: other, relation_labels.pk: relation_labels})
    assert Dataset.objects.count() == 1


def test_a_large_dataset_is_duplicated_by_the_worker(as_bob, dataset, settings):
    settings.JOB_ROWS = 1
    Dataset.objects.update(item_count=2)
    as_bob.post(f"/datasets/{dataset.pk}/duplicate/", {"name": "His own"})
    jobs.run(jobs.claim())
    copy = Dataset.objects.get(name="His own")
    assert copy.owner == as_bob.user
    check_copy(copy, Dataset.objects.get(pk=dataset.pk))


def test_everything_that_points_to_annotations_items_or_datasets_goes_with_them():
    """Whoever adds such a model registers it in `datasets.models.dataset`."""

    def pointing(model):
        fields = model._meta.get_fields(include_hidden=True)
        return {(link.related_model, link.field.name) for link in fields if link.auto_created and not link.concrete}

    assert pointing(Annotation) == {(model, "annotation") for model in goes_with_annotations}
    assert pointing(Item) == {(model, path) for model, path in goes_with_items if "__" not in path}
    own = {(Item, "dataset"), (Dataset, "copied_from")}
    after_marks = {(model, path) for model, path in goes_after_marks if "__" not in path}
    assert pointing(Dataset) == {*goes_with_datasets, *after_marks, *own}
