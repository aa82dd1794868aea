"""What an import depends on, and whether that is unchanged when its items are stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotation_service.db import write
from annotation_service.inputs import Problem, Refused, clean_description, clean_title
from annotation_service.models import User
from ontologies.models import Ontology
from resources.judging import Judge
from resources.models import ConstraintSet, rules_about

from ..importing.document import ImportOptions, Progress
from ..importing.reading import Reader
from ..kinds import Kind
from .dataset import Dataset


class ImportContext:
    """The options of an upload, the ontologies that they name and, for an addition, what its dataset has already.

    Raises `Refused` if one of them is missing or unsuitable.
    """

    def __init__(self, options: Mapping[str, Any], dataset: Dataset | None, by: User) -> None:
        self.wanted, self.by = options, by
        self.dataset = dataset and Dataset.objects.select_related("project").filter(pk=dataset.pk).first()
        if dataset and not self.dataset:
            raise Refused("The dataset was deleted meanwhile.")
        self.options = ImportOptions.from_json(options)
        if not dataset:
            self._check_new_dataset()
        self.sets = self._constraint_sets()
        self.known_ids = _external_ids(self.dataset) if self.dataset else {}

    def reader(self, path: Path, progress: Progress, on_problem: Callable[[Problem], object]) -> Reader:
        if not path.is_file():
            raise Refused("The uploaded file is not there any more. Upload it again.")
        known_texts: Iterable[str] = ()
        if self.dataset and self.options.preprocessing.remove_duplicates:
            known_texts = self.dataset.items().values_list("original", flat=True).iterator()
        rules = rules_about(self.sets, self.options.ontologies)
        return Reader(
            path,
            self.options,
            known_ids=self.known_ids,
            known_texts=known_texts,
            judge=Judge(rules, self.options.ontologies.values()) if rules else None,
            progress=progress,
            on_problem=on_problem,
        )

    @contextmanager
    def locked_dataset(self) -> Iterator[Dataset | None]:
        """The dataset that the items go to, in a transaction: the locked one, or a new one.

        None if what the reading depended on has changed: the labels, the external ids or, where duplicates are dropped, the items
        that are there.
        """
        ontologies = self.options.ontologies.values()
        if self.dataset:
            with self.dataset.changing(*ontologies) as dataset:
                yield dataset if self._is_unchanged(dataset) and self._labels_are_unchanged() else None
        else:
            with write():
                for ontology in ontologies:
                    ontology.locked()
                yield self._new_dataset() if self._labels_are_unchanged() else None

    def _check_new_dataset(self) -> None:
        """Before everything is read."""
        clean_title(self.wanted.get("name", ""))
        for kind, ontology in self.options.ontologies.items():
            if not ontology.is_blueprint:
                raise Refused(f"“{ontology}” belongs to a project: choose the blueprint of the {kind} ontology.")

    def _is_unchanged(self, dataset: Dataset) -> bool:
        """Whether the dataset, now locked, has what was read of it."""
        assert self.dataset
        if dataset.updated_at == self.dataset.updated_at:
            return True
        return not self.options.preprocessing.remove_duplicates and _external_ids(dataset) == self.known_ids

    def _labels_are_unchanged(self) -> bool:
        """Whether the ontologies and the constraints are as they were read: every change sets their time."""
        ontologies = self.options.ontologies.values()
        if not all(Ontology.objects.filter(pk=o.pk, updated_at=o.updated_at).exists() for o in ontologies):
            return False
        return [(each.pk, each.updated_at) for each in self._constraint_sets()] == [
            (each.pk, each.updated_at) for each in self.sets
        ]

    def _constraint_sets(self) -> list[ConstraintSet]:
        """The constraints that bind the marks: those of the project or, for a blueprint, those that are named."""
        about = self.options.kind.label_kinds
        kinds = [kind for kind, rows in ConstraintSet.row_models.items() if rows.marks in about]
        if self.dataset and self.dataset.project_id:
            return list(ConstraintSet.objects.filter(project=self.dataset.project_id, kind__in=kinds).order_by("kind"))
        named = {kind: pk for kind in kinds if (pk := self.wanted.get(ConstraintSet.format_of(kind)))}
        sets = [ConstraintSet.objects.filter(pk=pk, kind=kind, project=None).first() for kind, pk in named.items()]
        if None in sets:
            raise Refused("The chosen constraints were deleted. Choose others, or none.")
        return [each for each in sets if each]

    def _new_dataset(self) -> Dataset:
        options = self.options
        return Dataset.objects.create(
            kind=options.kind,
            name=clean_title(self.wanted["name"]),
            description=clean_description(self.wanted.get("description", "")),
            owner=self.by,
            preprocessing=asdict(options.preprocessing) if options.kind == Kind.STANDARD else {},
            **{f"{kind}_ontology": ontology for kind, ontology in options.ontologies.items()},
        )


def _external_ids(dataset: Dataset) -> dict[str, int]:
    """The external ids of its items, with the numbers of these."""
    ids = dataset.items().exclude(external_id="").values_list("external_id", "position")
    return {external_id: position + 1 for external_id, position in ids.iterator()}
