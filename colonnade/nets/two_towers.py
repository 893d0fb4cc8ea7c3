"""Two encoders of one party that are read together (He et al. 2022, §4.1). B batch, D width of the representation."""

from __future__ import annotations

import copy

from torch import Tensor, nn


class TwoTowers(nn.Module):
    """½(f_c(x) + f_l(x)): the mean of the cross-party and the local encoder, (B, …) → (B, D)."""

    def __init__(self, cross: nn.Module, local: nn.Module) -> None:
        super().__init__()
        self.cross, self.local = cross, local

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, …) → (B, D)."""
        out: Tensor = (self.cross(*inputs) + self.local(*inputs)) / 2
        return out


def fresh_copy(module: nn.Module) -> nn.Module:
    """A copy of the user's module with weights of its own, drawn anew by every layer that can draw them."""
    twin = copy.deepcopy(module)
    for layer in twin.modules():
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset):
            reset()
    return twin
