"""Dropout that draws from a generator of the party's, so that one party's training does not touch another's."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Each number is 0 with probability `share`, and is divided by 1 - share otherwise, while training.

    Args:
        share: p.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator: torch.Generator | None = None  # None, or one of another device: torch's own

    def forward(self, x: Tensor) -> Tensor:
        """Any shape → the same."""
        if not self.training:
            return x
        own = self.generator if self.generator is not None and self.generator.device == x.device else None
        kept = torch.rand(x.shape, generator=own, device=x.device) >= self.share
        return x * kept / (1 - self.share)

    def __deepcopy__(self, memo: dict[int, Any]) -> Dropout:
        twin = Dropout(self.share).train(self.training)
        twin.generator = self.generator  # both draw on from it
        return twin


def draw_from(module: nn.Module, generator: torch.Generator) -> None:
    """Let all dropout in a module draw from one generator."""
    for layer in module.modules():
        if isinstance(layer, Dropout):
            layer.generator = generator


def generators_of(*modules: nn.Module) -> list[torch.Generator]:
    """What dropout in these modules draws from, each once."""
    found = [layer.generator for m in modules for layer in m.modules() if isinstance(layer, Dropout)]
    return list({id(g): g for g in found if g is not None}.values())
