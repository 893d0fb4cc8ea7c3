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
from colonnade.wire.protection import Protection

Observer = Callable[[Message], None]
MAX_TEXT, MAX_ITEMS = 100, 32  # the largest text and list that a message's values may hold


@dataclass
class Wire:
    """Carries messages, one at a time, in one process or between sites.

    `observers` see every message as its receiver does. The audit log counts, for each phase, kind, sender and receiver,
    the messages, their bytes and the shapes of their tensors; it holds no values.
    """

    precision: Precision = "float32"
    protections: list[Protection] = field(default_factory=list)
    active: str | None = None  # the party that messages go up to and come down from
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
        for protection in self.protections:
            message = protection.apply(message)
        check(message)
        if self.active is not None and (message.receiver == self.active) != (kind.direction == "up"):
            raise WireError(
                f"{message.kind} may only go {kind.direction}, not from {message.sender!r} to {message.receiver!r}."
            )
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
    for name, value in message.values.items():
        if not _is_setting(value):
            raise WireError(f"{place}: {name!r} is no setting: a number, a short text, or a few whole numbers.")
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


def _is_setting(value: object) -> bool:
    """Values are settings, never data: what is large travels as a tensor, which its kind declares."""
    if isinstance(value, list):
        return len(value) <= MAX_ITEMS and all(type(item) is int for item in value)
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)


def _finite(tensor: torch.Tensor) -> bool:
    # One sum is much cheaper than a mask over all elements, and is finite unless an element is not, or overflows.
    if tensor.device.type != "cpu":
        return True  # looked at once per epoch instead: a look at each message would stop the device
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())
