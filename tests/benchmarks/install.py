import re
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution

from .figures import Figure, benchmark, headline, median
from .service import ROOT, Service

NAMED = re.compile(r"^([\w.-]+)==", re.MULTILINE)


@benchmark("install")
def install(service: Service) -> Iterator[Figure]:
    """The packages of the lock file as they are installed here; those for other systems are not."""
    sizes = {}
    for name in NAMED.findall((ROOT / "requirements.lock").read_text()):
        try:
            paths = [path.locate() for path in distribution(name).files or []]
        except PackageNotFoundError:
            continue
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
    largest = ", ".join(f"{name} {sizes[name]:.0f}" for name in sorted(sizes, key=sizes.__getitem__)[:-4:-1])
    yield Figure(f"installed size of the runtime packages ({largest})", sum(sizes.values()), "MB", headline(115))
    yield Figure("runtime packages", len(sizes), "", headline(45))


@benchmark("start")
def start(service: Service) -> Iterator[Figure]:
    """The time of stopping the one before is not the user's."""

    def stopped_before() -> float:
        service.stop()
        return median(1, service.start)

    yield Figure(
        "bin/run to the first page, prepared, median of 5",
        sorted(stopped_before() for _ in range(5))[2],
        "s",
        headline(1),
    )
    time.sleep(3)  # what has helped to start it is gone then
    yield Figure("idle memory of all processes, PSS", service.memory("smaps_rollup", "Pss"), "MB", headline(145))
