"""The default engine: all parties in one process.

Not a mock: every call passes the wire and is counted at the size it would have on a network, but nothing is copied or
serialised. Parties whose encoders have equal shapes run together, as one batched call (see `stack.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from colonnade.party import OPERATIONS, PassiveParty, Reply
from colonnade.stack import PartyStack, stack_parties
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire


class InProcess:
    """Calls the passive parties directly."""

    def __init__(self, parties: Sequence[PassiveParty], wire: Wire, *, stack: bool = True) -> None:
        self.parties = {party.name: party for party in parties}
        self.names = tuple(self.parties)
        self.wire = wire
        self.stack = stack
        self.stacks: list[PartyStack] = []

    def call(self, operation: str, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Put a request to each party, all at once; answers by party."""
        received = {name: self.wire.carry(message) for name, message in requests.items()}
        replies = self._perform(operation, received)
        kind = OPERATIONS[operation].reply
        if operation == "prepare" and self.stack:
            self.stacks = stack_parties(self.parties.values())
        if kind is None:
            return {}
        answers = {}
        for name, request in requests.items():
            reply = replies[name]
            assert reply is not None
            answer = Message(kind, name, request.sender, request.phase, dict(reply.tensors), dict(reply.values))
            answers[name] = self.wire.carry(answer)
        return answers

    def _perform(self, operation: str, received: Mapping[str, Message]) -> dict[str, Reply | None]:
        replies: dict[str, Reply | None] = {}
        for stack in self.stacks:
            if stack.can(operation, received):
                replies.update(stack.perform(operation, received))
        for name, message in received.items():
            if name not in replies:
                replies[name] = self.parties[name].perform(operation, message)
        return replies
