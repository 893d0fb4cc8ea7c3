"""The default engine: all parties in one process.

Not a mock: every call passes the wire and is counted at the size that it would have on a network, but nothing is copied
or serialised. Parties whose encoders have equal shapes answer as one, by the stacked form of their skills.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from colonnade.engines.in_process.stack import PartyStack, stack_parties
from colonnade.errors import WireError
from colonnade.nets.dropout import generators_of
from colonnade.parties.engine import Answers, Promises, Requests, gathered
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.skill import Offer, Operation, Reply
from colonnade.wire.message import Message
from colonnade.wire.wire import Wire, settings_of


class InProcess:
    """Calls the passive parties directly.

    Args:
        parties: the passive ones, with the skills of the run.
        wire: between them and the active party.
        offer: the operations of the run.
        stack: whether parties may answer as one; False where a method asks them one by one.
        response_limit: seconds after which an answer counts as late; None waits.
        always_late: parties whose every answer is late.
    """

    def __init__(
        self,
        parties: Sequence[PassiveParty],
        wire: Wire,
        offer: Offer,
        *,
        stack: bool = True,
        response_limit: float | None = None,
        always_late: Sequence[str] = (),
    ) -> None:
        self.parties = {party.name: party for party in parties}
        self.names = tuple(self.parties)
        self.wire, self.offer = wire, offer
        self.response_limit, self.always_late = response_limit, frozenset(always_late)
        self.may_stack = stack and self.punctual  # a party that may be late answers for itself
        self.stacks: list[PartyStack] = []
        self.late: dict[str, int] = {}  # answers of each party that came after the limit
        self._spent: dict[str, float] = defaultdict(float)  # seconds a party has worked since its last answer

    @property
    def punctual(self) -> bool:
        """Whether no answer can be late."""
        return self.response_limit is None and not self.always_late

    @property
    def promises(self) -> Promises:
        """What can be promised at present."""
        encoders = [party.encoder for party in self.parties.values() if party.encoder is not None]
        recordable = not self.wire.sees_each and self.punctual
        return Promises(recordable, True, generators_of(*encoders), self.parties, self.late)

    def call(self, operation: Operation, requests: Requests) -> Answers:
        """Put a request to each party, all at once."""
        for name in requests.names if requests.values else ():
            operation.check_values(settings_of(requests.values, name), name)
        apart = self.wire.sees_each
        if apart:
            requests = self._carried(requests)
        else:
            self.wire.carry_group(requests.kind, requests.phase, requests.names, requests.tensors, requests.values)
        replies: dict[str, Reply | None] = {}
        for stack in self.stacks:
            if stack.can(operation, requests):
                answer = stack.form(operation)(requests)
                if stack.names == requests.names and not apart:
                    return self._up_together(operation, requests, answer)
                replies |= stack.replies(operation, answer)
        self._perform(operation, requests, replies)
        if operation.readies and self.may_stack:
            self.stacks = stack_parties(self.parties.values())
        return self._up(operation, requests, replies, apart)

    def _carried(self, requests: Requests) -> Requests:
        """The requests as the parties get them, where something looks at each message."""
        received = {name: self.wire.carry(requests.message(name)).tensors for name in requests.names}
        tensors: dict[str, Tensor | dict[str, Tensor]] = {}
        for key, given in requests.tensors.items():
            same = isinstance(given, Tensor) and all(got[key] is given for got in received.values())
            tensors[key] = given if same else {name: got[key] for name, got in received.items() if key in got}  # type: ignore[assignment]
        return replace(requests, tensors=tensors)

    def _perform(self, operation: Operation, requests: Requests, replies: dict[str, Reply | None]) -> None:
        """Let the parties that have not replied carry the operation out: several at once where they can, else alone."""
        waiting = {name: self.parties[name] for name in requests.names if name not in replies}
        if len(waiting) > 1:
            at_once = next(iter(waiting.values())).owner(operation).at_once(operation, waiting, requests)
            replies.update(dict.fromkeys(at_once))
        for name, party in waiting.items():
            if name in replies:
                continue
            started = time.perf_counter()
            replies[name] = party.carry_out(operation)(requests.message(name))
            self._spent[name] += time.perf_counter() - started

    def _up_together(self, operation: Operation, requests: Requests, answer: Mapping[str, Tensor] | None) -> Answers:
        """The answer of all parties as one."""
        if operation.answers is None or answer is None:
            return Answers()
        tensors = dict.fromkeys(operation.answers.tensors, answer)
        self.wire.carry_group(operation.answers.name, requests.phase, requests.names, tensors, {})
        return Answers(tensors)

    def _up(
        self, operation: Operation, requests: Requests, replies: Mapping[str, Reply | None], apart: bool
    ) -> Answers:
        """The answers, without those that came too late."""
        kind = operation.answers
        if kind is None:
            self._refuse_answers(operation, replies)
            return Answers()
        answered: dict[str, Reply] = {}
        punctual, valued = self.punctual, False
        for name in requests.names:
            reply = replies[name]
            if reply is None:
                raise WireError(f"party {name!r} gave no answer to {operation.name!r}, which has one.")
            if punctual or not self._is_late(operation, name):
                answered[name] = reply
                valued = valued or bool(reply.values)
        if apart or valued:
            up, me, phase = self.wire.carry, requests.sender, requests.phase
            return gathered({
                name: up(Message(kind.name, name, me, phase, dict(reply.tensors), dict(reply.values)))
                for name, reply in answered.items()
            })  # fmt: skip
        keys = dict.fromkeys(key for reply in answered.values() for key in reply.tensors)
        tensors = {
            key: {n: reply.tensors[key] for n, reply in answered.items() if key in reply.tensors} for key in keys
        }
        if answered:
            self.wire.carry_group(kind.name, requests.phase, tuple(answered), tensors, {})
        return Answers(tensors)

    def _refuse_answers(self, operation: Operation, replies: Mapping[str, Reply | None]) -> None:
        """Refuse an answer where none is declared."""
        for name, reply in replies.items():
            if reply is not None:
                raise WireError(f"party {name!r} gave an answer to {operation.name!r}, which declares none.")

    def _is_late(self, operation: Operation, name: str) -> bool:
        """Whether an answer came after the limit, counting the party's work since its last answer."""
        spent = self._spent.pop(name, 0.0)
        too_long = self.response_limit is not None and spent > self.response_limit
        if not operation.may_be_late or not (too_long or name in self.always_late):
            return False
        self.late[name] = self.late.get(name, 0) + 1
        return True
