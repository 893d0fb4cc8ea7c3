"""Noise as targets (Bojanowski & Joulin 2017), the unsupervised learning of FedOnce (Wu et al. 2022, Eq. 1).

N rows of the table, B batch, K parties, D width of the representation.
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
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
    return assign_many(outputs.unsqueeze(0), targets.unsqueeze(0)).squeeze(0)


def assign_many(outputs: Tensor, targets: Tensor, pool: Executor | None = None) -> Tensor:
    """`assign` for K independent batches at once: (K, B, D), (K, B, D) → (K, B) int64 on the outputs' device.

    The costs are one batched product; the K assignments are spread over the threads of `pool` where one is given.
    """
    from scipy.optimize import linear_sum_assignment  # deferred: scipy.optimize is slow to load

    with torch.no_grad():
        cost = -torch.einsum("kid,kjd->kij", outputs, targets)  # (K, B, B)
    if not bool(cost.isfinite().all()):
        raise ConfigError(
            "The encoder's outputs are not finite, so no target can be assigned to them. "
            "The training has diverged: lower the learning rate."
        )
    costs = cost.cpu().numpy()
    solved = map(linear_sum_assignment, costs) if pool is None else pool.map(linear_sum_assignment, costs)
    pi = np.array([columns for _, columns in solved], dtype=np.int64)  # rows come back in order: the columns are π
    return torch.from_numpy(pi.reshape(costs.shape[:2])).to(outputs.device)


class NAT(Objective):
    """1/(2B) Σ_b ‖f(x_b) - c_b‖² (Eq. 1); c_b is the target that row b holds at present.

    The N targets are random unit vectors. `reassign` exchanges them among the rows of a batch so that the loss is
    least (the paper's P, found per batch; every how many epochs is the caller's to decide).

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        rows: N.
        generator: where the targets come from; they lie on its device.
        fixed: the targets stay where they are, and `reassign` is refused. With targets that do not depend on the data,
            clipping each row's gradient bounds what one row can change; with reassignment it does not.

    Deviation: the mean squared error over all B·D entries is this loss times 2/D: same minimum, other learning rate.
    Outputs are not scaled to unit length, as Eq. 1 prints it; NAT's own paper does scale them.
    """

    targets: Tensor

    def __init__(self, encoder: nn.Module, *, width: int, rows: int, generator: Generator, fixed: bool = False) -> None:
        check("NAT", width_of(width), whole("rows", rows, "Pass the number of rows of the table.", least=0))
        super().__init__(encoder)
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
    def reassign(self, rows: Tensor, outputs: Tensor) -> None:
        """Permute the targets among these rows (B,) in place, so that the loss with these outputs (B, D) is least."""
        if self.fixed:
            raise ConfigError("fixed=True promises targets that stay where they are. Build NAT with fixed=False.")
        if len(set(rows.tolist())) != len(rows):
            raise DataError("A row occurs twice in the batch, so its targets cannot be exchanged. Draw distinct rows.")
        held = self.targets.index_select(0, rows)  # (B, D)
        self.targets.index_copy_(0, rows, held[assign(outputs, held)])
