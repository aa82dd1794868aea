"""The labels that the marks of a dataset carry."""

from collections import ChainMap, Counter
from collections.abc import Mapping

from ontologies.labels import Label, Labels
from ontologies.models import Ontology

from .models import Dataset


def ontologies_of(dataset: Dataset) -> list[Ontology]:
    """The ontologies that it was made with or, of a project's dataset, those of the project."""
    own = dataset.ontologies()
    if own or dataset.project_id is None:
        return own
    return list(Ontology.objects.filter(project=dataset.project_id).order_by("kind"))


def labels_of(dataset: Dataset) -> Mapping[int, Label]:
    """All of them, by primary key."""
    return ChainMap(*(ontology.labels().by_pk for ontology in ontologies_of(dataset)))


def branches(labels: Labels, counts: Mapping[int, int]) -> list[tuple[Label, int]]:
    """The labels that are counted and those above them, in tree order, each with the count of its whole branch."""
    sums: Counter[int] = Counter()
    for pk, count in counts.items():
        label = labels.by_pk.get(pk)
        while label:
            sums[label.pk] += count
            label = labels.by_uid.get(label.parent_uid or "")
    return [(label, sums[label.pk]) for label in labels if label.pk in sums]
