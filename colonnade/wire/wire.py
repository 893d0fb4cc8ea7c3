"""The wire: whatever crosses a party's boundary passes through here, and is checked, counted and logged."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from colonnade.errors import WireError
from colonnade.wire.codec import Precision, frame_size, pack, unpack
from colonnade.wire.kind import Kind, Kinds
from colonnade.wire.message import Message, Value
from colonnade.wire.meter import Traffic
from colonnade.wire.protection import Protection
from colonnade.wire.stacked import Stacked

Observer = Callable[[Message], None]
Content = Mapping[str, Tensor | Mapping[str, Tensor]]  # tensors by name: one for all parties, or one for each
MAX_TEXT, MAX_ITEMS = 100, 32  # the largest text and list that a message's values may hold
MAX_GROUPS = 4096  # remembered at a time


@dataclass
class Group:
    """Messages of one kind, one to or from each of some parties, that go together again and again."""

    messages: list[Message]  # with the shapes of their tensors alone
    size: int  # bytes of all of them
    times: int = 0  # that they went since the log was last read


@dataclass
class Wire:
    """Carries the messages of a run, in one process or between sites.

    `observers` see every message as its receiver does. The audit log counts, for each phase, kind, sender and receiver,
    the messages, their bytes and the shapes of their tensors; it holds no values.
    """

    kinds: Kinds  # that the run declares
    precision: Precision = "float32"
    protections: list[Protection] = field(default_factory=list)
    active: str | None = None  # the party that messages go up to and come down from
    traffic: Traffic = field(default_factory=Traffic)
    observers: list[Observer] = field(default_factory=list)
    _audit: dict[tuple[str, str, str, str], dict[str, object]] = field(default_factory=dict)
    _groups: dict[Hashable, Group] = field(default_factory=dict)
    _noted: list[Callable[[], None]] | None = None

    def __post_init__(self) -> None:
        for protection in self.protections:
            protection.learn(self.kinds)

    def carry(self, message: Message) -> Message:
        """The message as the receiver gets it."""
        message, packed = self._leave(message)
        received = message if packed is message else unpack(packed)
        self._see(received)
        return received

    def send(self, message: Message) -> Message:
        """The message as it leaves for another site: protected, checked, packed, counted."""
        return self._leave(message)[1]

    def receive(self, packed: Message) -> Message:
        """A message that came from another site: unpacked, checked, counted."""
        message = unpack(packed)
        self._check(message)
        self._count(message, frame_size(packed))
        self._see(message)
        return message

    def _leave(self, message: Message) -> tuple[Message, Message]:
        """The message after protections, and as it travels."""
        if message.kind not in self.kinds:
            raise undeclared(message, self.kinds)
        for protection in self.protections:
            message = protection.apply(message)
        self._check(message)
        packed = pack(message, self.precision, lossy=self.kinds[message.kind].lossy)
        self._count(message, frame_size(packed))
        return message, packed

    def _see(self, message: Message) -> None:
        for observe in self.observers:
            observe(message)

    def _check(self, message: Message) -> None:
        kind = self.kinds.get(message.kind)
        if kind is None:
            raise undeclared(message, self.kinds)
        check(message, kind)
        up = kind.direction == "up"
        if self.active is not None and (message.receiver == self.active) != up:
            raise WireError(
                f"{kind.name} may only go {kind.direction}, not from {message.sender!r} to {message.receiver!r}."
            )

    @property
    def sees_each(self) -> bool:
        """Whether each message must pass by itself, as something looks at it or changes it."""
        return bool(self.observers or self.protections) or self.precision != "float32"

    def carry_group(
        self, kind: str, phase: str, parties: tuple[str, ...], content: Content, values: Mapping[str, object]
    ) -> None:
        """Carry one message of a kind to or from each of the parties, where nothing looks at single messages.

        The same checks, bytes and log as `carry` for each. What the same shapes have in common is done once.

        Args:
            kind: of all messages.
            phase: of the run.
            parties: the passive parties at the other end.
            content: their tensors.
            values: their settings; a mapping has one for each party.
        """
        settings = tuple((name, repr(value)) for name, value in values.items()) if values else ()
        shapes: list[Hashable] = []
        sound = True
        for name, given in content.items():
            shapes += (name, type(given))
            for tensor in _tensors(given):
                shapes += (tensor.dtype, tensor.shape)
                sound = sound and not tensor.requires_grad and (not tensor.is_floating_point() or _finite(tensor))
        key = (kind, phase, parties, settings, *shapes)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._group(kind, phase, parties, content, values)
        if not sound:
            self._name_culprit(group, parties, content)
        self._count_group(group)

    def _name_culprit(self, group: Group, parties: tuple[str, ...], content: Content) -> None:
        """Raise the error of the message that is not sound."""
        for message, party in zip(group.messages, parties, strict=True):
            self._check(replace(message, tensors=of_party(content, party)))

    def count_round(self, phase: str) -> None:
        """Count one exchange with the passive parties, all at once."""
        self.traffic.count_round(phase)
        if self._noted is not None:
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
        self.traffic.count(message.phase, message.kind, self.kinds[message.kind].direction, size)
        self._log(message, size)
        if self._noted is not None:
            self._note(partial(self._count, _bare(message), size))

    def _count_group(self, group: Group) -> None:
        first = group.messages[0]
        direction = self.kinds[first.kind].direction
        self.traffic.count(first.phase, first.kind, direction, group.size, len(group.messages))
        group.times += 1
        if self._noted is not None:
            self._note(partial(self._count_group, group))

    def _group(
        self, kind: str, phase: str, parties: tuple[str, ...], content: Content, values: Mapping[str, object]
    ) -> Group:
        """The messages that these shapes and settings make, checked."""
        if self.sees_each or self.active is None:
            raise WireError("messages that something looks at are carried one by one.")
        if len(self._groups) >= MAX_GROUPS:
            _ = self.audit
            self._groups.clear()
        messages = []
        up = kind in self.kinds and self.kinds[kind].direction == "up"
        for party in parties:
            sender, receiver = (party, self.active) if up else (self.active, party)
            like = {name: torch.empty_like(tensor, device="meta") for name, tensor in of_party(content, party).items()}
            message = Message(kind, sender, receiver, phase, like, settings_of(values, party))
            self._check(message)
            self._log(message, 0, times=0)  # in the order in which kinds first came
            messages.append(message)
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


def of_party(content: Content, party: str) -> dict[str, Tensor]:
    """One party's tensors of a content; those that it is not given are left out."""
    found = {}
    for name, given in content.items():
        tensor = given if isinstance(given, Tensor) else given.get(party)
        if tensor is not None:
            found[name] = tensor
    return found


def settings_of(values: Mapping[str, object], party: str) -> dict[str, Value]:
    """One party's settings."""
    return {name: value[party] if isinstance(value, Mapping) else value for name, value in values.items()}  # type: ignore[misc]


def undeclared(message: Message, kinds: Kinds) -> WireError:
    """What is said of a message of a kind that the run does not declare."""
    return WireError(
        f"{message.sender!r} sent the undeclared kind {message.kind!r}. Declared in this run: {', '.join(kinds)}."
    )


def check(message: Message, kind: Kind) -> None:
    """Refuse a message that is not what its kind declares: names, types, axes, finite numbers, no autograd graph."""
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


def _tensors(given: Tensor | Mapping[str, Tensor]) -> Iterable[Tensor]:
    """Each tensor once; a stack is one, which has an axis more than a party's own."""
    if isinstance(given, Tensor):
        return (given,)
    return (given.tensor,) if isinstance(given, Stacked) else given.values()


def _bare(message: Message) -> Message:
    """The message without what it holds."""
    like = {name: torch.empty_like(t, device="meta") for name, t in message.tensors.items()}
    return Message(message.kind, message.sender, message.receiver, message.phase, like)


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
