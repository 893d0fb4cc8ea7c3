"""Encoders and heads for tables.

B batch, F numeric columns, Q categorical columns, E width of an embedding, D width of the representation, C outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

HIDDEN_BY_AUGMENTATION = -1  # code of a category that an augmentation has covered


def mlp(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers with ReLU between them: widths[0] → … → widths[-1]."""
    layers: list[nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        if i:
            layers.append(nn.ReLU(inplace=True))  # the linear output is not needed again
        layers.append(nn.Linear(fan_in, fan_out))
    return nn.Sequential(*layers)


class Embeddings(nn.Module):
    """One embedding per categorical column, all in one table: (B, Q) codes → (B, Q·E).

    Code 0 of a column is "unknown". A code covered by an augmentation reads a fixed random vector that is never trained
    (Yao et al. 2021, as used by He et al. 2022, §4.1).
    """

    offsets: Tensor
    cover: Tensor

    def __init__(self, sizes: Sequence[int], width: int) -> None:
        super().__init__()
        starts = torch.tensor([0, *(size + 1 for size in sizes[:-1])]).cumsum(0)
        self.register_buffer("offsets", starts)  # (Q,) first row of each column
        self.table = nn.Embedding(sum(sizes) + len(sizes), width)
        self.register_buffer("cover", torch.randn(len(sizes), width))  # (Q, E)
        self.width = len(sizes) * width

    def forward(self, codes: Tensor) -> Tensor:
        """(B, Q) → (B, Q·E)."""
        covered = codes == HIDDEN_BY_AUGMENTATION  # (B, Q)
        e = self.table(codes.clamp(min=0) + self.offsets)  # (B, Q, E)
        return torch.where(covered.unsqueeze(-1), self.cover, e).flatten(1)  # (B, Q·E)


class Columns(nn.Module):
    """The columns themselves, categories embedded: (B, F), (B, Q) → (B, F + Q·E). What FedOnce's host reads."""

    def __init__(self, features: int, sizes: Sequence[int] = (), *, embedding: int = 8) -> None:
        super().__init__()
        self.embeddings = Embeddings(sizes, embedding) if sizes else None
        self.width = features + (self.embeddings.width if self.embeddings is not None else 0)

    def forward(self, x: Tensor, codes: Tensor | None = None) -> Tensor:
        """(B, F), (B, Q) → (B, F + Q·E)."""
        if self.embeddings is None or codes is None:
            return x
        return torch.cat([x, self.embeddings(codes)], dim=1)


class TabularEncoder(nn.Module):
    """Two-part encoder: `bottom` reads the columns, `top` is the last layer. (B, F), (B, Q) → (B, D).

    The parts have names because partial model aggregation (He et al. 2022) averages `top` alone.
    """

    def __init__(
        self,
        features: int,
        sizes: Sequence[int] = (),
        *,
        hidden: Sequence[int] = (128,),
        width: int = 64,
        embedding: int = 8,
    ) -> None:
        super().__init__()
        self.columns = Columns(features, sizes, embedding=embedding)
        widths = [self.columns.width, *hidden]
        self.bottom = nn.Sequential(mlp(widths), nn.ReLU(inplace=True)) if hidden else nn.Identity()
        self.top = nn.Linear(widths[-1], width)
        self.width = width

    def forward(self, x: Tensor, codes: Tensor | None = None) -> Tensor:
        """(B, F), (B, Q) → (B, D)."""
        out: Tensor = self.top(self.bottom(self.columns(x, codes)))
        return out
