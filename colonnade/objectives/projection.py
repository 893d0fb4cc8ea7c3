"""Networks that exist during pre-training only: projectors and predictors.

They are dropped afterwards, so their batch norms keep no running statistics: they use the statistics of the batch in
training and evaluation alike. That leaves nothing to update in place in a forward pass, which lets equal objectives of
several parties run as one batched call (`torch.func.vmap`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def normed_mlp(widths: Sequence[int], *, norm_output: bool) -> nn.Sequential:
    """Linear → batch norm → ReLU for each hidden layer, then Linear, then a batch norm if `norm_output`.

    (B, widths[0]) → (B, widths[-1]). Layers in front of a batch norm have no bias, which the norm would remove.
    """
    layers: list[nn.Module] = []
    last = len(widths) - 2
    for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
        normed = i < last or norm_output
        layers.append(nn.Linear(fan_in, fan_out, bias=not normed))
        if normed:
            layers.append(nn.BatchNorm1d(fan_out, track_running_stats=False))
        if i < last:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)
