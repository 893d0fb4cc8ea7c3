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
from colonnade.engines.remote import ASSIGN, FINISH
from colonnade.errors import ColonnadeError, DataError, WireError
from colonnade.parties.passive import AT_SITES, OPERATIONS, PassiveParty
from colonnade.parties.passive import Reply as Answer
from colonnade.sites.alignment.table import SiteTable
from colonnade.sites.policy.budget import Budget, budget_of
from colonnade.sites.policy.policy import Policy
from colonnade.sites.provisioning.offers import Offers
from colonnade.sites.provisioning.say import say
from colonnade.sites.recovery.past import Past
from colonnade.sites.training.parts import write_part
from colonnade.wire.codec import PRECISIONS, encode
from colonnade.wire.envelope import Reply, Request, open_request, seal_reply
from colonnade.wire.guard import open_frame
from colonnade.wire.message import KINDS, Message, Value
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
    wire: Wire = field(default_factory=Wire)
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
        packed = open_frame(
            request.frame, self.active, self.name, "down", largest=self.policy.bytes, precision=self.wire.precision
        )
        self.policy.check_request(request.operation, packed, self.taken + 1)
        if self.past is not None:
            self.past.take(request)
        self.last, self.taken = request.number, self.taken + 1
        message = self.wire.receive(packed)
        if self.ended:
            raise WireError("the run has ended. Start another.")
        if request.operation == ASSIGN:
            self._assign(message)
            return None
        if request.operation == FINISH:
            self._finish()
            if self.past is not None:
                self.past.ended(request)
            return None
        if request.operation in AT_SITES:
            return self._offer(request.operation, message)
        return self._perform(request.operation, message)

    def _offer(self, operation: str, message: Message) -> bytes | None:
        if self.offers is None or self.party is not None:
            raise WireError(f"{operation!r} was asked in a run of training. Start another.")
        reply = self.offers.perform(operation, message)
        self.wire = self.offers.wire or self.wire
        return self._sent(AT_SITES[operation].reply, reply, "predict" if operation == "encode" else message.phase)

    def _perform(self, operation: str, message: Message) -> bytes | None:
        if self.party is None:
            raise WireError(f"{operation!r} was asked before rows were assigned.")
        declared = OPERATIONS.get(operation)
        if declared is None:
            raise WireError(f"there is no operation {operation!r}. Offered: {', '.join(OPERATIONS)}.")
        self._check_rows(message)
        if self.budget is not None:
            self.budget.admit(operation, message, self.party, self.wire.protections)
        try:
            reply = self.party.perform(operation, message)
            if operation == "prepare":
                self._load_held_back()
        except DataError as error:  # it may name columns
            say(f"its rows do not serve for run {self.title}: {error}", warn=True)
            raise WireError("its rows do not serve for this; the site's log says why.") from None
        return self._sent(declared.reply, reply, message.phase)

    def _sent(self, kind: str | None, reply: Answer | None, phase: str) -> bytes | None:
        """The frame of an answer, where there is one."""
        if kind is None or reply is None:
            return None
        answer = Message(kind, self.name, self.active, phase, dict(reply.tensors), dict(reply.values))
        self.policy.check_answer(answer)
        return encode(self.wire.send(answer))

    def _check_rows(self, message: Message) -> None:
        """Only aligned training rows can be named; what the party holds beside them is nobody's business."""
        assert self.party is not None
        rows = message.tensors.get("rows")
        if rows is None or not len(rows):
            return
        inside = 0 <= int(rows.min()) <= int(rows.max()) < self.party.aligned
        if not inside or len(rows) > self.party.aligned:
            raise WireError(f"rows were asked that are not among the {self.party.aligned} aligned training rows.")

    def _assign(self, message: Message) -> None:
        """Take the rows of a run: a fresh party, with the aligned rows that train and its own others."""
        if message.kind != "assignment":
            raise WireError(f"{ASSIGN!r} came with a {message.kind!r}, not with an assignment.")
        if self.party is not None:
            raise WireError("rows are assigned once in a run. Start another.")
        if message.values.get("digest") != self.table.digest(self.run):
            raise WireError(f"party {self.name!r} holds other agreed ids than {self.active!r}. Agree on them again.")
        parts = {k: self._positions(message.tensors.get(k), k) for k in ("train", *HELD_BACK)}
        every = torch.cat(list(parts.values()))
        if len(torch.unique(every)) < len(every) or not len(parts["train"]):
            raise WireError("the assignment names a row twice, or no row to train on.")
        view, aligned = self.table.view, self.table.aligned
        assert view is not None
        others = np.flatnonzero(locate(aligned, view.ids) < 0)
        train = aligned[parts["train"].numpy()]
        mine = np.concatenate([locate(view.ids, train), others])
        self.party = PassiveParty(self.name, view.take(mine), train)
        if self.past is not None:
            self.party.keeper, self.party.secret = self.past.courses, self.past.secret
        else:
            self.party.secret = secrets.token_bytes(32)
        self.held_back = {k: parts[k] for k in HELD_BACK}
        self.wire = self._new_wire(message)
        self.kept = {key: message.values.get(key) for key in ("method", "codec", "protect")}
        self.kept["private"] = self.budget is not None
        if self.budget is not None:
            self.budget.promise(self.wire.protections)
        say(f"run {self.title} started: {self.kept['method']} with {self.active}, {len(train)} common training rows")

    def _finish(self) -> None:
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

    def _new_wire(self, message: Message) -> Wire:
        """A wire for the run: how numbers travel as asked; noise as asked, from a seed that nobody else knows."""
        codec, protect = message.values.get("codec", "float32"), str(message.values.get("protect") or "")
        if codec not in PRECISIONS:
            raise WireError(f"codec must be one of {', '.join(PRECISIONS)}. Got {codec!r}.")
        asked = [entry for entry in (listed(protect) if protect else ()) if KINDS[parse(entry).kind].direction == "up"]
        assert self.party is not None
        drawn = self.party.secret_for("protections")
        assert drawn is not None
        protections = build(tuple(asked), int.from_bytes(drawn[:8], "little") >> 2)
        return Wire(precision=codec, protections=[*protections], active=self.active)

    def _load_held_back(self) -> None:
        """Validation and test rows, now that scales and vocabularies are fitted without them."""
        assert self.party is not None and self.table.view is not None
        for part, positions in self.held_back.items():
            if len(positions):
                self.party.load(TABLES[part], self.table.view, self.table.aligned[positions.numpy()])
