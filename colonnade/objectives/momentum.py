"""Momentum copies: networks that follow others slowly and are never trained."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import nn

M = TypeVar("M", bound=nn.Module)


def frozen_copy(module: M) -> M:
    """A copy with the same values, whose parameters take no gradient."""
    twin = copy.deepcopy(module)
    twin.requires_grad_(False)
    return twin


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, momentum: float) -> None:
    """ξ ← m·ξ + (1 - m)·θ for each parameter, in place.

    Buffers are left alone: a batch norm with running statistics inside the copy keeps those of its own activations.
    """
    for xi, theta in zip(target.parameters(), online.parameters(), strict=True):
        xi.lerp_(theta, 1 - momentum)
