"""Noise as targets (Bojanowski & Joulin 2017), the unsupervised learning of FedOnce (Wu et al. 2022, Eq. 1).

N rows of the table, B batch, K parties, D width of the representation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import pairwise

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


def _solve_batches(
    outputs: npt.NDArray[np.float32], targets: npt.NDArray[np.float32], ends: list[int]
) -> npt.NDArray[np.int64]:
    """`assign` for consecutive batches of one party, cut at `ends`; positions count from the first of them."""
    return np.concatenate([a - ends[0] + _solve(outputs[a:b], targets[a:b]) for a, b in pairwise(ends)])


@lru_cache(maxsize=1)
def solvers() -> ThreadPoolExecutor:
    """The threads that solve assignments, one per core."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="assignment")


MANY = 1 << 13  # rows encoded at a time, when assignments are found
PIECE, PIECE_GPU = 4, 16  # batches whose assignments are solved and taken up together


EXCHANGED = (
    "targets are exchanged within a sample, so one row can change the targets of others, and clipping each row's "
    "gradient does not bound what it changes. assignment='fixed' is covered"
)


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
    keeps_targets = True
    can_stack = True
    has_epsilon = True
    mixes = EXCHANGED  # unless they are fixed

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
        self._pieces: dict[int, tuple[Tensor, Future[npt.NDArray[np.int64]]]] = {}  # by their first batch
        noise = torch.randn(rows, width, generator=generator, device=generator.device)
        self.register_buffer("targets", F.normalize(noise, dim=1))  # (N, D)
        self.fixed = fixed

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """The rows and their present targets: `(x, c)` or `(x, codes, c)`. Nothing here is random."""
        if len(table) != len(self.targets):
            raise DataError(
                f"The table has {len(table)} rows and NAT was built for {len(self.targets)}. "
                "Build it with rows=len(table)."
            )
        return (*table.rows(rows), self.targets.index_select(0, rows))

    def forward(self, *drawn: Tensor) -> Tensor:
        """The loss, a scalar."""
        *inputs, c = drawn  # c (B, D)
        out: Tensor = self.encoder(*inputs)  # (B, D)
        return (out - c).square().sum() / (2 * len(c))

    @torch.no_grad()
    def begin_epoch(self, epoch: int, table: Table, batches: list[Tensor]) -> list[Callable[[], None]]:
        """Alg. 1, line 5: find the best assignment within each batch, with the weights of the epoch's beginning.

        The assignments are solved by a pool of threads, some batches at a time, while earlier batches train.
        """
        self._pieces.clear()
        if self.fixed or epoch % self.frequency or not batches:
            return []
        rows = torch.cat(batches)  # (N,)
        training = self.encoder.training
        self.encoder.eval()  # as representations are sent
        out = torch.cat([self.encoder(*table.rows(part)) for part in torch.split(rows, MANY)])  # (N, D)
        self.encoder.train(training)
        outputs, held = (t.float().cpu().numpy() for t in (out, self.targets.index_select(0, rows)))
        size = PIECE_GPU if rows.device.type == "cuda" else PIECE
        starts = np.cumsum([0, *(len(batch) for batch in batches)]).tolist()

        def start(first: int) -> None:
            ends = starts[first : first + size + 1]
            self._pieces[first] = (
                rows[ends[0] : ends[-1]],
                solvers().submit(_solve_batches, outputs, held, ends),
            )

        return [partial(start, first) for first in range(0, len(batches), size)]

    def before_batch(self, batch: int) -> None:
        """Take up the assignments of this batch and those solved with it."""
        piece = self._pieces.pop(batch, None)
        if piece is not None:
            rows, solving = piece
            order = torch.from_numpy(solving.result())
            if rows.device.type == "cuda":
                order = order.pin_memory().to(rows.device, non_blocking=True)  # what trains goes on meanwhile
            self._exchange(rows, order)

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
