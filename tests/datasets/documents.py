"""Documents of each kind, reading and storing them."""

import tempfile
import uuid
from pathlib import Path

from datasets.importing.document import Reader
from datasets.importing.options import ImportOptions
from datasets.kinds import DatasetKind
from tests import factories

FOLDER = tempfile.TemporaryDirectory()
RICH = [
    {"original": "Replace “it”\nnow, 😀", "tokens": ["Replace", "“it”", "now", ",", "😀"]},
    {
        "original": "other words",
        "tokens": ['not "in" it', "\\n"],
        "external_id": 'WO "1"',
        "extra_fields": {"site": "nörth", "n": [1, None, 1.5e30, -(2**63), True, {"": {}}]},
    },
]
MARKS = [
    [
        {"id": "second one", "start": 1, "end": 1, "label": "PhysicalObject/SensingObject"},
        {"id": 'e"1', "start": 0, "end": 2, "label": "Activity"},
        {"id": "e3", "start": 0, "end": 2, "label": "PhysicalObject/SensingObject"},
    ],
    [],
]
RELATIONS = [
    [
        {"source_id": "e3", "target_id": 'e"1', "label": "hasParticipant/hasPatient"},
        {"source_id": 'e"1', "target_id": "second one", "label": "hasPart"},
    ],
    [],
]


class Ontologies:
    """The ontologies that the documents of a test name labels of."""

    def __init__(self, entity, relation):
        self.entity, self.relation = entity, relation

    def options(self, kind, format="json", **options):
        """How a document of the kind is read."""
        kind = DatasetKind(kind)
        return ImportOptions(
            kind,
            format,
            ontologies={of: getattr(self, of) for of in kind.label_kinds},
            **options,
        )

    def report(self, document, kind, format="json", *, known_ids=None, on_problem=None, **options):
        options = self.options(kind, format, **options)
        return reader(document, options, known_ids=known_ids, on_problem=on_problem).check()


def reader(document, options, **more):
    """The reader of a document that stands in a file of its own."""
    path = Path(FOLDER.name) / uuid.uuid4().hex
    path.write_bytes(document if isinstance(document, bytes) else document.encode())
    return Reader(path, options, **more)


def item(**fields):
    """A good item with the given fields."""
    return {"original": "replace engine oil", "tokens": ["replace", "engine", "oil"], **fields}


def entity(start=0, end=0, label="Activity", **fields):
    return {"start": start, "end": end, "label": label, **fields}


def relation(source="e1", target="e2", label="hasPart"):
    return {"source_id": source, "target_id": target, "label": label}


def document(kind):
    """Items with everything that those of the kind can have."""
    items = [dict(item) for item in RICH]
    for item, marks, relations in zip(items, MARKS, RELATIONS, strict=True):
        if kind == DatasetKind.PREANNOTATED_ENTITY:
            item["entities"] = [{k: v for k, v in mark.items() if k != "id"} for mark in marks]
        if kind == DatasetKind.PREANNOTATED_RELATION:
            item |= {"entities": marks, "relations": relations}
    return items


def stored(owner, kind, items, format="json"):
    options = {"kind": kind, "format": format, "name": "Work orders"}
    if kind.has_entities:
        options["entity_ontology"] = factories.ontology(owner=owner).pk
    if kind.has_relations:
        options["relation_ontology"] = factories.ontology(owner=owner, kind="relation").pk
    return factories.upload(items, by=owner, options=options).store()
