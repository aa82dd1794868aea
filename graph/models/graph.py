"""The graph of a project: surface forms, the nodes that people make of them, and the journal of that."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, reduce
from hashlib import blake2b
from operator import or_
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q, UniqueConstraint
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation_service import edits, journal, limits
from annotation_service.blueprints import Right
from annotation_service.db import among, store, write
from annotation_service.http import Feature
from annotation_service.inputs import Refused, check_text, clean_title, normalized
from annotation_service.journal import Entries, Journaled, JournalRow, Step
from annotation_service.models import User
from annotation_service.words import cut
from datasets.models import Dataset
from datasets.models.item import folded
from projects.models import Project

from .counts import add_up_nodes

MAX_IRI_CHARACTERS = 2000
# So many nodes are merged at a time.
MOST_MERGED = 5000
NAMESPACES = {
    "dcterms": "http://purl.org/dc/terms/",
    "ev": "urn:annotation-service:evidence:",
    "oa": "http://www.w3.org/ns/oa#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Of what else is in files in RDF, by their prefixes."""
LANGUAGES = ["arabic", "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian"]
LANGUAGES += ["portuguese", "romanian", "russian", "spanish", "swedish"]
"""Those that Snowball has a stemmer for."""
# What RDF can write between angle brackets: without control characters.
_is_iri = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20\x7f-\x9f<>"{}|^`\\]+').fullmatch


@lru_cache(maxsize=4)
def _stemmer(language: str) -> Any:
    from nltk.stem.snowball import SnowballStemmer  # takes half a second

    # Each time a new one: that for Arabic keeps things between its steps, and threads would disturb each other.
    return lru_cache(maxsize=100_000)(lambda word: SnowballStemmer(language).stem(word) or word)


def fold_words(text: str, stem: str = "") -> str:
    """A surface form: without case, with one space for all white space and, with the name of a language, stemmed word by word
    by its Snowball algorithm (https://snowballstem.org)."""
    form = folded(text)
    return " ".join(map(_stemmer(stem), form.split())) if stem else form


def digest(label: str, form: str) -> str:
    """The id of a form with a label, given by its uid: 32 hex digits, the same in all copies of a project."""
    return blake2b(f"{label} {form}".encode(), digest_size=16).hexdigest()


_is_id = re.compile("[0-9a-f]{32}").fullmatch


def clean_iri(value: str, example: str = "https://www.wikidata.org/entity/Q134574") -> str:
    """Raises `Refused` for what is no absolute IRI; nothing takes away what was there."""
    iri = normalized(check_text(value)).strip() if value.strip() else ""
    if re.match("(javascript|data|vbscript):", iri, re.I):
        raise Refused(f"Programs that show files run this. An IRI names a thing, such as {example}.")
    if iri and not _is_iri(iri):
        raise Refused(
            f'An IRI begins with its scheme, and has no spaces and none of < > " {{ }} | ^ ` \\: such as {example}.'
        )
    if len(iri) > MAX_IRI_CHARACTERS:
        raise Refused(f"An IRI has at most {MAX_IRI_CHARACTERS} characters here.")
    return iri


def clean_short(value: str) -> str:
    """A name with one space for all white space; nothing takes away what was there."""
    words = " ".join(value.split())
    return clean_title(words) if words else ""


def clean_stem(value: str) -> str:
    if value and value not in LANGUAGES:
        raise Refused(f"Words are stemmed in one of these languages: {', '.join(LANGUAGES)}.")
    return value


def clean_prefix(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,19}", value):
        raise Refused("A prefix has 1 to 20 letters, digits, “-” and “_”, and begins with a letter.")
    if value in NAMESPACES:
        raise Refused(f"“{value}” is taken: these prefixes stand for something else: {', '.join(NAMESPACES)}.")
    return value


def clean_namespace(value: str) -> str:
    example = "https://example.org/graph/"
    if not (iri := clean_iri(value, example)) or iri[-1] not in "/#":
        raise Refused(f"A namespace is an IRI that ends with “/” or “#”, such as {example}.")
    if iri in NAMESPACES.values():
        raise Refused(f"This namespace is that of a vocabulary. Choose one of your own, such as {example}.")
    return iri


class GraphChange(JournalRow):
    """Forms are named by their ids, and two that are not the same by both: “…-…”."""

    nouns = "form,forms"

    graph = models.ForeignKey("graph.Graph", on_delete=models.RESTRICT, related_name="changes", db_index=False)

    class Meta(JournalRow.Meta):
        constraints = [UniqueConstraint(fields=["graph", "version"], name="graphchange_version")]

    def subject(self) -> str:
        """Of two that became one node or two both: the toast of that has named one of them."""
        if self.count == 1 and (step := self.steps()[0]).field == "node":
            return " and ".join(f"“{name}”" for name in (step.name, step.before, step.after) if name != "its own")
        return super().subject()

    def known_of(self, items: Sequence[tuple[str, Sequence[Any]]]) -> dict[str, str]:
        nodes = {state["node"] for _, states in items for state in states if state and state.get("node")}
        return self.names({key for key, _ in items} | nodes)

    @classmethod
    def steps_of_item(cls, known: Any, key: str, before: Any, after: Any) -> list[Step]:
        if before is None or after is None:
            return [Step(known[key], "", before, after)]
        told = {name: [_told(known, name, state[name]) for state in (before, after)] for name in after}
        return [Step(known[key], _FIELDS[name], *values) for name, values in told.items()]

    def names(self, keys: Collection[str]) -> dict[str, str]:
        ids = {part for key in keys for part in key.split("-")}
        forms = self.graph.forms.filter(digest__in=among(ids)).only("digest", "name", "words", "text")
        named = {form.digest: str(form) for form in forms}
        return {key: " and ".join(named.get(part, "a form") for part in key.split("-")) for key in keys}


_FIELDS = {"node": "node", "name": "name", "iri": "IRI", "external_id": "outside id"}


def _told(known: Mapping[str, str], field: str, value: str | None) -> str:
    if field == "node":
        return known[value] if value else "its own"
    return value or ""


class NodeEdits(journal.Change):
    """One operation on the nodes of a locked graph."""

    def merge(self, target: str, others: Collection[str], *, seen: bool = False) -> None:
        """Let the forms of nodes belong to another one, each named as for `Graph.standing`. They keep their names and IRIs for
        when they are split off."""
        graph: Graph = self.thing
        standing = graph.standing([target, *others], seen=seen)
        head = standing[target]
        rows = graph.forms_of({form.pk for form in standing.values()} - {head.pk}).select_related("node")
        self._move({row.digest: row.node and row.node.digest for row in rows}, head.digest)
        # What it lacks it gets from the first of them that has it.
        said = {name: [getattr(form, name) for form in standing.values()] for name in NAMED[1:]}
        self.set(head.digest, {name: next(filter(None, values), "") for name, values in said.items()})

    def split(self, forms: Collection[str]) -> None:
        """Let each of these forms be a node of its own again."""
        found = self.thing.found(forms)
        if standing := next((form for form in found if form.node is None), None):
            if not standing.further_forms.exists():  # somebody was quicker
                raise Refused(f"“{standing}” is a node of its own already.")
            raise Refused(f"“{standing}” stands for its node. Split the other forms off instead.")
        self._move({form.digest: form.node.digest for form in found}, None)
        for form in found:  # takes along what it brought when it was merged
            [head], left = self.thing.found([form.node.digest]), self.thing.forms.filter(node=form.node)
            said = {name: getattr(form, name) for name in NAMED[1:] if getattr(form, name) == getattr(head, name)}
            gone = [name for name, value in said.items() if value and not left.filter(**{name: value}).exists()]
            self.set(head.digest, dict.fromkeys(gone, ""))

    def set(self, form: str, values: Mapping[str, str], was: Mapping[str, str] | None = None) -> None:
        """Name a node, or say what it is elsewhere. Raises `Conflict`, see `edits`."""
        [row] = self.thing.found([form])
        if changed := edits.changes(row, values, was or {}):
            before = {name: getattr(row, name) for name in changed}
            for name, value in changed.items():
                setattr(row, name, value)
            row.search_text = row.searched()
            row.save(update_fields=[*changed, "search_text"])
            self._note(form, before, changed)

    def keep_apart(self, one: str, other: str, *, seen: bool = False) -> None:
        """Never suggest again that two nodes are the same."""
        pair = sorted({form.digest for form in self.thing.standing([one, other], seen=seen).values()})
        if len(pair) < 2:
            raise Refused("These are one node already.")
        first, second = self.thing.found(pair)
        if NotSame.objects.get_or_create(graph=self.thing, one=first, other=second)[1]:
            self.items["-".join(pair)] = [None, {}]

    def put_back(self, entries: Entries) -> None:
        moved: dict[str | None, dict[str, str | None]] = {}
        for key, (before, after) in entries.items():
            if "-" in key:
                one, other = self.thing.found(key.split("-"))
                pair = {"graph": self.thing, "one": one, "other": other}
                if before is None:
                    NotSame.objects.filter(**pair).delete()
                else:
                    NotSame.objects.get_or_create(**pair)
                self.items[key] = [after, before]
                continue
            if "node" in before:
                moved.setdefault(before["node"], {})[key] = after["node"]
            if rest := {name: value for name, value in before.items() if name != "node"}:
                self.set(key, rest)
        for node, forms in moved.items():
            self._move(forms, node)
        if self.thing.forms.filter(node__node__isnull=False).exists():
            raise Refused("One of these nodes belongs to another one by now. Undo that first.")

    def _move(self, forms: Mapping[str, str | None], node: str | None) -> None:
        """Let forms, which are given with their nodes of now, belong to the node of another one, or stand for themselves."""
        graph: Graph = self.thing
        ids = among([*forms, *filter(None, forms.values()), *([node] if node else ())])
        keys_of = dict(graph.forms.filter(digest__in=ids).values_list("digest", "pk"))
        graph.forms.filter(digest__in=among(list(forms))).update(node=keys_of[node] if node else None)
        # Before and after: a form without a node stands for one.
        nodes = {keys_of[before or form] for form, before in forms.items()}
        nodes |= {keys_of[node]} if node else {keys_of[form] for form in forms}
        add_up_nodes(nodes, list(graph.forms_of(nodes).values_list("pk", flat=True)))
        for form, before in forms.items():
            self._note(form, {"node": before}, {"node": node})

    def _note(self, form: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        first, last = self.items.get(form, ({}, {}))
        self.items[form] = [{**before, **first}, {**last, **after}]


NAMED = ("name", "iri", "external_id")


class Graph(Journaled):
    """How the graph of a project is made of its marks."""

    change_class = NodeEdits
    changed_with: ClassVar[Right] = Right.REVIEW
    feature: ClassVar[Feature] = Feature()

    dataset = models.OneToOneField(Dataset, primary_key=True, on_delete=models.RESTRICT, related_name="graph")
    # The language by which words are stemmed, if any.
    stem = models.CharField(max_length=12, blank=True)
    # What files in RDF call it all: IRIs that begin with the namespace, written short with the prefix.
    prefix = models.CharField(max_length=20, default="kg")
    namespace = models.CharField(max_length=MAX_IRI_CHARACTERS, default="https://example.org/graph/")
    # Of all marks when they were counted last, and when that was.
    signature = models.CharField(max_length=150, editable=False)
    counted_at = models.DateTimeField(null=True, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    forms: Any

    def __str__(self) -> str:
        return f"the graph of “{self.project}”"

    @classmethod
    def of(cls, project: Project) -> "Graph":
        graph, _ = cls.objects.select_related("dataset__project").get_or_create(dataset=project.dataset)
        return graph

    @property
    def project(self) -> Any:
        return self.dataset.project

    its_project = project

    def get_absolute_url(self) -> str:
        return f"/projects/{self.project.pk}/graph/"

    def locked(self) -> "Graph":
        """Whoever deletes the dataset waits, or has done so."""
        self.dataset.locked()
        graph = Graph.objects.select_for_update(no_key=True).filter(pk=self.pk).first()
        if graph is None:
            raise Refused("The project was deleted meanwhile.")
        graph.dataset = self.dataset
        return graph

    def locked_to_change(self) -> "Graph":
        self.project.locked()  # first, as everybody does; refused if it is archived
        return self.locked()

    def touch(self, **values: Any) -> None:
        store(self, updated_at=timezone.now(), **values)

    def edit(self, *, was: Mapping[str, str] | None = None, **values: str) -> None:
        """Change the ``stem``, the ``prefix`` or the ``namespace``. Merges of forms that were folded in another way rest until
        words are folded so again."""
        cleaned = {name: CLEANED[name](value) for name, value in values.items()}
        with write():
            graph = self.locked_to_change()
            if changed := edits.changes(graph, cleaned, was or {}):
                graph.touch(**changed)
                self.refresh_from_db()

    def found(self, forms: Collection[str]) -> "list[SurfaceForm]":
        """Those with these ids, in the order of these. Raises `Refused` if one is not there."""
        ids = set(filter(_is_id, forms))  # PostgreSQL takes no NUL
        known = {form.digest: form for form in self.forms.filter(digest__in=among(ids)).select_related("node")}
        if len(known) < len(set(forms)):
            raise Refused("There is no such node in this graph. Reload the page.")
        return [known[form] for form in forms]

    def standing(self, forms: Collection[str], *, seen: bool = False) -> "dict[str, SurfaceForm]":
        """The forms that stand for the nodes of these, by the ids of these. Who has ``seen`` nodes names each by the form that
        stood for it: refused if another one does by now."""
        found = self.found(forms)
        if seen and any(form.node for form in found):
            raise Refused("Somebody has merged or split these meanwhile. Look at them again.")
        return {form.digest: form.node or form for form in found}

    def forms_of(self, nodes: Collection[int]) -> "models.QuerySet[Any]":
        """Those that belong to nodes, given by the keys of the forms that stand for them, and these."""
        return self.forms.filter(Q(pk__in=among(nodes)) | Q(node__in=among(nodes)))

    def edited_forms(self) -> "models.QuerySet[SurfaceForm]":
        """Those about which people decided something: all others follow from marks."""
        apart = NotSame.objects.filter(graph=self)
        its = [self.forms.exclude(node=None).values("node"), *(apart.values(end) for end in ("one", "other"))]
        said = ~Q(node=None) | Q(*((name, "") for name in NAMED), _negated=True)
        return self.forms.filter(reduce(or_, (Q(pk__in=keys) for keys in its), said))

    # --- What people do with nodes ---

    def merge(self, target: str, others: Collection[str], *, by: User, seen: bool = False) -> None:
        """Make one node of several, named as for `standing`: that of ``target`` stands for it."""
        if len(others) > MOST_MERGED:
            raise Refused(f"At most {MOST_MERGED:,} nodes are merged at a time.")
        with self.changing("merge", by=by) as change:
            change.merge(target, others, seen=seen)

    def split(self, forms: Collection[str], *, by: User) -> None:
        """Take forms out of their nodes."""
        with self.changing("split", by=by) as change:
            change.split(forms)

    def name_node(self, form: str, *, by: User, was: Mapping[str, str] | None = None, **values: str) -> None:
        """Give a node another ``name``, ``iri`` or ``external_id``; an empty text takes it away."""
        cleaned = {name: CLEANED[name](value) for name, value in values.items()}
        with self.changing("name", by=by) as change:
            [head] = change.thing.standing([form]).values()
            change.set(head.digest, cleaned, was)

    def keep_apart(self, one: str, other: str, *, by: User, seen: bool = False) -> None:
        """Decide that two nodes are not the same, named as for `standing`."""
        with self.changing("keep apart", by=by) as change:
            change.keep_apart(one, other, seen=seen)


CLEANED: dict[str, Callable[[str], str]] = {
    "name": clean_short,
    "iri": clean_iri,
    "external_id": clean_short,
    "stem": clean_stem,
    "prefix": clean_prefix,
    "namespace": clean_namespace,
}


class SurfaceForm(models.Model):
    """Words as `fold_words` folds them, marked with a label. A form that belongs to no other ``node`` stands for one: itself and
    those that belong to it; a node has the label, the name and the IRI of the form that stands for it."""

    graph = models.ForeignKey(Graph, on_delete=models.RESTRICT, related_name="forms")
    digest = models.CharField(max_length=32)
    # Not a foreign key: a label may be deleted as soon as no mark has it.
    label = models.BigIntegerField()
    text = models.TextField()
    # As they were first found, without being stemmed; empty where that is the same.
    words = models.TextField(blank=True)
    node = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.RESTRICT, db_constraint=False, related_name="further_forms"
    )
    name = models.CharField(max_length=limits.MAX_NAME_CHARACTERS, blank=True)
    iri = models.CharField(max_length=MAX_IRI_CHARACTERS, blank=True)
    external_id = models.CharField(max_length=limits.MAX_NAME_CHARACTERS, blank=True)
    search_text = models.TextField(editable=False)

    class Meta:
        # All forms of a graph are read in the order in which they were stored: in that of digests it takes ten times as long.
        constraints = [UniqueConstraint(fields=["digest", "graph"], name="form_once")]

    def __str__(self) -> str:
        return cut(self.name or self.words or self.text, 200)

    @property
    def link(self) -> str:
        """Its IRI, if browsers open it: others, such as “urn:”, are no addresses."""
        return self.iri if self.iri.startswith(("https://", "http://")) else ""

    def searched(self) -> str:
        """Begins with what the node is called, so that nodes are sorted by it, too."""
        return "\n".join([folded(str(self)), self.text, folded(self.external_id), folded(self.iri)])


STANDING = Coalesce("node", "pk")
"""Of a form, the key of the one that stands for its node."""


class NotSame(models.Model):
    """Two nodes that look alike, and are not the same: by the forms that stood for them. The id of ``one`` is the smaller."""

    graph = models.ForeignKey(Graph, on_delete=models.RESTRICT, db_index=False)
    one = models.ForeignKey(SurfaceForm, on_delete=models.RESTRICT, related_name="+", db_index=False)
    other = models.ForeignKey(SurfaceForm, on_delete=models.RESTRICT, related_name="+", db_index=False)

    class Meta:
        constraints = [UniqueConstraint(fields=["graph", "one", "other"], name="not_same_once")]

    def __str__(self) -> str:
        return f"{self.one} is not {self.other}"
