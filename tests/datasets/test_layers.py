"""The layers of annotations: somebody's own, the given one and the gold; and what counts the marks of all of them."""

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction

from datasets.models import Annotation, Entity, Layer
from ontologies.codebook import sentence_sources
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(alice, carol):
    return factories.project(by=alice, annotators=[carol])


@pytest.fixture
def item(project):
    return project.dataset.items()[0]


def test_an_item_has_one_annotation_of_each_person_one_given_and_one_gold(item, carol):
    for whose in ({"annotator": carol}, {"layer": Layer.GIVEN}, {"layer": Layer.GOLD}):
        Annotation.objects.create(item=item, **whose)
        with pytest.raises(IntegrityError), transaction.atomic():
            Annotation.objects.create(item=item, **whose)
    for whose in ({}, {"layer": Layer.GIVEN, "annotator": carol}, {"layer": Layer.GOLD, "annotator": carol}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Annotation.objects.create(item=item.dataset.items()[1], **whose)


def test_people_see_their_own_or_the_given_annotation_and_never_the_gold(item, carol, dave):
    gold = factories.gold(item)
    assert Annotation.gold(item) == gold and Annotation.gold(item.dataset.items()[1]) is None
    assert Annotation.visible_to(carol, item) is None and Annotation.all_visible_to(carol, [item]) == {}
    given = factories.annotation(item)
    label = factories.item(item.dataset.project.entity_ontology, "State")
    given.entity_set.create(uid="came", label=label, start=0, end=0, origin="given")
    gold.entity_set.create(uid="decided", label=label, start=1, end=1)
    own = Annotation.start(item, carol)
    assert [each.uid for each in own.entity_set.all()] == ["came"]
    for person, seen in ((carol, own), (dave, given)):
        assert Annotation.visible_to(person, item) == seen
        assert Annotation.all_visible_to(person, [item]) == {item.pk: seen}
    assert [str(each) for each in (own, given, gold)] == [
        f"item {item.pk} by carol",
        f"item {item.pk} by the dataset",
        f"item {item.pk} as decided",
    ]


def test_accepted_gold_uses_its_label(project, item, alice, carol):
    label, suggested = (factories.item(project.entity_ontology, name) for name in ("State", "Activity"))
    gold = factories.gold(item, (label, 0, 0))
    gold.entity_set.create(uid="suggested", label=suggested, start=1, end=1, status="suggested")
    assert label.usage().own == {"marks": 1} and not suggested.usage().own
    assert project.entity_ontology.marks_by_uid() == {label.uid: 1}
    assert not label.usage(made_by=carol).own and not label.usage(made_by=alice).own
    project.dataset.remove(project.dataset.items().filter(pk=item.pk), by=alice)
    assert not label.usage().own


def test_the_codebook_shows_gold_to_those_who_read_everybodys_marks(project, item, alice, carol, rf):
    label = factories.item(project.entity_ontology, "State")
    factories.gold(item, (label, 1, 2))

    def shown(user):
        request = rf.get("/")
        request.user = user
        return sentence_sources[0](request, project.entity_ontology, [label.uid]).get(label.uid)

    assert shown(alice) == [("replace ", "engine oil", "")] and not shown(carol)


@pytest.mark.django_db(transaction=True)
def test_the_migration_tells_what_came_with_the_dataset(item, carol):
    own, given = Annotation.start(item, carol), factories.annotation(item.dataset.items()[1])
    fields = [field.attname for field in Annotation._meta.concrete_fields if field.name != "touched_at"]  # set anew
    before = list(Annotation.objects.order_by("pk").values(*fields))
    call_command("migrate", "datasets", "0033", verbosity=0)
    call_command("migrate", verbosity=0)
    assert list(Annotation.objects.order_by("pk").values(*fields)) == before
    assert (Annotation.objects.get(pk=own.pk).layer, Annotation.objects.get(pk=given.pk).layer) == ("own", "given")
    with pytest.raises(IntegrityError), transaction.atomic():
        Annotation.objects.create(item=item)
    assert not Entity.objects.exists()
