"""Optimizers by name, fused, so that a step costs one pass over the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

OPTIMIZERS = ("adam", "sgd", "adagrad")
MOMENTUM = 0.9


def make_optimizer(
    parameters: Iterable[torch.nn.Parameter] | list[dict[str, Any]],
    name: str,
    learning_rate: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """Adam, SGD with momentum 0.9, or Adagrad."""
    if name == "adam":
        return torch.optim.Adam(parameters, lr=learning_rate, weight_decay=weight_decay, fused=True)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=learning_rate, momentum=MOMENTUM, weight_decay=weight_decay, fused=True)
    return torch.optim.Adagrad(parameters, lr=learning_rate, weight_decay=weight_decay, fused=True)
