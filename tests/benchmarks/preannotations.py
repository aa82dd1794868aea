"""What large preannotation sets cost: creating one, and its table."""

import json
from collections.abc import Iterator
from functools import partial

from resources.models import PreannotationSet

from . import data
from .figures import ALL_DAY, Figure, benchmark, milliseconds, seconds
from .service import Browser, Service

LABELS, ROWS = 1000, 100_000


@benchmark("preannotations")
def preannotations(service: Service) -> Iterator[Figure]:
    entities = data.ontology(LABELS)
    names = [label.fullname for label in entities.labels()]
    rows = [{"surface_form": f"form {n * 7919 % ROWS}", "label": names[n % LABELS]} for n in range(ROWS)]
    about = {"kind": "entity", "owner": data.manager(), "name": "Lexicon", "entity_ontology": entities}
    yield Figure(f"create {ROWS:,} preannotations", seconds(partial(_create, rows, about)), "s")
    lexicon = PreannotationSet.objects.get(name="Lexicon")
    manager, page = Browser(service, data.MANAGER), f"/preannotations/{lexicon.pk}/"
    for what, query in (
        ("page of them", ""),
        ("  the middle, by form", "?sort=surface_form&page=1000"),
        ("  the middle, by label", "?sort=label&page=1000"),
        ("  searched", "?q=form+99"),
    ):
        yield Figure(f"{what}, p50 / p95", milliseconds(50, partial(manager.get, page + query)), "ms", ALL_DAY)


def _create(rows: list[dict[str, str]], about: dict[str, object]) -> None:
    PreannotationSet.create(source=json.dumps(rows), **about)
