"""The wire: whatever crosses a party's boundary passes through here, and is checked, counted and logged."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from colonnade.errors import WireError
from colonnade.wire.codec import Precision, frame_size, pack, unpack
from colonnade.wire.message import KINDS, Message
from colonnade.wire.meter import Traffic

Observer = Callable[[Message], None]


@dataclass
class Wire:
    """Carries messages, one at a time, in one process or between sites.

    `observers` see every message as its receiver does. The audit log counts, for each phase, kind, sender and receiver,
    the messages, their bytes and the shapes of their tensors; it holds no values.
    """

    precision: Precision = "float32"
    traffic: Traffic = field(default_factory=Traffic)
    observers: list[Observer] = field(default_factory=list)
    audit: dict[tuple[str, str, str, str], dict[str, object]] = field(default_factory=dict)

    def carry(self, message: Message) -> Message:
        """The message as the receiver gets it."""
        kind = KINDS.get(message.kind)
        if kind is None:
            raise WireError(
                f"{message.sender!r} sent the undeclared kind {message.kind!r}. Declared: {', '.join(KINDS)}."
            )
        check(message)
        packed = pack(message, self.precision)
        size = frame_size(packed)
        received = message if packed is message else unpack(packed)
        self.traffic.count(message.phase, message.kind, kind.direction, size)
        self._log(message, size)
        for observe in self.observers:
            observe(received)
        return received

    def _log(self, message: Message, size: int) -> None:
        key = (message.phase, message.kind, message.sender, message.receiver)
        entry = self.audit.get(key)
        if entry is None:
            shapes = {name: [str(t.dtype).removeprefix("torch."), *t.shape] for name, t in message.tensors.items()}
            self.audit[key] = {"messages": 1, "bytes": size, "first": shapes}
        else:
            entry["messages"] += 1  # type: ignore[operator]
            entry["bytes"] += size  # type: ignore[operator]

    def audit_json(self) -> list[dict[str, object]]:
        """The audit log, one entry per phase, kind, sender and receiver."""
        names = ("phase", "kind", "from", "to")
        return [{**dict(zip(names, key, strict=True)), **entry} for key, entry in self.audit.items()]


def check(message: Message) -> None:
    """Refuse a message that is not what its kind declares: names, types, axes, finite numbers, no autograd graph."""
    kind = KINDS[message.kind]
    place = f"{message.kind} from {message.sender!r} to {message.receiver!r}"
    if message.values and not kind.values.issuperset(message.values):
        raise WireError(f"{place} carries undeclared values {sorted(set(message.values) - kind.values)}.")
    for name, tensor in message.tensors.items():
        declared = kind.tensors.get(name)
        if declared is None:
            raise WireError(
                f"{place} carries the undeclared tensor {name!r}. Declared: {', '.join(kind.tensors) or 'none'}."
            )
        wanted, axes = declared
        if tensor.is_floating_point() != (wanted == "float") or tensor.ndim != axes:
            raise WireError(f"{place}: {name!r} is {tensor.dtype} with {tensor.ndim} axes, not {wanted} with {axes}.")
        if tensor.requires_grad:
            raise WireError(f"{place}: {name!r} carries an autograd graph. Detach it before it is sent.")
        if wanted == "float" and not _finite(tensor):
            raise WireError(
                f"{place}: {name!r} holds NaN or infinity. Lower the learning rate, or look at the party's data."
            )


def _finite(tensor: torch.Tensor) -> bool:
    # One sum is much cheaper than a mask over all elements, and is finite unless an element is not, or overflows.
    if tensor.device.type != "cpu":
        return True  # looked at once per epoch instead: a look at each message would stop the device
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())
