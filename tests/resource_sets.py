"""Makes constraints and preannotations, through the same methods as the product. Labels are those of `tests.factories`."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from projects.violation_report import ViolationReport
from resources.models import FORMATS
from resources.rules import Rules, Violation
from resources.spans import Lie

# With full names, as downloads have them.
THERMOSTAT = "PhysicalObject/SensingObject/Thermostat"
DOCUMENTS = {
    "entity_constraints": [
        {"domain": "PhysicalObject", "excludes": ["State", "Activity"], "can_contain": [THERMOSTAT, "PhysicalObject"]},
        {"domain": "State", "excludes": []},
        {"domain": "Activity/Replace", "excludes": ["Activity/Replace"], "can_contain": []},
    ],
    "relation_constraints": [
        {"relation": "hasPart", "domain": "PhysicalObject", "range": ["PhysicalObject/DrivingObject", THERMOSTAT]},
        {"relation": "hasPart", "domain": "Activity", "range": []},
        {"relation": "hasParticipant/hasPatient", "domain": "Activity", "range": ["PhysicalObject"]},
    ],
    "entity_preannotations": [
        {"surface_form": "thermostat", "label": THERMOSTAT},
        {"surface_form": "thermostat", "label": "State"},
        {"surface_form": "Ölpumpe 🚀", "label": "PhysicalObject"},
    ],
    "relation_preannotations": [
        {
            "source_surface_form": "replace",
            "source_label": "Activity/Replace",
            "target_surface_form": "pump",
            "target_label": "PhysicalObject",
            "offset": offset,
            "label": "hasParticipant/hasPatient",
        }
        for offset in (0, 3)
    ],
}


def make(format, *, owner, entities, relations, document=None, name=""):
    """A blueprint of a format such as “entity_constraints”; the relation ontology is used by the formats that name relations."""
    model, kind = FORMATS[format]
    return model.create(
        kind=kind,
        source=json.dumps(DOCUMENTS[format] if document is None else document),
        name=name or format.replace("_", " "),
        owner=owner,
        entity_ontology=entities,
        relation_ontology=relations if model.row_models[kind].relation_field else None,
    )


def broken_places(project):
    """Where its marks break rules now."""
    return [place for _, places in ViolationReport(project, now=True).places() for place in places]


def document_of(resource):
    return json.loads("".join(resource.json_document()))


def labels_in(document):
    """All labels that a document names, each as often as it does."""
    keys = {"domain", "relation", "label", "source_label", "target_label", "excludes", "can_contain", "range"}
    for row in document:
        for key in (key for key in row if key in keys):
            yield from [row[key]] if isinstance(row[key], str) else row[key]


class PlacedLabel(NamedTuple):
    """An entity: its tokens ``start`` to ``end``, inclusive, and the lineage of its label."""

    start: int
    end: int
    label: Sequence[int]


def broken_between(rules: Rules, one: PlacedLabel, other: PlacedLabel) -> Iterator[Violation]:
    """What two entities of a text break together."""
    if lie := Lie.of(one, other):
        yield from rules.judge(one.label, other.label, lie)
