"""What people decided about nodes, in the bundle. How often these are marked follows from the marks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from annotation_service.inputs import Refused, check_text
from annotation_service.json_input import json_array, to_json
from annotation_service.json_input.lists import Element
from datasets.importing.document import Progress
from projects import bundle
from projects.bundle_import import BundleReader, once, within
from projects.models import Project

from .models import Graph, GraphChange, NotSame, SurfaceForm
from .models.graph import CLEANED, NAMED, digest

SETTINGS = ("stem", "prefix", "namespace")
NOTES = {
    "nodes.json": "how the graph is made of the marks; each form that belongs to the node of another one, stands for others, has"
    " a name, an IRI or an outside id, or is not the same as another; and the pairs that are not the same",
    "form": "the words of marks without case and, where there is a stem, stemmed one by one; words are those before that, empty"
    " where they are the same. node is the form that stands for its node, null where it does that itself",
}


def _entries(project: Project, counts: bundle.Counts) -> Iterator[dict[str, Any]]:
    """Whatever names a label that was deleted since is left out."""
    counts |= {"edited_forms": 0, "not_same": 0}
    graph = Graph.objects.filter(dataset=project.dataset).first()
    if graph is None:
        return
    yield {"kind": "graph", **{name: getattr(graph, name) for name in SETTINGS}}
    labels = bundle.names_of(project.ontology_set.all())
    forms = {form.pk: form for form in graph.edited_forms().order_by("pk") if form.label in labels}
    names = {pk: {"label": labels[form.label], "form": form.text} for pk, form in forms.items()}
    pairs = NotSame.objects.filter(graph=graph).order_by("pk").values_list("one", "other")
    apart = [pair for pair in pairs if names.keys() >= {*pair}]
    nodes = {pk: form.node_id for pk, form in forms.items() if form.node_id in forms}
    needed = {*nodes, *nodes.values(), *(pk for pair in apart for pk in pair)}
    for pk, form in forms.items():
        said = {name: getattr(form, name) for name in NAMED}
        if pk in needed or any(said.values()):
            counts["edited_forms"] += 1
            yield {"kind": "form", **names[pk], "words": form.words, "node": names.get(nodes.get(pk, 0)), **said}
    for one, other in apart:
        counts["not_same"] += 1
        yield {"kind": "not the same", "one": names[one], "other": names[other]}


def _write(project: Project, counts: bundle.Counts, _: Progress, __: bundle.BundlePeople) -> Iterator[str]:
    return json_array(map(to_json, _entries(project, counts)))


class _Nodes:
    """Those of a bundle that is being read, by the ids of their forms; each entry with the name of its place."""

    def __init__(self, reader: BundleReader) -> None:
        self._label = reader.label
        self._uids = {reader.label("entity", f"#{new.uid}"): new.uid for new in reader.ontologies.get("entity", ())}
        self._said: set[Any] = set()
        self._settings: dict[str, str] = {}
        self._forms: dict[str, SurfaceForm] = {}
        self._nodes: dict[str, tuple[str, str]] = {}
        self._apart: dict[tuple[str, str], str] = {}
        self._uid_of: dict[str, str] = {}

    def read(self, entry: dict[str, Any], place: str) -> None:
        if entry["kind"] == "graph":
            once(self._said, "graph")
            self._settings = {name: CLEANED[name](entry[name]) for name in SETTINGS}
        elif entry["kind"] == "form":
            key, words = self._key(entry), entry["words"] and check_text(entry["words"])
            once(self._said, key)
            named = {name: CLEANED[name](entry[name]) for name in NAMED}
            self._forms[key] = SurfaceForm(digest=key, text=entry["form"], words=words, **named)
            if entry["node"]:
                self._nodes[key] = self._key(entry["node"]), place
        else:
            one, other = sorted(self._key(entry[end]) for end in ("one", "other"))
            once(self._said, one, other)
            self._apart[one, other] = place

    def _key(self, said: dict[str, str]) -> str:
        uid = self._uids[self._label("entity", said["label"])]
        key = digest(uid, check_text(said["form"]))
        self._uid_of[key] = uid
        return key

    def check(self) -> None:
        for node, place in self._nodes.values():
            with within(place):
                if node not in self._forms or node in self._nodes:
                    raise Refused("Its node stands nowhere here, or belongs to another one.")
        for (one, other), place in self._apart.items():
            with within(place):
                if one == other or not self._forms.keys() >= {one, other}:
                    raise Refused("One of them stands nowhere here, or both are the same form.")

    def store(self, project: Project) -> None:
        if not self._settings and not self._forms:
            return
        graph = Graph.objects.create(dataset=project.dataset, **self._settings)
        labels = {label.uid: label.pk for ontology in project.ontology_set.all() for label in ontology.labels()}
        for key, form in self._forms.items():
            form.graph, form.label, form.search_text = graph, labels[self._uid_of[key]], form.searched()
        SurfaceForm.objects.bulk_create(self._forms.values())
        for key, (node, _) in self._nodes.items():
            self._forms[key].node = self._forms[node]
        SurfaceForm.objects.bulk_update([self._forms[key] for key in self._nodes], ["node"], batch_size=500)
        pairs = ((self._forms[one], self._forms[other]) for one, other in self._apart)
        NotSame.objects.bulk_create(NotSame(graph=graph, one=one, other=other) for one, other in pairs)


def _read(reader: BundleReader, entries: Iterator[Element]) -> Callable[[Project], None]:
    nodes = _Nodes(reader)
    for entry in entries:
        with within(entry.name):
            nodes.read(entry.value, entry.name)
    nodes.check()
    return nodes.store


def _history(project: Project) -> bundle.Counts:
    return {"changes of nodes": GraphChange.objects.filter(graph__dataset=project.dataset).count()}


SCHEMA = Path(__file__).parent / "schemas" / "bundle.json"
READING = bundle.ProjectReading(SCHEMA, "nodes", _read)
bundle.parts.append(bundle.Part("nodes.json", _write, NOTES, READING, _history))
