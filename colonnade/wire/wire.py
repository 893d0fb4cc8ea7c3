"""The wire: whatever crosses a party's boundary passes through here, and is checked, counted and logged."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from colonnade.errors import WireError
from colonnade.wire.codec import Precision, frame_size, pack, unpack
from colonnade.wire.message import KINDS, Message
from colonnade.wire.meter import Traffic
from colonnade.wire.protection import Protection

Observer = Callable[[Message], None]
MAX_TEXT, MAX_ITEMS = 100, 32  # the largest text and list that a message's values may hold


@dataclass
class Group:
    """Messages that go together, again and again."""

    messages: list[Message]
    size: int  # bytes of all of them
    times: int = 0  # that they went since the log was last read


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
    _audit: dict[tuple[str, str, str, str], dict[str, object]] = field(default_factory=dict)
    _groups: dict[Hashable, Group] = field(default_factory=dict)
    _noted: list[Callable[[], None]] | None = None

    def carry(self, message: Message) -> Message:
        """The message as the receiver gets it."""
        if message.kind not in KINDS:
            raise WireError(
                f"{message.sender!r} sent the undeclared kind {message.kind!r}. Declared: {', '.join(KINDS)}."
            )
        for protection in self.protections:
            message = protection.apply(message)
        self._check(message)
        packed = pack(message, self.precision)
        size = frame_size(packed)
        received = message if packed is message else unpack(packed)
        self._count(message, size)
        for observe in self.observers:
            observe(received)
        return received

    def send(self, message: Message) -> Message:
        """The message as it leaves for another site: protected, checked, packed, counted."""
        for protection in self.protections:
            message = protection.apply(message)
        self._check(message)
        packed = pack(message, self.precision)
        self._count(message, frame_size(packed))
        return packed

    def receive(self, packed: Message) -> Message:
        """A message that came from another site: unpacked, checked, counted."""
        message = unpack(packed)
        self._check(message)
        self._count(message, frame_size(packed))
        for observe in self.observers:
            observe(message)
        return message

    def _check(self, message: Message) -> None:
        check(message)
        up = KINDS[message.kind].direction == "up"
        if self.active is not None and (message.receiver == self.active) != up:
            raise WireError(
                f"{message.kind} may only go {KINDS[message.kind].direction}, not from {message.sender!r} to "
                f"{message.receiver!r}."
            )

    @property
    def sees_each(self) -> bool:
        """Whether each message must pass by itself, as something looks at it or changes it."""
        return bool(self.observers or self.protections) or self.precision != "float32"

    def carry_all(self, kind: str, phase: str, name: str, tensors: Tensor, parties: tuple[str, ...]) -> None:
        """Carry one message of one tensor to or from each of the parties, (K, …); they differ in the party alone.

        The same checks, bytes and log as `carry` for each; what is the same for all is done once.
        """
        if self.sees_each or self.active is None:
            raise WireError("messages that something looks at are carried one by one.")
        key = (kind, phase, name, tensors.dtype, tensors.shape, parties)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._group(kind, phase, name, tensors, parties)
        check(group.messages[0], tensors)
        self._count_group(group)

    def count_round(self, phase: str) -> None:
        """Count one exchange with the passive parties, all at once."""
        self.traffic.count_round(phase)
        self._note(partial(self.count_round, phase))

    @contextmanager
    def noted(self) -> Iterator[list[Callable[[], None]]]:
        """What is counted inside, as calls that count it again: for a recorded step, whose replay sends the same."""
        noted = self._noted = []
        try:
            yield noted
        finally:
            self._noted = None

    def _note(self, count: Callable[[], None]) -> None:
        if self._noted is not None:
            self._noted.append(count)

    def _count(self, message: Message, size: int) -> None:
        self.traffic.count(message.phase, message.kind, KINDS[message.kind].direction, size)
        self._log(message, size)
        if self._noted is not None:  # without what it holds
            like = {name: torch.empty_like(t, device="meta") for name, t in message.tensors.items()}
            bare = Message(message.kind, message.sender, message.receiver, message.phase, like)
            self._note(partial(self._count, bare, size))

    def _count_group(self, group: Group) -> None:
        first = group.messages[0]
        direction = KINDS[first.kind].direction
        self.traffic.count(first.phase, first.kind, direction, group.size, len(group.messages))
        group.times += 1
        self._note(partial(self._count_group, group))

    def _group(self, kind: str, phase: str, name: str, tensors: Tensor, parties: tuple[str, ...]) -> Group:
        """Messages with nothing in them but shapes: one slice serves for all."""
        assert self.active is not None
        like = torch.empty(tensors.shape[1:], dtype=tensors.dtype, device="meta")
        up = KINDS[kind].direction == "up"
        ends = [(party, self.active) if up else (self.active, party) for party in parties]
        messages = [Message(kind, sender, receiver, phase, {name: like}) for sender, receiver in ends]
        for message in messages:
            self._log(message, 0, times=0)  # in the order in which kinds first came
        return Group(messages, sum(frame_size(message) for message in messages))

    def _log(self, message: Message, size: int, times: int = 1) -> None:
        key = (message.phase, message.kind, message.sender, message.receiver)
        entry = self._audit.get(key)
        if entry is None:
            shapes = {name: [str(t.dtype).removeprefix("torch."), *t.shape] for name, t in message.tensors.items()}
            entry = self._audit[key] = {"messages": 0, "bytes": 0, "first": shapes}
        entry["messages"] += times  # type: ignore[operator]
        entry["bytes"] += times * size  # type: ignore[operator]

    @property
    def audit(self) -> dict[tuple[str, str, str, str], dict[str, object]]:
        """Messages, bytes and first shapes, by phase, kind, sender and receiver."""
        for group in self._groups.values():
            for message in group.messages if group.times else ():
                self._log(message, frame_size(message), group.times)
            group.times = 0
        return self._audit

    def audit_json(self) -> list[dict[str, object]]:
        """The audit log, one entry per phase, kind, sender and receiver."""
        names = ("phase", "kind", "from", "to")
        return [{**dict(zip(names, key, strict=True)), **entry} for key, entry in self.audit.items()]


def check(message: Message, content: Tensor | None = None) -> None:
    """Refuse a message that is not what its kind declares: names, types, axes, finite numbers, no autograd graph.

    `content` is what all messages of a group hold, where this one stands for them.
    """
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
        inside = tensor if content is None else content
        if inside.requires_grad:
            raise WireError(f"{place}: {name!r} carries an autograd graph. Detach it before it is sent.")
        if wanted == "float" and not _finite(inside):
            raise WireError(
                f"{place}: {name!r} holds NaN or infinity. Lower the learning rate, or look at the party's data."
            )


def _is_setting(value: object) -> bool:
    """Values are settings, never data: what is large travels as a tensor, which its kind declares."""
    if isinstance(value, list):
        return len(value) <= MAX_ITEMS and all(type(item) is int for item in value)
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)


def _finite(tensor: Tensor) -> bool:
    # One sum is much cheaper than a mask over all elements, and is finite unless an element is not, or overflows.
    if tensor.device.type != "cpu":
        return True  # looked at once per epoch instead: a look at each message would stop the device
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())
