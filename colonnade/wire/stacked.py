"""One tensor for each of several parties, all of one shape and kept in one place."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView

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
        return self.cut().values()

    def items(self) -> ItemsView[str, Tensor]:
        """Names and slices, of one cut."""
        return self.cut().items()

    def cut(self) -> dict[str, Tensor]:
        """The slices as a dict."""
        return dict(zip(self.names, self.tensor.unbind(0), strict=True))
