import statistics
from collections.abc import Iterator
from itertools import count

from projects.models import Project

from . import data
from .figures import Figure, benchmark, headline, median
from .service import Browser, Service

LINES = 100_000


@benchmark("copy")
def copy(service: Service) -> Iterator[Figure]:
    dataset, entities, relations = data.dataset(LINES), data.ontology(100), data.ontology(20, "relation")
    blueprints = {"dataset": dataset, "entity_ontology": entities, "relation_ontology": relations}
    browser = Browser(service, data.MANAGER)
    numbers = count()
    made = []

    def create() -> None:
        made.append(Project.create(name=f"Copy {next(numbers)}", by=data.manager(), **blueprints))

    def create_in_browser() -> None:
        keys = {name: thing.pk for name, thing in blueprints.items()}
        browser.follow(browser.submit("/projects/new/", expected=302, name=f"Copy {next(numbers)}", **keys))

    yield Figure(
        f"new project with a copy of {LINES:,} items, method, median of 3", median(3, create), "s", headline(0.6)
    )
    yield Figure("  by the form and the job, to visible, median of 3", median(3, create_in_browser), "s", headline(0.6))
    dataset.touch(entity_ontology=entities, relation_ontology=relations)
    data.add_marks(dataset, None, [entities, relations])
    yield Figure(
        "  with 30,000 entities and 15,000 relations, method, median of 3", median(3, create), "s", headline(0.6)
    )

    def delete() -> None:
        project = made.pop()
        browser.submit(f"/projects/{project.pk}/delete/", name=project.name)

    yield Figure("delete such a project, in the request, median of 3", median(3, delete), "s")


@benchmark("bundle")
def bundle(service: Service) -> Iterator[Figure]:
    project = data.project(10_000, name="Bundle")
    annotator = project.membership_set.filter(role="annotator")[0].user
    data.add_marks(project.dataset, annotator, [project.entity_ontology, project.relation_ontology])
    browser = Browser(service, data.MANAGER)
    path = f"/projects/{project.pk}/download/"
    made = median(5, lambda: browser.fetch(browser.submit(path, expected=302)))
    yield Figure("bundle of 10,000 items with 45,000 marks, click to file, median of 5", made, "s", headline(0.9))


@benchmark("download")
def download(service: Service) -> Iterator[Figure]:
    dataset = data.dataset(LINES)
    service.start()
    browser = Browser(service, data.MANAGER)
    browser.get(f"/datasets/{dataset.pk}/")
    service.forget_peaks()
    idle = service.memory("status", "VmRSS")
    path = f"/datasets/{dataset.pk}/download/json/"
    first, whole = (statistics.median(times) for times in zip(*(browser.download(path) for _ in range(5)), strict=True))
    yield Figure(f"download of {LINES:,} items as JSON, to the last byte, median of 5", whole, "s")
    yield Figure("  to the first byte", first, "s")
    yield Figure("  memory that it takes", service.memory("status", "VmHWM") - idle, "MB")
