import json
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.files import File
from django.core.management.base import BaseCommand

from annotation_service.db import write
from annotation_service.models import PROJECT_MANAGERS, User
from datasets.models import Annotation, Dataset, TextCorrection, Upload
from datasets.models.correction import cut_anew
from datasets.preprocessing import SameText
from graph.counting import refresh
from graph.models import Graph
from ontologies.documents import read_ontology
from ontologies.models import Ontology
from projects.models import Project
from resources.models import ConstraintSet
from work.models import Source

FILES = Path(__file__).resolve().parents[2] / "demo"
ACCOUNTS = ("admin", "manager", "anna", "ben", "cleo", "dan")
PLURALS = {"entity": "entities", "relation": "relations"}
LABELS_ELSEWHERE = {"PART": "PhysicalObject", "ACT": "Activity", "COND": "State", "TIME": ""}
GUIDELINES = """Mark every physical object, activity and state, and the places on the machine.

Take the longest span that names one thing: “air conditioner thermostat” is one object, not two.
Leave out articles and punctuation. If you are in doubt between two labels, take the one higher up in the tree."""


class Command(BaseCommand):
    help = "In a database without users: make a small demo and accounts with random passwords."

    def handle(self, *args: Any, **options: Any) -> None:
        if User.objects.exists():
            return
        passwords = {name: secrets.token_urlsafe(9) for name in ACCOUNTS}
        with write():
            people = {name: self._account(name, password) for name, password in passwords.items()}
            ontologies = self._ontologies(people["manager"])
            project = self._project(people, ontologies)
            # Before the constraints, for one of these marks breaks them: the project's page reports it.
            for work in json.loads((FILES / "work.json").read_text()):
                self._annotate(project, people[work.pop("by", "anna")], **work)
            self._constrain(project, ontologies)
            self._suggest(project, people["ben"])
            corrected = project.dataset.items().get(original="fuel gauge not working")
            new = cut_anew(corrected, "fuel gauge does not work")
            TextCorrection.make(corrected, new, by=people["manager"], was_version=1)
            self._project_in_pairs(people, ontologies)
            self._marked_elsewhere(people["manager"], ontologies)
            self._name_nodes(project)
        self._keep(passwords)

    def _account(self, name: str, password: str) -> User:
        is_admin = name == "admin"
        user = User.objects.create_user(name, f"{name}@example.org", password, is_staff=is_admin, is_superuser=is_admin)
        if name == "manager":
            user.groups.add(Group.objects.get(name=PROJECT_MANAGERS))
        return user

    def _ontologies(self, manager: User) -> dict[str, Ontology]:
        return {
            kind: Ontology.create(
                kind=kind,
                name=f"Maintenance {plural}",
                description=f"The {kind} labels of the demo: what maintenance staff write about machines.",
                owner=manager,
                items=read_ontology((FILES / f"{kind}_ontology.json").read_text(), kind),
            )
            for kind, plural in PLURALS.items()
        }

    def _project(self, people: dict[str, User], ontologies: dict[str, Ontology]) -> Project:
        manager = people["manager"]
        dataset = self._dataset("work_orders", "Work orders", "Short texts as mechanics write them.", manager)
        return Project.create(
            name="Haul trucks",
            description="Entities and relations in maintenance work orders. This is the demo: do with it what you like.",
            guidelines=GUIDELINES,
            by=manager,
            dataset=dataset,
            entity_ontology=ontologies["entity"],
            relation_ontology=ontologies["relation"],
            annotators=[people["anna"], people["ben"]],
        )

    def _project_in_pairs(self, people: dict[str, User], ontologies: dict[str, Ontology]) -> None:
        """Each item goes to two of four annotators. More items came when the project ran; those that it had already did not."""
        manager = people["manager"]
        project = Project.create(
            name="Conveyors",
            description="Each item goes to two annotators, and everybody shares items with everybody.",
            guidelines=GUIDELINES,
            by=manager,
            dataset=self._dataset("conveyors", "Conveyors", "What was done in day shifts.", manager),
            entity_ontology=ontologies["entity"],
            relation_ontology=ontologies["relation"],
            annotators=[people[name] for name in ("anna", "ben", "cleo", "dan")],
            annotators_per_item=2,
        )
        more = self._dataset("night_shift", "Conveyors, night shift", "What was done in night shifts.", manager)
        Upload.begin_copy(more, by=manager, dataset=project.dataset).store()

    def _dataset(self, file: str, name: str, description: str, manager: User) -> Dataset:
        options = {
            "kind": "standard",
            "format": "text",
            "name": name,
            "description": description,
            "tokeniser": "punkt",
            "remove_duplicates": SameText.IDENTICAL.value,
        }
        with (FILES / f"{file}.txt").open("rb") as opened:
            return Upload.begin(File(opened), by=manager, options=options).store()

    def _marked_elsewhere(self, manager: User, ontologies: dict[str, Ontology]) -> None:
        """A file of another program: its labels are called otherwise, and one of them is left out."""
        options = {
            "kind": "preannotated_entity",
            "format": "conll",
            "name": "Shift log",
            "description": "Marked by a trainee in another tool, which called the labels otherwise.",
            "entity_ontology": ontologies["entity"].pk,
            "labels": {"entity": LABELS_ELSEWHERE},
        }
        with (FILES / "shift_log.conll").open("rb") as opened:
            Upload.begin(File(opened, "shift_log.conll"), by=manager, options=options).store()

    def _constrain(self, project: Project, ontologies: dict[str, Ontology]) -> None:
        for kind, plural in PLURALS.items():
            blueprint = ConstraintSet.create(
                kind=kind,
                source=(FILES / f"{kind}_constraints.json").read_text(),
                name=f"Maintenance rules for {plural}",
                description="The constraints of the demo: what the workspace refuses.",
                owner=project.created_by,
                entity_ontology=ontologies["entity"],
                relation_ontology=ontologies["relation"] if kind == "relation" else None,
            )
            project.use(blueprint, by=project.created_by)

    def _suggest(self, project: Project, annotator: User) -> None:
        """What a model would, with its scores: words, label and score. Somebody has decided about some of it."""
        items, lines = project.dataset.items(), []
        for said in json.loads((FILES / "suggestions.json").read_text()):
            item, entities = items[said["item"] - 1], []
            for words, label, score in said["entities"]:
                start = item.original.index(words)
                place = {"start_char": start, "end_char": start + len(words)}
                entities.append({**place, "label": label, "score": score})
            lines.append({"id": item.pk, "entities": entities})
        Source.of(project.dataset, "parts tagger").suggest(lines, version="2026-11", by=project.created_by)
        good, bad = (Annotation.start(items[number - 1], annotator) for number in (13, 15))
        for mark in good.entity_set.all():
            mark.accept()
        for mark in bad.entity_set.all():
            mark.remove()

    def _annotate(self, project: Project, annotator: User, item: int, entities: Any, relations: Any) -> None:
        """Mark the item with this number: (words, label), and (entity, label, entity) with the places of the entities."""
        text = project.dataset.items()[item - 1]
        annotation = Annotation.start(text, annotator)
        label_uids = {label.fullname: label.uid for o in project.ontology_set.all() for label in o.labels()}
        uids = []
        for words, fullname in entities:
            tokens = words.split()
            start = next(i for i in range(len(text.tokens)) if text.tokens[i : i + len(tokens)] == tokens)
            uids.append(secrets.token_hex(8))
            label = annotation.label("entity", label_uids[fullname])
            annotation.add_entity(uid=uids[-1], label=label, start=start, end=start + len(tokens) - 1)
        for source, fullname, target in relations:
            label = annotation.label("relation", label_uids[fullname])
            annotation.add_relation(uid=secrets.token_hex(8), label=label, source=uids[source], target=uids[target])
        annotation.finish()

    def _name_nodes(self, project: Project) -> None:
        """One thing that people have marked with two labels is one node, and a node is known elsewhere."""
        graph = Graph.of(project)
        refresh(graph)
        by, (one, other) = project.created_by, graph.forms.filter(text="air conditioner thermostat").order_by("pk")
        graph.merge(one.digest, [other.digest], by=by)
        pump = graph.forms.get(text="hydraulic pump")
        graph.name_node(pump.digest, by=by, iri="https://www.wikidata.org/entity/Q134574", external_id="part 4711")

    def _keep(self, passwords: dict[str, str]) -> None:
        lines = "".join(f"{name:<10}{password}\n" for name, password in passwords.items())
        path = settings.VAR_DIR / "demo_accounts.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(lines)
        # A log is read by more people, and kept for longer, than a terminal.
        shown = f"\n\n{lines}" if self.stdout.isatty() else ""
        self.stdout.write(
            f"A demo is ready. The passwords of its accounts are in {path}.{shown}\n"
            "admin is the administrator, manager makes projects, anna, ben, cleo and dan annotate."
        )
