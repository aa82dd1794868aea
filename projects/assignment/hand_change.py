"""What was done by hand last in a project, so that it can be undone."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from django.db import models
from django.utils import timezone

from annotation_service.db import store
from annotation_service.leaving import leavings
from annotation_service.models import Job, User

from .sharing import NOBODY, Holders
from .standing import Standing

# So long it can be undone.
KEPT = timedelta(days=1)


class HandChange(models.Model):
    """Who had the items that then changed hands, or were withheld from somebody, when items were given or taken by hand: kept for
    a day, or until that is done again in the project."""

    project = models.OneToOneField("projects.Project", on_delete=models.RESTRICT)
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    # For each of these items the people as `who_has` tells them.
    before = models.JSONField()

    def __str__(self) -> str:
        return self.text

    @classmethod
    def keep(cls, project: int, text: str, before: Mapping[str, Holders], after: Mapping[str, Holders]) -> None:
        """In the place of the one that was kept last, if anything has changed."""
        pairs = [(before[way], after[way]) for way in before]
        items = {item for was, now in pairs for item in was.keys() | now.keys() if was.get(item) != now.get(item)}
        kept = {way: {item: sorted(was.get(item, NOBODY)) for item in items} for way, was in before.items()}
        if items:
            cls.objects.filter(project=project).delete()
            cls.objects.create(project_id=project, text=text, before=kept)

    @property
    def items(self) -> list[int]:
        return [int(item) for item in self.before["dealt"]]

    @property
    def row_count(self) -> int:
        return sum(1 + len(people) for holders in self.before.values() for people in holders.values())

    def had(self, way: str, now: Standing) -> Holders:
        """Who had the items in one of the ways, among the items and people that are still in the project."""
        people = self.before[way]
        return {item: now.people.intersection(people[str(item)]) for item in now.keys}


def who_has(standing: Standing) -> dict[str, Holders]:
    """To whom each of the items is dealt, and given by hand, and from whom it is withheld."""
    by_hand = standing.by_hand
    dealt = {item: own for item, people in standing.assigned.items() if (own := people - by_hand.get(item, NOBODY))}
    return {"dealt": dealt, "given": by_hand, "withheld": standing.withheld}


def forget_name(person: User, addresses: Collection[str]) -> None:
    """Of somebody who leaves the service, in what is kept as a text: the last changes, and the answers of jobs that made such."""
    HandChange.objects.filter(text__contains=person.username).delete()
    for job in Job.objects.filter(kind__in=("by_hand", "undo_by_hand")):
        if person.username in job.result.get("text", ""):
            store(job, result={name: value for name, value in job.result.items() if name != "text"})


leavings.append(forget_name)
