"""A witness: an observer of the wire that keeps what one party receives, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from colonnade.wire.message import Message
from colonnade.wire.wire import Wire

LIMIT = 1 << 28  # bytes of tensors that a witness keeps


@dataclass
class Witness:
    """Keeps the messages addressed to `party`, as it receives them, until `limit` bytes; it counts those it missed."""

    party: str
    kinds: frozenset[str] | None = None  # None: all
    limit: int = LIMIT
    messages: list[Message] = field(default_factory=list)
    size: int = 0  # bytes kept
    missed: int = 0

    def __call__(self, message: Message) -> None:
        """Keep a copy, if it is for the party."""
        if message.receiver != self.party or (self.kinds is not None and message.kind not in self.kinds):
            return
        size = sum(t.numel() * t.element_size() for t in message.tensors.values())
        if self.missed or self.size + size > self.limit:  # once full, it stays so: no gaps in what is kept
            self.missed += 1
            return
        tensors = {name: t.detach().cpu().clone() for name, t in message.tensors.items()}
        kept = Message(message.kind, message.sender, message.receiver, message.phase, tensors, dict(message.values))
        self.messages.append(kept)
        self.size += size


@contextmanager
def watching(wire: Wire, witness: Witness) -> Iterator[Witness]:
    """Let the witness see what crosses inside."""
    wire.observers.append(witness)
    try:
        yield witness
    finally:
        wire.observers.remove(witness)
