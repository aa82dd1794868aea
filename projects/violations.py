"""The report of marks that break the constraints of their project."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from annotation_service import words
from annotation_service.db import snapshot
from annotation_service.models import User
from datasets.models import Dataset, Entity, Item
from datasets.models.violations import Broken, broken_in
from ontologies.models import Ontology
from resources.models import ConstraintSet, rules_about
from resources.rules import RuleName, Rules, Tally

from .models import Project

GIVEN = "given"
"""Stands in addresses for the marks that came with the dataset."""


def foreseen(dataset: Dataset, ontologies: Mapping[str, Ontology], sets: Collection[ConstraintSet]) -> Tally:
    """What the marks of a dataset would break with these ontologies, by kind, and constraint sets. Raises `Refused` if the
    ontologies do not have all labels."""
    return _tally(rules_about(sets, ontologies), dataset, ontologies, dataset.labels_in(ontologies))


def foreseen_in(project: Project, chosen: ConstraintSet) -> Tally:
    """What the marks in a project would break if it had these constraints, too. Raises `Refused` as above."""
    ontologies = {ontology.kind: ontology for ontology in project.ontology_set.all()}
    return _tally(rules_about([chosen], ontologies), project.dataset, ontologies)


def _tally(
    rules: Rules | None,
    dataset: Dataset,
    ontologies: Mapping[str, Ontology],
    labels: Mapping[int, int] | None = None,
) -> Tally:
    names = {label.pk: label.name for ontology in ontologies.values() for label in ontology.labels()}
    tally = Tally(names.__getitem__)
    with snapshot():  # items may come meanwhile, with marks
        numbers = numbers_of(dataset)
        for broken in broken_in(rules, dataset.pk, labels) if rules else ():
            tally.add(broken.violation, f"item {words.number(numbers[broken.item])}")
    return tally


def numbers_of(dataset: Dataset) -> dict[int, int]:
    """The numbers of its items, from 1, as in the bundle."""
    return {pk: number for number, pk in enumerate(dataset.items().values_list("pk", flat=True), start=1)}


class Report:
    """All violations in a project: of the marks that came with the dataset, and of each annotator's accepted ones.

    To be read in a `snapshot`: annotators change and remove marks meanwhile.
    """

    def __init__(self, project: Project) -> None:
        self.broken = project.broken()
        self.labels = {label.pk: label for ontology in project.ontology_set.all() for label in ontology.labels()}
        people = {broken.annotator for broken in self.broken if broken.annotator}
        self.people = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
        self.dataset = project.dataset

    @cached_property
    def numbers(self) -> dict[int, int]:
        return numbers_of(self.dataset)

    def by_rule(self) -> dict[RuleName, list[Broken]]:
        """The violations of each rule."""
        rules: dict[RuleName, list[Broken]] = {}
        for broken in self.broken:
            rules.setdefault(broken.violation.rule, []).append(broken)
        return rules

    def by_position(self, set_pk: int) -> dict[int, list[RuleName]]:
        """What is broken of each row of a set, by its position, once for each violation."""
        rows: dict[int, list[RuleName]] = {}
        for broken in self.broken:
            rule = broken.violation.rule
            if rule.set == set_pk and rule.position is not None:
                rows.setdefault(rule.position, []).append(rule)
        return rows

    def by_annotator(self) -> Counter[int | None]:
        """How many violations each person has; None has those of the marks that came with the dataset."""
        return Counter(broken.annotator for broken in self.broken)

    def name_of(self, label: int) -> str:
        return self.labels[label].name

    def sentence(self, broken: Broken) -> str:
        return broken.violation.in_words(self.name_of)

    def entries(self) -> Iterator[dict[str, Any]]:
        """An object for each pair of entities and kind of rule, or relation, that is broken."""
        external_ids = dict(self.dataset.items().exclude(external_id="").values_list("pk", "external_id"))
        for broken in self.broken:
            violation = broken.violation
            yield {
                "item_id": self.numbers[broken.item],
                "external_id": external_ids.get(broken.item),
                "annotator": None if broken.annotator is None else self.people[broken.annotator],
                "rule": violation.kind,
                "set": violation.set.pk,
                "position": violation.position,
                "marks": list(broken.marks),
                "label": self.labels[violation.labels[1][0]].fullname if broken.relation else None,
            }


class Selection:
    """The violations that somebody wants to see: of a rule, of a person, or both; empty means all."""

    def __init__(self, report: Report, *, rule: str, who: str) -> None:
        self.report, self.rule, self.who = report, rule, who
        of_rule = [broken for broken in report.broken if rule in ("", str(broken.violation.rule))]
        of_person = [broken for broken in report.broken if who in ("", _who(broken.annotator))]
        self.broken = [broken for broken in of_rule if who in ("", _who(broken.annotator))]
        self._by_rule = Counter(broken.violation.rule for broken in of_person)
        self._by_person = Counter(broken.annotator for broken in of_rule)

    def rules(self) -> list[dict[str, Any]]:
        """Every rule that is broken, with how often the chosen person breaks it; what is broken most comes first."""
        most_first = sorted(self.report.by_rule().items(), key=lambda found: -len(found[1]))
        found = [(rule, broken[0].violation) for rule, broken in most_first]
        return [
            {
                "key": str(rule),
                "set": violation.set,
                "number": None if violation.position is None else violation.position + 1,
                "text": violation.rule_in_words(self.report.name_of),
                "count": self._by_rule[rule],
            }
            for rule, violation in found
        ]

    def people(self) -> list[dict[str, Any]]:
        """Everybody who breaks a rule, with how often they break the chosen one; those that came with the dataset first."""
        return [
            {"key": _who(person), "name": self.report.people.get(person or 0, ""), "count": self._by_person[person]}
            for person in self.report.by_annotator()
        ]

    def rows(self, shown: Iterable[Broken]) -> list[dict[str, Any]]:
        """Violations as the list has them, with the words of the two marks."""
        shown = list(shown)
        items = Item.objects.in_bulk([broken.item for broken in shown])
        uids = {uid for broken in shown for uid in broken.marks}
        ends = Entity.objects.filter(annotation__item__in=items, uid__in=uids)
        places: dict[tuple[int, int | None, str], list[int]] = {
            (item, annotator, uid): place
            for item, annotator, uid, *place in ends.values_list(
                "annotation__item", "annotation__annotator", "uid", "start", "end"
            )
        }
        return [
            {
                "item": items[broken.item],
                "number": self.report.numbers[broken.item],
                "person": broken.annotator,
                "name": self.report.people.get(broken.annotator or 0, ""),
                "mark": broken.relation or broken.marks[0],
                "text": self.report.sentence(broken),
                "words": [
                    items[broken.item].cleaned.between(*places[broken.item, broken.annotator, uid])
                    for uid in broken.marks
                ],
            }
            for broken in shown
        ]


def _who(annotator: int | None) -> str:
    return GIVEN if annotator is None else str(annotator)
