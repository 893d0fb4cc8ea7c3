"""One CUDA graph per training step: what Python and the driver do for a step is paid once, not every time.

The first steps run as they are; then a step is recorded and afterwards replayed, reading its rows from a buffer. On a
CPU steps run as they are. A step that cannot be recorded, because it looks at values from Python, also does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from colonnade.wire.wire import Wire

WARM_UP = 3  # steps before one is recorded, in which libraries choose their kernels

Step = Callable[[Tensor], Tensor]  # rows (…, B) → loss


@dataclass
class Recording:
    """A recorded step for one number of rows."""

    graph: torch.cuda.CUDAGraph
    rows: Tensor  # the replay reads them from here
    loss: Tensor  # and writes the loss here
    crossed: list[Callable[[], None]]  # what the step counted on the wire


class StepGraph:
    """Runs a step for one batch after another, as a graph where that is possible.

    Args:
        generators: those that the step draws from; a replay draws on from them, as the step itself would.
        wire: where messages of the step pass; a replay counts them again.
        possible: False runs every step as it is.
    """

    def __init__(
        self, generators: Sequence[torch.Generator] = (), *, wire: Wire | None = None, possible: bool = True
    ) -> None:
        self.generators = [g for g in generators if g.device.type == "cuda"]
        self.wire, self.possible = wire, possible
        self.key: Hashable = None
        self.warm: dict[torch.Size, int] = {}
        self.recorded: dict[torch.Size, Recording] = {}
        self.pool: Any = None

    def over(self, step: Step, device: torch.device) -> Step:
        """The step itself where it cannot be recorded, or its replay."""
        return step if device.type != "cuda" or not self.possible else partial(self.run, step)

    def run(self, step: Step, rows: Tensor, key: Hashable = None) -> Tensor:
        """The loss of one step. A step under another `key` is another step, and the one before is forgotten."""
        if rows.device.type != "cuda" or not self.possible:
            return step(rows)
        if key != self.key:
            self.key, self.warm, self.recorded = key, {}, {}
        found = self.recorded.get(rows.shape)
        if found is None:
            done = self.warm.get(rows.shape, 0)
            self.warm[rows.shape] = done + 1
            if done < WARM_UP:
                return _on_side_stream(step, rows)
            return self._record(step, rows)
        found.rows.copy_(rows)
        found.graph.replay()
        for count in found.crossed:
            count()
        return found.loss

    def _record(self, step: Step, rows: Tensor) -> Tensor:
        """Record the step, which counts its messages but computes nothing, and replay it."""
        graph, kept = torch.cuda.CUDAGraph(), rows.clone()
        for generator in self.generators:
            graph.register_generator_state(generator)
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        noted: AbstractContextManager[list[Callable[[], None]]] = nullcontext([])
        if self.wire is not None:
            noted = self.wire.noted()
        try:
            with noted as crossed, torch.cuda.graph(graph, pool=self.pool):
                loss = step(kept)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self.possible = False
            reason = str(error).partition("\n")[0]
            warnings.warn(f"a training step cannot be recorded and runs as it is, more slowly: {reason}", stacklevel=2)
            return step(rows)
        self.recorded[rows.shape] = Recording(graph, kept, loss, crossed)
        graph.replay()
        return loss


def _on_side_stream(step: Step, rows: Tensor) -> Tensor:
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        loss = step(rows)
    torch.cuda.current_stream().wait_stream(stream)
    return loss
