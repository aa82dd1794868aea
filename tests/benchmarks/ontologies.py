from collections.abc import Iterator

from . import data
from .figures import ALL_DAY, Figure, benchmark, headline, median, milliseconds
from .service import Browser, Service

SIZE = 10_000


@benchmark("ontology")
def ontology(service: Service) -> Iterator[Figure]:
    browser = Browser(service, data.MANAGER)
    document = data.ontology_json(SIZE).encode()
    form = {"name": "Large", "kind": "entity", "source": "file"}
    made = median(5, lambda: browser.follow(browser.upload("/ontologies/new/", document, **form)))
    yield Figure(f"ontology of {SIZE:,} items, create from a file, to visible, median of 5", made, "s", headline(0.4))
    path = browser.follow(browser.upload("/ontologies/new/", document, **form))
    copied = median(5, lambda: browser.follow(browser.submit(f"{path}duplicate/", name="Copy")))
    yield Figure("  copy, to visible, median of 5", copied, "s", headline(0.1))
    p50, p95 = milliseconds(20, lambda: browser.get("/find/?q=label+77"))
    yield Figure("  a label found by the command palette among all, p50 / p95", (p50, p95), "ms", ALL_DAY)
    yield Figure("  download, median of 5", median(5, lambda: browser.get(f"{path}download.json")), "s", headline(0.2))
