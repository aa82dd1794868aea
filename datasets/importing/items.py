"""The items that a document brings, on their way into the database, and how they are built from JSON values."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from django.conf import settings

from annotation_service import words
from annotation_service.inputs import MAX_PROBLEMS
from annotation_service.schemas import quoted
from ontologies.models import Ontology
from resources.judging import Judge
from resources.rules import Violation
from resources.spans import crowded, crowded_token, pairs_of

from ..cleaned import CleanedText
from ..extra_fields import too_large
from ..kinds import DatasetKind, item_checker
from ..tokenising import Span, offsets_of

Flaw = tuple[str, str]
"""A JSON path, and what is wrong there."""

LIMITS: tuple[tuple[str, str, Callable[[Any], int], str], ...] = (
    ("original", "MAX_ITEM_CHARACTERS", len, "characters"),
    ("tokens", "MAX_ITEM_TOKENS", len, "tokens"),
    ("tokens", "MAX_ITEM_CHARACTERS", lambda tokens: sum(map(len, tokens)), "characters in its tokens"),
    ("entities", "MAX_ITEM_MARKS", len, "entities"),
    ("relations", "MAX_ITEM_MARKS", len, "relations"),
)
"""What an item may have at most: a field, the name of its limit, how it is measured, and the word for what is counted."""


class NewEntity(NamedTuple):
    """A span of tokens, ``start`` to ``end`` inclusive, counted from 0. ``label`` is the key of an ontology's item."""

    uid: str
    label: int
    start: int
    end: int


class NewRelation(NamedTuple):
    """``source`` and ``target`` are the uids of two entities of the same item; ``label`` is the key of an ontology's item."""

    uid: str
    label: int
    source: str
    target: str


class NewItem(NamedTuple):
    """``place`` says where it stands in its document: “line 7”, “item 5”.

    ``found`` is where its tokens were found, or the text to search when that is asked: see `offsets`.
    """

    place: str
    original: str
    tokens: list[str]
    found: list[Span] | str | None
    external_id: str = ""
    extra_fields: dict[str, Any] = {}
    entities: "list[NewEntity] | tuple[()]" = ()
    relations: "list[NewRelation] | tuple[()]" = ()

    @property
    def offsets(self) -> list[Span] | None:
        """The places of the tokens in ``original``, half-open, in code points, or None if one does not occur in it.

        Those of a line are found only here: a dry run, which stores nothing, can do without.
        """
        return offsets_of(self.tokens, self.found) if isinstance(self.found, str) else self.found

    def cleaned(self, spaced: str) -> str:
        """What `CleanedText` makes of it, without that where it is plain: 0.3 s less for 100,000 lines. ``spaced`` are its tokens
        with a space between them."""
        found = self.found
        if isinstance(found, str):  # tokenisers leave out nothing but white space
            if spaced == found or ("  " not in found and found.isprintable()):
                return found.strip()
            return " ".join(found.split())
        if spaced == self.original and "  " not in spaced:
            return spaced
        return str(CleanedText.of(self.original, self.tokens, found))

    @property
    def mark_count(self) -> int:
        return len(self.entities) + len(self.relations)

    def with_marks(self, entities: list[NewEntity], relations: list[NewRelation]) -> "NewItem":
        """The item with these marks alone, and without relations that lack an end."""
        there = {entity.uid for entity in entities}
        relations = [each for each in relations if each.source in there and each.target in there]
        return self._replace(entities=entities, relations=relations)

    def broken(self, judge: Judge) -> Iterator[tuple[str, Violation]]:
        """What its marks break, with the path of the later mark."""
        for one, other, index in pairs_of(self.entities):
            for violation in judge.between(one, other):
                yield f"$.entities[{index}]", violation
        label_of = {entity.uid: entity.label for entity in self.entities} if self.relations else {}
        for index, (_, label, source, target) in enumerate(self.relations):
            if found := judge.against(label_of[source], label, label_of[target]):
                yield f"$.relations[{index}]", found


class MarkedItem(NamedTuple):
    """An item of a dataset by its key, with marks on its tokens."""

    pk: int
    item: NewItem


class KnownItem(NamedTuple):
    """An item of a dataset by its key and number, and what a document has with its external id."""

    pk: int
    number: int
    new: NewItem
    has_other_text: bool
    has_other_fields: bool
    """Of a document that has extra fields for it."""


class ItemBuilder:
    """Makes items of JSON values."""

    def __init__(self, kind: DatasetKind, ontologies: Mapping[str, Ontology], *, keep_inactive: bool = False) -> None:
        self.kind, self.checker = kind, item_checker(kind)
        # JSON that is shorter exceeds no limit; for extra fields see `too_large`.
        self.short = min(
            settings.MAX_EXTRA_FIELDS_CHARACTERS // 5, *(getattr(settings, name) for _, name, _, _ in LIMITS)
        )
        self.names = {of: _LabelLookup(ontologies[of], keep_inactive) for of in kind.label_kinds}

    def build(self, value: Any, place: str, length: int) -> tuple[NewItem | None, list[Flaw]]:
        """The item, or else what is wrong with it. ``length`` is that of its JSON."""
        if not self.checker.is_valid(value):
            return None, list(islice(self._mistakes(value), MAX_PROBLEMS))
        original, tokens = value["original"], value["tokens"]
        mistakes = list(_excesses(value)) if length > self.short else []
        if mistakes:
            return None, mistakes
        entities = self._entities(value, mistakes) if self.kind.has_entities else []
        relations = self._relations(value, mistakes) if self.kind.has_relations else []
        if mistakes:
            for of, marks in ("entity", entities), ("relation", relations):
                if marks:
                    self.names[of].in_refused.update(mark.label for mark in marks if mark.label)
            return None, mistakes
        external_id, extra_fields = value.get("external_id") or "", value.get("extra_fields") or {}
        offsets = offsets_of(tokens, original)
        return NewItem(place, original, tokens, offsets, external_id, extra_fields, entities, relations), []

    def _entities(self, value: dict[str, Any], mistakes: list[Flaw]) -> list[NewEntity]:
        names = self.names["entity"]
        count = len(value["tokens"])
        entities: list[NewEntity] = []
        uids: dict[str, int] = {}
        seen: dict[tuple[int, int, int], int] = {}
        for index, mark in enumerate(value.get("entities") or ()):
            start, end = int(mark["start"]), int(mark["end"])  # for JSON Schema 1.0 is an integer, too
            uid = mark["id"] if self.kind.has_relations else f"e{index + 1}"
            label = names.find(mark["label"], from_before=mark.get("active") is False)
            path = f"$.entities[{index}]"
            if start > end:
                mistakes.append((path, f"An entity does not end before it starts: “start” is {start}, “end” is {end}."))
            elif end >= count:
                text = f"The item has {words.plural(count, 'token,tokens')}, counted from 0"
                mistakes.append((path, f"{text}; {start} to {end} is not a span of them."))
            if label is None:
                mistakes.append((f"{path}.label", names.why_not(mark["label"])))
            if (first := uids.setdefault(uid, index)) != index:
                mistakes.append((f"{path}.id", f"“{uid}” is the id of entities[{first}] already."))
            elif label is not None and (first := seen.setdefault((start, end, label), index)) != index:
                name = f"“{entities[first].uid}”" if self.kind.has_relations else f"entities[{first}]"
                mistakes.append((path, f"{name} has the same tokens and the same label."))
            entities.append(NewEntity(uid, label or 0, start, end))
        if not mistakes and (token := crowded_token(entities)) is not None:
            mistakes.append(("$.entities", f"{crowded()} More have token {token}, counted from 0."))
        return entities

    def _relations(self, value: dict[str, Any], mistakes: list[Flaw]) -> list[NewRelation]:
        names = self.names["relation"]
        uids = {entity["id"] for entity in value.get("entities") or ()}
        relations: list[NewRelation] = []
        seen: dict[tuple[str, str, int], int] = {}
        for index, mark in enumerate(value.get("relations") or ()):
            source, target = mark["source_id"], mark["target_id"]
            label = names.find(mark["label"], from_before=mark.get("active") is False)
            path = f"$.relations[{index}]"
            for field in ("source_id", "target_id"):
                if (uid := mark[field]) not in uids:
                    mistakes.append((f"{path}.{field}", f"This item has no entity with the id “{uid}”."))
            if source == target:
                mistakes.append((path, f"A relation connects two different entities; both ends are “{source}”."))
            if label is None:
                mistakes.append((f"{path}.label", names.why_not(mark["label"])))
            elif (first := seen.setdefault((source, target, label), index)) != index:
                text = f"relations[{first}] goes from “{source}” to “{target}” with the same label."
                mistakes.append((path, text))
            relations.append(NewRelation(f"r{index + 1}", label or 0, source, target))
        return relations

    def _mistakes(self, value: Any) -> Iterator[Flaw]:
        for other in DatasetKind.PREANNOTATED_ENTITY, DatasetKind.PREANNOTATED_RELATION:
            if item_checker(other).is_valid(value):
                path, text = _misfit(value, self.kind)
                yield path, f"{text}; this is an item of a {other.label.lower()}. Choose that kind."
                return
        yield from self.checker.problems(value)


def _misfit(value: dict[str, Any], kind: DatasetKind) -> Flaw:
    """What an item of another kind has that this kind has not, or the other way round."""
    this, relations = kind.label.lower(), value.get("relations") or ()
    ids = [entity["id"] for entity in value.get("entities") or () if "id" in entity]
    if kind.has_relations:
        return "$.entities[0]", f"“id” is missing: in a {this} every entity has one"
    if relations:
        ends = [f"{relation['source_id']}” to “{relation['target_id']}" for relation in relations]
        return "$.relations[0]", f"A {this} has no relations, such as {quoted(ends)}"
    if "relations" in value:
        return "$.relations", f"A {this} has no relations"
    if ids:
        return "$.entities[0].id", f"A {this} has no ids of entities, such as {quoted(ids)}"
    return "$.entities", f"A {this} has no entities"


class _LabelLookup:
    """Finds the labels of an ontology that a document names, and counts the names that cannot be used."""

    def __init__(self, ontology: Ontology, keep_inactive: bool) -> None:
        self.names = ontology.label_names()
        self.usable = {label.fullname: label.pk for label in self.names.labels if label.active or keep_inactive}
        self.reasons: dict[str, str] = {}
        self.unusable = Counter[str]()
        self.inactive = Counter[str]()
        self.in_refused = set[int]()
        """The labels of marks in items that have mistakes."""

    def find(self, text: str, *, from_before: bool = False) -> int | None:
        """The key of the label, or None if it cannot be used. A mark from before, as a download tells, keeps one that is off."""
        if key := self.usable.get(text):
            return key
        label = self.names.find(text)
        return label.pk if label and (from_before or label.fullname in self.usable) else None

    def why_not(self, text: str) -> str:
        if label := self.names.find(text):
            self.inactive[label.fullname] += 1
            name = words.cut(label.fullname, 200)
            return (
                f"“{name}” is switched off in “{self.names.ontology}”: marks with it are refused, unless you keep them."
            )
        if text in self.unusable or len(self.unusable) < MAX_PROBLEMS:
            self.unusable[text] += 1
        if text not in self.reasons:
            if len(self.reasons) >= MAX_PROBLEMS:
                return "There is no such label in the ontology."  # finding the nearest one is slow
            self.reasons[text] = self.names.why_not(text)
        return self.reasons[text]


def _excesses(value: dict[str, Any]) -> Iterator[Flaw]:
    for field, name, measure, what in LIMITS:
        if (size := measure(value.get(field) or ())) > (limit := getattr(settings, name)):
            yield f"$.{field}", f"An item has at most {words.number(limit)} {what}; this one has {words.number(size)}."
    if reason := too_large(value.get("extra_fields") or {}):
        yield "$.extra_fields", reason
