import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from tests import worst

from . import data
from .figures import PATIENCE, Figure, benchmark, headline, seconds
from .service import Browser, Service

ONTOLOGY, LIST, RESOURCE = 20_000_000, 4_500_000, 20_000_000


@benchmark("refused")
def refused(service: Service) -> Iterator[Figure]:
    """Of every format the documents that are made to take much: the longest time, and the most memory."""
    service.start()
    browser = Browser(service, data.MANAGER)
    form = {"name": "Refused", "kind": "entity", "source": "file"}
    results = []
    for name, make in worst.ONTOLOGIES.items():
        document = make(ONTOLOGY)
        work = lambda: browser.upload("/ontologies/new/", document, expected=422, **form)  # noqa: B023, E731
        results.append((name, *_measured(service, work)))
    yield from _worst("ontology of up to 20 MB that is refused", results)
    results, path = [], f"/ontologies/{data.ontology(10).pk}/items/paste/preview/"
    for name, make in worst.LISTS.items():
        text = make(LIST).decode()
        work = lambda: browser.upload(path, b"", expected=200, text=text)  # noqa: B023, E731
        results.append((name, *_measured(service, work)))
    yield from _worst("preview of a pasted list of 4.5 MB that is refused", results)
    for format, documents in worst.RESOURCES.items():
        idle = _command(service, format, b"[{}]")
        taken = ((name, _command(service, format, make(RESOURCE))) for name, make in documents.items())
        results = [(name, took - idle[0], peak - idle[1]) for name, (took, peak) in taken]
        yield from _worst(f"{format.replace('_', ' ')} of up to 20 MB that are refused, command", results)


def _measured(service: Service, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and MB over idle."""
    service.forget_peaks()
    idle = service.memory("status", "VmRSS")
    took = seconds(work)
    return took, service.memory("status", "VmHWM") - idle


def _command(service: Service, format: str, document: bytes) -> tuple[float, float]:
    """Seconds and peak MB of the whole command."""
    path = service.folder / "refused.json"
    path.write_bytes(document)
    labels = str(data.ontology(10).pk)
    command = [sys.executable, "manage.py", "import_resource", str(path), "--kind", format, "--name", "x"]
    command += ["--owner", data.MANAGER, "--entity-ontology", labels]
    usage: list[float] = []

    def run() -> None:
        process = subprocess.Popen(command, cwd=service.folder, env=service.environment, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 1
        usage.append(used.ru_maxrss / 1000)

    return seconds(run), usage[0]


def _worst(what: str, results: list[tuple[str, float, float]]) -> Iterator[Figure]:
    slowest, largest = (max(results, key=lambda result: result[column]) for column in (1, 2))
    yield Figure(f"{what}: the slowest ({slowest[0]})", slowest[1], "s", PATIENCE)
    yield Figure(f"  and the most memory over idle ({largest[0]})", largest[2], "MB", headline(60))
