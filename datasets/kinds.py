"""The kinds of datasets, with the published JSON Schema and a filled example of what can be uploaded for each."""

from functools import cache
from pathlib import Path
from typing import Any

from django.db.models import TextChoices

from annotation_service.schemas import Checker, load

SCHEMAS = Path(__file__).parent / "schemas"


class DatasetKind(TextChoices):
    """What the items of a dataset come with."""

    STANDARD = "standard", "Standard dataset"
    RICH = "rich", "Rich dataset"
    PREANNOTATED_ENTITY = "preannotated_entity", "Preannotated entity dataset"
    PREANNOTATED_RELATION = "preannotated_relation", "Preannotated relation dataset"

    @property
    def has_entities(self) -> bool:
        return self in {DatasetKind.PREANNOTATED_ENTITY, DatasetKind.PREANNOTATED_RELATION}

    @property
    def has_relations(self) -> bool:
        return self == DatasetKind.PREANNOTATED_RELATION

    @property
    def label_kinds(self) -> list[str]:
        """The kinds of the ontologies that have the labels of its marks."""
        return ["entity"] * self.has_entities + ["relation"] * self.has_relations

    @property
    def example_name(self) -> str:
        return f"{self}.example.{'txt' if self == DatasetKind.STANDARD else 'json'}"

    @property
    def example(self) -> str:
        """A short document of the kind, as it can be uploaded."""
        return (SCHEMAS / self.example_name).read_text("utf-8")

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of a whole document; a standard dataset is text and has none."""
        return load(SCHEMAS / f"{self}.json")


@cache
def item_checker(kind: DatasetKind) -> Checker:
    """Checks one item of a document."""
    return Checker({"$ref": "#/$defs/item", "$defs": kind.schema["$defs"]})
