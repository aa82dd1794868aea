"""What a benchmark yields, the register of benchmarks, and how time is taken."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .service import Service

Value = float | tuple[float, ...]
Benchmark = Callable[[Service], "Iterator[Figure]"]
BENCHMARKS: dict[str, Benchmark] = {}
RUNS = 60  # of 20, the p95 would be the slowest one


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. Several values, such as p50 and p95, have a budget each."""

    what: str
    value: Value
    unit: str = ""
    budget: Value | None = None
    at_least: bool = False

    def columns(self) -> tuple[str, str, str, str]:
        """The last is the part of the budget that is used: above 1 it is broken."""
        if self.budget is None:
            return self.what, self._written(self.value), "", ""
        pairs = zip(_tuple(self.value), _tuple(self.budget), strict=True)
        used = max((b / v if self.at_least else v / (b or 1)) for v, b in pairs)
        budget = ("at least " if self.at_least else "") + self._written(self.budget)
        return self.what, self._written(self.value), budget, f"{used:.2f}"

    def _written(self, value: Value) -> str:
        numbers = (f"{n:,.0f}" if n >= 100 or n == int(n) else f"{n:.3g}" for n in _tuple(value))
        return f"{' / '.join(numbers)} {self.unit}".strip()


def _tuple(value: Value) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


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
