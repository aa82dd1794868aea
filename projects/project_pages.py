"""The pages of a project: its tabs, and what the command palette finds of the project that one is in."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode

from annotation_service.blueprints import Right
from annotation_service.http import Request
from annotation_service.inputs import whole_number
from annotation_service.paging import named
from annotation_service.views import MOST, Hit
from resources.models import ConstraintSet

from . import access
from .models import Project
from .roles import ROLES, getting_items


class ProjectPage(NamedTuple):
    name: str
    address: str  # of the page, with the place in it
    right: Right
    words: str = ""  # by which it is found, too

    def url(self, project: Project) -> str:
        address, _, place = self.address.partition("#")
        return reverse(address, args=[project.pk]) + (place and f"#{place}")


TABS = {
    "page": ProjectPage(
        "Overview", "projects:page", Right.SEE, "project figures progress statistics assignment resources"
    ),
    "items": ProjectPage("Items", "projects:items", Right.READ, "texts give take"),
    "review": ProjectPage("Review", "quality:reviews", Right.READ, "adjudication gold disputes compare decide"),
    "agreement": ProjectPage(
        "Agreement", "quality:agreement", Right.READ, "kappa alpha F1 confusion calibration compare"
    ),
    "graph": ProjectPage("Graph", "graph:page", Right.READ, "nodes edges triples knowledge network merge RDF export"),
    "people": ProjectPage("People", "projects:people", Right.READ, "members annotators roles invite"),
    "comments": ProjectPage("Comments", "projects:comments", Right.SEE, "flags questions answers"),
    "settings": ProjectPage("Settings", "projects:settings", Right.KEEP, "archive duplicate delete"),
}
PAGES = (
    *TABS.values(),
    ProjectPage("Guidelines", "projects:page#guidelines", Right.SEE, "instructions"),
    ProjectPage("Download", "projects:page#download", Right.KEEP, "export bundle zip"),
    ProjectPage("Webhooks", "api:webhooks", Right.MANAGE, "programs events notify integration api"),
    ProjectPage("Broken rules", "projects:violations", Right.READ, "constraints violations report"),
    ProjectPage("Annotate", "annotations:start", Right.ANNOTATE, "work mark next"),
    ProjectPage("Your items", "annotations:items", Right.ANNOTATE, "list done left"),
    ProjectPage("What you marked", "annotations:own_marks", Right.ANNOTATE, "own marks"),
    ProjectPage("Batches", "annotations:batches", Right.ANNOTATE, "all alike undo"),
)


def find_in_project(request: Request, text: str) -> Iterator[Hit]:
    """Of the project that one is in: its pages and, for those who read everybody's work, its members."""
    key = whole_number(request.GET.get("project", "")) or 0
    project = access.projects(request.user).filter(pk=key).first()
    if project is None:
        return
    rights, wanted = project.rights_of(request.user), text.casefold().split()
    for name, words, url in _pages(project, rights):
        if all(word in f"{name} {words}".casefold() for word in wanted):
            yield Hit("This project", name, project.name, url)
    if Right.READ in rights:
        members = project.membership_set.select_related("user").order_by("user__username_folded")
        names = ("user__username", "user__first_name", "user__last_name")
        for member in named(members, text, *names)[:MOST]:
            page, field = ("items", "person") if member.role in getting_items() else ("people", "q")
            url = f"{TABS[page].url(project)}?{urlencode({field: member.user_id if page == 'items' else str(member.user)})}"
            yield Hit("People", str(member.user), f"{ROLES[member.role]} in {project}: {page}", url)


def _pages(project: Project, rights: Collection[Right]) -> Iterator[tuple[str, str, str]]:
    """Names, further words and addresses of what somebody may open."""
    for page in PAGES:
        if page.right in rights:
            yield page.name, page.words, page.url(project)
    edited: list[Any] = [*project.ontology_set.order_by("kind")]
    if Right.READ in rights:
        dataset = project.dataset
        yield f"Dataset: {dataset}", "texts", dataset.get_absolute_url()
        yield f"Statistics: {dataset}", "dataset figures vocabulary", reverse("datasets:statistics", args=[dataset.pk])
        edited += project.constraint_sets()
    for thing in edited:
        words = "rules" if isinstance(thing, ConstraintSet) else "ontology labels"
        yield f"{thing.kind_in_words.capitalize()}: {thing}", words, thing.get_absolute_url()
        yield f"History: {thing}", f"{words} changes undo", f"{thing.get_absolute_url()}history/"
