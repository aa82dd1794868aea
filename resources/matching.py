"""Where the forms of preannotations occur in a text, and what is suggested there.

Nothing here reads the database. Texts and forms are sequences of tokens, labels are keys, and spans are tokens ``start`` to
``end``, inclusive, counted from 0.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Tokens = Sequence[str]


class EntityForm(NamedTuple):
    """What an entity looks like, and a label that is suggested for it."""

    tokens: Tokens
    label: int
    ignores_case: bool = False


class RelationForm(NamedTuple):
    """What two entities look like that have a relation, if exactly ``offset`` tokens stand between them."""

    source: EntityForm
    target: EntityForm
    offset: int
    label: int


class SuggestedEntity(NamedTuple):
    start: int
    end: int
    label: int


class SuggestedRelation(NamedTuple):
    source: SuggestedEntity
    target: SuggestedEntity
    label: int


class Suggestions(NamedTuple):
    """The ends of a relation need not be among the entities: then they are suggested only together with it."""

    entities: list[SuggestedEntity]
    relations: list[SuggestedRelation]


class _Form:
    """One sequence of tokens. ``followed_by`` has, by offset and target, the labels of relations, each with those of its ends."""

    __slots__ = ("followed_by", "labels")

    def __init__(self) -> None:
        self.labels: dict[int, None] = {}
        self.followed_by: dict[int, dict[_Form, dict[tuple[int, int, int], None]]] = {}


class _Trie:
    """All forms, by their tokens one after the other. A text is looked through once, from each of its tokens no further than a
    form goes on: forms are short."""

    def __init__(self) -> None:
        self.root: dict[Any, Any] = {}

    def form(self, tokens: Tokens) -> _Form:
        node = self.root
        for token in tokens:
            node = node.setdefault(token, {})
        form: _Form = node.setdefault(None, _Form())
        return form

    def matches(self, tokens: Tokens) -> Iterator[tuple[int, int, _Form]]:
        root, count = self.root, len(tokens)
        for start, token in enumerate(tokens):
            node, end = root.get(token), start
            while node is not None:
                if form := node.get(None):
                    yield start, end, form
                end += 1
                if end == count:
                    break
                node = node.get(tokens[end])


class Matcher:
    """Finds all forms in a text, longest first, then leftmost; one is taken unless it overlaps one that is taken already. A span
    that is taken gets all labels of its form."""

    def __init__(self, entities: Iterable[EntityForm], relations: Iterable[RelationForm]) -> None:
        self._exact, self._folded = _Trie(), _Trie()
        for entity in entities:
            self._form(entity).labels[entity.label] = None
        for source, target, offset, label in relations:
            by_target = self._form(source).followed_by.setdefault(offset, {})
            labels = by_target.setdefault(self._form(target), {})
            labels[source.label, label, target.label] = None

    def suggestions(self, tokens: Tokens) -> Suggestions:
        taken = self._taken(tokens)
        entities = {
            SuggestedEntity(*span, label): None
            for span in sorted(taken)
            for form in taken[span]
            for label in form.labels
        }
        return Suggestions(list(entities), list(dict.fromkeys(_relations(taken))))

    def _form(self, form: EntityForm) -> _Form:
        if form.ignores_case:
            return self._folded.form([token.casefold() for token in form.tokens])
        return self._exact.form(form.tokens)

    def _taken(self, tokens: Tokens) -> dict[tuple[int, int], list[_Form]]:
        found: dict[tuple[int, int], list[_Form]] = defaultdict(list)
        for start, end, form in self._exact.matches(tokens):
            found[start, end].append(form)
        if self._folded.root:
            for start, end, form in self._folded.matches([token.casefold() for token in tokens]):
                found[start, end].append(form)
        if len(found) < 2:
            return found
        is_covered = bytearray(len(tokens))
        taken = {}
        for start, end in sorted(found, key=lambda span: (span[0] - span[1], span[0])):
            # What is taken already is at least as long, so it covers one of the ends of whatever it overlaps.
            if not (is_covered[start] or is_covered[end]):
                taken[start, end] = found[start, end]
                is_covered[start : end + 1] = b"\1" * (end + 1 - start)
        return taken


def _relations(taken: dict[tuple[int, int], list[_Form]]) -> Iterator[SuggestedRelation]:
    """Between spans that are taken: these do not overlap, so no two begin at the same token."""
    ends = dict(sorted(taken))
    for start, end in ends.items():
        for form in taken[start, end]:
            for offset, by_target in form.followed_by.items():
                target_start = end + 1 + offset
                if (target_end := ends.get(target_start)) is None:
                    continue
                for target in taken[target_start, target_end]:
                    for source_label, label, target_label in by_target.get(target, ()):
                        yield SuggestedRelation(
                            SuggestedEntity(start, end, source_label),
                            SuggestedEntity(target_start, target_end, target_label),
                            label,
                        )
