"""What is behind a node or an edge: its forms, who says so, and the places in the texts, each with everybody who marked it."""

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse

from annotation_service.db import snapshot
from annotation_service.paging import Page
from datasets.cleaned import CleanedText
from datasets.models import Annotation, Item, Layer
from datasets.models.item import ItemQuerySet
from ontologies.labels import Label
from quality.comparison import GIVEN_VOICE
from quality.voices import GOLD_VOICE, names_for

from .counting import Folding, GraphItem, ReadMark, Statement, read_items, statements_in
from .models import GraphChange, ItemEdge, ItemNode, NodeTotal, SurfaceForm
from .models.counts import at_least
from .node_list import MOST_NEIGHBOURS, CountedEdge, NodeList
from .voices import ALL, GIVEN, GOLD

PLACES = 10
# Tokens before and after what is marked.
AROUND = 12
# So many tokens of what is marked.
LONGEST = 60
SHOWN_FORMS = 50
SHOWN_OTHERS = 12


class SentencePiece(NamedTuple):
    text: str
    role: str
    """“subject”, “object”, both, or nothing of what is asked for."""


class EvidencePlace(NamedTuple):
    item: Item
    pieces: list[SentencePiece]
    marks: list[tuple[str, str, str]]
    """Of all who marked the place: their names, the ids of the marks, and where pages show these."""
    label: Label | None
    """With which a node is marked here."""
    people: int
    """How many people have begun the item."""
    agreed: int
    others: list[tuple[str, str, Label | None]]
    """Further nodes of the item: their ids, the words, and their labels."""
    spans: list[tuple[int, int]]
    """The first and last token of what is marked; of an edge, of its ends."""


class NodeEvidence:
    """Of a node or, with a label and another node, of the edge from one to the other."""

    most_edges = MOST_NEIGHBOURS

    def __init__(
        self, shown: NodeList, node: SurfaceForm, label: Label | None = None, object: SurfaceForm | None = None
    ):
        self.shown, self.graph, self.node, self.label, self.object = shown, shown.graph, node, label, object
        self.sources = [each for each in (shown.first, shown.second) if each]

    @cached_property
    def _names(self) -> dict[int, str]:
        return names_for(self.graph.project) | {GOLD_VOICE: GOLD, GIVEN_VOICE: GIVEN}

    @property
    def key(self) -> str:
        """As addresses name it."""
        if self.label and self.object:
            return f"{self.node.digest},{self.label.uid},{self.object.digest}"
        return self.node.digest

    def _forms(self, node: SurfaceForm) -> QuerySet[SurfaceForm]:
        return SurfaceForm.objects.filter(Q(pk=node.pk) | Q(node=node.pk))

    def _rows(self) -> QuerySet[Any]:
        own = self._forms(self.node).values("pk")
        if self.label and self.object:
            ends = {"subject__in": own, "object__in": self._forms(self.object).values("pk")}
            return ItemEdge.objects.filter(label=self.label.pk, voice__in=self.shown.voices, **ends)
        return ItemNode.objects.filter(form__in=own, voice__in=self.shown.voices)

    # --- What the head says ---

    def entity_label(self) -> Label | None:
        return self.shown.labels.get(self.node.label)

    def object_label(self) -> Label | None:
        return self.shown.labels.get(self.object.label) if self.object else None

    def voices(self) -> list[tuple[str, int, int]]:
        """The names of all sources that have marked a node, how many people agree, of everybody's marks, and how many marks that
        are."""
        totals = dict(NodeTotal.objects.filter(node=self.node).values_list("voice", "marks"))
        sources = [(voice, name, 0) for voice, name in self._names.items()]
        sources += [(at_least(number), ALL, number) for number in range(1, len(totals) + 1)]
        return [(name, agreed, totals[voice]) for voice, name, agreed in sources if voice in totals]

    def forms(self) -> list[tuple[Any, Label | None, GraphChange | None]]:
        """The most frequent first, as many as are shown, each with its ``marks``, its label, and what made it a form of this
        node."""
        counts = ItemNode.objects.filter(form=OuterRef("pk"), voice__in=self.shown.voices).order_by().values("form")
        marks = Coalesce(Subquery(counts.annotate(sum=Sum("marks")).values("sum")), 0)
        forms = list(self._forms(self.node).annotate(marks=marks).order_by("-marks", "text")[:SHOWN_FORMS])
        merged = [form.digest for form in forms if form.node_id]
        changes, by_form = self.graph.changes.filter(items__has_any_keys=merged), dict[str, GraphChange]()
        for change in changes.select_related("user")[:SHOWN_FORMS] if merged else ():
            for digest in change.items:
                by_form.setdefault(digest, change)
        labels = self.shown.labels
        return [(each, labels.get(each.label), by_form.get(each.digest) if each.node_id else None) for each in forms]

    def more_forms(self) -> int:
        return max(0, self._forms(self.node).count() - SHOWN_FORMS)

    def neighbours(self) -> list[tuple[CountedEdge, str, SurfaceForm, Label | None]]:
        """The edges of a node, the most frequent first, each with an arrow to or from the node at its far end, and its label."""
        return [
            (edge, "→", edge.object, edge.object_label)
            if edge.subject == self.node
            else (edge, "←", edge.subject, edge.subject_label)
            for edge in self.shown.neighbours(self.node)
        ]

    # --- Places ---

    def page(self, wanted: str | None) -> Page:
        """Of `EvidencePlace`, in the order of the items."""
        page = Page.of(self.items(), wanted, size=PLACES)
        page.object_list = self.places(list(page.object_list))
        return page

    def items(self) -> ItemQuerySet:
        return Item.objects.filter(pk__in=self._rows().values("item")).order_by("position")

    def places(self, items: Sequence[Item]) -> list[EvidencePlace]:
        by_pk, folding = {item.pk: item for item in items}, Folding(self.graph)
        begun = Annotation.objects.filter(item__in=by_pk, layer=Layer.OWN, started_at__isnull=False).order_by()
        people = dict(begun.values("item").annotate(count=Count("pk")).values_list("item", "count"))
        own = set(self._forms(self.node).values_list("digest", flat=True))
        far = set(self._forms(self.object).values_list("digest", flat=True)) if self.object else set()
        found = []
        with snapshot():
            for read in read_items(list(by_pk)):
                entities, relations = (
                    [each for each in said if any(source.says(each) for source in self.sources)]
                    for said in statements_in(read, folding)
                )
                for said in relations if self.label else entities:
                    if not self._is_meant(said, own, far):
                        continue
                    item = by_pk[read.pk]
                    found.append(
                        EvidencePlace(
                            item,
                            pieces=_pieces(read.cleaned, said.spans),
                            marks=[
                                (self._names[each.voice], each.uid, self._address(each, item)) for each in said.marks
                            ],
                            label=None if self.label else self.shown.labels.get(said.place[2]),
                            people=people.get(read.pk, 0),
                            agreed=sum(mark.voice > GIVEN_VOICE for mark in said.marks),
                            others=_others(entities, own | far, read, self.shown),
                            spans=said.spans,
                        )
                    )
        return found

    def _is_meant(self, said: Statement, own: Collection[str], far: Collection[str]) -> bool:
        what: Any = said.what
        if not self.label:
            return what.digest in own
        return what.subject.digest in own and what.object.digest in far and what.label == self.label.pk

    def _address(self, mark: ReadMark, item: Item) -> str:
        project = self.graph.project
        if mark.voice == GOLD_VOICE:
            return reverse("quality:review", args=[project.pk, item.pk])
        if mark.voice == GIVEN_VOICE:
            return reverse("datasets:item", args=[project.dataset.pk, item.pk])
        return reverse("annotations:read", args=[project.pk, mark.voice, item.pk]) + f"#{mark.uid}"


def _pieces(text: CleanedText, spans: Sequence[tuple[int, int]]) -> list[SentencePiece]:
    """The words around the beginnings of spans, cut at their ends; “…” stands for what is left out."""
    near = {
        token
        for start, end in spans
        for token in range(max(0, start - AROUND), min(len(text.tokens), min(end, start + LONGEST) + 1 + AROUND))
    }
    pieces, last = list[SentencePiece](), -1
    together = groupby(enumerate(sorted(near)), lambda each: (_role(each[1], spans), each[1] - each[0]))
    for (role, _), some in together:
        first, *rest = [token for _, token in some]
        gap = text.gaps[first] if first == last + 1 else " … " if last >= 0 else "… "
        last = rest[-1] if rest else first
        words = str(CleanedText(text.tokens[first : last + 1], ["", *text.gaps[first + 1 : last + 1]]))
        pieces += [SentencePiece(gap, ""), SentencePiece(words, role)]
    return [*pieces, SentencePiece(" …" if last + 1 < len(text.tokens) else "", "")]


def _role(token: int, spans: Sequence[tuple[int, int]]) -> str:
    ends = zip(("subject", "object"), spans, strict=False)
    return " ".join(role for role, (start, end) in ends if start <= token <= end)


def _others(entities: Sequence[Statement], known: Collection[str], read: GraphItem, shown: NodeList) -> list[Any]:
    """Further nodes in an item, each once."""
    found: dict[str, Any] = {}
    for said in entities:
        what: Any = said.what
        if what.digest not in known:
            words = read.cleaned.between(said.place[0], said.place[1])
            found.setdefault(what.digest, (what.digest, words, shown.labels.get(what.label)))
    return list(found.values())[:SHOWN_OTHERS]
