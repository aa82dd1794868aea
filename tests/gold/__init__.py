"""What a careful annotator marks in 200 texts about maintenance, freight and medical devices, written for these tests.

`items.json` is a preannotated relation dataset as people upload it, one text a line;
its ontologies and constraints are beside it.
"""

import json
from pathlib import Path
from typing import Any

from projects.models import Project
from tests import factories
from tests.resource_sets import make

FOLDER = Path(__file__).parent


def read(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def project(*, by, annotators=(), items=None) -> Project:
    """A project about the texts, with their marks or, given as other items of the upload format, without them."""
    items = read("items") if items is None else items
    labels = {
        kind: factories.ontology(owner=by, kind=kind, name=f"Gold {kind}", items=read(f"{kind}_ontology"))
        for kind in ("entity", "relation")
    }
    options = {"kind": "rich", "format": "json", "name": "Gold texts"}
    if "entities" in items[0]:
        keys = {f"{kind}_ontology": ontology.pk for kind, ontology in labels.items()}
        options |= {"kind": "preannotated_relation", **keys}
    rules = make(
        "relation_constraints",
        owner=by,
        entities=labels["entity"],
        relations=labels["relation"],
        document=read("relation_constraints"),
    )
    return Project.create(
        name="Gold",
        by=by,
        dataset=factories.upload(items, by=by, options=options).store(),
        entity_ontology=labels["entity"],
        relation_ontology=labels["relation"],
        resources=[rules],
        annotators=annotators,
    )


def without_marks(items):
    return [{name: item[name] for name in ("original", "tokens")} for item in items]
