"""Learning from a party's own labels: the active party's pre-training in VFLHLP (Li et al. 2024, §4.2.1).

N rows of the table, B batch, D width of the representation, C outputs.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from colonnade.data.table import Table
from colonnade.errors import DataError
from colonnade.objectives.base import Objective
from colonnade.objectives.settings import check, whole, width_of


class Supervised(Objective):
    """Cross-entropy (classes) or mean squared error (regression) of a linear head on the encoder, mean over the batch.

    Args:
        encoder: (B, …) → (B, D).
        width: D.
        outputs: C, the number of classes (2 for a binary task); 1 for regression.
        targets: (N,) in the order of the table's rows: int64 classes 0…C-1, or floating point for regression. -1 or NaN
            stands for "no label"; such a row may be in the table but not in a batch.
    """

    targets: Tensor

    def __init__(self, encoder: nn.Module, *, width: int, outputs: int, targets: Tensor) -> None:
        check(
            "Supervised",
            width_of(width),
            whole("outputs", outputs, "It is the number of classes, or 1 for regression."),
            _unusable(targets, outputs),
        )
        super().__init__(encoder)
        self.regression = targets.is_floating_point()
        self.head = nn.Linear(width, outputs)
        self.register_buffer("targets", targets)  # (N,)

    def draw(self, table: Table, rows: Tensor, generator: Generator) -> tuple[Tensor, ...]:
        """The rows and their targets: `(x, y)` or `(x, codes, y)`. Nothing here is random."""
        if len(table) != len(self.targets):
            raise DataError(
                f"The table has {len(table)} rows and there are {len(self.targets)} targets. "
                "Pass one target per row, -1 or NaN where there is none."
            )
        y = self.targets.index_select(0, rows)  # (B,)
        missing = int((y.isnan() if self.regression else y < 0).sum())
        if missing:
            raise DataError(f"{missing} of {len(rows)} rows of the batch have no label. Draw from labelled rows only.")
        return (*table.rows(rows), y)

    def forward(self, *drawn: Tensor) -> Tensor:
        """The loss, a scalar."""
        *inputs, y = drawn
        out: Tensor = self.head(self.encoder(*inputs))  # (B, C)
        return F.mse_loss(out.squeeze(1), y) if self.regression else F.cross_entropy(out, y)


def _unusable(targets: Tensor, outputs: object) -> str | None:
    """What is wrong with the targets, given the number of outputs."""
    if not isinstance(outputs, int):
        return None
    if targets.ndim != 1:
        return f"targets must have shape (N,). Got {tuple(targets.shape)}. Pass one number per row."
    if targets.is_floating_point():
        return None if outputs == 1 else f"outputs must be 1 for regression. Got {outputs}. Pass classes as int64."
    if targets.dtype != torch.int64:
        return f"targets must be int64 or floating point. Got {targets.dtype}. Convert them with .long()."
    if outputs < 2:
        return f"outputs must be at least 2 for classes. Got {outputs}. Use 2 for a binary task."
    if len(targets) and (int(targets.min()) < -1 or int(targets.max()) >= outputs):
        found = f"{int(targets.min())}…{int(targets.max())}"
        return f"targets must be in 0…{outputs - 1}, or -1 for no label. Got {found}. Recode them or raise outputs."
    return None
