"""Noise as targets (Bojanowski & Joulin 2017), the unsupervised learning of FedOnce (Wu et al. 2022, Eq. 1).

N rows of the table, B batch, K parties, D width of the representation.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from colonnade.data.table import Table
from colonnade.errors import ConfigError, DataError
from colonnade.objectives.base import Objective
from colonnade.objectives.settings import check, whole, width_of


def assign(outputs: Tensor, targets: Tensor) -> Tensor:
    """The permutation π (B,) int64 that minimises Σ_b ‖outputs_b - targets_π(b)‖², by the Hungarian algorithm.

    ‖o - c‖² = ‖o‖² + ‖c‖² - 2·o·c, and every o and every c occurs once under any permutation: the squared norms add up
    to a constant whatever they are, so the cost is -o·c, one matrix product.

    Args: outputs, targets: (B, D).
    """
    found = _solve(outputs.detach().cpu().numpy(), targets.detach().cpu().numpy())
    return torch.from_numpy(found).to(outputs.device)


def _solve(outputs: npt.NDArray[np.floating], targets: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """`assign` in numpy, for threads: scipy lets others run meanwhile."""
    from scipy.optimize import linear_sum_assignment  # deferred: scipy.optimize is slow to load

    cost = outputs @ -targets.T  # (B, B)
    if not np.isfinite(cost).all():
        raise ConfigError(
            "The encoder's outputs are not finite, so no target can be assigned to them. "
            "The training has diverged: lower the learning rate."
        )
    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)  # rows come in order: the columns are π


def solve_all(outputs: npt.NDArray[np.float32], targets: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """`assign` for one batch of each of K parties: (K, B, D), (K, B, D) → (K, B)."""
    return np.stack([_solve(out, held) for out, held in zip(outputs, targets, strict=True)])


@lru_cache(maxsize=1)
def solvers() -> ThreadPoolExecutor:
    """The threads that solve assignments, one per core."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="assignment")


MANY = 1 << 13  # rows encoded at a time on a GPU, when assignments are found


class NAT(Objective):
    """1/(2B) Σ_b ‖f(x_b) - c_b‖² (Eq. 1); c_b is the target that row b holds at present.

    The N targets are random unit vectors. `reassign` exchanges them among the rows of a batch so that the loss is
    least (the paper's P, found per batch; every how many epochs is the caller's to decide).

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        rows: N.
        generator: where the targets come from; they lie on its device.
        frequency: f, the targets are exchanged in every f-th epoch.
        fixed: the targets stay where they are, and `reassign` is refused. With targets that do not depend on the data,
            clipping each row's gradient bounds what one row can change; with reassignment it does not.

    Deviation: the mean squared error over all B·D entries is this loss times 2/D: same minimum, other learning rate.
    Outputs are not scaled to unit length, as Eq. 1 prints it; NAT's own paper does scale them.
    """

    targets: Tensor
    same_steps = True

    def __init__(
        self,
        encoder: nn.Module,
        *,
        width: int,
        rows: int,
        generator: Generator,
        frequency: int = 1,
        fixed: bool = False,
    ) -> None:
        check(
            "NAT",
            width_of(width),
            whole("rows", rows, "Pass the number of rows of the table.", least=0),
            whole("frequency", frequency, "1 exchanges the targets in every epoch."),
        )
        super().__init__(encoder)
        self.frequency = frequency
        self._solving: deque[Future[npt.NDArray[np.int64]]] = deque()
        noise = torch.randn(rows, width, generator=generator, device=generator.device)
        self.register_buffer("targets", F.normalize(noise, dim=1))  # (N, D)
        self.fixed = fixed

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """The rows and their present targets: `(x, c)` or `(x, codes, c)`. Nothing here is random.

        When the epoch began with an assignment, this waits for that of its batch; batches come in their order.
        """
        if len(table) != len(self.targets):
            raise DataError(
                f"The table has {len(table)} rows and NAT was built for {len(self.targets)}. "
                "Build it with rows=len(table)."
            )
        return (*table.rows(rows), self.taken_up(rows))

    def forward(self, *drawn: Tensor) -> Tensor:
        """The loss, a scalar."""
        *inputs, c = drawn  # c (B, D)
        out: Tensor = self.encoder(*inputs)  # (B, D)
        return (out - c).square().sum() / (2 * len(c))

    def begin_epoch(self, epoch: int, table: Table, batches: list[Tensor]) -> None:
        """Alg. 1, line 5: find the best assignment within each batch, with the weights of the epoch's beginning.

        The assignments are solved by a pool of threads while the first batches already train.
        """
        self._solving.clear()
        if self.fixed or epoch % self.frequency:
            return
        if self.targets.device.type == "cuda":
            self._exchange_all(table, batches)
            return
        with torch.no_grad():
            outputs = [self.encoder(*table.rows(rows)) for rows in batches]
        self.submit(outputs, batches)

    @torch.no_grad()
    def _exchange_all(self, table: Table, batches: Sequence[Tensor]) -> None:
        """All of an epoch's assignments before its first step, so that no step waits for the host."""
        rows = torch.cat(list(batches))  # (N,)
        held = self.targets.index_select(0, rows)
        out = torch.cat([self.encoder(*table.rows(part)) for part in torch.split(rows, MANY)])  # (N, D)
        ends = np.cumsum([len(batch) for batch in batches])[:-1]
        pairs = zip(*(np.split(t.float().cpu().numpy(), ends) for t in (out, held)), strict=True)
        solving = [solvers().submit(_solve, out, target) for out, target in pairs]
        starts = [0, *ends.tolist()]
        order = np.concatenate([start + task.result() for start, task in zip(starts, solving, strict=True)])
        self.targets.index_copy_(0, rows.long(), held[torch.from_numpy(order).to(held.device)])

    def submit(self, outputs: Sequence[Tensor], batches: Sequence[Tensor]) -> None:
        """Hand the batches' assignments to the pool; `draw` takes them up in the same order."""
        for out, rows in zip(outputs, batches, strict=True):
            held = self.targets.index_select(0, rows)
            self._solving.append(solvers().submit(_solve, out.float().cpu().numpy(), held.cpu().numpy()))

    def taken_up(self, rows: Tensor) -> Tensor:
        """The targets (B, D) of the next batch, after its assignment, where one was handed to the pool."""
        if self._solving:
            self._exchange(rows, torch.from_numpy(self._solving.popleft().result()).to(rows.device))
        return self.targets.index_select(0, rows)

    def _exchange(self, rows: Tensor, order: Tensor) -> None:
        self.targets.index_copy_(0, rows.long(), self.targets.index_select(0, rows)[order])

    @torch.no_grad()
    def reassign(self, rows: Tensor, outputs: Tensor) -> None:
        """Permute the targets among these rows (B,) in place, so that the loss with these outputs (B, D) is least."""
        if self.fixed:
            raise ConfigError("fixed=True promises targets that stay where they are. Build NAT with fixed=False.")
        if len(set(rows.tolist())) != len(rows):
            raise DataError("A row occurs twice in the batch, so its targets cannot be exchanged. Draw distinct rows.")
        held = self.targets.index_select(0, rows)  # (B, D)
        self._exchange(rows, assign(outputs, held))
