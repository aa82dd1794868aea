"""How a document is read, and the registry of the decisions about what it brings: each has one entry, for the reader, the page of
an upload and the command."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from django import forms

from annotation_service import limits
from annotation_service.inputs import Refused
from ontologies.models import Ontology

from ..kinds import DatasetKind
from ..preprocessing import Preprocessing

REFUSE, KEEP, DROP, SKIP, REPLACE, CORRECT, MARK = "refuse", "keep", "drop", "skip", "replace", "correct", "mark"
UPDATE = "update"
TAKES_LAST = (REPLACE, CORRECT)  # of the items of a document with the same external id


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of something that a document brings. Its name is that of a field of `ImportOptions`.

    ``choices`` are values, each with a label and with what follows from it. ``what`` is decided about, said more closely by
    ``which``; without it the decision is about copies of datasets alone. ``counted`` are the forms of a word for marks, or items
    without any, that come in only by the decision.
    """

    default: str
    choices: tuple[tuple[str, str, str], ...]
    what: str = ""
    which: str = ""
    counted: str = ""

    def field(self) -> forms.Field:
        choices = [(value, label) for value, label, _ in self.choices]
        return forms.TypedChoiceField(choices=choices, initial=self.default, required=False, empty_value=self.default)

    @property
    def values(self) -> list[str]:
        return [value for value, *_ in self.choices]


def decision(default: str, *choices: tuple[str, str, str], **about: str) -> Any:
    return field(default=default, metadata={"decision": Decision(default, choices, **about)})


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a document is read.

    ``format`` is the name of one, ``encoding`` that of its text if it is not Unicode, and ``reading`` what was chosen of the
    format's settings. ``preprocessing`` is for lines of text only; those of a rich dataset are only cut into tokens.
    ``ontologies`` have the labels of the marks, by kind. ``labels`` says for labels of the file what they are called there; those
    that are nothing are left out with their marks.
    """

    kind: DatasetKind
    format: str = "text"
    encoding: str = ""
    reading: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    ontologies: Mapping[str, Ontology] = field(default_factory=dict)
    # An item whose external id is taken, by an item before it or by one that is there already.
    duplicates: str = decision(
        REFUSE,
        (REFUSE, "Refuse the file", "The external ids have to be changed first."),
        (SKIP, "Leave the new ones out", "What is there first stays as it is."),
        (
            REPLACE,
            "Replace the earlier ones",
            "Items that the dataset has already go to its bin with their marks, and can be restored for"
            f" {limits.DAYS_IN_BIN} days.",
        ),
        (
            CORRECT,
            "Correct the texts of the earlier ones",
            "Items that the dataset has already get the text and tokens of the file. All marks on them move with their words;"
            " marks that the file has for them are left out. Each correction can be undone on the page of its item. One file"
            f" corrects at most {limits.MAX_CORRECTED_TEXTS:,} texts; those that are the same do not count.",
        ),
        (
            UPDATE,
            "Correct their texts and fields, but lose no mark",
            "The same, and the extra fields are those of the file, where it has some. An item of which a mark would be lost is"
            " refused.",
        ),
        (
            MARK,
            "Take their marks alone",
            "Items that are there already, with this external id or, without one, with the same text, stay as they are, and the"
            " member whose marks these are has them there. Items that this person has begun are refused.",
        ),
        what="external ids that are taken",
    )
    # Whose the marks become: those that came with the dataset, as accepted or as suggested ones, or a member's.
    whose: str = ""
    # So many marks may be lost where items are updated: all that would be, or else none is.
    agreed: int = 0
    # Nobody makes such marks anew, but a download may have them.
    inactive: str = decision(
        REFUSE,
        (REFUSE, "Refuse the file", "The labels have to be switched on, or the marks changed, first."),
        (KEEP, "Keep these marks", "They come in and go out as they are, but annotators cannot accept them."),
        what="marks with labels that are off",
        counted="mark with a label that is off,marks with labels that are off",
    )
    violations: str = decision(
        REFUSE,
        (REFUSE, "Refuse the file", "The marks or the constraints have to be changed first."),
        (
            KEEP,
            "Keep these marks",
            "They come in as they are; annotators can put them right, and add no others like them.",
        ),
        (DROP, "Leave these marks out", "Of two entities the later one, and relations that lose an end."),
        what="marks that break constraints",
        which=": those given or, in a project, its own",
        counted="violation of constraints,violations of constraints",
    )
    unmarked: str = decision(
        REFUSE,
        (REFUSE, "Refuse the file", "The kind has to be changed, or another file chosen, first."),
        (KEEP, "Take its items as they are", "They come in without marks, among items that may have some."),
        what="items without marks",
        which=" of a kind with marks, if not one has fields for them",
        counted="item without marks,items without marks",
    )
    bad: str = decision(
        REFUSE,
        (REFUSE, "Store nothing", "The file is corrected first."),
        (DROP, "Store the other items", "Those with problems are left out; download them, correct them and add them."),
    )
    # Marks of a copied dataset whose labels the project does not have.
    unknown: str = decision(
        REFUSE,
        (REFUSE, "Refuse the items", "The labels have to be added to the project first."),
        (DROP, "Leave these marks out", "All other marks come in, but for relations that lose an end."),
    )
    # Items of a copied dataset whose text is identical to one that is there.
    same_texts: str = decision(
        KEEP,
        (SKIP, "Leave them out", "What is there stays as it is, and nobody reads a text twice."),
        (KEEP, "Add them, too", "They become items of their own, with the marks that came with them."),
    )

    @property
    def status(self) -> str:
        """That of the marks; nothing if the dataset says it."""
        return "accepted" if self.whose.startswith("@") else self.whose

    def __post_init__(self) -> None:
        for name, decision in DECISIONS.items():
            if getattr(self, name) not in decision.values:
                raise ValueError(f"“{getattr(self, name)}” is no decision about {name}.")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ImportOptions":
        """From `Upload.options`. Raises `Refused` if an ontology is not there any more."""
        kind = DatasetKind(value.get("kind", DatasetKind.STANDARD))
        return cls(
            kind=kind,
            **{name: value[name] for name in _AS_GIVEN if name in value},
            preprocessing=Preprocessing.of(value, kind),
            ontologies={of: _ontology(of, value.get(f"{of}_ontology")) for of in kind.label_kinds},
            **decided(value),
        )


_AS_GIVEN = ("format", "encoding", "reading", "labels", "whose", "agreed")
DECISIONS: dict[str, Decision] = {
    each.name: each.metadata["decision"] for each in fields(ImportOptions) if "decision" in each.metadata
}


def decided(values: Mapping[str, Any]) -> dict[str, Any]:
    """All decisions, as they are among the options of an upload or else by default."""
    return {name: values.get(name, decision.default) for name, decision in DECISIONS.items()}


def _ontology(kind: str, pk: int | None) -> Ontology:
    if ontology := Ontology.objects.filter(pk=pk or 0, kind=kind).first():
        return ontology
    which = f" Number {pk} is none, or was deleted." if pk else ""
    raise Refused(f"The marks of such a dataset have labels: choose the blueprint of their {kind} ontology.{which}")
