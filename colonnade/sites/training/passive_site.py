"""A passive party at its own site: takes requests as bytes, checks them, lets the party perform them, answers in bytes.

Nothing here knows FLARE. A request that is malformed, too large, out of order, from another run, for another party or
not allowed by the site's policy is refused; the refusal is logged here and told to the asker. No error's traceback and
no value of a row leaves.
"""

from __future__ import annotations

import logging
import secrets
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from colonnade.data.ids import locate
from colonnade.errors import ColonnadeError, DataError, WireError
from colonnade.methods._base.setup import Skills
from colonnade.parties.passive import PassiveParty
from colonnade.parties.skills.skill import Offer, Operation, offer_of
from colonnade.parties.skills.skill import Reply as Answer
from colonnade.sites.files.parts import write_part
from colonnade.sites.files.say import say
from colonnade.sites.policy.budget import Budget, budget_of
from colonnade.sites.policy.policy import Policy
from colonnade.sites.recovery.past import Past
from colonnade.sites.settings.table import SiteTable
from colonnade.sites.skills.privileges import granted
from colonnade.sites.skills.train import Assigning
from colonnade.sites.training.offers import Offers
from colonnade.wire.codec import PRECISIONS, encode
from colonnade.wire.envelope import Reply, Request, open_request, seal_reply
from colonnade.wire.guard import open_frame
from colonnade.wire.kind import Kinds
from colonnade.wire.message import Message, Value
from colonnade.wire.protections import build
from colonnade.wire.protections.text import listed, parse
from colonnade.wire.wire import Wire

log = logging.getLogger(__name__)
HELD_BACK = ("valid", "test")  # rows that are loaded after the preprocessing was fitted without them
TABLES = {"valid": "valid", "test": "predict"}  # the names that methods know them by


@dataclass
class PassiveSite:
    """One passive party in one run."""

    name: str
    active: str
    table: SiteTable
    policy: Policy
    run: bytes
    out: Path | None = None  # where the party's part of a model goes
    offers: Offers | None = None  # what is done here besides training
    kept: dict[str, Value] = field(default_factory=dict)  # of the assignment: what predictions need later
    party: PassiveParty | None = None
    ended: bool = False
    offer: Offer = field(init=False)  # what may be asked at present
    wire: Wire = field(init=False)
    held_back: dict[str, Tensor] = field(default_factory=dict)
    last: int = 0  # number of the last request that was taken
    taken: int = 0  # how many were
    refused: int = 0
    past: Past | None = None  # of this run, from before a crash
    title: str = ""  # name of the run; by default the digits of its 16 bytes
    budget: Budget | None = field(init=False)  # where the policy has an epsilon
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.title = self.title or self.run.hex()
        self.budget = budget_of(self.policy, self.name, self.run, self.out)
        self.offer = offer_of(Assigning, *(self.offers.skills if self.offers is not None else ()))
        self.wire = Wire(self.offer.kinds, active=self.active)
        self._assigning = Assigning(self)

    def answer(self, data: object) -> bytes:
        """The reply to a request; never raises, whatever came."""
        if self.past is not None and self.past.is_asked_for(data, self.run):
            return self.past.stand(data, self)
        with self._turn:
            if self.past is not None and not self.past.settled:
                return self._refuse(0, "was not asked where it stands in this run.")
            if self.past is not None and (reply := self.past.again(data)) is not None:
                return reply
            before, reply = self.last, self.reply_to(data)
            if self.past is not None and self.last > before:
                self.past.answered(data, reply)
            return reply

    def reply_to(self, data: object) -> bytes:
        """The reply to a request, without regard to the past."""
        number = 0
        try:
            request = self._open(data)
            number = request.number
            content = self._take(request)
        except ColonnadeError as error:
            return self._refuse(number, f"{error}")
        except Exception as error:  # its text may hold values of rows: not even the log has it
            where = "".join(traceback.format_tb(error.__traceback__))
            log.error("party %r failed with %s:\n%s", self.name, type(error).__name__, where)
            return self._refuse(number, f"failed with {type(error).__name__}; the site's log says why.")
        return seal_reply(Reply(self.run, number, "done" if content is None else "answered", content or b""))

    def _refuse(self, number: int, reason: str) -> bytes:
        self.refused += 1
        text = reason.encode(errors="backslashreplace")  # what came may hold characters that no file takes
        say(f"refused request {number}, because: {text.decode()}", warn=True)
        return seal_reply(Reply(self.run, number, "refused", text))

    def _open(self, data: object) -> Request:
        """The request, if it is of this run and newer than the last one."""
        if isinstance(data, bytes) and len(data) > self.policy.bytes + 512:
            raise WireError(f"a request of {len(data)} bytes came. At most {self.policy.bytes} are taken.")
        request = open_request(data)
        if request.run != self.run:
            raise WireError("a request of another run came. Start the training again.")
        if request.number <= self.last:
            raise WireError(f"request {request.number} came after request {self.last}: sent again, or out of order.")
        if self.past is not None and request.number > self.last + 1:
            raise WireError(f"request {request.number} came after request {self.last}: one is missing.")
        return request

    def _take(self, request: Request) -> bytes | None:
        """Refuse what the run does not offer or the owner does not allow, before a value is looked at; else do it."""
        operation = self._offered(request.operation)
        packed = open_frame(
            request.frame, self.active, self.name, "down",
            kinds=self.offer.kinds, largest=self.policy.bytes, precision=self.wire.precision,
        )  # fmt: skip
        operation.check(packed, self.name)
        self.policy.check_request(operation, packed, self.taken + 1)
        if self.past is not None:
            self.past.take(request)
        self.last, self.taken = request.number, self.taken + 1
        message = self.wire.receive(packed)
        reply, phase = self._carry_out(operation, message)
        if self.ended and self.past is not None:
            self.past.ended(request)
        return self._sent(operation, reply, phase)

    def _offered(self, name: str) -> Operation:
        """An operation that may be asked at present."""
        if self.ended:
            raise WireError("the run has ended. Start another.")
        if self.party is None and name not in self.offer.operations:
            raise WireError(f"{name!r} was asked before rows were assigned.")
        return self.offer.operation(name)

    def _carry_out(self, operation: Operation, message: Message) -> tuple[Answer | None, str]:
        """What the site itself, its offers or its party answers, and the phase in which it travels."""
        if operation.name in Assigning.operations:
            return getattr(self._assigning, operation.name)(message), message.phase
        if self.party is not None:
            return self._perform(self.party, operation, message), message.phase
        if self.offers is None:
            raise WireError(f"{operation.name!r} is not offered in a run of training.")
        answered = self.offers.perform(operation, message)
        self.wire = self.offers.wire or self.wire
        return answered

    def _perform(self, party: PassiveParty, operation: Operation, message: Message) -> Answer | None:
        self._check_rows(party, message)
        if self.budget is not None:
            self.budget.admit(operation, message, party, self.wire.protections)
        try:
            reply = party.perform(operation.name, message)
            if operation.readies:
                self._load_held_back(party)
        except DataError as error:  # it may name columns
            say(f"its rows do not serve for run {self.title}: {error}", warn=True)
            raise WireError("its rows do not serve for this; the site's log says why.") from None
        return reply

    def _sent(self, operation: Operation, reply: Answer | None, phase: str) -> bytes | None:
        """The frame of an answer, where there is one."""
        if operation.answers is None or reply is None:
            return None
        answer = Message(operation.answers.name, self.name, self.active, phase, dict(reply.tensors), dict(reply.values))
        self.policy.check_answer(answer)
        return encode(self.wire.send(answer))

    def _check_rows(self, party: PassiveParty, message: Message) -> None:
        """Refuse rows outside the aligned training rows."""
        rows = message.tensors.get("rows")
        if rows is None or not len(rows):
            return
        inside = 0 <= int(rows.min()) <= int(rows.max()) < party.aligned
        if not inside or len(rows) > party.aligned:
            raise WireError(f"rows were asked that are not among the {party.aligned} aligned training rows.")

    def assign(self, message: Message) -> None:
        """Take a run: a fresh party with the skills that the method needs, the aligned rows that train, and its own."""
        if self.party is not None:
            raise WireError("rows are assigned once in a run. Start another.")
        self.policy.check_method(str(message.values.get("method")))
        self.policy.check_rows(sum(len(rows) for rows in message.tensors.values()))
        skills = granted(self.name, self.active, message.values)
        if message.values.get("digest") != self.table.digest(self.run):
            raise WireError(f"party {self.name!r} holds other agreed ids than {self.active!r}. Agree on them again.")
        parts = {k: self._positions(message.tensors.get(k), k) for k in ("train", *HELD_BACK)}
        every = torch.cat(list(parts.values()))
        if len(torch.unique(every)) < len(every) or not len(parts["train"]):
            raise WireError("the assignment names a row twice, or no row to train on.")
        party, offer = self._new_party(parts["train"], skills), offer_of(Assigning, *skills)
        wire = self._new_wire(message, party, offer.kinds)
        if self.budget is not None:
            self.budget.promise(wire.protections)
        self.party, self.offer, self.wire = party, offer, wire
        self.held_back = {k: parts[k] for k in HELD_BACK}
        self.kept = {key: message.values.get(key) for key in ("method", "codec", "protect")}
        self.kept["private"] = self.budget is not None
        said = f"{self.kept['method']} with {self.active}, {party.aligned} common training rows"
        say(f"run {self.title} started: {said}")

    def _new_party(self, rows: Tensor, skills: Skills) -> PassiveParty:
        """A fresh party, with these aligned rows and its own others."""
        view, aligned = self.table.view, self.table.aligned
        if view is None:
            raise WireError(f"party {self.name!r} has no columns to train with.")
        others = np.flatnonzero(locate(aligned, view.ids) < 0)
        train = aligned[rows.numpy()]
        mine = np.concatenate([locate(view.ids, train), others])
        party = PassiveParty(self.name, view.take(mine), train, skills=skills)
        if self.past is not None:
            party.keeper, party.secret = self.past.courses, self.past.secret
        else:
            party.secret = secrets.token_bytes(32)
        return party

    def finish(self) -> None:
        """End the run: this party's part of the model is kept here, and nothing more is answered."""
        self.ended = True
        if self.out is not None and self.party is not None and self.party.encoder is not None:
            write_part(self.out, self.party, self.title, self.kept)
            say(f"run {self.title} ended; this party's part of the model is in {self.out}")

    def _positions(self, rows: Tensor | None, name: str) -> Tensor:
        found = torch.zeros(0, dtype=torch.int64) if rows is None else rows.long()
        if len(found) and not 0 <= int(found.min()) <= int(found.max()) < len(self.table.aligned):
            raise WireError(f"the assignment's {name} rows are not among the {len(self.table.aligned)} agreed ids.")
        return found

    def _new_wire(self, message: Message, party: PassiveParty, kinds: Kinds) -> Wire:
        """A wire for the run: how numbers travel as asked; noise as asked, from a seed that nobody else knows."""
        codec, protect = message.values.get("codec", "float32"), str(message.values.get("protect") or "")
        if codec not in PRECISIONS:
            raise WireError(f"codec must be one of {', '.join(PRECISIONS)}. Got {codec!r}.")
        asked = tuple(entry for entry in (listed(protect) if protect else ()) if _leaves(parse(entry).kind, kinds))
        drawn = party.secret_for("protections") or secrets.token_bytes(32)
        protections = build(asked, int.from_bytes(drawn[:8], "little") >> 2)
        return Wire(kinds, codec, [*protections], active=self.active)

    def _load_held_back(self, party: PassiveParty) -> None:
        """Validation and test rows, now that scales and vocabularies are fitted without them."""
        for part, positions in self.held_back.items():
            if len(positions) and self.table.view is not None:
                party.load(TABLES[part], self.table.view, self.table.aligned[positions.numpy()])


def _leaves(kind: str, kinds: Kinds) -> bool:
    """Whether messages of a kind leave this site; one that the run does not have is refused."""
    if kind not in kinds:
        raise WireError(f"protect names {kind!r}, which does not cross in this run.")
    return kinds[kind].direction == "up"
