"""Datasets that come with marks, for the tests of the screens that show them."""

from datasets.kinds import DatasetKind
from datasets.models import Dataset, Entity, Item, Relation
from tests import factories


def dataset(*, owner, items=None):
    """A preannotated relation dataset: three texts, the first with two nested entities and a relation, the second with one."""
    entities = factories.ontology(owner=owner, name="Entities")
    relations = factories.ontology(owner=owner, kind="relation", name="Relations")
    made = Dataset.objects.create(
        kind=DatasetKind.PREANNOTATED_RELATION,
        name="Marked",
        owner=owner,
        entity_ontology=entities,
        relation_ontology=relations,
    )
    texts = ["replace engine oil", "thermostat broken", "check it"] if items is None else items
    for position, text in enumerate(texts):
        add(made, position, text)
    made.touch(item_count=len(texts), token_count=sum(len(text.split()) for text in texts))
    if items is None:
        first, second, _ = made.items()
        engine = mark(first, "PhysicalObject/DrivingObject", 1, 1)
        relate(mark(first, "PhysicalObject", 1, 2), engine, "hasPart")
        mark(second, "PhysicalObject/SensingObject/Thermostat", 0, 0)
    return made


def add(dataset, position, text, **fields):
    tokens, offsets, end = text.split(), [], 0
    for token in tokens:
        start = text.index(token, end)
        end = start + len(token)
        offsets.append([start, end])
    return Item.objects.create(
        dataset=dataset,
        position=position,
        original=text,
        tokens=tokens,
        token_count=len(tokens),
        search_text=text.casefold(),
        **{"offsets": offsets, "external_id": f"WO-{position + 1}", **fields},
    )


def mark(item, label, start, end, annotator=None):
    annotation = factories.annotation(item, annotator)
    pk = item.dataset.entity_ontology.labels().by_fullname[label].pk
    uid = f"e{annotation.entity_set.count() + 1}"
    return Entity.objects.create(
        annotation=annotation,
        label_id=pk,
        start=start,
        end=end,
        uid=uid,
        status=Entity.Status.SUGGESTED,
        origin=Entity.Origin.PERSON if annotator else Entity.Origin.GIVEN,
    )


def relate(source, target, label):
    annotation = source.annotation
    pk = annotation.item.dataset.relation_ontology.labels().by_fullname[label].pk
    uid = f"r{annotation.relation_set.count() + 1}"
    return Relation.objects.create(
        annotation=annotation,
        source=source,
        target=target,
        label_id=pk,
        uid=uid,
        status=Relation.Status.SUGGESTED,
        origin=source.origin,
    )
