"""What an encoder reads: one party's rows as tensors, in one place, prepared once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Table:
    """N rows ready for an encoder.

    Categories are coded per column: 0 is "unknown or missing", 1…size are the values seen in training.
    """

    x: Tensor  # (N, F) float32, or images (N, C, H, W)
    codes: Tensor | None = None  # (N, Q) int64
    sizes: tuple[int, ...] = ()  # known values of each of the Q categorical columns

    def __len__(self) -> int:
        return len(self.x)

    @property
    def is_image(self) -> bool:
        """Whether the rows are images."""
        return self.x.ndim > 2

    def rows(self, positions: Tensor) -> tuple[Tensor, ...]:
        """What the encoder is called with for these rows: `(x,)` or `(x, codes)`."""
        if self.codes is None:
            return (self.x.index_select(0, positions),)
        return self.x.index_select(0, positions), self.codes.index_select(0, positions)

    def all(self) -> tuple[Tensor, ...]:
        """What the encoder is called with for all rows."""
        return (self.x,) if self.codes is None else (self.x, self.codes)

    def to(self, device: torch.device) -> Table:
        """The same rows on `device`."""
        codes = None if self.codes is None else self.codes.to(device)
        return Table(self.x.to(device), codes, self.sizes)
