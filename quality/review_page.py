"""An item in review on the screen: its rows, its disputes, and what can be chosen."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Count
from django.utils.crypto import salted_hmac

from annotation_service import words
from annotation_service.models import User
from datasets.cleaned import key_of
from datasets.models import Entity, Layer
from ontologies.labels import Label
from projects.models import Project

from .comparison import GIVEN_VOICE, EntityMark, Likeness, Option
from .deciding import GroupState
from .models import GoldDecision
from .review import Review, Seen
from .side_by_side import MOST, ShownMark, TextColumn, TextRow, columns
from .voices import said

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SHOWN_DECISIONS = 50
SHOWN_GROUPS = 200
STATES = {
    GroupState.OPEN: "dispute",
    GroupState.DECIDED: "decided",
    GroupState.AGREED: "agreed",
    GroupState.WAITS: "waits for its ends",
    GroupState.FALLS: "has lost its ends",
}


class ShownOption(NamedTuple):
    """An option with its key, and the letters of those who say so."""

    key: str
    option: Option
    words: str
    label: Label
    letters: str
    is_taken: bool


@dataclass
class ShownGroup:
    number: int
    seen: Seen
    options: list[ShownOption]
    title: str
    kind: str
    """Such as “Same words, other label: 1 step apart in the tree”."""
    path: str = ""
    is_now: bool = False

    @property
    def state(self) -> str:
        return self.seen.standing.state.value

    @property
    def state_in_words(self) -> str:
        return STATES[self.seen.standing.state]

    @property
    def is_open(self) -> bool:
        return self.seen.standing.state == GroupState.OPEN

    @property
    def is_relation(self) -> bool:
        return self.seen.standing.group.is_relation


@dataclass
class ReviewPage:
    """``at`` is the number of a group, which is then the one to decide about; ``start`` the first word that is shown."""

    review: Review
    user: User
    at: int | None = None
    after: int | None = None
    """Without ``at``: the first dispute behind this one is."""
    start: int | None = None
    groups: list[ShownGroup] = field(init=False)

    def __post_init__(self) -> None:
        self.people, self._text = people_of(self.review), self.review.item.cleaned
        self.groups = [self._group(number, seen) for number, seen in enumerate(self.review.seen)]
        self._choose()
        begin = self.first_token(self.now) // MOST * MOST if self.start is None and self.now else self.start or 0
        self.first = min(begin, max(0, self.review.item.token_count - 1))

    def _choose(self) -> None:
        """The group to decide about."""
        left = [group for group in self.groups if group.is_open]
        later = (group for group in left if self.after is None or group.number > self.after)
        now = next(later, left[0] if left else None)
        if self.at is not None and self.at < len(self.groups):
            now = self.groups[self.at]
        if now:
            now.is_now = True

    @property
    def now(self) -> ShownGroup | None:
        return next((group for group in self.groups if group.is_now), None)

    @property
    def disputes(self) -> list[ShownGroup]:
        return [group for group in self.groups if group.is_open]

    @property
    def others(self) -> list[ShownGroup]:
        return [group for group in self.groups if not group.is_open]

    @property
    def listed(self) -> list[ShownGroup]:
        """Of the others, so many that all can be looked through."""
        return self.others[:SHOWN_GROUPS]

    @property
    def relations(self) -> list[ShownGroup]:
        return [group for group in self.groups if group.is_relation]

    @property
    def dispute_number(self) -> int:
        """Which of the disputes is the one to decide about, counted from 1; 0 if it is none."""
        return next((n for n, group in enumerate(self.disputes, start=1) if group.is_now), 0)

    def first_token(self, group: ShownGroup) -> int:
        mark = group.options[0].option.mark
        return int(mark.source.start if mark.is_relation else mark.start)

    # --- Words ---

    def _label(self, mark: Any) -> Label:
        return self.review.trees.labels[mark.label]

    def _group(self, number: int, seen: Seen) -> ShownGroup:
        standing, options = seen.standing, []
        for key, option in enumerate(standing.group.options, start=1):
            letters = ", ".join(sorted(self.people[who].letter for who in option.who))
            in_words = said(self.review.item, self.review.trees, option.mark)
            options.append(ShownOption(str(key), option, *in_words, letters, option in standing.taken))
        kind, path = self._kind(seen)
        return ShownGroup(number, seen, options, options[0].words, kind, path)

    def _kind(self, seen: Seen) -> tuple[str, str]:
        """How the marks of a group differ, and where their labels stand in the tree."""
        group, why = seen.standing.group, seen.standing.why
        if why:
            return f"Agreed, but it cannot be taken over: {why}", ""
        likenesses = group.likenesses
        labels = list(dict.fromkeys(option.mark.label for option in group.options))
        if Likeness.LABEL in likenesses and len(labels) > 1:
            steps = words.plural(self.review.trees.apart(*labels[:2]), "step,steps")
            same = "Same ends, other relation" if group.is_relation else "Same words, other label"
            path = max((self.review.trees.labels[pk].fullname for pk in labels), key=len)
            return f"{same}: {steps} apart in the tree", path.replace("/", " › ")
        if Likeness.LABEL in likenesses:
            return "Same ends, other direction", ""
        if Likeness.SPAN in likenesses:
            return "Same label, other words", ""
        if Likeness.ENDS in likenesses:
            return "Same relation, whose ends differ", ""
        count = len(group.options[0].who)
        if count == len(self.review.voices):
            return "Everybody says so", ""
        return f"Only {group_letters(self.people, group.options[0].who)} of {len(self.review.voices)} people", ""

    # --- The text ---

    @property
    def token_count(self) -> int:
        return self.review.item.token_count

    @property
    def earlier(self) -> int:
        return max(0, self.first - MOST)

    @property
    def end(self) -> int:
        return min(self.first + MOST, self.token_count)

    @cached_property
    def rows(self) -> list[TextRow]:
        rows = [self.people[voice.who] for voice in self.review.voices]
        numbers = {mark: group for group in self.groups for mark in group.seen.standing.group.marks}
        for voice, row in zip(self.review.voices, rows, strict=True):
            row.marks = [
                ShownMark(mark, self._label(mark), numbers[mark].number, _look(numbers[mark]))
                for mark in voice.marked.entities
                if self._is_shown(mark)
            ]
        return [*sorted(rows, key=lambda row: row.letter), self._gold(numbers)]

    def _gold(self, numbers: dict[Any, ShownGroup]) -> TextRow:
        """What is stored, what the rule takes over, and what is undecided, each in its way."""
        marks = []
        for mark in filter(self._is_shown, self.review.marked.entities):
            group = numbers.get(mark)
            marks.append(ShownMark(mark, self._label(mark), group.number if group else -1, "stored"))
        for group in self.groups:
            if group.is_relation:
                continue
            for option in group.seen.standing.taken:
                if option.mark not in self.review.marked.entities and self._is_shown(option.mark):
                    votes = f"{len(option.who)} of {len(self.review.voices)}"
                    marks.append(ShownMark(option.mark, self._label(option.mark), group.number, "coming", votes))
            mark = group.options[0].option.mark
            if group.is_open and not group.seen.decision and self._is_shown(mark):
                marks.append(ShownMark(mark, self._label(mark), group.number, "coming awaited", "undecided"))
        settled = sum(not group.is_open for group in self.groups)
        return TextRow("★", "Gold", marks, f"{settled} of {len(self.groups)}", is_gold=True)

    def _is_shown(self, mark: EntityMark) -> bool:
        return mark.start < self.end and mark.end >= self.first

    @property
    def columns(self) -> list[TextColumn]:
        return columns(self._text, self.rows, self.first, self.end)

    # --- Beside it ---

    def before(self) -> list[tuple[Label, int]]:
        """How the words of the group are labelled in the gold of other items."""
        if not self.now or self.now.is_relation:
            return []
        mark = self.now.options[0].option.mark
        key = key_of(self.review.item.tokens[mark.start : mark.end + 1])
        gold = Entity.objects.filter(
            words_key=key,
            status="accepted",
            annotation__layer=Layer.GOLD,
            annotation__item__dataset=self.review.item.dataset_id,
        ).exclude(annotation__item=self.review.item)
        counts = gold.order_by().values_list("label").annotate(count=Count("pk")).order_by("-count")[:5]
        return [
            (self.review.trees.labels[label], count) for label, count in counts if label in self.review.trees.labels
        ]

    @property
    def undoable(self) -> GoldDecision | None:
        return self.review.last_of(self.user)

    @property
    def redoable(self) -> GoldDecision | None:
        return self.review.undone_by(self.user)

    def history(self) -> list[GoldDecision]:
        if self.review.gold is None:
            return []
        found = GoldDecision.objects.filter(annotation=self.review.gold).select_related("by").order_by("-pk")
        return list(found[:SHOWN_DECISIONS])


def _look(group: ShownGroup) -> str:
    return f"{group.state}{' now' if group.is_now else ''}"


def group_letters(people: dict[int, TextRow], who: Iterable[int]) -> str:
    return words.listed(sorted(people[each].letter for each in who))


def people_of(review: Review) -> dict[int, TextRow]:
    """A row for each voice. Where names are hidden, another letter stands for the same person in each item."""
    project: Project = review.project
    keys = [voice.who for voice in review.voices]
    names = dict(User.objects.filter(pk__in=keys).values_list("pk", "username")) | {GIVEN_VOICE: "the dataset"}
    if project.is_blind:
        order = sorted(keys, key=lambda key: salted_hmac("quality.letters", f"{review.item.pk} {key}").hexdigest())
    else:
        order = sorted(keys, key=lambda key: names[key].casefold())
    letters = [*LETTERS, *(f"{a}{b}" for a in LETTERS for b in LETTERS)]
    return {
        key: TextRow(letter, "" if project.is_blind else names[key])
        for key, letter in zip(order, letters, strict=False)
    }
