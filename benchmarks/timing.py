"""Timing two programs against each other: interleaved repeats, medians, one ratio."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def ratio(ours: Callable[[], None], reference: Callable[[], None], repeats: int = 7) -> tuple[float, float, float]:
    """Median seconds of both, and ours / reference; the repeats alternate, so that a busy moment hits both."""
    ours(), reference()  # warm up
    a, b = [], []
    for _ in range(repeats):
        a.append(seconds(ours))
        b.append(seconds(reference))
    first, second = statistics.median(a), statistics.median(b)
    return first, second, first / second


def report(title: str, ours: float, plain: float, goal: str) -> None:
    """One line about two programs."""
    print(f"{title:<44} ours {ours:7.3f} s   plain loop {plain:7.3f} s   ratio {ours / plain:5.2f}   (goal: {goal})")


def seconds(program: Callable[[], None]) -> float:
    started = time.perf_counter()
    program()
    return time.perf_counter() - started


@dataclass(frozen=True)
class Middle:
    """A median, and the interval of order statistics that holds the true one with a confidence of 95 %."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.low:.3f}, {self.high:.3f}]"


def median_with_interval(values: Sequence[float]) -> Middle:
    """The median of some measurements; with fewer than six the interval is their whole range."""
    ordered = sorted(values)
    n = len(ordered)
    cut = 0  # the largest number of values that can be left out at either end
    while 2 * sum(math.comb(n, k) for k in range(cut + 1)) / 2**n <= 0.05:
        cut += 1
    cut = max(cut - 1, 0)
    return Middle(statistics.median(ordered), ordered[cut], ordered[n - 1 - cut])
