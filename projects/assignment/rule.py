"""The rule by which a project gives its items to its annotators."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from django.db.models import F, Q
from django.db.models.lookups import GreaterThanOrEqual, IsNull

from annotation_service import words
from annotation_service.inputs import Refused

MAX_CALIBRATION = 500  # an annotator's first mark in an item looks at all of them


@dataclass(frozen=True, slots=True)
class Numbers:
    """Those that a field of the rule takes."""

    name: str
    least: int
    most: int

    def __str__(self) -> str:
        return f"A whole number from {self.least} to {self.most} was expected."


NUMBERS = {
    "annotators_per_item": Numbers("Annotators per item", 1, 100),
    "overlap": Numbers("Sample for everybody", 0, 99),
    "calibration": Numbers("Calibration set", 0, MAX_CALIBRATION),
}


class GivesItems:
    """A rule that says which items are for everybody."""

    __slots__ = ()

    def for_all(self, item: str = "") -> Q:
        """Those among the items of a project that are for everybody."""
        raise NotImplementedError

    def given(self, assigned: Q, withheld: Q, item: str = "") -> Q:
        """The items that somebody has: those for everybody and those assigned to them, without those withheld from them."""
        return (self.for_all(item) | assigned) & ~withheld


@dataclass(frozen=True, slots=True)
class AssignmentRule(GivesItems):
    """Its fields are also those of the project.

    Everybody gets every item or, with ``annotators_per_item``, each item goes to so many people: except ``overlap`` percent of
    them, evenly spread, and the items numbered 1 to ``calibration``, which go to everybody. Whoever has not done the latter
    gets no others yet.
    """

    annotators_per_item: int | None = None
    overlap: int = 0
    calibration: int = 0

    def check(self) -> None:
        """Raises `Refused` for what makes no sense."""
        for name, value in self.values.items():
            numbers = NUMBERS[name]
            if value is not None and not numbers.least <= value <= numbers.most:
                raise Refused(str(numbers), place=numbers.name)
        if self.overlap and self.annotators_per_item is None:
            raise Refused("Where everybody gets every item, there is no sample for everybody.")

    @property
    def values(self) -> dict[str, Any]:
        """For a project's fields."""
        return asdict(self)

    def for_all(self, item: str = "") -> Q:
        if self.annotators_per_item is None:
            return ~Q(pk__in=())
        if not (self.overlap or self.calibration):
            return Q(pk__in=())
        sampled: Any = GreaterThanOrEqual(F(f"{item}position") * self.overlap % 100, 100 - self.overlap)
        first = Q(**{f"{item}position__lt": self.calibration})
        return Q(IsNull(self.annotators_per_item, True)) | first | Q(sampled)

    def __str__(self) -> str:
        sentences = [f"{self._who}."]
        if self.calibration:
            first = (
                f"The first {words.number(self.calibration)} items are" if self.calibration > 1 else "The first item is"
            )
            sentences.append(f"{first} for everybody, and the others follow when a person has done them.")
        return " ".join(sentences)

    def stored_in_words(self) -> str:
        """What whoever stores it is told."""
        return f"{self} What was begun has stayed where it was."

    @property
    def _who(self) -> str:
        if self.annotators_per_item is None:
            return "Everybody gets every item"
        people = words.plural(self.annotators_per_item, "annotator,annotators")
        if self.overlap:
            return f"{self.overlap} % of the items go to everybody, each of the others to {people}"
        return f"Each item goes to {people}"


@dataclass(frozen=True, slots=True)
class RuleInChange(GivesItems):
    """While one rule takes the place of another, it binds the items at positions below a number, which goes up."""

    before: AssignmentRule
    after: AssignmentRule
    below: Any

    @classmethod
    def of_projects(cls, item: str = "") -> Self:
        """That of each item's own project, for queries about several. ``item`` leads to the item, as in ``item__``."""
        project = f"{item}dataset__project__"
        before: Any = [F(f"{project}{field}") for field in NUMBERS]
        after: Any = [F(f"{project}next_{field}") for field in NUMBERS]
        return cls(AssignmentRule(*before), AssignmentRule(*after), F(f"{project}next_below"))

    def for_all(self, item: str = "") -> Q:
        gone_over = Q(**{f"{item}position__lt": self.below})
        not_yet = Q(**{f"{item}position__gte": self.below})
        return gone_over & self.after.for_all(item) | not_yet & self.before.for_all(item)
