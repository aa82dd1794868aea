"""What programs ask for: small answers, what has changed since, and all marks of a project."""

from collections.abc import Iterator
from functools import partial

from django.utils import timezone

from annotation_service.models import User

from . import data
from .figures import Figure, benchmark, felt, milliseconds, seconds
from .marks import Annotator
from .service import Program, Service

LINES, CHANGED = 100_000, 20
ALL_DAY, ADDS_UP, MORE_MEMORY = felt(None, 100), felt(None, 200), felt(60)


@benchmark("programs")
def programs(service: Service) -> Iterator[Figure]:
    """In a project of 100,000 items that two people have marked, of which one has changed twenty just now."""
    project = data.project(LINES, name="Read by programs")
    for name in data.ANNOTATORS[:2]:
        data.mark_every_item(project.dataset, User.objects.get(username=name), project.entity_ontology)
    service.start()
    program, of_project = Program(service, data.manager()), f"/api/v1/projects/{project.pk}"
    since = timezone.now()
    changing = Annotator(service, project, data.ANNOTATORS[2])
    for _ in range(CHANGED):
        changing.save()
    asked = {
        "a project": of_project,
        "an item": f"/api/v1/datasets/{project.dataset.pk}/items/{project.dataset.items()[0].pk}",
        "100 annotations": f"{of_project}/annotations?limit=100",
        "the last 100": f"{of_project}/annotations?limit=100&cursor={LINES - 51}-0",
        f"the {CHANGED // 5} that have changed": f"{of_project}/annotations?changed_since={since:%Y-%m-%dT%H:%M:%S.%fZ}",
    }
    for what, path in asked.items():
        budget = ADDS_UP if path == of_project else ALL_DAY
        yield Figure(f"read {what}, p50 / p95", milliseconds(100, partial(program.send, path)), "ms", budget)
    # Without what is mapped of the database's file.
    idle = peak = service.memory("status", "RssAnon")
    for what, query in (("all annotations", ""), ("all that have ever changed", "?changed_since=2000-01-01T00:00:00Z")):
        took = seconds(partial(program.lines, f"{of_project}/annotations{query}"))
        yield Figure(f"stream {what} of {LINES:,} items by two people", took, "s")
        peak = max(peak, service.memory("status", "RssAnon"))
    yield Figure("  memory over idle, all processes", peak - idle, "MB", MORE_MEMORY)
