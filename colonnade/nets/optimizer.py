"""Optimizers by name, fused, so that a step costs one pass over the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

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
        return torch.optim.Adam(groups, **settings, capturable=True) if on_gpu else DirectAdam(groups, **settings)
    if name in ("sgd", "plain-sgd"):
        return torch.optim.SGD(groups, **settings, momentum=MOMENTUM if name == "sgd" else 0.0)
    return torch.optim.Adagrad(groups, **settings)


class DirectAdam(torch.optim.Adam):
    """Adam on a CPU that calls torch's fused kernel itself, from the second step on.

    Profiling, hooks and grouping in `torch.optim` cost more than the update of a small network. The kernel and its
    inputs are the same, so the weights are too. Where a parameter has no gradient, `torch.optim` makes the step.
    """

    _lists: list[tuple[list[Tensor], ...]] | None = None  # parameters, means, squares and steps of each group

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One update."""
        gradients = self._gradients()
        if self._lists is None or gradients is None or closure is not None:
            super().step(closure)
            self._lists = self._prepared()
            return
        with torch.no_grad():
            for group, given, (parameters, means, squares, steps) in zip(
                self.param_groups, gradients, self._lists, strict=True
            ):
                torch._foreach_add_(steps, 1)
                torch._fused_adam_(
                    parameters, given, means, squares, [], steps,
                    lr=group["lr"], beta1=group["betas"][0], beta2=group["betas"][1],
                    weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=False, maximize=False,
                )  # fmt: skip

    step.hooked = True  # type: ignore[attr-defined]  # keeps torch from wrapping it for its profiler

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def load_state_dict(self, state_dict: Any) -> None:
        """Take a saved state; the tensors are others from here on."""
        super().load_state_dict(state_dict)
        self._lists = None

    def _gradients(self) -> list[list[Tensor]] | None:
        """The gradients of each group; None where a parameter has none."""
        found = []
        for group in self.param_groups:
            given = []
            for parameter in group["params"]:
                if parameter.grad is None:
                    return None
                given.append(parameter.grad)
            found.append(given)
        return found

    def _prepared(self) -> list[tuple[list[Tensor], ...]] | None:
        """The lists that the kernel reads; None while some parameter has had no gradient, or has another type."""
        every = [p for group in self.param_groups for p in group["params"]]
        if any(p not in self.state or p.dtype != torch.float32 for p in every):
            return None
        names = ("exp_avg", "exp_avg_sq", "step")
        return [
            (list(group["params"]), *([self.state[p][name] for p in group["params"]] for name in names))
            for group in self.param_groups
        ]


def _groups(parameters: Iterable[torch.nn.Parameter] | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parameters as groups; groups are copied, as they get a rate of their own."""
    given: list[Any] = list(parameters)
    if given and isinstance(given[0], dict):
        return [dict(group) for group in given]
    return [{"params": given}]
