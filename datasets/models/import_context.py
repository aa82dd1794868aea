"""What the reading of an upload is based on, and whether that is still so when its items are to be stored."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from annotation_service.db import write
from annotation_service.inputs import Problem, Refused, clean_description, clean_title
from ontologies.models import Ontology

from ..importing import Progress, Reading, ReadingOptions
from ..kinds import Kind
from .dataset import Dataset

if TYPE_CHECKING:
    from .upload import Upload


class Basis:
    """The options of an upload, the ontologies that they name and, for an addition, what its dataset has already.

    Raises `Refused` if one of them is not there, or not such that it could be read.
    """

    def __init__(self, upload: "Upload") -> None:
        self.upload = upload
        self.dataset = _as_it_is(upload.dataset) if upload.dataset else None
        self.options = self._options_of_dataset(self.dataset) if self.dataset else self._options_of_new_dataset()
        both = self.options.entity_ontology, self.options.relation_ontology
        self.ontologies = [ontology for ontology in both if ontology]
        self.known_ids = _ids_in(self.dataset) if self.dataset else {}

    def reading(self, progress: Progress, tell: Callable[[Problem], object]) -> Reading:
        if not self.upload.path.is_file():
            raise Refused("The uploaded file is not there any more. Upload it again.")
        known_texts: Iterable[str] = ()
        if self.dataset and self.options.preprocessing.remove_duplicates:
            known_texts = self.dataset.items().values_list("original", flat=True).iterator()
        return Reading(
            self.upload.path,
            self.options,
            known_ids=self.known_ids,
            known_texts=known_texts,
            progress=progress,
            tell=tell,
        )

    @contextmanager
    def target(self) -> Iterator[Dataset | None]:
        """The dataset that the items shall go to, in a transaction: the locked one, or a new one.

        None if the basis is not any more as it was: the labels, the external ids or, where duplicates are dropped, the items
        that are there.
        """
        if self.dataset:
            with self.dataset.changing(*self.ontologies) as dataset:
                yield dataset if self._holds_for(dataset) and _unchanged(self.ontologies) else None
        else:
            with write():
                for ontology in self.ontologies:
                    ontology.locked()
                yield self._new_dataset() if _unchanged(self.ontologies) else None

    def _options_of_dataset(self, dataset: Dataset) -> ReadingOptions:
        """What the dataset decides comes from the dataset, everything else from the options."""
        names = ("kind", "preprocessing", "entity_ontology_id", "relation_ontology_id")
        decided = {name.removesuffix("_id"): getattr(dataset, name) for name in names}
        return ReadingOptions.from_json({**self.upload.options, **decided})

    def _options_of_new_dataset(self) -> ReadingOptions:
        options: dict[str, Any] = dict(self.upload.options)
        clean_title(options["name"])  # to be told before everything is read
        kind = Kind(options["kind"])
        for of, wanted in ((Ontology.Kind.ENTITY, kind.has_entities), (Ontology.Kind.RELATION, kind.has_relations)):
            name = f"{of}_ontology"
            options[name] = options.get(name) if wanted else None
            if wanted and not Ontology.objects.filter(pk=options[name], project=None, kind=of).exists():
                raise Refused(f"The marks of such a dataset have labels: choose the blueprint of their {of} ontology.")
        return ReadingOptions.from_json(options)

    def _holds_for(self, dataset: Dataset) -> bool:
        """Whether the dataset, now locked, has what was read of it."""
        assert self.dataset
        if dataset.updated_at == self.dataset.updated_at:
            return True
        return not self.options.preprocessing.remove_duplicates and _ids_in(dataset) == self.known_ids

    def _new_dataset(self) -> Dataset:
        options, wanted = self.options, self.upload.options
        return Dataset.objects.create(
            kind=options.kind,
            name=clean_title(wanted["name"]),
            description=clean_description(wanted.get("description", "")),
            owner=self.upload.by,
            preprocessing=options.preprocessing.as_json() if options.kind == Kind.STANDARD else {},
            entity_ontology=options.entity_ontology,
            relation_ontology=options.relation_ontology,
        )


def _as_it_is(dataset: Dataset) -> Dataset:
    if now := Dataset.objects.select_related("project").filter(pk=dataset.pk).first():
        return now
    raise Refused("The dataset was deleted meanwhile.")


def _ids_in(dataset: Dataset) -> dict[str, int]:
    """The external ids of its items, with their numbers."""
    ids = dataset.items().exclude(external_id="").values_list("external_id", "position")
    return {external_id: position + 1 for external_id, position in ids.iterator()}


def _unchanged(ontologies: Iterable[Ontology]) -> bool:
    """Whether they are stored as they were read. Every change of them is told by its time."""
    return all(Ontology.objects.filter(pk=o.pk, updated_at=o.updated_at).exists() for o in ontologies)
