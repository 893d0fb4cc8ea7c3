"""One tensor for each of several parties, all of one shape and kept in one place."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

import torch
from torch import Tensor


class Stacked(Mapping[str, Tensor]):
    """Party name to tensor, each a slice of (K, …): what a stack of parties answers and is answered with."""

    def __init__(self, names: tuple[str, ...], tensor: Tensor) -> None:
        self.names, self.tensor = names, tensor
        self._places = {name: k for k, name in enumerate(names)}

    def __getitem__(self, name: str) -> Tensor:
        return self.tensor[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def values(self) -> ValuesView[Tensor]:
        """All slices, of one cut."""
        return self._cut().values()

    def items(self) -> ItemsView[str, Tensor]:
        """Names and slices, of one cut."""
        return self._cut().items()

    def _cut(self) -> dict[str, Tensor]:
        return dict(zip(self.names, self.tensor.unbind(0), strict=True))


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
        return {**self.own, **self.stacked._cut()}.values()

    def items(self) -> ItemsView[str, Tensor]:
        """Names and representations."""
        return {**self.own, **self.stacked._cut()}.items()

    def joined(self, how: str) -> Tensor:
        """As `join` of all of them, in a few operations for any number of parties."""
        every = self.stacked.tensor  # (K, B, D)
        own = list(self.own.values())
        if how == "concat":
            return torch.cat([*own, every.transpose(0, 1).flatten(1)], dim=1)
        total = every.sum(dim=0) + own[0] if own else every.sum(dim=0)
        return total / len(self) if how == "mean" else total
