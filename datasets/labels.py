"""The labels that the marks of a dataset carry."""

from collections import ChainMap
from collections.abc import Mapping

from ontologies.models import Ontology
from ontologies.models.labels import Label

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
