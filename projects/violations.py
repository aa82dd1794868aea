"""The report of marks that break the constraints of their project."""

from collections.abc import Iterator
from typing import Any

from annotation_service.models import User
from datasets.models.violations import Broken

from .models import Project


class Report:
    """All violations in a project: of the marks that came with the dataset, and of each annotator's accepted ones."""

    def __init__(self, project: Project) -> None:
        self.broken = project.broken()
        self.labels = {label.pk: label for ontology in project.ontology_set.all() for label in ontology.labels()}
        people = {broken.annotator for broken in self.broken if broken.annotator}
        self.people = dict(User.objects.filter(pk__in=people).values_list("pk", "username"))
        positions = project.dataset.items().values_list("pk", flat=True) if self.broken else ()
        self.numbers = {pk: number for number, pk in enumerate(positions, start=1)}
        """The numbers of the items in the dataset, from 1, as in the bundle."""
        self.external_ids = dict(project.dataset.items().exclude(external_id="").values_list("pk", "external_id"))

    def by_rule(self) -> dict[tuple[str, int, int | None], list[Broken]]:
        """The violations of each rule: its kind, the set and the position in it."""
        rules: dict[tuple[str, int, int | None], list[Broken]] = {}
        for broken in self.broken:
            violation = broken.violation
            rules.setdefault((violation.kind, violation.set.pk, violation.position), []).append(broken)
        return rules

    def sentence(self, broken: Broken) -> str:
        return broken.violation.in_words(lambda pk: self.labels[pk].name)

    def entries(self) -> Iterator[dict[str, Any]]:
        """An object for each pair of entities and kind of rule, or relation, that is broken."""
        for broken in self.broken:
            violation = broken.violation
            yield {
                "item_id": self.numbers[broken.item],
                "external_id": self.external_ids.get(broken.item),
                "annotator": None if broken.annotator is None else self.people[broken.annotator],
                "rule": violation.kind,
                "set": violation.set.pk,
                "position": violation.position,
                "marks": list(broken.marks),
                "label": self.labels[violation.labels[1][0]].fullname if broken.relation else None,
            }
