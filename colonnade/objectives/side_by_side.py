"""Parties of one process that learn alone, side by side on one GPU: one graph holds a step of each.

Each party keeps its own targets, order, draws and optimizer state, as alone; the device works on all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

import torch
from torch import Tensor

from colonnade.nets.graphs import StepGraph
from colonnade.objectives.training import Course


def learn_together(courses: Sequence[Course], after: Callable[[int, int], None]) -> None:
    """All epochs of K courses over tables of equal length, batch by batch; `after` hears of each epoch, from 1."""
    epochs = courses[0].lesson.epochs
    graph = StepGraph([drawn for course in courses for drawn in course.generators])
    step = _Step(courses)
    for epoch in range(1, epochs + 1):
        cuts, starts = zip(*(course.begin_epoch() for course in courses), strict=True)
        for turn in zip_longest(*starts):  # the first batches of every party first
            for start in turn:
                start()
        for number, parts in enumerate(zip(*cuts, strict=True)):
            for course in courses:
                course.objective.before_batch(number)
            graph.run(step, torch.stack(parts))
        after(epoch, epochs)


class _Step:
    """One step of every course, each on a stream of its own."""

    def __init__(self, courses: Sequence[Course]) -> None:
        self.courses = courses
        on_gpu = courses[0].table.x.device.type == "cuda"
        self.streams = [torch.cuda.Stream() for _ in courses] if on_gpu else []  # type: ignore[no-untyped-call]

    def __call__(self, rows: Tensor) -> Tensor:
        """(K, B) rows → (K,) losses."""
        if not self.streams:
            return torch.stack([course.step(part) for course, part in zip(self.courses, rows, strict=True)])
        here, losses = torch.cuda.current_stream(), []
        for course, stream, part in zip(self.courses, self.streams, rows, strict=True):
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                losses.append(course.step(part))
        for stream in self.streams:
            here.wait_stream(stream)
        return torch.stack(losses)
