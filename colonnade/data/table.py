"""What an encoder reads: one party's rows as tensors, in one place, prepared once."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    buffers: dict[tuple[str, int], Tensor] = field(default_factory=dict, repr=False)

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

    def batch(self, positions: Tensor) -> tuple[Tensor, ...]:
        """As `rows`, into memory that the next batch of this size uses again: for a step that ends before the next.

        A batch of a wide table is megabytes; handing them back and forth to the system costs a tenth of a step.
        """
        x = self._gather("x", self.x, positions)
        return (x,) if self.codes is None else (x, self._gather("codes", self.codes, positions))

    def _gather(self, name: str, source: Tensor, positions: Tensor) -> Tensor:
        key = (name, len(positions))
        buffer = self.buffers.get(key)
        if buffer is None:
            buffer = self.buffers[key] = source.new_empty(len(positions), *source.shape[1:])
        return torch.index_select(source, 0, positions, out=buffer)

    def all(self) -> tuple[Tensor, ...]:
        """What the encoder is called with for all rows."""
        return (self.x,) if self.codes is None else (self.x, self.codes)

    def to(self, device: torch.device) -> Table:
        """The same rows on `device`."""
        codes = None if self.codes is None else self.codes.to(device)
        return Table(self.x.to(device), codes, self.sizes)
