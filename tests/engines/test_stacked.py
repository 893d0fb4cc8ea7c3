"""Parties of one stack are called as one; what crosses, is counted and logged is the same as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from colonnade.parties.stacked import Stacked

import colonnade as cn
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import WireError
from colonnade.wire.wire import Wire


def equal_parties(parties: int = 5, rows: int = 60) -> cn.VerticalData:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 3, rows)
    return cn.VerticalData({f"p{k}": draw.normal(size=(rows, 4)) + y[:, None] for k in range(parties)}, y)


@pytest.mark.parametrize("name", ["splitnn", "ssvfl"])
@pytest.mark.parametrize("join", ["concat", "mean"])
def test_one_call_for_all_equals_one_call_each(name: str, join: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = cn.split(equal_parties())
    options: dict[str, Any] = {"join": join, "epochs": 5, "batch_size": 16, "hidden": (8,), "width": 4}
    calls: list[str] = []
    one_by_one = InProcess.call
    monkeypatch.setattr(InProcess, "call", lambda self, op, r: (calls.append(op), one_by_one(self, op, r))[1])
    together = cn.METHODS[name](**options).fit(parts.train, parts.valid)
    assert "forward" not in calls and "backward" not in calls
    monkeypatch.setattr(cn.METHODS[name], "wire", lambda self: Wire(observers=[lambda message: None]))
    apart = cn.METHODS[name](**options).fit(parts.train, parts.valid)
    assert "forward" in calls and "backward" in calls
    assert together.traffic_.to_json() == apart.traffic_.to_json()
    assert together.federation_.wire.audit_json() == apart.federation_.wire.audit_json()
    assert together.federation_.wire.audit_json() == apart.federation_.wire.audit_json()  # reading twice adds nothing
    rows = parts.test.views
    np.testing.assert_allclose(together.predict_proba(rows), apart.predict_proba(rows), rtol=1e-5, atol=1e-6)


def test_a_group_is_checked_like_each_message() -> None:
    wire = Wire(active="a")
    names = ("p", "q")
    wire.carry_all("representation", "train", "representation", torch.ones(2, 3, 4), names)
    assert wire.traffic.messages == 2
    with pytest.raises(WireError, match="NaN or infinity"):
        wire.carry_all("representation", "train", "representation", torch.full((2, 3, 4), torch.nan), names)
    with pytest.raises(WireError, match="autograd graph"):
        wire.carry_all("gradient", "train", "gradient", torch.ones(2, 3, 4, requires_grad=True), names)
    with pytest.raises(WireError, match="undeclared tensor 'labels'"):
        wire.carry_all("gradient", "train", "labels", torch.ones(2, 3, 4), names)
    with pytest.raises(WireError, match="carried one by one"):
        Wire(active="a", precision="int8").carry_all("gradient", "train", "gradient", torch.ones(2, 3, 4), names)


def test_a_stack_is_a_mapping() -> None:
    stack = Stacked(("p", "q"), torch.arange(4.0).view(2, 2))
    assert list(stack) == ["p", "q"] and len(stack) == 2 and stack["q"].tolist() == [2.0, 3.0]
    assert stack.get("r") is None
