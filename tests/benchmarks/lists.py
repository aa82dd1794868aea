from collections.abc import Iterator

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation_service.models import User
from datasets.models import Dataset
from ontologies.models import Ontology
from projects.models import Membership, Project

from . import data
from .figures import ADDING_UP, ALL_DAY, PATIENCE, Figure, benchmark, felt, headline, milliseconds, seconds
from .service import Browser, Service

LINES = 100_000


@benchmark("queries")
def queries(service: Service) -> Iterator[Figure]:
    """Counted in this process, with all middleware."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(data.manager())
    project = data.project(1000, name="Queries")
    lists = {name: f"/{name}/" for name in ("ontologies", "datasets", "projects")}
    paths = {"home page": "/", **lists, "project page": f"/projects/{project.pk}/"}
    numbers = {}
    for rows in (10, 200):
        _fill(project, rows)
        dataset = data.dataset(rows, name="Queries")
        numbers[rows] = {what: _queries(client, path) for what, path in paths.items()}
        numbers[rows]["dataset page"] = _queries(client, f"/datasets/{dataset.pk}/")
    for what, few in numbers[10].items():
        yield Figure(f"queries with 200 rows, budget: as many as with 10: {what}", numbers[200][what], "", felt(few))


def _queries(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(path).status_code == 200, path
    return len(captured)


def _fill(project: Project, rows: int) -> None:
    """So many ontologies, datasets, projects and members, at least."""
    owner = data.manager()
    for number in range(Ontology.objects.filter(project=None).count(), rows):
        Ontology.create(kind="entity", name=f"Ontology {number}", owner=owner)
    for number in range(Dataset.objects.filter(project=None).count(), rows):
        Dataset.objects.create(kind="standard", name=f"Dataset {number}", owner=owner)
    for number in range(Project.objects.count(), rows):
        Project.objects.create(name=f"Project {number}", created_by=owner).add_members([owner], role="manager")
    for number in range(project.membership_set.count(), rows):
        user = User.objects.create(username=f"member{number}")
        Membership.objects.create(project=project, user=user, role="annotator")


@benchmark("progress")
def progress(service: Service) -> Iterator[Figure]:
    """Of 25 projects, each with 1,000 items on which 8 people have worked."""
    for number in range(25):
        data.annotate_every_item(data.project(1000, name=f"Progress {number}"))
    browser = Browser(service, data.MANAGER)
    yield Figure(
        "project list with 200,000 annotations, counted for the first time",
        seconds(lambda: browser.get("/projects/")),
        "s",
        PATIENCE,
    )
    for what, path in (("home page", "/"), ("project list", "/projects/")):
        p50, p95 = milliseconds(30, lambda path=path: browser.get(path))
        yield Figure(f"{what} with 200,000 annotations, p50 / p95", (p50, p95), "ms", ADDING_UP)


@benchmark("list")
def item_list(service: Service) -> Iterator[Figure]:
    dataset = data.dataset(LINES)
    browser = Browser(service, data.MANAGER)
    frequent, rare = "ba", data.text(LINES).split()[-4]
    for what, query, budget in (
        ("first page", "", 20),
        ("last page", "?page=99999", 25),
        (f"search “{frequent}”, in nearly every item", f"?q={frequent}", 60),
        (f"search “{rare}”, in few items", f"?q={rare}", 60),
        ("search without a result", "?q=nowhere", 60),
    ):
        p50, p95 = milliseconds(50, lambda path=f"/datasets/{dataset.pk}/{query}": browser.get(path))
        yield Figure(f"item list at {LINES:,}, {what}, p50 / p95", (p50, p95), "ms", headline(None, budget))
    for what, query in (("sorted by length, last page", "?sort=tokens&page=99999"), ("without entities", "?has=none")):
        p50, p95 = milliseconds(20, lambda path=f"/datasets/{dataset.pk}/{query}": browser.get(path))
        yield Figure(f"item list at {LINES:,}, {what}, p50 / p95", (p50, p95), "ms", ALL_DAY)
    counted = seconds(lambda: browser.get(f"/datasets/{dataset.pk}/statistics/figures/"))
    yield Figure(f"statistics of {LINES:,} items, the first time", counted, "s", PATIENCE)
    p50, p95 = milliseconds(20, lambda: browser.get(f"/datasets/{dataset.pk}/statistics/figures/"))
    yield Figure(f"statistics of {LINES:,} items, again, p50 / p95", (p50, p95), "ms", ADDING_UP)
