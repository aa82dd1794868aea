"""What a benchmark yields, the register of benchmarks, and how time is taken."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .service import Service

Value = float | tuple[float, ...]
Benchmark = Callable[[Service], "Iterator[Figure]"]
BENCHMARKS: dict[str, Benchmark] = {}
RUNS = 60  # of 20, the p95 would be the slowest one
# PostgreSQL may take so many times as long as SQLite, which the budgets are for.
POSTGRESQL = 1.5
TIMES = ("ms", "s")


@dataclass(frozen=True, slots=True)
class Budget:
    """Inside a *felt* one nobody notices a difference, and the simpler code wins. A *headline* one is the lead over other tools:
    it may only get better. Of several values, such as p50 and p95, each has its limit, or none."""

    kind: str
    limits: tuple[float | None, ...]
    at_least: bool = False

    def for_database(self, unit: str, vendor: str) -> "Budget":
        slower = POSTGRESQL if vendor == "postgresql" and (unit in TIMES or self.at_least) else 1
        factor = 1 / slower if self.at_least else slower
        return replace(self, limits=tuple(limit and limit * factor for limit in self.limits))

    def used(self, values: tuple[float, ...]) -> float:
        """The part of it that is used: above 1 it is broken."""
        pairs = [(value, limit) for value, limit in zip(values, self.limits, strict=True) if limit is not None]
        return max(limit / value if self.at_least else value / (limit or 1) for value, limit in pairs)


def felt(*limits: float | None) -> Budget:
    return Budget("felt", limits)


def headline(*limits: float | None, at_least: bool = False) -> Budget:
    return Budget("headline", limits, at_least)


KEY = felt(50, 100)  # or a click, to what is painted: p50 and the worst
LONG_TEXT_KEY = felt(None, 100)  # the same in a text as long as an item may be
OPENING = felt(500, None)  # such a text, from the address to where keys work
ALL_DAY = felt(None, 100)  # what is done all day; p95, as with all that follow
OWN_LIST = felt(None, 150)
ADDING_UP = felt(None, 200)  # pages that add up
SAVE = felt(5, 10)
WHILE_OTHERS_WORK = felt(None, 60)  # saves, whatever else runs
LONGEST_WAIT = felt(500)
PATIENCE = felt(
    1
)  # seconds for a codebook, statistics, a preview of a large change; what takes longer has a job with progress


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    value: Value
    unit: str = ""
    budget: Budget | None = None

    def columns(self, vendor: str) -> tuple[str, str, str, str, str]:
        """What was measured, the figure, its budget, of which kind that is, and the part of it that is used."""
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        if self.budget is None:
            return self.what, self._written(values), "", "", ""
        budget = self.budget.for_database(self.unit, vendor)
        written = ("at least " if budget.at_least else "") + self._written(budget.limits)
        return self.what, self._written(values), written, budget.kind, f"{budget.used(values):.2f}"

    def _written(self, values: tuple[float | None, ...]) -> str:
        numbers = ("–" if n is None else f"{n:,.0f}" if n >= 100 or n == int(n) else f"{n:.3g}" for n in values)
        return f"{' / '.join(numbers)} {self.unit}".strip()


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    def register(run: Benchmark) -> Benchmark:
        BENCHMARKS[name] = run
        return run

    return register


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median(runs: int, work: Callable[[], object]) -> float:
    return statistics.median(seconds(work) for _ in range(runs))


def milliseconds(runs: int, work: Callable[[], object]) -> tuple[float, float]:
    """p50 and p95 of many short runs, after a few that do not count."""
    return p50_p95([seconds(work) for _ in range(runs + 3)][3:])


def p50_p95(times: list[float]) -> tuple[float, float]:
    percent = statistics.quantiles(times, n=100)
    return 1000 * percent[49], 1000 * percent[94]
