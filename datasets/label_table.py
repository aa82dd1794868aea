"""The table in which the labels of a file become labels of an ontology."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from annotation_service.inputs import Refused
from ontologies.labels import letters_of
from ontologies.models import Ontology

BECOMES, SKIP, ADD = "becomes", "skip", "add"
ACTIONS = {BECOMES: "is our label", SKIP: "is left out", ADD: "is added as a new label"}


class LabelRow(NamedTuple):
    """A label as a file has it, with the number of its marks, and what is decided or proposed about it."""

    theirs: str
    marks: int
    action: str
    ours: str


def rows_of(ontology: Ontology, unknown: Mapping[str, int], decided: Mapping[str, str]) -> Iterator[LabelRow]:
    """Those that the ontology lacks, the most frequent first, then those that are decided."""
    names = ontology.label_names(bare=True)
    alike: dict[str, list[str]] = {}
    for label in names.labels:
        alike.setdefault(_letters(label.name), []).append(label.fullname)
        if "/" in label.fullname:
            alike.setdefault(_letters(label.fullname), []).append(label.fullname)
    for theirs, count in sorted(unknown.items(), key=lambda row: (-row[1], row[0])):
        found = names.find(theirs)
        same = alike.get(_letters(theirs)) or alike.get(_letters(theirs.rpartition("/")[2]), [])
        ours = found.fullname if found else same[0] if len(same) == 1 else ""
        yield LabelRow(theirs, count, BECOMES, ours)
    for theirs, ours in decided.items():
        if theirs not in unknown:
            yield LabelRow(theirs, 0, BECOMES if ours else SKIP, ours)


def _letters(name: str) -> str:
    return letters_of(re.sub(r"[_\W]+", "", name)) or name


def read_rows(sent: Mapping[str, list[str]], ontology: Ontology) -> tuple[dict[str, str], list[str]]:
    """From the form: what labels of the file are called here, nothing for those that are left out, and those to be added.
    Raises `Refused` for a label that the ontology does not have."""
    labels: dict[str, str] = {}
    new: list[str] = []
    names = ontology.label_names(bare=True)
    for theirs, action, ours in zip(*(sent.get(name, []) for name in ("theirs", "action", "ours")), strict=False):
        if action == SKIP:
            labels[theirs] = ""
        elif action == ADD:
            new.append(theirs)
        elif ours.strip():
            if (label := names.find(ours)) is None:
                raise Refused(names.why_not(ours))
            labels[theirs] = label.fullname
    return labels, new
