"""Optimizers by name, fused, so that a step costs one pass over the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

OPTIMIZERS = ("adam", "sgd", "plain-sgd", "adagrad")
MOMENTUM = 0.9


def make_optimizer(
    parameters: Iterable[torch.nn.Parameter] | list[dict[str, Any]],
    name: str,
    learning_rate: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """Adam, SGD with momentum 0.9 or ("plain-sgd") without, or Adagrad. On a GPU, all but the last can be recorded."""
    groups = _groups(parameters)
    on_gpu = groups[0]["params"][0].device.type == "cuda"
    if on_gpu and name != "adagrad":
        device = groups[0]["params"][0].device
        for group in groups:  # a recorded step reads the rate from memory
            group["lr"] = torch.tensor(learning_rate, device=device)
    settings: dict[str, Any] = {"lr": learning_rate, "weight_decay": weight_decay, "fused": True}
    if name == "adam":
        return torch.optim.Adam(groups, **settings, capturable=on_gpu)
    if name in ("sgd", "plain-sgd"):
        return torch.optim.SGD(groups, **settings, momentum=MOMENTUM if name == "sgd" else 0.0)
    return torch.optim.Adagrad(groups, **settings)


def _groups(parameters: Iterable[torch.nn.Parameter] | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parameters as groups; groups are copied, as they get a rate of their own."""
    given: list[Any] = list(parameters)
    if given and isinstance(given[0], dict):
        return [dict(group) for group in given]
    return [{"params": given}]
