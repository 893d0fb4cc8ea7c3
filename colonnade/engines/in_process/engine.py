"""The default engine: all parties in one process.

Not a mock: every call passes the wire and is counted at the size it would have on a network, but nothing is copied or
serialised. Parties whose encoders have equal shapes run together, as one batched call (see `stack.py`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from torch import Generator, Tensor

from colonnade.engines.in_process.side_by_side import learn_side_by_side
from colonnade.engines.in_process.stack import PartyStack, stack_parties
from colonnade.nets.dropout import generators_of
from colonnade.parties.passive import OPERATIONS, PassiveParty, Reply
from colonnade.parties.stacked import Stacked
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
        self.response_limit: float | None = None
        self.always_late: frozenset[str] = frozenset()  # whatever the limit
        self.late: dict[str, int] = {}  # answers of each party that came after the limit
        self._spent: dict[str, float] = defaultdict(float)  # seconds a party has worked since its last answer

    @property
    def punctual(self) -> bool:
        """Whether no answer can be late."""
        return self.response_limit is None and not self.always_late

    @property
    def recordable(self) -> bool:
        """Whether a step with its messages can be replayed: nothing looks at a message, and nobody is waited for."""
        return not self.wire.sees_each and self.punctual

    @property
    def generators(self) -> list[Generator]:
        """What the parties' encoders draw from."""
        return generators_of(*(party.encoder for party in self.parties.values() if party.encoder is not None))

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
            if self._is_late(operation, name):
                continue
            answer = Message(kind, name, request.sender, request.phase, dict(reply.tensors), dict(reply.values))
            answers[name] = self.wire.carry(answer)
        return answers

    def call_stacked(
        self, operation: str, sender: str, phase: str, content: Mapping[str, object]
    ) -> tuple[bool, Stacked | None]:
        """Put one question to all parties as one, where a single stack holds all of them; whether that was possible.

        What crosses, and what is counted and logged, is the same as by `call`.
        """
        stack = self.stacks[0] if len(self.stacks) == 1 else None
        if stack is None or not self.recordable or not stack.holds(self.names):
            return False, None
        rows, gradient = content.get("rows"), content.get("gradient")
        if operation == "forward" and len(content) == 1 and isinstance(rows, Tensor):
            self.wire.carry_all("rows", phase, "rows", rows.expand(len(self.names), -1), self.names)
            h = stack.forward(rows)  # (K, B, D)
            self.wire.carry_all("representation", phase, "representation", h, self.names)
            return True, Stacked(self.names, h)
        if operation == "backward" and isinstance(gradient, Stacked) and gradient.names == self.names:
            self.wire.carry_all("gradient", phase, "gradient", gradient.tensor, self.names)
            stack.backward(gradient.tensor)
            return True, None
        return False, None

    def _perform(self, operation: str, received: Mapping[str, Message]) -> dict[str, Reply | None]:
        replies: dict[str, Reply | None] = {}
        for stack in self.stacks:
            if stack.can(operation, received):
                started = time.perf_counter()
                replies.update(stack.perform(operation, received))
                for name in stack.names:
                    self._spent[name] += (time.perf_counter() - started) / len(stack.names)
        if operation == "pretrain":
            replies.update(dict.fromkeys(learn_side_by_side(self.parties, received, replies)))
        for name, message in received.items():
            if name not in replies:
                started = time.perf_counter()
                replies[name] = self.parties[name].perform(operation, message)
                self._spent[name] += time.perf_counter() - started
        return replies

    def _is_late(self, operation: str, name: str) -> bool:
        """Whether a representation came after the limit, counting the party's work since its last answer."""
        spent = self._spent.pop(name, 0.0)
        too_long = self.response_limit is not None and spent > self.response_limit
        if OPERATIONS[operation].reply not in ("representation", "projection") or not (
            too_long or name in self.always_late
        ):
            return False
        self.late[name] = self.late.get(name, 0) + 1
        return True
