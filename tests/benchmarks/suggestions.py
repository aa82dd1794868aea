"""What it costs to match preannotations with the items of a project, and to take in what a program suggests."""

import json
import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.conf import settings

from annotation_service.models import Job
from resources.models import PreannotationSet

from . import data
from .figures import WHILE_OTHERS_WORK, Figure, benchmark, felt, p50_p95, seconds
from .marks import ITEMS, Annotator, saving_while
from .service import Program, Service

LINES, FORMS = 100_000, 50_000
TEN_MINUTES, MORE_MEMORY = felt(600), felt(100)


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


EACH, PORTION = 10, 1000


@benchmark("sources")
def sources(service: Service) -> Iterator[Figure]:
    """Ten suggestions on each item, which a program sends for a thousand items at a time; with --long a million suggestions."""
    lines = 100_000 if service.long else 10_000
    project, others = data.project(lines, name="Suggested to"), data.project(ITEMS, name="Beside them")
    service.start()
    annotators = [Annotator(service, others, name) for name in data.ANNOTATORS[:8]]
    program, path = Program(service, data.manager()), f"/api/v1/projects/{project.pk}/sources/tagger"
    labels = [label.fullname for label in project.entity_ontology.labels()]
    keys = list(project.dataset.items().values_list("pk", flat=True))
    for annotator in annotators:
        annotator.save()  # loads what any first request does
    # Without what is mapped of the database's file, which grows with it.
    idle = peak = service.memory("status", "RssAnon")

    def push(version: str) -> None:
        nonlocal peak
        for start in range(0, lines, PORTION):
            documents = (
                {"id": pk, "entities": [_suggested(pk + n, n, labels) for n in range(EACH)]}
                for pk in keys[start : start + PORTION]
            )
            body = "\n".join(map(json.dumps, documents)).encode()
            program.send(f"{path}/suggestions?model_version={version}", body, "PUT")
            peak = max(peak, service.memory("status", "RssAnon"))

    for version, what in (("1", "push"), ("1", "the same again"), ("2", "another version, half of it new")):
        times, took = saving_while(annotators, partial(push, version))
        yield Figure(f"{what}: {lines * EACH:,} suggestions to {lines:,} items", took, "s", TEN_MINUTES)
        yield Figure("  ten saves a second of others meanwhile, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)
        labels = labels[:50] + labels[50:][::-1]
    yield Figure("  memory over idle, all processes", peak - idle, "MB", MORE_MEMORY)
    yield Figure("  figures of its page", seconds(partial(program.send, path)), "s")
    source = project.dataset.sources.get()
    times, took = saving_while(annotators, source.withdraw)
    yield Figure("withdraw all of it", took, "s", TEN_MINUTES)
    yield Figure("  ten saves a second of others meanwhile, p50 / p95", p50_p95(times), "ms", WHILE_OTHERS_WORK)


def _suggested(number: int, token: int, labels: list[str]) -> dict[str, Any]:
    return {"start": token, "end": token, "label": labels[number % len(labels)], "score": number % 100 / 100}


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
