from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import TextChoices

from annotation_service.inputs import Refused
from ontologies.models import Ontology

from ..kinds import Kind
from ..preprocessing import Preprocessing


class Duplicates(TextChoices):
    """What becomes of an item whose external id is taken, by an item before it or by one that is there already."""

    REFUSE = "refuse", "Refuse the file"
    SKIP = "skip", "Leave the new ones out"
    REPLACE = "replace", "Replace the earlier ones"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a document is read.

    ``format`` is a value of `formats.Format`. ``preprocessing`` is for lines of text only; those of a rich dataset are only cut
    into tokens.
    """

    kind: Kind
    format: str
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    entity_ontology: Ontology | None = None
    relation_ontology: Ontology | None = None
    duplicates: Duplicates = Duplicates.REFUSE

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ImportOptions":
        """From `Upload.options`. Raises `Refused` if an ontology is not there any more."""
        kind = Kind(value["kind"])
        if kind == Kind.STANDARD:
            preprocessing = Preprocessing(**value.get("preprocessing") or {})
        else:
            preprocessing = Preprocessing(tokeniser=value.get("tokeniser") or "whitespace")
        return cls(
            kind=kind,
            format=value["format"],
            preprocessing=preprocessing,
            **{f"{of}_ontology": _ontology(value, f"{of}_ontology") for of in kind.label_kinds},
            duplicates=Duplicates(value.get("duplicates") or Duplicates.REFUSE),
        )

    @property
    def ontologies(self) -> list[Ontology]:
        return [ontology for ontology in (self.entity_ontology, self.relation_ontology) if ontology]


def _ontology(value: Mapping[str, Any], name: str) -> Ontology | None:
    if (pk := value.get(name)) is None:
        return None
    if ontology := Ontology.objects.filter(pk=pk).first():
        return ontology
    raise Refused(f"The {name.replace('_', ' ')} was deleted in the meantime. Choose another one.")
