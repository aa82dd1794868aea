"""What a careful annotator marks in texts about maintenance, freight and medical devices, written for these tests.

`items.json` is a preannotated relation dataset of 200 texts as people upload it, one text a line; its ontologies and constraints
are beside it. `maintenance.txt` has 40 short work orders under the tree of 220 labels with long names: see ``work_orders``.
"""

import json
import re
from pathlib import Path
from typing import Any

from projects.models import Project
from tests import factories, long_names
from tests.resource_sets import make

FOLDER = Path(__file__).parent
RULES = [
    ("hasPatient", ["MaintenanceActivity"], ["PhysicalObject"]),
    ("hasProperty", ["PhysicalObject", "MaintenanceActivity"], ["TechnicalState", "TechnicalQuality"]),
    ("hasPart", ["PhysicalObject"], ["PhysicalObject"]),
    ("contains", ["PhysicalObject"], ["PhysicalObject"]),
    ("locatedAt", ["PhysicalObject"], ["InstallationPlace"]),
]
MARKED = re.compile(r"\[([^|]+)\|(\w+)\]")


def read(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def project(*, by, annotators=(), items=None) -> Project:
    """A project about the texts, with their marks or, given as other items of the upload format, without them."""
    names = ("entity_ontology", "relation_ontology", "relation_constraints")
    return _project(items or read("items"), *map(read, names), by=by, annotators=annotators)


def project_of_work_orders(items, *, by, annotators=()) -> Project:
    """About these of the work orders, without their marks."""
    relations = [{"name": name} for name, _, _ in RULES]
    rules = [
        {"relation": name, "domain": domain, "range": targets} for name, domains, targets in RULES for domain in domains
    ]
    return _project(without_marks(items), long_names.TREE, relations, rules, by=by, annotators=annotators)


def _project(items, entities, relations, rules, *, by, annotators) -> Project:
    labels = {
        kind: factories.ontology(owner=by, kind=kind, name=f"Gold {kind}", items=tree)
        for kind, tree in (("entity", entities), ("relation", relations))
    }
    options = {"kind": "rich", "format": "json", "name": "Gold texts"}
    if "entities" in items[0]:
        keys = {f"{kind}_ontology": ontology.pk for kind, ontology in labels.items()}
        options |= {"kind": "preannotated_relation", **keys}
    return Project.create(
        name="Gold",
        by=by,
        dataset=factories.upload(items, by=by, options=options).store(),
        entity_ontology=labels["entity"],
        relation_ontology=labels["relation"],
        resources=[
            make(
                "relation_constraints",
                owner=by,
                entities=labels["entity"],
                relations=labels["relation"],
                document=rules,
            )
        ],
        annotators=annotators,
    )


def without_marks(items):
    return [{name: item[name] for name in ("original", "tokens")} for item in items]


def work_orders() -> list[dict[str, Any]]:
    """Items of the upload format. A line of the file is a text, whose marks are `[words|label]`, and after a colon its relations,
    whose ends are the places of marks: `1 hasPart 2`."""
    paths = dict(_paths(long_names.TREE))
    return [_work_order(line, paths) for line in (FOLDER / "maintenance.txt").read_text().splitlines()]


def _work_order(line: str, paths: dict[str, str]) -> dict[str, Any]:
    marked, _, related = line.partition(" : ")
    tokens: list[str] = []
    entities: list[dict[str, Any]] = []
    for at, part in enumerate(MARKED.split(marked)):
        if at % 3 == 2:
            entities[-1]["label"] = paths[part]
            continue
        if at % 3 == 1:
            end = len(tokens) + len(part.split()) - 1
            entities.append({"id": f"e{len(entities) + 1}", "start": len(tokens), "end": end})
        tokens += part.split()
    relations = [
        {"source_id": f"e{source}", "target_id": f"e{target}", "label": label}
        for source, label, target in (each.split() for each in related.split(", "))
    ]
    return {"original": " ".join(tokens), "tokens": tokens, "entities": entities, "relations": relations}


def _paths(tree, above=""):
    for label in tree:
        yield label["name"], f"{above}{label['name']}"
        yield from _paths(label.get("children", []), f"{above}{label['name']}/")
