"""Representations by party as the head reads them.

B rows of a batch, D width of a representation, K parties.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

import torch
from torch import Tensor

from colonnade.wire.stacked import Stacked

JOINS = ("concat", "mean", "sum")


def join(parts: list[Tensor], how: str) -> Tensor:
    """K representations (B, D) → (B, K·D) for "concat", (B, D) for "mean" and "sum"."""
    if len(parts) == 1:
        return parts[0]
    if how == "concat":
        return torch.cat(parts, dim=1)
    stacked = torch.stack(parts)  # (K, B, D)
    return stacked.mean(dim=0) if how == "mean" else stacked.sum(dim=0)


class OwnAndStacked(Mapping[str, Tensor]):
    """Representations by party, the active party's first, if it has one, then those of a stack; (B, D) each."""

    def __init__(self, own: Mapping[str, Tensor], stacked: Stacked) -> None:
        self.own, self.stacked = own, stacked

    def __getitem__(self, name: str) -> Tensor:
        return self.own[name] if name in self.own else self.stacked[name]

    def __iter__(self) -> Iterator[str]:
        yield from (*self.own, *self.stacked)

    def __len__(self) -> int:
        return len(self.own) + len(self.stacked)

    def values(self) -> ValuesView[Tensor]:
        """All representations."""
        return {**self.own, **self.stacked.cut()}.values()

    def items(self) -> ItemsView[str, Tensor]:
        """Names and representations."""
        return {**self.own, **self.stacked.cut()}.items()

    def joined(self, how: str) -> Tensor:
        """As `join` of all of them, in a few operations for any number of parties."""
        every = self.stacked.tensor  # (K, B, D)
        own = list(self.own.values())
        if how == "concat":
            return torch.cat([*own, every.transpose(0, 1).flatten(1)], dim=1)
        total = every.sum(dim=0) + own[0] if own else every.sum(dim=0)
        return total / len(self) if how == "mean" else total
