"""Adam that calls the kernel itself gives the weights of torch's own, to the bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from colonnade.nets.optimizer import DirectAdam

Loss = Callable[[nn.Sequential, Tensor], Tensor]


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))


def trained(kind: type[torch.optim.Optimizer], between: Callable[[Any], None], part: int | None) -> list[Tensor]:
    """Weights after 12 steps, with a change before step 6; `part` has no gradient in step 3."""
    net = network()
    groups = [{"params": list(net[0].parameters())}, {"params": list(net[2].parameters()), "lr": 0.01}]
    optimizer: Any = kind(groups, lr=1e-3, weight_decay=1e-2, fused=True)  # type: ignore[call-arg]
    x = torch.randn(12, 4, 5, generator=torch.Generator().manual_seed(0))
    for step in range(12):
        if step == 6:
            between(optimizer)
        optimizer.zero_grad()
        out = net[0](x[step]) if step == part else net(x[step])
        out.square().sum().backward()
        optimizer.step()
    return [p.detach() for p in net.parameters()]


def nothing(optimizer: Any) -> None:
    pass


def slower(optimizer: Any) -> None:
    for group in optimizer.param_groups:
        group["lr"] /= 3


def reloaded(optimizer: Any) -> None:
    saved = copy.deepcopy(optimizer.state_dict())
    for state in saved["state"].values():
        state["exp_avg"].zero_()  # so that it matters which state is read
    optimizer.load_state_dict(saved)


@pytest.mark.parametrize("between", [nothing, slower, reloaded])
@pytest.mark.parametrize("part", [None, 0, 3])
def test_the_weights_are_those_of_torch(between: Callable[[Any], None], part: int | None) -> None:
    ours, theirs = trained(DirectAdam, between, part), trained(torch.optim.Adam, between, part)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_only_the_first_step_is_made_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    step = torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self, closure=None: (made.append(1), step(self, closure)))
    trained(DirectAdam, nothing, None)
    assert len(made) == 1
