"""Nodes that may be the same, by the likeness of their words.

Measured is the Jaro-Winkler similarity (W. E. Winkler, 1990) of rapidfuzz, which suits abbreviations and slips of the pen:
beginnings count more. It compares words in alphabetical order; of as many words each has to be like one of the other's, so that
“fuel filter” is no “oil filter”. Of more words than the other has, all letters have to be nearly the same, as in “air con” and
“aircon” (normalized Levenshtein similarity). Numbers have to be the same.
"""

import re
import time
from collections import defaultdict
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler, Levenshtein

from annotation_service.db import among

from .models import NotSame, SurfaceForm
from .node_list import CountedNode, NodeList

# So many nodes, the most frequent, are compared, each with the most likely of the others.
MOST, LIKELY = 20_000, 5
ALIKE, WORD_ALIKE, SPACED_ALIKE = 0.86, 0.83, 0.85
SUGGESTIONS = 20
_words = re.compile(r"\w+").findall
_numbers = re.compile(r"\d+").findall


class Likely(NamedTuple):
    """Two nodes that may be the same, the more frequent first."""

    node: CountedNode
    other: CountedNode
    likeness: float

    @property
    def nodes(self) -> tuple[CountedNode, CountedNode]:
        return self.node, self.other


def normal(text: str) -> str:
    return " ".join(sorted(_words(text))) or text


def likeness(one: str, other: str) -> float:
    """From 0 to 1, of texts in their `normal` form; 0 if they cannot be the same."""
    if sorted(_numbers(one)) != sorted(_numbers(other)):
        return 0
    whole = float(JaroWinkler.normalized_similarity(one, other))
    words, others = one.split(), other.split()
    if len(words) != len(others):
        letters = "".join(_words(one)), "".join(_words(other))
        return whole if Levenshtein.normalized_similarity(*letters) >= SPACED_ALIKE else 0
    least = min(float(JaroWinkler.normalized_similarity(a, b)) for a, b in zip(words, others, strict=True))
    return whole if least >= WORD_ALIKE else 0


def suggestions(shown: NodeList, start: int = 0, *, seconds: float = 0.2) -> tuple[list[Likely], int | None]:
    """Pairs of nodes of a list, the most frequent first, from the node in this place on; and the place to go on from, if it was
    not the last. Compared are nodes with labels of one branch of the tree."""
    rows = list(shown.nodes().order_by("-marks", "node")[:MOST])
    rank = {row["node"]: place for place, row in enumerate(rows)}
    forms = SurfaceForm.objects.filter(pk__in=among(list(rank))).values_list("pk", "label", "words", "text")
    labels, normals = {}, {}
    for pk, label, words, text in forms:
        labels[pk], normals[pk] = label, normal(words or text)
    branches: dict[int, dict[int, str]] = defaultdict(dict)
    tops = _tops(shown)
    for node in rank:
        branches[tops.get(labels[node], 0)][node] = normals[node]
    different = set(NotSame.objects.filter(graph=shown.graph).values_list("one", "other"))
    found: list[tuple[int, int, float]] = []
    until, place = time.monotonic() + seconds, start
    for place in range(start, len(rows)):
        if len(found) >= SUGGESTIONS or time.monotonic() > until:
            break
        node = rows[place]["node"]
        choices = branches[tops.get(labels[node], 0)]
        likely = process.extract(
            normals[node],
            choices,
            scorer=JaroWinkler.normalized_similarity,
            processor=None,
            score_cutoff=ALIKE,
            limit=LIKELY + 1,
        )
        for _, _, other in likely:
            pair = (node, other), (other, node)
            if (
                rank[other] > place
                and different.isdisjoint(pair)
                and (score := likeness(normals[node], normals[other]))
            ):
                found.append((node, other, score))
    else:
        place = len(rows)
    shown_nodes = {each.form.pk: each for each in shown.shown([rows[rank[pk]] for pair in found for pk in pair[:2]])}
    pairs = [Likely(shown_nodes[one], shown_nodes[other], score) for one, other, score in found]
    return sorted(pairs, key=lambda pair: -pair.likeness), place if place < len(rows) else None


def _tops(shown: NodeList) -> dict[int, int]:
    """For the key of each label that of the label above it at the top of the tree."""
    ontology = shown.project.entity_ontology
    labels = ontology.labels()
    return {label.pk: labels.line(label.pk)[-1] for label in labels}
