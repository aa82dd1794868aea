"""What it costs to match preannotations with the items of a project."""

import json
import random
import time
from collections.abc import Iterator

from django.conf import settings

from annotation_service.models import Job
from resources.models import PreannotationSet

from . import data
from .figures import Figure, benchmark
from .service import Service

LINES, FORMS = 100_000, 50_000


@benchmark("suggest")
def suggest(service: Service) -> Iterator[Figure]:
    """Frequent words and rare phrases, all from the texts: more than 400,000 suggestions."""
    service.environment["PREANNOTATION_RESOURCES"] = "1"
    settings.PREANNOTATION_RESOURCES = True
    project = data.project(LINES, name="Suggested")
    blueprint = PreannotationSet.create(
        kind="entity",
        source=json.dumps([{"surface_form": form, "label": f"Label {n % 10}"} for n, form in enumerate(_forms())]),
        name="Forms",
        owner=data.manager(),
        entity_ontology=project.entity_ontology.copied_from,
    )
    service.start()
    service.forget_peaks()
    idle = service.memory("status", "VmRSS")
    what = f"match {FORMS:,} preannotations with {LINES:,} items"
    yield Figure(f"{what}, by the job", _seconds(project.put_set(blueprint, by=data.manager())), "s")
    yield Figure("  peak memory over idle, all processes", service.memory("status", "VmHWM") - idle, "MB")
    yield Figure("  the same again", _seconds(project.match_preannotations(by=data.manager())), "s")


def _forms() -> list[str]:
    rng = random.Random(2)
    lines = [line.rstrip(".").split() for line in data.text(LINES).splitlines()]
    forms = dict.fromkeys(rng.choice(line[1:-1]) for line in lines[:500])
    while len(forms) < FORMS:
        line = rng.choice(lines)
        start = rng.randrange(1, 11)
        forms[" ".join(line[start : start + rng.randint(2, 3)])] = None
    return list(forms)


def _seconds(job: Job | None) -> float:
    """From now to the end of a job."""
    assert job
    started = time.perf_counter()
    while not Job.objects.get(pk=job.pk).is_over:
        time.sleep(0.05)
    return time.perf_counter() - started
