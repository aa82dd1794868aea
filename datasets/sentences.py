"""Example sentences for the codebook of an ontology: texts with accepted marks or, in a blueprint dataset, with those that came
with it; of what somebody may read."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import add
from typing import Any

from django.db import connection

from annotation_service.access import projects_seen_by
from annotation_service.blueprints import Right
from annotation_service.db import among, keys
from annotation_service.http import Request
from annotation_service.models import User
from ontologies.codebook import Sentence, sentence_sources
from ontologies.models import Ontology

from .cleaned import CleanedText
from .models import Entity, Item, Relation
from .portions import FETCHED

MOST = 3
COPIES = 10  # of a blueprint, in projects: those that were changed last
SHORT = 15  # characters: such a text is hardly more than the marked words, and comes last
NEAR, AROUND = 40, 120  # tokens and characters before and after marked words
LONG = 200  # characters of marked words, and between two marks

# Of each label some marks are looked at, as they come: among 100,000 for 10,000 labels this takes 0.3 s, looking at all of them
# 0.9. For the first by their keys PostgreSQL would read all marks in that order.
_SAMPLE = 50
_SOME = f"""
SELECT MIN(m.id) AS id
  FROM (
    SELECT e.id, i.search_text
      FROM {{table}} e
      JOIN datasets_annotation a ON a.id = e.annotation_id
      JOIN datasets_item i ON i.id = a.item_id AND i.removed_at IS NULL
      JOIN datasets_dataset d ON d.id = i.dataset_id AND d.deleted_at IS NULL
     WHERE e.label_id = l.id AND {{whose}}
       AND (e.status = 'accepted' OR d.project_id IS NULL AND a.layer = 'given' AND e.origin = 'given')
     LIMIT {_SAMPLE}
  ) m
 GROUP BY m.search_text
 ORDER BY LENGTH(m.search_text) < {SHORT}, LENGTH(m.search_text), 1 LIMIT {MOST}
"""
_OF_EACH = {
    "sqlite": f"JOIN {{table}} e ON e.id IN ({_SOME})",
    "postgresql": f"JOIN LATERAL ({_SOME}) s ON TRUE JOIN {{table}} e ON e.id = s.id",
}
_ENDS = " JOIN datasets_entity s1 ON s1.id = e.source_id JOIN datasets_entity s2 ON s2.id = e.target_id"
_MARKS = """
SELECT a.item_id, l.uid, e.id, {places}
  FROM ontologies_ontologyitem l {of_each}
  JOIN datasets_annotation a ON a.id = e.annotation_id
 WHERE l.tree_id IN ({ontologies}) AND l.uid IN ({uids})
"""


def sentences(request: Request, ontology: Ontology, uids: Collection[str]) -> dict[str, list[Sentence]]:
    """The shortest texts first. Of projects that somebody may not read these are texts with marks of their own."""
    found: dict[str, list[tuple[bool, int, int, Sentence]]] = defaultdict(list)
    marks = _marks(request.user, ontology, uids) if uids else {}
    for item, size, text in _texts(marks):
        words = list(map(add, text.gaps, text.tokens))
        for uid, mark, *places in marks[item]:
            spans = _apart([places[:2], places[2:]], text.gaps) if places[2:] else [places]
            found[uid].append((size < SHORT, size, mark, _pieces(text.gaps, words, spans)))
    # Copies of a dataset have the same texts.
    return {uid: list(dict.fromkeys(each[-1] for each in sorted(some)))[:MOST] for uid, some in found.items()}


def _marks(user: User, ontology: Ontology, uids: Collection[str]) -> Mapping[int, list[Any]]:
    """Some marks of each label and, of a blueprint, of its copies in projects. By the keys of items: the uid of the label, the
    key of the mark, and the first and the last token of one span or two."""
    asked = [ontology]
    if ontology.is_blueprint:
        seen = Ontology.objects.filter(copied_from=ontology, project__in=projects_seen_by(user))
        asked += seen.order_by("-updated_at", "-pk")[:COPIES]
    whole = projects_seen_by(user, Right.READ)
    read = [each.pk for each in asked if each.project_id is None or each.project_id in whole]
    others = [each.pk for each in asked if each.pk not in read]
    model, named = (Entity if ontology.is_entity else Relation), among(uids)
    by_item = defaultdict(list)
    for ontologies, whose in ((read, "TRUE"), (others, f"a.annotator_id = {int(user.pk)}")):
        of_each = _OF_EACH[connection.vendor].format(table=model._meta.db_table, whose=whose)
        sql = _MARKS.format(
            places='e.start, e."end"' if ontology.is_entity else 's1.start, s1."end", s2.start, s2."end"',
            of_each=of_each if ontology.is_entity else of_each + _ENDS,
            ontologies=keys(ontologies),
            uids=named.sql,
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, named.params)
            for item, *mark in cursor.fetchall():
                by_item[item].append(mark)
    return by_item


def _texts(items: Collection[int]) -> Iterator[tuple[int, int, CleanedText]]:
    """The key of each item, the length of its text, and the text."""
    found = Item.objects.filter(pk__in=among(items)).order_by().values_list("pk", "search_text", "tokens")
    for item, folded, tokens in found.iterator(chunk_size=FETCHED):
        yield item, len(folded), CleanedText.unfolded(tokens, folded, len(folded))


def _apart(spans: Sequence[tuple[int, int]], gaps: Sequence[str]) -> list[tuple[int, int]]:
    """In the order of the text; those with nothing between them are one."""
    first, *others = sorted(spans)
    apart = [first]
    for start, end in others:
        reached = apart[-1][1]
        if start <= reached or (start == reached + 1 and not gaps[start]):
            apart[-1] = (apart[-1][0], max(reached, end))
        else:
            apart.append((start, end))
    return apart


def _pieces(gaps: Sequence[str], words: Sequence[str], spans: Sequence[tuple[int, int]]) -> Sentence:
    """The text before the first span, in it, behind it, and so on; of a long text only what is near. Each of the words has the
    gap before it."""
    start = max(0, spans[0][0] - NEAR)
    at, pieces = start, []
    for first, last in spans:
        gap = gaps[first]
        pieces += ["".join(words[at:first]) + gap, "".join(words[first : last + 1])[len(gap) :]]
        at = last + 1
    pieces.append("".join(words[at : at + NEAR]))
    if start or len(pieces[0]) > AROUND:
        pieces[0] = f"…{pieces[0][-AROUND:]}"
    if at + NEAR < len(words) or len(pieces[-1]) > AROUND:
        pieces[-1] = f"{pieces[-1][:AROUND]}…"
    return tuple([piece if len(piece) <= LONG else _shortened(piece) for piece in pieces])


def _shortened(piece: str) -> str:
    return f"{piece[: LONG // 2]} … {piece[-LONG // 2 :]}"


sentence_sources.append(sentences)
