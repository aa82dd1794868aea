"""The items of one dataset on their way into another, read as a document is: with the same report and decisions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from annotation_service import words
from annotation_service.db import among
from annotation_service.json_input.lists import Element
from ontologies.labels import Label, Labels

from ..importing.document import Reader
from ..importing.items import ItemBuilder, NewEntity, NewItem, NewRelation
from ..importing.options import REFUSE, ImportOptions
from ..kinds import DatasetKind
from ..portions import by_tokens
from .dataset import Dataset
from .marks import GIVEN, Entity, Relation

_COLUMNS = ("pk", "position", "original", "tokens", "offsets", "external_id", "extra_fields")
_MARKS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "entities": (Entity, ("annotation__item", "uid", "label", "start", "end")),
    "relations": (Relation, ("annotation__item", "uid", "label", "source__uid", "target__uid")),
}


class CopyReader(Reader):
    """Yields the items of a ``source`` with the marks that came with them.

    Their labels become those of the options' ontologies that have the same full names or, renamed there, the same ids. Tokens and
    their places stay as they are.
    """

    def __init__(self, path: Path, options: ImportOptions, *, source: Dataset, **rest: Any) -> None:
        # Text alone is read as rich items are: nothing is cut into tokens anew.
        kind = DatasetKind.RICH if options.kind == DatasetKind.STANDARD else options.kind
        super().__init__(path, replace(options, kind=kind), **rest)
        self.source = source
        self._labels: dict[int, tuple[str, str, Label | None]] = {}
        for own in source.given_ontologies():
            labels, other = own.labels(), options.ontologies.get(own.kind)
            theirs = other.labels() if other else Labels()
            renamed = {label.uid: label for label in theirs if label.fullname not in labels.by_fullname}
            for label in labels:
                found = theirs.by_fullname.get(label.fullname) or renamed.get(label.uid)
                self._labels[label.pk] = own.kind, label.fullname, found

    def pieces(self, file: IO[bytes]) -> Iterator[Element]:
        done, items = 0, self.source.items()
        for positions in by_tokens(items):
            rows = items.filter(position__range=(positions[0], positions[-1])).values(*_COLUMNS)
            by_pk: dict[int, dict[str, Any]] = {row["pk"]: {**row, "entities": [], "relations": []} for row in rows}
            for kind, (model, columns) in _MARKS.items():
                given = model.objects.filter(GIVEN, annotation__item__in=among(by_pk)).order_by("pk")
                for item, *mark in given.values_list(*columns):
                    by_pk[item][kind].append(mark)
            for row in by_pk.values():
                yield Element("item", row["position"] + 1, row, 1)
                self.check_problems(f"item {row['position'] + 1}")
            done += len(by_pk)
            self.progress(done, self.source.item_count, "reading")
        if self.report.unknown_marks and self.options.unknown == REFUSE:
            marks = words.plural(self.report.unknown_marks, "mark has a label,marks have labels")
            self.add_problem(f"“{self.source}”", f"{marks} that the project does not have.")

    def texts_before(self) -> Iterator[str]:
        return self.source.items().values_list("original", flat=True).iterator()

    def _item(self, builder: ItemBuilder, piece: Element) -> NewItem | None:
        row = piece.value
        offsets = row["offsets"] and [(start, end) for start, end in row["offsets"]]
        item = NewItem(
            piece.place, row["original"], row["tokens"], offsets, row["external_id"], row["extra_fields"]
        ).with_marks(
            [NewEntity(uid, pk, *span) for uid, label, *span in row["entities"] if (pk := self._find(label, piece))],
            [NewRelation(uid, pk, *ends) for uid, label, *ends in row["relations"] if (pk := self._find(label, piece))],
        )
        self.report.left_out += len(row["entities"]) + len(row["relations"]) - item.mark_count
        return item

    def _find(self, key: int, piece: Element) -> int:
        """The key of the label that stands for one of the source's, or 0."""
        kind, name, label = self._labels[key]
        if label is None:
            missing = self.report.unusable_labels[kind]
            missing[name] = missing.get(name, 0) + 1
            return 0
        if not label.active and self.options.inactive == REFUSE:
            self.add_problem(
                piece.place, f"“{label.fullname}” is switched off: marks with it are refused, unless you keep them."
            )
        return label.pk

    def _nothing_left(self) -> str:
        if not self.report.lines:
            return f"“{self.source}” has no items."
        return f"All items of “{self.source}” are there already, so nothing is left to add."
