"""Parties of one stack are called as one; what crosses, is counted and logged is the same as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.errors import WireError
from colonnade.parties.skills.split import Split
from colonnade.wire.stacked import Stacked
from colonnade.wire.wire import Wire
from tests.declared import make_wire
from tests.methods.together import observe


def equal_parties(parties: int = 5, rows: int = 60) -> cn.VerticalData:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 3, rows)
    return cn.VerticalData({f"p{k}": draw.normal(size=(rows, 4)) + y[:, None] for k in range(parties)}, y)


def counted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[Any]:
    """What a method of a class is called with from now on."""
    calls: list[Any] = []
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given: (calls.append(given), original(*given))[1])
    return calls


@pytest.mark.parametrize("name", ["splitnn", "ssvfl"])
@pytest.mark.parametrize("join", ["concat", "mean"])
def test_one_call_for_all_equals_one_call_each(name: str, join: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = cn.split(equal_parties())
    options: dict[str, Any] = {"join": join, "epochs": 5, "batch_size": 16, "hidden": (8,), "width": 4}
    alone = [counted(monkeypatch, Split, name) for name in ("forward", "backward")]
    single = [counted(monkeypatch, Wire, "carry")]
    together = cn.METHODS[name](**options).fit(parts.train, parts.valid)
    assert alone == [[], []] and {m.kind for (_, m) in single[0]} == {"shape"}  # widths differ from party to party
    observe(monkeypatch)
    apart = cn.METHODS[name](**options).fit(parts.train, parts.valid)
    assert {"rows", "representation", "gradient"} <= {m.kind for (_, m) in single[0]}
    assert together.traffic_.to_json() == apart.traffic_.to_json()
    assert together.federation_.wire.audit_json() == apart.federation_.wire.audit_json()
    assert together.federation_.wire.audit_json() == apart.federation_.wire.audit_json()  # reading twice adds nothing
    rows = parts.test.views
    np.testing.assert_allclose(together.predict_proba(rows), apart.predict_proba(rows), rtol=1e-5, atol=1e-6)


def test_a_group_is_checked_like_each_message() -> None:
    names = ("p", "q")

    def carry(kind: str, name: str, tensor: torch.Tensor, **options: Any) -> Wire:
        wire = make_wire(active="a", **options)
        wire.carry_group(kind, "train", names, {name: Stacked(names, tensor)}, {})
        return wire

    assert carry("representation", "representation", torch.ones(2, 3, 4)).traffic.messages == 2
    with pytest.raises(WireError, match="NaN or infinity"):
        carry("representation", "representation", torch.full((2, 3, 4), torch.nan))
    with pytest.raises(WireError, match="autograd graph"):
        carry("gradient", "gradient", torch.ones(2, 3, 4, requires_grad=True))
    with pytest.raises(WireError, match="undeclared tensor 'labels'"):
        carry("gradient", "labels", torch.ones(2, 3, 4))
    with pytest.raises(WireError, match="carried one by one"):
        carry("gradient", "gradient", torch.ones(2, 3, 4), precision="int8")
    with pytest.raises(WireError, match="undeclared kind 'labels'"):
        carry("labels", "labels", torch.ones(2, 3, 4))


def test_a_stack_is_a_mapping() -> None:
    stack = Stacked(("p", "q"), torch.arange(4.0).view(2, 2))
    assert list(stack) == ["p", "q"] and len(stack) == 2 and stack["q"].tolist() == [2.0, 3.0]
    assert stack.get("r") is None
