"""One CUDA graph per training step: what Python and the driver do for a step is paid once, not every time.

The first steps run as they are; then a step is recorded and afterwards replayed, reading its rows from a buffer. On a
CPU, and for a last batch of another size, steps run as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor

WARM_UP = 3  # steps before one is recorded, in which libraries choose their kernels

Step = Callable[[Tensor], Tensor]  # rows (B,) → loss


class StepGraph:
    """Runs a step for one batch after another, as a graph where that is possible.

    Args:
        generators: those that the step draws from; a replay draws on from them, as the step itself would.
    """

    def __init__(self, generators: Sequence[torch.Generator] = ()) -> None:
        self.generators = [g for g in generators if g.device.type == "cuda"]
        self.key: Hashable = None
        self.warm = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def run(self, step: Step, rows: Tensor, key: Hashable) -> Tensor:
        """The loss of one step. A step under another `key`, or for another number of rows, is another graph."""
        if rows.device.type != "cuda":
            return step(rows)
        if (key, len(rows)) != self.key:
            if self.key is not None and self.graph is not None and len(rows) < len(self.rows):
                return step(rows)  # the short batch at the end of an epoch
            self.key, self.warm, self.graph = (key, len(rows)), 0, None
        if self.graph is None and self.warm < WARM_UP:
            self.warm += 1
            return self._on_side_stream(step, rows)
        if self.graph is None:
            self._record(step, rows)
        assert self.graph is not None
        self.rows.copy_(rows)
        self.graph.replay()
        return self.loss

    def _on_side_stream(self, step: Step, rows: Tensor) -> Tensor:
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            loss = step(rows)
        torch.cuda.current_stream().wait_stream(stream)
        return loss

    def _record(self, step: Step, rows: Tensor) -> None:
        self.rows = rows.clone()
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            self.loss = step(self.rows)
        self.graph = graph
