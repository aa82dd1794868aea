"""What people marked in an item, side by side: what is the same, and how the rest differs.

Nothing here asks the database. Labels are given by their keys, tokens are counted from 0, both ends inclusive.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

from datasets.models.marks import entity_key
from resources.spans import Spans


class Likeness(StrEnum):
    """How a mark of one person compares with what another has at its place."""

    SAME = "same"
    SPAN = "span"  # the same label on other words, some of which they share
    LABEL = (
        "label"  # another label on the same words or, of a relation, another label or direction between the same ends
    )
    ENDS = "ends"  # of a relation: the same, but an end of it differs
    ONLY = "only"  # the other has nothing of that kind there


class EntityMark(NamedTuple):
    """An entity by what it says, whoever marked it."""

    start: int
    end: int
    label: int

    @property
    def is_relation(self) -> bool:
        return False

    def __str__(self) -> str:
        """As in `Rejection.what`."""
        return entity_key(*self)


class RelationMark(NamedTuple):
    source: EntityMark
    target: EntityMark
    label: int

    @property
    def is_relation(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"{self.source}>{self.target}:{self.label}"


AnyMark = EntityMark | RelationMark
Apart = Callable[[int, int], int]
"""How many steps two labels are apart in their tree."""


def read_mark(what: str) -> AnyMark:
    """The mark that a text such as “3-5:17” or “3-5:17>6-6:18:20” says."""
    if ">" not in what:
        span, _, label = what.partition(":")
        start, _, end = span.partition("-")
        return EntityMark(int(start), int(end), int(label))
    source, _, rest = what.partition(">")
    target, _, label = rest.rpartition(":")
    one, other = read_mark(source), read_mark(target)
    assert isinstance(one, EntityMark) and isinstance(other, EntityMark)
    return RelationMark(one, other, int(label))


class Marked(NamedTuple):
    """All that somebody marked in an item."""

    entities: frozenset[EntityMark] = frozenset()
    relations: frozenset[RelationMark] = frozenset()


class Paired(NamedTuple):
    """A mark of one person and that of another which it is compared with; None, if only one of them has such a mark."""

    likeness: Likeness
    one: Any
    other: Any
    apart: int = 0
    """How many steps their labels are apart in the tree."""
    has_ends: bool = True
    """Of a relation: whether both of its ends are paired, so that the other person could have related them, too."""


class Compared(NamedTuple):
    entities: list[Paired]
    relations: list[Paired]


def compare(one: Marked, other: Marked, apart: Apart) -> Compared:
    """Pair the marks of two people, each at most once: the same first, then entities with the same label that share most of their
    words, then those on the same words whose labels are nearest. Whoever is named first makes no difference.

    Relations are paired where their ends are.
    """
    entities = _pair_entities(one.entities, other.entities, apart)
    partners = {pair.one: pair.other for pair in entities if pair.one and pair.other}
    return Compared(entities, _pair_relations(one.relations, other.relations, partners, apart))


def _pair_entities(one: Collection[EntityMark], other: Collection[EntityMark], apart: Apart) -> list[Paired]:
    same = {mark for mark in one if mark in other}
    left, theirs = [mark for mark in one if mark not in same], [mark for mark in other if mark not in same]
    possible = []
    spans = Spans(theirs)
    for a in left:
        for b in spans.meeting(a):
            if a.label == b.label:
                shared = min(a.end, b.end) - max(a.start, b.start) + 1
                union = max(a.end, b.end) - min(a.start, b.start) + 1
                possible.append((0, -shared / union, *sorted((a, b)), Paired(Likeness.SPAN, a, b)))
            elif a[:2] == b[:2]:
                steps = apart(a.label, b.label)
                possible.append((1, steps, *sorted((a, b)), Paired(Likeness.LABEL, a, b, steps)))
    pairs = [Paired(Likeness.SAME, mark, mark) for mark in sorted(same)]
    return pairs + list(_best(possible, left, theirs))


def _pair_relations(
    one: Collection[RelationMark],
    other: Collection[RelationMark],
    partners: Mapping[EntityMark, EntityMark],
    apart: Apart,
) -> list[Paired]:
    between = defaultdict(list)
    for theirs in other:
        between[frozenset((theirs.source, theirs.target))].append(theirs)
    possible = []
    for own in one:
        source, target = partners.get(own.source), partners.get(own.target)
        if source is None or target is None:
            continue
        for theirs in between[frozenset((source, target))]:
            is_turned, steps = theirs.source != source, apart(own.label, theirs.label)
            likeness = Likeness.LABEL if is_turned or steps else Likeness.SAME if own == theirs else Likeness.ENDS
            pair = Paired(likeness, own, theirs, steps)
            possible.append((is_turned, steps, *sorted((own, theirs)), pair))
    paired = {*partners.keys(), *partners.values()}
    return [pair._replace(has_ends={*(pair.one or pair.other)[:2]} <= paired) for pair in _best(possible, one, other)]


def _best(possible: list[Any], one: Iterable[Any], other: Iterable[Any]) -> Iterator[Paired]:
    """Of possible pairs, each the last part of its sorting key, those that come first, and then what is left of both."""
    left, theirs = set(one), set(other)
    for *_, pair in sorted(possible, key=lambda each: each[:-1]):
        if pair.one in left and pair.other in theirs:
            left.remove(pair.one)
            theirs.remove(pair.other)
            yield pair
    yield from (Paired(Likeness.ONLY, mark, None) for mark in sorted(left))
    yield from (Paired(Likeness.ONLY, None, mark) for mark in sorted(theirs))


# --- Several people ----------------------------------------------------------------------------------------------------


class Voice(NamedTuple):
    """What somebody says about an item: a user given by the key, or the dataset, `GIVEN_VOICE`."""

    who: int
    marked: Marked


GIVEN_VOICE = 0


class Option(NamedTuple):
    """One of the things that are said in a group, with those who say so. Several relations are one option, if they are the same
    but for ends that somebody placed otherwise."""

    marks: tuple[Any, ...]
    who: tuple[int, ...]

    @property
    def mark(self) -> Any:
        return self.marks[0]


class MarkGroup(NamedTuple):
    """What several people marked and meant as one thing: the options, that of most people first."""

    options: tuple[Option, ...]
    likenesses: frozenset[Likeness]
    """How the marks of any two of the people compare."""

    @property
    def marks(self) -> frozenset[AnyMark]:
        return frozenset(mark for option in self.options for mark in option.marks)

    @property
    def is_relation(self) -> bool:
        return bool(self.options[0].mark.is_relation)


H = TypeVar("H", bound=Hashable)


class Linked(Generic[H]):
    """Things that belong together, directly or by way of others."""

    def __init__(self) -> None:
        self._up: dict[H, H] = {}

    def link(self, *things: H) -> None:
        for thing in things:
            self._up[self.first(thing)] = self.first(things[0])

    def first(self, thing: H) -> H:
        """The one that stands for all that belong to it."""
        while (up := self._up.setdefault(thing, thing)) != thing:
            thing = up
        return thing

    def groups(self) -> list[list[H]]:
        found: dict[H, list[H]] = defaultdict(list)
        for thing in self._up:
            found[self.first(thing)].append(thing)
        return list(found.values())


def groups_of(voices: Sequence[Voice], apart: Apart) -> list[MarkGroup]:
    """What the voices say, in the order of the text: entities, then relations."""
    entities, relations, alike = Linked[AnyMark](), Linked[AnyMark](), Linked[AnyMark]()
    likenesses: dict[AnyMark, set[Likeness]] = defaultdict(set)
    saying: dict[AnyMark, list[int]] = defaultdict(list)
    mark: Any
    for who, marked in voices:
        for mark in (*marked.entities, *marked.relations):
            saying[mark].append(who)
            (relations if isinstance(mark, RelationMark) else entities).link(mark)
    # Many who say the same are compared once.
    for one, other in combinations(dict.fromkeys(marked for _, marked in voices), 2):
        compared = compare(one, other, apart)
        for pair in (*compared.entities, *compared.relations):
            for mark in {pair.one, pair.other} - {None}:
                likenesses[mark].add(pair.likeness)
            if pair.one and pair.other and pair.likeness != Likeness.SAME:
                (relations if isinstance(pair.one, RelationMark) else entities).link(pair.one, pair.other)
                if pair.likeness == Likeness.ENDS:
                    alike.link(pair.one, pair.other)
    found = []
    for links in (entities, relations):
        groups = [_group(marks, alike, saying, likenesses) for marks in links.groups()]
        found += sorted(groups, key=lambda group: min(group.marks))
    return found


def _group(
    marks: list[AnyMark],
    alike: Linked[AnyMark],
    saying: Mapping[AnyMark, list[int]],
    likenesses: Mapping[AnyMark, set[Likeness]],
) -> MarkGroup:
    same: dict[AnyMark, list[AnyMark]] = defaultdict(list)
    for mark in sorted(marks, key=lambda mark: (-len(saying[mark]), mark)):
        same[alike.first(mark)].append(mark)
    options = [
        Option(tuple(each), tuple(sorted({who for mark in each for who in saying[mark]}))) for each in same.values()
    ]
    options.sort(key=lambda option: (-len(option.who), option.mark))
    return MarkGroup(tuple(options), frozenset(likeness for mark in marks for likeness in likenesses[mark]))
