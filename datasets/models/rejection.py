"""What was rejected of the suggestions: it is never suggested again."""

import re
from collections.abc import Iterable, Mapping

from django.db import models
from django.db.models import UniqueConstraint

# SQL for `Rejection.what`: of an entity, given the alias of its row; of a relation, given that of its row and those of its ends.
ENTITY_KEY = "({0}.start || '-' || {0}.\"end\" || ':' || {0}.label_id)"
RELATION_KEY = f"({ENTITY_KEY.format('{1}')} || '>' || {ENTITY_KEY.format('{2}')} || ':' || {{0}}.label_id)"


def entity_key(start: int, end: int, label: int) -> str:
    """The same of an entity, in Python."""
    return f"{start}-{end}:{label}"


class Rejection(models.Model):
    """A suggestion that somebody rejected in their annotation, or gave another label or span.

    It outlives the mark, the preannotation and its set. ``what`` is the span of an entity and the key of its label, such as
    “3-4:17”, or of a relation both ends and its label: “3-4:17>6-6:18:20”.
    """

    annotation = models.ForeignKey("datasets.Annotation", on_delete=models.RESTRICT, db_index=False)
    what = models.CharField(max_length=200)

    class Meta:
        constraints = [UniqueConstraint(fields=["annotation", "what"], name="rejection_once")]

    def __str__(self) -> str:
        return self.what

    @staticmethod
    def note(annotation: int, what: Iterable[str]) -> None:
        rejections = [Rejection(annotation_id=annotation, what=each) for each in what]
        Rejection.objects.bulk_create(rejections, ignore_conflicts=True)

    @classmethod
    def relabel(cls, dataset: int, labels: Mapping[int, int]) -> None:
        """Let those in a dataset name other labels, given by the keys of the labels that they name now."""
        rows = list(cls.objects.filter(annotation__item__dataset=dataset))
        for row in rows:
            row.what = re.sub(r"(?<=:)\d+", lambda key: str(labels.get(int(key[0]), key[0])), row.what)
        cls.objects.bulk_update(rows, ["what"], batch_size=1000)
