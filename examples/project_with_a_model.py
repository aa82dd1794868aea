"""Texts of a table become a project in which people check what a model suggests: python project_with_a_model.py URL TOKEN. Run
again, it changes nothing that is there already."""

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent / "client"))
from annotation_client import Service

service = Service(*sys.argv[1:3])
NAME, PEOPLE = "Work orders with a model", ["anna", "ben"]
LABELS = "PhysicalObject\n  Pump\n  Hose\nState\n"
TABLE = "id,text\nWO-1,replace the hose of the pump\nWO-2,pump leaks\nWO-3,hose worn\n"
WORDS = {"pump": "PhysicalObject/Pump", "hose": "PhysicalObject/Hose", "leaks": "State", "worn": "State"}


def found(path: str) -> dict[str, Any] | None:
    return next((each for each in service.all(path, q=NAME) if each["name"] == NAME and not each.get("project")), None)


def model(item: dict[str, Any]) -> dict[str, Any]:  # one that knows four words
    marks = [(at, WORDS[token]) for at, token in enumerate(item["tokens"]) if token in WORDS]
    entities = [{"start": at, "end": at, "label": label, "score": 0.9} for at, label in marks]
    return {"external_id": item["external_id"], "entities": entities}


tree = found("ontologies") or service.upload("ontologies", LABELS, name=NAME, kind="entity")
texts = found("datasets") or service.upload("datasets", TABLE, name=NAME, kind="rich", format="csv")
values = {"name": NAME, "dataset": texts["id"], "entity_ontology": tree["id"]}
project = f"projects/{(found('projects') or service.wait(service.post('projects', values)))['id']}"
service.post(f"{project}/members", {"people": PEOPLE, "role": "annotator"})
items = service.all(f"datasets/{service.get(project)['resources']['dataset']}/items")
print(service.upload(f"{project}/sources/words/suggestions", map(model, items), method="PUT", model_version="1"))
while (progress := service.get(project)["progress"])["done"] < progress["total"]:
    time.sleep(1)
for marks in service.stream(f"{project}/annotations", layer="own", done=1):
    print(json.dumps([each for each in marks["entities"] if each["status"] == "accepted"]))
