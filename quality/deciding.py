"""From what is said about an item, and what was decided about that, to its gold. Nothing here asks the database."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from annotation_service.inputs import Refused, whole_number
from resources.judging import Judge
from resources.spans import crowded_token, pairs_of

from .comparison import AnyMark, EntityMark, Linked, Marked, MarkGroup, Option, RelationMark


class Ruling(NamedTuple):
    """That a mark belongs into the gold, or not. What is ruled at one ``place`` was decided together: entities there stand for
    one another."""

    place: Hashable
    mark: Any  # an `AnyMark`
    is_taken: bool


def settle(rulings: Sequence[Ruling]) -> Marked:
    """The gold that follows from rulings, given in the order in which they were made: the last about a mark counts.

    Each relation leads between the marks that its ends have become. It is not there while one of them has become nothing or more
    than one; so it does not matter whether ends or relations are decided first.
    """
    last = {mark: is_taken for _, mark, is_taken in rulings}
    became = Ends.ruled(rulings, (mark for mark, is_taken in last.items() if is_taken and not mark.is_relation))
    relations = (became.relation(mark) for mark, is_taken in last.items() if is_taken and mark.is_relation)
    return Marked(frozenset(became.entities), frozenset(filter(None, relations)))


class Ends:
    """What the ends of relations become: the entities of a gold, of which some stand for others."""

    def __init__(self, together: Iterable[Sequence[EntityMark]], entities: Iterable[EntityMark]) -> None:
        self.entities = set(entities)
        self._linked = Linked[EntityMark]()
        for marks in together:
            self._linked.link(*marks)
        self._of: dict[EntityMark, list[EntityMark]] = defaultdict(list)
        for mark in self.entities:
            self._of[self._linked.first(mark)].append(mark)

    @classmethod
    def ruled(cls, rulings: Iterable[Ruling], entities: Iterable[Any], more: Iterable[Sequence[Any]] = ()) -> "Ends":
        """Where those stand for one another about which was ruled together."""
        at: dict[Hashable, list[EntityMark]] = defaultdict(list)
        for place, mark, _ in rulings:
            if not mark.is_relation:
                at[place].append(mark)
        return cls([*at.values(), *more], entities)

    def relation(self, mark: RelationMark) -> RelationMark | None:
        """What a relation becomes, None if an end is missing or can be several."""
        source, target = self._became(mark.source), self._became(mark.target)
        return RelationMark(source, target, mark.label) if source and target and source != target else None

    def _became(self, end: EntityMark) -> EntityMark | None:
        if end in self.entities:
            return end
        found = self._of.get(self._linked.first(end), ())
        return found[0] if len(found) == 1 else None


class TakeOverRule(NamedTuple):
    """By how many people a mark must be made to be taken over without asking."""

    agreed: str = "all"
    least: int = 2

    def takes(self, saying: int, voices: int) -> bool:
        """What one says alone agrees with nobody."""
        if self.agreed == "least":
            return saying >= self.least
        return voices > 1 and (2 * saying > voices if self.agreed == "majority" else saying == voices)


class GroupState(StrEnum):
    AGREED = "agreed"  # the rule takes it over
    OPEN = "open"  # a dispute
    DECIDED = "decided"
    WAITS = "waits"  # a relation, for its ends
    FALLS = "falls"  # a relation of which no end is left


class Standing(NamedTuple):
    """How a group stands: which of its options are in the gold, or will be."""

    group: MarkGroup
    state: GroupState
    taken: tuple[Option, ...]
    why: str = ""
    """Why it is a dispute, though people agree."""


class Deliberation:
    """What so many ``people`` say about an item, in ``groups``, together with the ``rulings`` that there are, in their order, and
    the marks that are ``stored`` as its gold.

    ``is_on`` tells whether a label can be applied; ``judge`` has the constraints, if there are any.
    """

    def __init__(
        self,
        groups: Sequence[MarkGroup],
        people: int,
        rulings: Sequence[Ruling],
        stored: Marked,
        *,
        rule: TakeOverRule,
        is_on: Callable[[int], bool],
        judge: Judge | None,
    ) -> None:
        self.groups, self.people, self.rulings, self.stored, self.rule = groups, people, rulings, stored, rule
        self._is_on, self._judge = is_on, judge
        self._ruled = settle(rulings).entities
        self._last = {mark: is_taken for _, mark, is_taken in rulings}
        self.standings = [*self._of_entities(), *self._of_relations()]

    @cached_property
    def by_rule(self) -> list[tuple[MarkGroup, Option]]:
        """What the rule takes over now, each with the option that is taken."""
        return [(each.group, each.taken[0]) for each in self.standings if each.state == GroupState.AGREED]

    @property
    def gold(self) -> Marked:
        """As it is when the rule has taken over what it takes. A relation that breaks a constraint, since its ends became what
        they are, is a dispute."""
        entities, relations = settle([*self.rulings, *self.rulings_by_rule()])
        return Marked(entities, frozenset(each for each in relations if not self._against(each)))

    @property
    def disputes(self) -> list[Standing]:
        return [each for each in self.standings if each.state == GroupState.OPEN]

    def rulings_by_rule(self) -> Iterator[Ruling]:
        for group, option in self.by_rule:
            yield from rulings(group, [option])

    def _of_entities(self) -> Iterator[Standing]:
        groups = [group for group in self.groups if not group.is_relation]
        agreed = {group: option for group in groups if (option := self._agreed(group)) and not self._covered(group)}
        blocked = self._blocked([option.mark for option in agreed.values()])
        self._entities = set(self._ruled)
        self._undecided: set[AnyMark] = set()
        for group in groups:
            option = agreed.get(group)
            if self._covered(group):
                yield Standing(group, GroupState.DECIDED, self._taken(group))
            elif option and not (why := blocked.get(option.mark, "")):
                self._entities.add(option.mark)
                yield Standing(group, GroupState.AGREED, (option,))
            else:
                self._undecided |= group.marks
                yield Standing(group, GroupState.OPEN, (), why if option else "")

    def _of_relations(self) -> Iterator[Standing]:
        groups: list[Any] = [[*group.marks] for group in self.groups if not group.is_relation]
        ends = Ends.ruled(self.rulings, self._entities, groups)
        for group in self.groups:
            if not group.is_relation:
                continue
            marks: Any = group.marks
            became = {mark: ends.relation(mark) for mark in marks}
            covered = self._covered(group)
            taken = self._taken(group) if covered else tuple(filter(None, [self._agreed(group)]))
            why = next(filter(None, (self._against(became[mark]) for option in taken for mark in option.marks)), "")
            is_there = any(became[mark] for option in taken for mark in option.marks)
            if covered and not why and (is_there or not taken):
                yield Standing(group, GroupState.DECIDED, taken)
            elif any(end in self._undecided for mark in marks for end in mark[:2]):
                yield Standing(group, GroupState.WAITS, ())
            elif not any(became.values()) or (covered and not is_there):
                yield Standing(group, GroupState.FALLS, ())
            elif taken and not why:
                yield Standing(group, GroupState.AGREED, taken)
            else:
                yield Standing(group, GroupState.OPEN, (), why)

    def _agreed(self, group: MarkGroup) -> Option | None:
        first, *others = group.options
        takes = self.rule.takes(len(first.who), self.people)
        # Two of which each has enough people are for a person to decide.
        return first if takes and not any(self.rule.takes(len(each.who), self.people) for each in others) else None

    def _covered(self, group: MarkGroup) -> bool:
        return all(mark in self._last for mark in group.marks)

    def _taken(self, group: MarkGroup) -> tuple[Option, ...]:
        return tuple(option for option in group.options if any(self._last[mark] for mark in option.marks))

    def _blocked(self, agreed: Collection[EntityMark]) -> Mapping[AnyMark, str]:
        """Those of the agreed entities that cannot be taken over beside what is there and beside each other, and why."""
        blocked: dict[AnyMark, str] = {}
        new = set(agreed) - self._ruled
        there = [*self._ruled, *new]
        if judge := self._judge:
            for one, other, _ in pairs_of(there):
                for violation in judge.between(one, other):
                    blocked |= {mark: violation.in_words(judge.name_of) for mark in (one, other) if mark in new}
        while (token := crowded_token([mark for mark in there if mark not in blocked])) is not None:
            here = {mark for mark in new - blocked.keys() if mark.start <= token <= mark.end}
            if not here:
                break
            blocked |= dict.fromkeys(here, "Too many marks would share a word.")
        return blocked | {mark: "The label is switched off." for mark in new if not self._is_on(mark.label)}

    def _against(self, relation: RelationMark | None) -> str:
        """Why a relation cannot be taken over."""
        if relation is None or relation in self.stored.relations:
            return ""
        if not self._is_on(relation.label):
            return "The label is switched off."
        judge = self._judge
        found = judge and judge.against(relation.source.label, relation.label, relation.target.label)
        return found.in_words(judge.name_of) if judge and found else ""


def rulings(group: MarkGroup, taken: Collection[Option], place: Hashable = None) -> list[Ruling]:
    """What it means for each mark of a group that some of its options are taken."""
    where = group if place is None else place
    return [Ruling(where, mark, option in taken) for option in group.options for mark in option.marks]


BOTH, NEITHER = "both", "neither"


def options_chosen(group: MarkGroup, choice: str) -> list[Option]:
    """By its number, counted from 1, or all, or none of them."""
    if choice == NEITHER:
        return []
    if choice == BOTH:
        return list(group.options)
    if (number := whole_number(choice, digits=4) or 0) and number <= len(group.options):
        return [group.options[number - 1]]
    raise Refused(f"Choose “{BOTH}”, “{NEITHER}” or one of the numbers 1 to {len(group.options)}.")
