"""The wire: what it refuses, what it counts, and what its log holds."""

from __future__ import annotations

import json

import pytest
import torch

import colonnade as cn
from colonnade.errors import WireError
from colonnade.wire import Message, Traffic, Wire
from colonnade.wire.codec import encode
from colonnade.wire.kind import Kind
from tests.declared import KINDS, make_wire, packed


def representation(h: torch.Tensor, phase: str = "train", sender: str = "shop") -> Message:
    return Message("representation", sender, "bank", phase, {"representation": h})


def gradient(g: torch.Tensor, phase: str = "train", receiver: str = "shop") -> Message:
    return Message("gradient", "bank", receiver, phase, {"gradient": g})


with_graph = torch.ones(2, 3, requires_grad=True) * 2
REFUSED = [
    (Message("labels", "bank", "shop", "train"), "'bank' sent the undeclared kind 'labels'. Declared in this run: "),
    (
        Message("gradient", "bank", "shop", "train", {"labels": torch.ones(2, 3)}),
        "gradient from 'bank' to 'shop' carries the undeclared tensor 'labels'. Declared: gradient.",
    ),
    (
        Message("plan", "bank", "shop", "setup", {"rows": torch.ones(2)}),
        "plan from 'bank' to 'shop' carries the undeclared tensor 'rows'. Declared: none.",
    ),
    (
        Message("order", "bank", "shop", "train", {}, {"label": 1, "learning_rate": 0.1}),
        "order from 'bank' to 'shop' carries undeclared values ['label'].",
    ),
    (
        representation(torch.ones(2, 3, dtype=torch.int64)),
        "representation from 'shop' to 'bank': 'representation' is torch.int64 with 2 axes, not float with 2.",
    ),
    (representation(torch.ones(3)), "'representation' is torch.float32 with 1 axes, not float with 2."),
    (
        Message("rows", "bank", "shop", "train", {"rows": torch.ones(3)}),
        "'rows' is torch.float32 with 1 axes, not int with 1.",
    ),
    (representation(torch.ones(2, 3).to(torch.complex64)), "is torch.complex64 with 2 axes, not float with 2."),
    (representation(with_graph), "'representation' carries an autograd graph. Detach it before it is sent."),
    (
        representation(torch.tensor([[1.0, float("nan")]])),
        "'representation' holds NaN or infinity. Lower the learning rate, or look at the party's data.",
    ),
    (gradient(torch.tensor([[1.0, float("inf")]])), "'gradient' holds NaN or infinity."),
    (gradient(torch.tensor([[float("-inf"), float("inf")]])), "'gradient' holds NaN or infinity."),
]


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize(("message", "text"), REFUSED)
def test_what_is_not_declared_does_not_cross(message: Message, text: str, precision: str) -> None:
    seen: list[Message] = []
    wire = make_wire(precision=precision, observers=[seen.append])
    with pytest.raises(WireError) as caught:
        wire.carry(message)
    assert text in str(caught.value)
    assert wire.traffic.messages == 0 and not wire.audit and not seen


def test_large_numbers_are_not_taken_for_infinity() -> None:
    h = torch.full((4, 4), 3e38)  # the sum is infinite, no element is
    assert torch.equal(make_wire().carry(representation(h)).tensors["representation"], h)


def test_nothing_is_copied_when_nothing_is_rounded() -> None:
    message = representation(torch.ones(2, 3))
    assert make_wire().carry(message) is message


def test_traffic_by_hand() -> None:
    wire = make_wire()
    h, g = torch.ones(4, 3), torch.ones(4, 3)
    up = [representation(h, sender=name) for name in ("shop", "telco")]
    down = [gradient(g, receiver=name) for name in ("shop", "telco")]
    valid = representation(torch.ones(7, 3), phase="validate")
    wire.traffic.count_round("train")
    for message in (*up, *down):
        wire.carry(message)
    wire.traffic.count_round("train")
    wire.traffic.count_round("validate")
    wire.carry(valid)
    size = {id(m): len(encode(m)) for m in (*up, *down, valid)}
    ups, downs, later = sum(size[id(m)] for m in up), sum(size[id(m)] for m in down), size[id(valid)]
    traffic = wire.traffic
    assert (traffic.bytes, traffic.messages, traffic.rounds) == (ups + downs + later, 5, 3)
    assert traffic.by_phase == {
        "train": {"bytes": ups + downs, "messages": 4, "rounds": 2},
        "validate": {"bytes": later, "messages": 1, "rounds": 1},
    }
    assert traffic.by_kind == {
        "representation": {"bytes": ups + later, "messages": 3},
        "gradient": {"bytes": downs, "messages": 2},
    }
    assert traffic.by_direction == {
        "up": {"bytes": ups + later, "messages": 3},
        "down": {"bytes": downs, "messages": 2},
    }
    assert repr(traffic) == f"Traffic({ups + downs + later:,} bytes, 5 messages, 3 rounds)"


def test_traffic_survives_json() -> None:
    wire = make_wire()
    wire.carry(representation(torch.ones(2, 2)))
    wire.carry(gradient(torch.ones(2, 2), phase="tune"))
    for phase in ("train", "train", "tune", "silent"):
        wire.traffic.count_round(phase)
    saved = json.loads(json.dumps(wire.traffic.to_json()))
    again = Traffic.from_json(saved)
    assert again.to_json() == saved == wire.traffic.to_json()
    assert again == wire.traffic and again.rounds == 4
    assert Traffic.from_json(Traffic().to_json()).bytes == 0


def test_rounds_of_a_training_by_hand(data: cn.VerticalData) -> None:
    """One to prepare, one to begin, and two for every batch of every epoch: forward, backward."""
    labelled = int(cn.SplitNN(epochs=1).fit(data).federation_.active.labelled_aligned.shape[0])
    model = cn.SplitNN(hidden=(4,), width=3, epochs=2, batch_size=20).fit(data)
    batches = -(-labelled // 20)
    rounds = {phase: entry["rounds"] for phase, entry in model.traffic_.by_phase.items()}
    assert rounds == {"setup": 1, "train": 1 + 2 * 2 * batches}
    kinds = {kind: entry["messages"] for kind, entry in model.traffic_.by_kind.items()}
    assert kinds == {
        "plan": 1, "shape": 1, "order": 1,
        "rows": 2 * batches, "representation": 2 * batches, "gradient": 2 * batches,
    }  # fmt: skip


def test_the_audit_log_counts_and_holds_no_values() -> None:
    wire = make_wire()
    for _ in range(3):
        wire.carry(representation(torch.full((4, 3), 0.123456)))
    wire.carry(Message("order", "bank", "shop", "train", {}, {"learning_rate": 0.987654}))
    size = len(encode(representation(torch.ones(4, 3))))
    log = wire.audit_json()
    assert log[0] == {
        "phase": "train", "kind": "representation", "from": "shop", "to": "bank",
        "messages": 3, "bytes": 3 * size, "first": {"representation": ["float32", 4, 3]},
    }  # fmt: skip
    assert log[1]["messages"] == 1 and log[1]["first"] == {}
    text = json.dumps(log)
    assert "0.12" not in text and "0.98" not in text and "learning_rate" not in text


@pytest.mark.parametrize(("precision", "off"), [("float16", 1e-3), ("int8", 1e-2)])
def test_only_lossy_kinds_are_rounded_and_the_receiver_sees_it(precision: str, off: float) -> None:
    seen: list[Message] = []
    wire = make_wire(precision=precision, observers=[seen.append])
    h = torch.rand(5, 7, generator=torch.Generator().manual_seed(0))
    message = representation(h)
    got = wire.carry(message).tensors["representation"]
    assert got.dtype == torch.float32 and not torch.equal(got, h)
    torch.testing.assert_close(got, h, atol=off, rtol=off)
    assert torch.equal(message.tensors["representation"], h)  # the sender's own is untouched
    assert torch.equal(seen[0].tensors["representation"], got)
    assert wire.traffic.bytes == len(encode(packed(message, precision))) < len(encode(message))
    rows = Message("rows", "bank", "shop", "train", {"rows": torch.arange(1000)})
    assert torch.equal(wire.carry(rows).tensors["rows"], torch.arange(1000))
    order = wire.carry(Message("order", "bank", "shop", "train", {}, {"learning_rate": 1 / 3}))
    assert order.values == {"learning_rate": 1 / 3}


def test_a_kind_with_floats_that_is_not_lossy_stays_exact() -> None:
    exact = Kind("exact", "up", "for this test", tensors={"x": ("float", 1)})
    x = torch.rand(9)
    message = Message("exact", "shop", "bank", "train", {"x": x})
    assert torch.equal(Wire({"exact": exact}, "int8").carry(message).tensors["x"], x)


def test_every_kind_says_what_it_is_for() -> None:
    for name, kind in KINDS.items():
        assert kind.meaning and kind.direction in ("up", "down"), name
        assert "label" not in {*kind.tensors, *kind.values}
