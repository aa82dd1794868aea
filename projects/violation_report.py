"""The report of marks that break the constraints of their project."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet, Sum

from annotation_service import words
from annotation_service.db import snapshot
from annotation_service.inputs import whole_number
from annotation_service.models import User
from datasets.models import BrokenRule, Dataset, Layer
from datasets.models.broken import judge_of
from datasets.models.judged import BrokenPlace, broken_in, broken_rules, in_order, places_of
from ontologies.models import Ontology
from resources.judging import Judge
from resources.models import ConstraintSet, ResourceSet, rules_about
from resources.rules import EXAMPLES, RuleName, Tally, Violation

from .models import Project

GIVEN = "given"
"""Stands in addresses for the marks that came with the dataset."""
PLACES = 3
"""So many are shown of what breaks a rule in an item; the page of the item has more."""
ROWS_AT_ONCE = 500
# What was decided about an item is judged as well, but no report tells it: whose marks these are has no page here.
TOLD = Q(annotation__layer__in=(Layer.OWN, Layer.GIVEN))


def is_told(row: BrokenRule) -> bool:
    return row.annotation.layer != Layer.GOLD


def foreseen(dataset: Dataset, ontologies: Mapping[str, Ontology], sets: Collection[ConstraintSet]) -> Tally:
    """What the marks of a dataset would break with these ontologies, by kind, and constraint sets. Raises `Refused` if the
    ontologies do not have all labels."""
    return _tally(dataset, ontologies, sets, dataset.labels_in(ontologies))


def foreseen_in(project: Project, chosen: ResourceSet) -> Tally | None:
    """What the marks in a project would break if it had these constraints, too; nothing breaks preannotations. Raises `Refused`
    as above."""
    ontologies = {ontology.kind: ontology for ontology in project.ontology_set.all()}
    if not isinstance(chosen, ConstraintSet):
        chosen.labels_in(ontologies)
        return None
    return _tally(project.dataset, ontologies, [chosen], {})


def _tally(
    dataset: Dataset,
    ontologies: Mapping[str, Ontology],
    sets: Collection[ConstraintSet],
    stands_for: Mapping[int, int],
) -> Tally:
    rules = rules_about(sets, ontologies)
    if rules is None:
        return Tally(str)
    judge = Judge(rules, ontologies.values(), stands_for)
    tally = Tally(judge.name_of)
    with snapshot():  # items may come meanwhile, with marks
        numbers = numbers_of(dataset)
        for row in filter(is_told, broken_in(judge, list(numbers))):
            if tally.count(rules.broken(row.name), row.count):
                for _, places in places_of(judge, [row], EXAMPLES):
                    for place in places:
                        tally.show(place.violation, f"item {words.number(numbers[row.annotation.item_id])}")
    return tally


def numbers_of(dataset: Dataset) -> dict[int, int]:
    """The numbers of its items, from 1, as in the bundle."""
    return {pk: number for number, pk in enumerate(dataset.items().values_list("pk", flat=True), start=1)}


class ViolationReport:
    """How often marks break each rule of a project: those that came with the dataset, and each annotator's accepted ones.

    To be read in a `snapshot`: annotators change and remove marks meanwhile.
    """

    def __init__(self, project: Project, *, now: bool = False) -> None:
        """From what is kept or, if it shall be of ``now``, from the marks: then the ``rows`` are a list."""
        self.project, self.dataset = project, project.dataset
        self.judge = judge_of(self.dataset.pk)
        self.rows: list[BrokenRule] = []
        self.counts = Counter[tuple[RuleName, int | None]]()
        """By the rule and the person; None has those of the marks that came with the dataset."""
        if now:
            found = broken_in(self.judge, list(self.numbers)) if self.judge else ()
            self.rows = sorted(filter(is_told, found), key=in_order)
            counts: Any = ((row.rule, row.annotation.annotator_id, row.count) for row in self.rows)
        else:
            kept = broken_rules(self.dataset.pk).filter(TOLD).order_by()
            counts = kept.values_list("rule", "annotation__annotator").annotate(Sum("count"))
        for rule, person, count in counts:
            self.counts[RuleName.of(rule), person] += count
        self.total = self.counts.total()
        people = User.objects.filter(pk__in={person for _, person in self.counts if person})
        self.people = dict(people.values_list("pk", "username"))

    @cached_property
    def numbers(self) -> dict[int, int]:
        return numbers_of(self.dataset)

    @cached_property
    def fullnames(self) -> dict[int, str]:
        ontologies = self.project.ontology_set.all()
        return {label.pk: label.fullname for ontology in ontologies for label in ontology.labels()}

    def name_of(self, label: int) -> str:
        assert self.judge
        return self.judge.name_of(label)

    def broken(self, rule: RuleName) -> Violation:
        """How one of the rules is broken."""
        assert self.judge
        return self.judge.rules.broken(rule)

    def by_rule(self) -> dict[RuleName, Counter[int | None]]:
        """What is broken most comes first, each with how often everybody does."""
        rules: dict[RuleName, Counter[int | None]] = {}
        for (rule, person), count in self.counts.items():
            rules.setdefault(rule, Counter())[person] += count
        return dict(sorted(rules.items(), key=lambda found: -found[1].total()))

    def by_annotator(self) -> Counter[int | None]:
        """How often each breaks rules; what came with the dataset first."""
        people = Counter[int | None]()
        for (_, person), count in sorted(self.counts.items(), key=lambda found: found[0][1] or 0):
            people[person] += count
        return people

    def entries(self) -> Iterator[dict[str, Any]]:
        """An object for each place that is found: two entities and a kind of rule, or a relation, that is broken."""
        external_ids = dict(self.dataset.items().exclude(external_id="").values_list("pk", "external_id"))
        for row, places in self.places():
            item, rule = row.annotation.item_id, row.name
            for place in places:
                yield {
                    "item_id": self.numbers[item],
                    "external_id": external_ids.get(item),
                    "annotator": self.people.get(row.annotation.annotator_id or 0),
                    "rule": rule.kind,
                    "set": rule.set,
                    "position": rule.position,
                    "marks": list(place.marks),
                    "label": self.fullnames[place.violation.labels[1][0]] if place.relation else None,
                }

    def places(self) -> Iterator[tuple[BrokenRule, list[BrokenPlace]]]:
        """Of its ``rows``."""
        for first in range(0, len(self.rows), ROWS_AT_ONCE):
            assert self.judge
            yield from places_of(self.judge, self.rows[first : first + ROWS_AT_ONCE])


class Selection:
    """The violations that somebody wants to see: of a rule, of a person, or both; empty means all. So does what names no rule, as
    in addresses that were written down when rules were named otherwise."""

    def __init__(self, report: ViolationReport, *, rule: str, who: str) -> None:
        self.report, self.who = report, who
        try:
            self.rule = str(RuleName.of(rule))
        except ValueError:
            self.rule = ""

    def broken(self) -> QuerySet[BrokenRule]:
        """What came with the dataset first."""
        rows = broken_rules(self.report.dataset.pk).filter(TOLD)
        if self.rule:
            rows = rows.filter(rule=self.rule)
        if self.who:
            is_theirs = Q(annotation__annotator=whole_number(self.who) or 0)
            rows = rows.filter(Q(annotation__layer=Layer.GIVEN) if self.who == GIVEN else is_theirs)
        rows = rows.select_related("annotation__item").alias(is_own=Q(annotation__layer=Layer.OWN))
        return rows.order_by("is_own", "annotation__item__position", "annotation__annotator", "pk")

    def rules(self) -> list[dict[str, Any]]:
        """Every rule that is broken, with how often the chosen person breaks it; what is broken most comes first."""
        return [
            {
                "key": str(rule),
                "set": violation.set,
                "number": None if violation.position is None else violation.position + 1,
                "text": violation.rule_in_words(self.report.name_of),
                "count": sum(count for person, count in people.items() if self.who in ("", _who(person))),
            }
            for rule, people in self.report.by_rule().items()
            for violation in [self.report.broken(rule)]
        ]

    def people(self) -> list[dict[str, Any]]:
        """Everybody who breaks a rule, with how often they break the chosen one; those that came with the dataset first."""
        chosen = Counter[int | None]()
        for (rule, person), count in self.report.counts.items():
            chosen[person] += count if self.rule in ("", str(rule)) else 0
        return [
            {"key": _who(person), "name": self.report.people.get(person or 0, ""), "count": chosen[person]}
            for person in sorted(chosen, key=lambda person: person or 0)
        ]

    def rows(self, shown: Iterable[BrokenRule]) -> list[dict[str, Any]]:
        """Violations as the list has them: what breaks a rule in somebody's item, with some of the places."""
        judge = self.report.judge
        return [
            {
                "item": row.annotation.item,
                "person": row.annotation.annotator_id,
                "name": self.report.people.get(row.annotation.annotator_id or 0, ""),
                "places": places,
                "more": row.count - len(places),
            }
            for row, places in (places_of(judge, shown, PLACES) if judge else ())
        ]


def _who(annotator: int | None) -> str:
    return GIVEN if annotator is None else str(annotator)
