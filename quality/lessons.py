"""What was decided differently from somebody’s own marks, for them to learn from."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.models import User
from annotation_service.paging import Page
from datasets.models import Item
from projects import access
from projects.models import Project

from .models import GoldDecision, Verdict
from .models.decision import in_force
from .voices import Said, Trees, said

PAGE_SIZE = 20


class Overruling(NamedTuple):
    """What somebody marked at a place, and what was decided; nothing at all may be either."""

    own: list[Said]
    gold: list[Said]


class Decided(NamedTuple):
    decision: GoldDecision
    item: Item
    lessons: list[Overruling]


@require_GET
def lessons(request: Request, pk: int) -> HttpResponse:
    """The decisions against the user’s own marks in items that are decided, the newest first."""
    project = access.project(request, pk, Right.LOOK)
    found = decisions_against(project, request.user).order_by("-pk")
    page = Page.of(found, request.GET.get("page"), size=PAGE_SIZE)
    context = {"section": "projects", "project": project, "page": page}
    context["rows"] = decided_against(project, request.user, list(page.object_list))
    return render(request, "quality/lessons.html", context)


def decisions_against(project: Project, person: User) -> QuerySet[GoldDecision]:
    if not project.shows_decisions:
        raise PermissionDenied("In this project, what is decided is not shown to annotators.")
    return GoldDecision.objects.filter(
        overruled__person=person,
        undone_at=None,
        annotation__done_at__isnull=False,
        annotation__item__dataset__project=project,
        annotation__item__removed_at=None,
    ).select_related("by", "annotation__item")


def decided_against(project: Project, person: User, decisions: Sequence[GoldDecision]) -> list[Decided]:
    """Each decision with what is still in force of it."""
    trees = Trees(project.ontology_set.all())
    last: dict[tuple[int, str], int] = {}
    of_decision: dict[int, list[Verdict]] = defaultdict(list)
    for verdict in in_force([decision.annotation for decision in decisions]):
        last[verdict.annotation_id, verdict.what] = verdict.pk
        of_decision[verdict.decision_id].append(verdict)
    rows = []
    for decision in decisions:
        item, places = decision.annotation.item, defaultdict[int, list[Verdict]](list)
        for verdict in of_decision[decision.pk]:
            if last[verdict.annotation_id, verdict.what] == verdict.pk:
                places[verdict.place].append(verdict)
        found = [_lesson(item, trees, person.pk, verdicts) for verdicts in places.values()]
        rows.append(Decided(decision, item, [lesson for lesson in found if lesson]))
    return rows


def _lesson(item: Item, trees: Trees, person: int, verdicts: Sequence[Verdict]) -> Overruling | None:
    known = [verdict for verdict in verdicts if verdict.mark.label in trees.labels]  # or deleted since
    own = [verdict for verdict in known if person in verdict.people]
    gold = [verdict for verdict in known if verdict.is_taken]
    if {verdict.what for verdict in own} == {verdict.what for verdict in gold}:
        return None
    return Overruling(*([said(item, trees, each.mark) for each in some] for some in (own, gold)))
