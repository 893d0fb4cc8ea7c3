"""Timing two programs against each other: interleaved repeats, medians, one ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def ratio(ours: Callable[[], None], reference: Callable[[], None], repeats: int = 7) -> tuple[float, float, float]:
    """Median seconds of both, and ours / reference; the repeats alternate, so that a busy moment hits both."""
    ours(), reference()  # warm up
    a, b = [], []
    for _ in range(repeats):
        a.append(seconds(ours))
        b.append(seconds(reference))
    first, second = statistics.median(a), statistics.median(b)
    return first, second, first / second


def seconds(program: Callable[[], None]) -> float:
    started = time.perf_counter()
    program()
    return time.perf_counter() - started
