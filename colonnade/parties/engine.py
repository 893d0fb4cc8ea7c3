"""The seam between a method and what carries its calls: one verb, and what an engine can promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Generator, Tensor

from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.skill import Offer, Operation
from colonnade.wire.message import Message, Value
from colonnade.wire.wire import Content, Wire, of_party, settings_of


@dataclass(slots=True)
class Requests:
    """What is put to some passive parties at once. What is the same for all of them is one object.

    Attributes:
        kind: of the messages.
        sender: the active party.
        phase: of the run.
        names: the parties.
        tensors: by name, one for all parties or one for each.
        values: by name, one for all parties or one for each.
    """

    kind: str
    sender: str
    phase: str
    names: tuple[str, ...]
    tensors: Content
    values: Mapping[str, Value | Mapping[str, Value]]

    def message(self, name: str) -> Message:
        """What one party gets."""
        values = settings_of(self.values, name) if self.values else {}
        return Message(self.kind, self.sender, name, self.phase, of_party(self.tensors, name), values)


@dataclass(slots=True)
class Answers:
    """What the parties answered: tensors by name and party, and values by party; without those that gave none."""

    tensors: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    @property
    def first(self) -> Mapping[str, Tensor]:
        """The tensor of an answer that has one, by party."""
        return next(iter(self.tensors.values()), {})


@dataclass(frozen=True)
class Promises:
    """What an engine can promise.

    Attributes:
        recordable: whether a step with its messages can be replayed as one.
        may_be_late: whether a method may say how long it waits, and the engine goes on without late answers.
        generators: what a step of the passive parties draws from, where it can be replayed.
        parties: the passive parties, where they are in this process; None where each is at its own site.
        late: answers of each party that came too late so far.
    """

    recordable: bool = False
    may_be_late: bool = False
    generators: Sequence[Generator] = ()
    parties: Mapping[str, PassiveParty] | None = None
    late: Mapping[str, int] = field(default_factory=dict)


class Engine(Protocol):
    """Carries requests to the passive parties and brings back their answers."""

    wire: Wire
    names: tuple[str, ...]
    offer: Offer

    @property
    def promises(self) -> Promises:
        """What the engine can promise at present."""

    def call(self, operation: Operation, requests: Requests) -> Answers:
        """Put a request to each party, all at once."""


def gathered(answers: Mapping[str, Message]) -> Answers:
    """Answers that came as one message of each party."""
    tensors: dict[str, dict[str, Tensor]] = {}
    for name, message in answers.items():
        for key, tensor in message.tensors.items():
            tensors.setdefault(key, {})[name] = tensor
    return Answers(tensors, {name: message.values for name, message in answers.items()})
