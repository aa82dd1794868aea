"""What is asked for: all that is alike, what shall become of it, and the items in which it may stand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, TextField
from django.db.models.functions import Cast

from annotation_service.db import among
from annotation_service.inputs import Refused
from annotation_service.models import User
from datasets.models import Annotation, Dataset, Item
from datasets.models.item import ItemQuerySet
from datasets.portions import parsed
from ontologies.labels import Label, Labels
from ontologies.models import Ontology
from resources.matching import EntityForm

from ..models import Batch

MAX_TOKENS, MAX_WORDS = 100, 200
GONE = "The project has no such label. Reload the page."


@dataclass(frozen=True)
class Asked:
    """``form`` is that of an entity, ``ends`` are those of a relation, whose target begins ``offset`` tokens behind its source;
    ``label`` is what the mark gets."""

    verb: str
    kind: str
    label: Label
    forms: tuple[EntityForm, ...]
    offset: int
    ignore_case: bool
    where: str
    new_ends: bool
    labels: Mapping[int, Label]

    @classmethod
    def of(cls, dataset: Dataset, values: Mapping[str, Any]) -> "Asked":
        """From the fields of a request. Raises `Refused`."""
        trees = {each.kind: each.labels() for each in Ontology.objects.filter(project=dataset.project_id)}
        form, is_entity = values["form"], values["kind"] == "entity"
        if values["verb"] not in Batch.Verb.values or values["kind"] not in ("entity", "relation"):
            raise Refused("Marks are propagated, accepted, rejected or removed: entities or relations.")
        if values.get("where", "label") not in ("label", "any"):
            raise Refused("Places are left out that have a mark with this label, or any mark: “label” or “any”.")
        offset = 0 if is_entity else form.get("offset")
        if type(offset) is not int or abs(offset) > 2**31:
            raise Refused("The offset of a relation is a whole number.")
        asked = cls(
            verb=values["verb"],
            kind=values["kind"],
            label=_label(trees.get(values["kind"]), form.get("label")),
            forms=tuple(_forms(trees["entity"], [form] if is_entity else [form.get("source"), form.get("target")])),
            offset=offset,
            ignore_case=values.get("ignore_case", False),
            where=values.get("where", "label"),
            new_ends=values.get("new_ends", True),
            labels={label.pk: label for tree in trees.values() for label in tree},
        )
        asked._check()
        return asked

    @property
    def words(self) -> str:
        return " → ".join(" ".join(form.tokens) for form in self.forms)[:MAX_WORDS]

    @property
    def is_entity(self) -> bool:
        return self.kind == "entity"

    @property
    def is_apart(self) -> bool:
        """Whether the ends of a relation may stand anywhere: it is there already."""
        return not self.is_entity and self.verb != Batch.Verb.PROPAGATE

    @property
    def takes_relations_along(self) -> bool:
        return self.is_entity and self.verb == Batch.Verb.REMOVE

    def used_labels(self) -> list[Label]:
        """All that marks may get."""
        return [self.label, *(self.labels[form.label] for form in self.forms)]

    def _check(self) -> None:
        alike = {(self._folded(form.tokens), form.label) for form in self.forms}
        if self.offset == 0 and len(self.forms) > len(alike):
            raise Refused("A relation connects two different marks.")
        given = self.used_labels() if self.verb == Batch.Verb.PROPAGATE and self.new_ends else [self.label]
        if self.verb in (Batch.Verb.PROPAGATE, Batch.Verb.ACCEPT) and (
            off := next((each for each in given if not each.active), None)
        ):
            raise Refused(f"The label “{off.name}” is switched off and cannot be applied any more.")

    # --- Where the forms occur ---

    def occurrences(self, tokens: Sequence[str]) -> Iterator[tuple[tuple[int, int], ...]]:
        """The spans of the entity or of both ends of the relation, from left to right."""
        first, *target = self.forms
        if self.ignore_case:
            tokens = [token.casefold() for token in tokens]
        wanted = self._folded(first.tokens)
        if not target:
            yield from (((start, start + len(wanted) - 1),) for start in _places(tokens, wanted, apart=True))
            return
        other = self._folded(target[0].tokens)
        for start in _places(tokens, wanted):
            there = start + self.offset
            if there >= 0 and tuple(tokens[there : there + len(other)]) == other:
                yield (start, start + len(wanted) - 1), (there, there + len(other) - 1)

    def is_of(self, form: EntityForm, tokens: Sequence[str]) -> bool:
        """Whether the words of a mark are those of the form."""
        return self._folded(tokens) == self._folded(form.tokens)

    def _folded(self, tokens: Sequence[str]) -> tuple[str, ...]:
        return tuple(token.casefold() for token in tokens) if self.ignore_case else tuple(tokens)


def _places(tokens: Sequence[str], wanted: tuple[str, ...], *, apart: bool = False) -> Iterator[int]:
    """Where the tokens are found, from left to right; ``apart``, if two of them shall not overlap."""
    at, length = 0, len(wanted)
    try:
        while True:
            at = tokens.index(wanted[0], at)
            if length == 1 or tuple(tokens[at : at + length]) == wanted:
                yield at
                at += length if apart else 1
            else:
                at += 1
    except ValueError:
        return


def _forms(tree: Labels, values: Sequence[Any]) -> Iterator[EntityForm]:
    for value in values:
        tokens = value.get("tokens") if isinstance(value, dict) else None
        if not isinstance(tokens, list) or not all(isinstance(token, str) and token for token in tokens):
            raise Refused("The words of a form are a list of tokens.")
        if not 0 < len(tokens) <= MAX_TOKENS:
            raise Refused(f"A form has 1 to {MAX_TOKENS} tokens.")
        yield EntityForm(tuple(tokens), _label(tree, value.get("label")).pk)


def _label(tree: Labels | None, uid: Any) -> Label:
    if tree and isinstance(uid, str) and uid in tree.by_uid:
        return tree.by_uid[uid]
    raise Refused(GONE)


# By so many of the longest tokens items are found; what is found is looked at token by token.
_TOKENS, _CHARACTERS = 3, 200


def candidates(asked: Asked, items: ItemQuerySet, person: User) -> list[tuple[int, int]]:
    """The keys and positions of the items, in their order, whose text has the tokens of all forms and which the person has not
    done."""
    pieces = {token.casefold()[:_CHARACTERS] for form in asked.forms for token in form.tokens}
    for piece in sorted(pieces, key=len, reverse=True)[:_TOKENS]:
        items = items.filter(search_text__contains=piece)
    done = Annotation.objects.filter(item=OuterRef("pk"), annotator=person, done_at__isnull=False)
    return list(items.filter(~Exists(done)).order_by("position").values_list("pk", "position"))


class ReadText(NamedTuple):
    """The tokens of an item, and the version of its text that has them."""

    tokens: list[str]
    version: int


def texts_of(asked: Asked, items: Sequence[int]) -> dict[int, ReadText]:
    """The texts of those items in which the forms occur."""
    found = Item.objects.filter(pk__in=among(items)).order_by("position")
    rows = list(found.values_list("pk", Cast("tokens", TextField()), "text_version"))
    tokens = dict(parsed(row[:2] for row in rows))
    return {
        pk: ReadText(tokens[pk], version)
        for pk, _, version in rows
        if asked.is_apart or next(asked.occurrences(tokens[pk]), None)
    }
