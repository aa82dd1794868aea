"""Nodes that may be the same, by the likeness of their words.

Measured is the Jaro-Winkler similarity (W. E. Winkler, 1990) of jellyfish, which suits abbreviations and slips of the pen:
beginnings count more. It compares words in alphabetical order; of as many words each has to be like one of the other's, so that
“fuel filter” is no “oil filter”. Of more words than the other has, all letters have to be nearly the same, as in “air con” and
“aircon” (by the Levenshtein distance). Numbers have to be the same.
"""

import re
import time
from collections import defaultdict
from heapq import nlargest
from typing import NamedTuple

from jellyfish import jaro_winkler_similarity, levenshtein_distance

from annotation_service.db import among

from .models import NotSame, SurfaceForm
from .node_list import CountedNode, NodeList

# So many nodes, the most frequent, are compared, each with the most likely of the others.
MOST, LIKELY = 20_000, 5
# Compared are those of which words begin with the same letters.
BEGINNING = 2
ALIKE, WORD_ALIKE, SPACED_APART = 0.86, 0.83, 0.15
SUGGESTIONS = 20
_words = re.compile(r"\w+").findall
_numbers = re.compile(r"\d+").findall


class Likely(NamedTuple):
    """Two nodes that may be the same, the more frequent first."""

    node: CountedNode
    other: CountedNode
    likeness: float


def normal(text: str) -> str:
    return " ".join(sorted(_words(text))) or text


def likeness(one: str, other: str) -> float:
    """From 0 to 1, of texts in their `normal` form; 0 if they cannot be the same."""
    if sorted(_numbers(one)) != sorted(_numbers(other)):
        return 0
    whole = jaro_winkler_similarity(one, other)
    words, others = one.split(), other.split()
    if len(words) != len(others):
        one, other = one.replace(" ", ""), other.replace(" ", "")
        far = levenshtein_distance(one, other) / max(len(one), len(other))
        return whole if far <= SPACED_APART else 0
    least = min(jaro_winkler_similarity(a, b) for a, b in zip(words, others, strict=True))
    return whole if least >= WORD_ALIKE else 0


def suggestions(shown: NodeList, start: int = 0, *, seconds: float = 0.2) -> tuple[list[Likely], int | None]:
    """Pairs of nodes of a list, the most frequent first, from the node in this place on; and the place to go on from, if it was
    not the last. Compared are nodes with labels of one branch of the tree."""
    rows = list(shown.nodes().order_by("-here", "node")[:MOST])
    rank = {row["node"]: place for place, row in enumerate(rows)}
    forms = SurfaceForm.objects.filter(pk__in=among(list(rank))).values_list("pk", "label", "words", "text")
    labels, normals = {}, {}
    for pk, label, words, text in forms:
        labels[pk], normals[pk] = label, normal(words or text)
    tops = {pk: top.pk for pk, top in shown.tops.items()}
    blocks: dict[tuple[int, str], list[int]] = defaultdict(list)
    blocks_of = {
        node: {(tops.get(labels[node], 0), word[:BEGINNING]) for word in normals[node].split()} for node in rank
    }
    for node, its in blocks_of.items():
        for block in its:
            blocks[block].append(node)
    different = set(NotSame.objects.filter(graph=shown.graph).values_list("one", "other"))
    found: list[tuple[int, int, float]] = []
    until, place = time.monotonic() + seconds, start
    for place in range(start, len(rows)):
        if len(found) >= SUGGESTIONS or time.monotonic() > until:
            break
        node = rows[place]["node"]
        others = {other for block in blocks_of[node] for other in blocks[block] if rank[other] > place}
        scores = [(likeness(normals[node], normals[other]), other) for other in others]
        likely = nlargest(LIKELY, (each for each in scores if each[0] >= ALIKE))
        found += [
            (node, other, score) for score, other in likely if different.isdisjoint([(node, other), (other, node)])
        ]
    else:
        place = len(rows)
    shown_nodes = {each.form.pk: each for each in shown.shown([rows[rank[pk]] for pair in found for pk in pair[:2]])}
    pairs = [Likely(shown_nodes[one], shown_nodes[other], score) for one, other, score in found]
    return sorted(pairs, key=lambda pair: -pair.likeness), place if place < len(rows) else None
