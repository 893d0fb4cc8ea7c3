"""How many threads a run takes.

A step over tables is small: a second thread saves little in a run alone, and several runs at once hinder each other. So
tables take one thread. Images and large tables take the cores that there are for the run. `OMP_NUM_THREADS` overrules
this. The rule does not look at the load, because the number of threads can change the last digits of a result.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from colonnade.data.vertical import VerticalData

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")  # torch reads them when it starts
LARGE = 5_000_000  # values in all tables, from which one thread is not enough


@dataclass(frozen=True)
class Threads:
    """A number of threads, and why."""

    number: int
    why: str


@dataclass(frozen=True)
class Rule:
    """What is known before a run's data are: the number that the environment asks for, and how many runs share it."""

    variable: str | None = None  # that asks for a number of threads
    jobs: int = 1

    @classmethod
    def here(cls, jobs: int = 1) -> Rule:
        """The rule for this process and the runs that it starts, `jobs` at a time."""
        return cls(next((name for name in VARIABLES if os.environ.get(name)), None), jobs)

    def of(self, data: VerticalData) -> Threads:
        """The threads of a run on these training rows."""
        import torch

        now = torch.get_num_threads()
        if self.variable is not None:
            return Threads(now, f"{self.variable} says so")
        shared = max(1, now if self.jobs == 1 else min(now, (os.cpu_count() or 1) // self.jobs))
        if any(view.is_image for view in data.views.values()):
            return Threads(shared, f"images; {_among(self.jobs)}")
        values = sum(len(view) * view.width for view in data.views.values())
        if values >= LARGE:
            return Threads(shared, f"tables of {values:,} values; {_among(self.jobs)}")
        return Threads(1, f"tables of {values:,} values; set {VARIABLES[0]} for another number")


def _among(jobs: int) -> str:
    return "all cores" if jobs == 1 else f"cores shared by {jobs} runs"


@contextmanager
def limited(number: int) -> Iterator[None]:
    """Run with so many threads of torch."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
