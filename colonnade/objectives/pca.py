"""Principal components as a linear encoder: FedOnce-PCA (Wu et al. 2022, §5.6). No gradients, no rounds.

N rows, F numeric columns (or C·H·W pixels), Q categorical columns with S known values in all, M = F + S, D width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from colonnade.data.table import Table
from colonnade.objectives.settings import check, whole


class LinearEncoder(nn.Module):
    """z = (onehot(row) - mean) · components, (B, F), (B, Q) → (B, D); nothing in it is trained.

    The one-hot rows are never built: the components of a row's categories are looked up and summed. Code 0 and covered
    codes have no column; they count as a row of zeros.
    """

    mean: Tensor
    components: Tensor
    starts: Tensor

    def __init__(self, mean: Tensor, components: Tensor, sizes: Sequence[int] = ()) -> None:
        super().__init__()
        self.register_buffer("mean", mean)  # (M,)
        self.register_buffer("components", components)  # (M, D)
        self.register_buffer("starts", _starts(sizes).to(mean.device))  # (Q,)
        self.numeric = len(mean) - sum(sizes)  # F
        self.width = components.shape[1]

    def forward(self, x: Tensor, codes: Tensor | None = None) -> Tensor:
        """The D scores of each row."""
        z = x.flatten(1) @ self.components[: self.numeric] - self.mean @ self.components  # (B, D)
        if codes is not None:
            padded = F.pad(self.components[self.numeric :], (0, 0, 1, 0))  # (1 + S, D), zeros first
            z = z + F.embedding(torch.where(codes > 0, codes + self.starts, 0), padded).sum(1)
        return z


class PCA:
    """The D directions of largest variance of one party's columns, categories as one-hot columns, nothing rescaled.

    Args:
        max_rows: the components come from at most this many rows, spread evenly over the table: the decomposition
            takes O(rows·M·min(rows, M)).

    Each component's entry of largest magnitude is positive, so that the same table always gives the same encoder.
    """

    computed = True  # not trained
    has_projector = False
    can_stack = False
    keeps_targets = False
    mixes = ""
    has_epsilon = False

    def __init__(self, *, max_rows: int = 4096) -> None:
        check("PCA", whole("max_rows", max_rows, "It bounds the rows that are decomposed.", least=2))
        self.max_rows = max_rows

    def fit(self, table: Table, width: int) -> LinearEncoder:
        """The encoder for tables with these columns, with D = width, in the table's precision."""
        columns = math.prod(table.x.shape[1:]) + sum(table.sizes)
        used = min(len(table), self.max_rows)
        check("PCA", whole("width", width, "It is the number of components."), _too_wide(width, columns, used))
        picked = torch.arange(used, device=table.x.device) * len(table) // used
        x = one_hot_rows(table, picked)  # (R, M) float64
        mean = x.mean(0)
        _, _, vt = torch.linalg.svd(x - mean, full_matrices=False)
        top = vt[:width]  # (D, M)
        peak = top.gather(1, top.abs().argmax(1, keepdim=True))  # (D, 1)
        components = (top * torch.where(peak < 0, -1.0, 1.0)).T  # (M, D)
        dtype = table.x.dtype
        return LinearEncoder(mean.to(dtype), components.contiguous().to(dtype), table.sizes)


def _too_wide(width: object, columns: int, rows: int) -> str | None:
    """There are no more components than columns, nor than rows."""
    if not isinstance(width, int) or width <= min(columns, rows):
        return None
    return (
        f"width {width} asks for more components than there are: the table has {columns} columns (one per category) "
        f"and {rows} rows are used. Use a width of at most {min(columns, rows)}."
    )


def _starts(sizes: Sequence[int]) -> Tensor:
    """(Q,) one-hot columns before those of each categorical column; code c of column q is number starts[q] + c - 1."""
    return torch.tensor([0, *sizes[:-1]]).cumsum(0)[: len(sizes)]


def one_hot_rows(table: Table, rows: Tensor) -> Tensor:
    """These rows as (B, M) float64, zeros where a category is unknown."""
    x, *codes = table.rows(rows)
    parts = [x.flatten(1).double()]
    for c in codes:
        known = c > 0  # (B, Q)
        places = torch.where(known, c - 1 + _starts(table.sizes).to(c.device), 0)
        zeros = torch.zeros(len(rows), sum(table.sizes), dtype=torch.float64, device=c.device)
        parts.append(zeros.scatter_add_(1, places, known.double()))  # (B, S)
    return torch.cat(parts, dim=1)
