"""A passive party at its own site: takes requests as bytes, checks them, lets the party perform them, answers in bytes.

Nothing here knows FLARE. A request that is malformed, too large, out of order, from another run, for another party or
not allowed by the site's policy is refused; the refusal is logged here and told to the asker. No error's traceback and
no value of a row leaves.
"""

from __future__ import annotations

import logging
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from colonnade.data.ids import locate
from colonnade.errors import ColonnadeError, WireError
from colonnade.federate.parts import write_part
from colonnade.federate.policy import Policy
from colonnade.federate.table import SiteTable
from colonnade.passive import OPERATIONS, PassiveParty
from colonnade.wire.codec import PRECISIONS, encode
from colonnade.wire.engines.envelope import Reply, Request, open_request, seal_reply
from colonnade.wire.engines.flare import ASSIGN, FINISH
from colonnade.wire.engines.guard import open_frame
from colonnade.wire.message import KINDS, Message
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
    party: PassiveParty | None = None
    ended: bool = False
    wire: Wire = field(default_factory=Wire)
    held_back: dict[str, Tensor] = field(default_factory=dict)
    last: int = 0  # number of the last request that was taken
    taken: int = 0  # how many were
    refused: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, data: object) -> bytes:
        """The reply to a request; never raises, whatever came."""
        with self._turn:
            number = 0
            try:
                request = self._open(data)
                number = request.number
                content = self._take(request)
            except ColonnadeError as error:
                return self._refuse(number, f"{error}")
            except Exception as error:  # its text may hold values of rows
                log.exception("party %r failed", self.name)
                return self._refuse(number, f"failed with {type(error).__name__}; the site's log says why.")
            return seal_reply(Reply(self.run, number, "done" if content is None else "answered", content or b""))

    def _refuse(self, number: int, reason: str) -> bytes:
        self.refused += 1
        log.warning("party %r refused request %d: %s", self.name, number, reason)
        return seal_reply(Reply(self.run, number, "refused", reason.encode()))

    def _open(self, data: object) -> Request:
        """The request, if it is of this run and newer than the last one."""
        if isinstance(data, bytes) and len(data) > self.policy.bytes + 512:
            raise WireError(f"a request of {len(data)} bytes came. At most {self.policy.bytes} are taken.")
        request = open_request(data)
        if request.run != self.run:
            raise WireError("a request of another run came. Start the training again.")
        if request.number <= self.last:
            raise WireError(f"request {request.number} came after request {self.last}: sent again, or out of order.")
        return request

    def _take(self, request: Request) -> bytes | None:
        packed = open_frame(
            request.frame, self.active, self.name, "down", largest=self.policy.bytes, precision=self.wire.precision
        )
        self.policy.check_request(request.operation, packed, self.taken + 1)
        self.last, self.taken = request.number, self.taken + 1
        message = self.wire.receive(packed)
        if self.ended:
            raise WireError("the run has ended. Start another.")
        if request.operation == ASSIGN:
            self._assign(message)
            return None
        if request.operation == FINISH:
            self._finish()
            return None
        return self._perform(request.operation, message)

    def _perform(self, operation: str, message: Message) -> bytes | None:
        if self.party is None:
            raise WireError(f"{operation!r} was asked before rows were assigned.")
        declared = OPERATIONS.get(operation)
        if declared is None:
            raise WireError(f"there is no operation {operation!r}. Offered: {', '.join(OPERATIONS)}.")
        self._check_rows(message)
        reply = self.party.perform(operation, message)
        if operation == "prepare":
            self._load_held_back()
        if declared.reply is None or reply is None:
            return None
        answer = Message(declared.reply, self.name, self.active, message.phase, dict(reply.tensors), dict(reply.values))
        self.policy.check_answer(answer)
        return encode(self.wire.send(answer))

    def _check_rows(self, message: Message) -> None:
        """Only aligned training rows can be named; what the party holds beside them is nobody's business."""
        assert self.party is not None
        rows = message.tensors.get("rows")
        if rows is not None and len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < self.party.aligned:
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
        self.held_back = {k: parts[k] for k in HELD_BACK}
        self.wire = self._new_wire(message)

    def _finish(self) -> None:
        """End the run: this party's part of the model is kept here, and nothing more is answered."""
        self.ended = True
        if self.out is not None and self.party is not None and self.party.encoder is not None:
            write_part(self.out, self.party, self.run.hex())

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
        protections = build(tuple(asked), secrets.randbits(62))
        return Wire(precision=codec, protections=[*protections], active=self.active)

    def _load_held_back(self) -> None:
        """Validation and test rows, now that scales and vocabularies are fitted without them."""
        assert self.party is not None and self.table.view is not None
        for part, positions in self.held_back.items():
            if len(positions):
                self.party.load(TABLES[part], self.table.view, self.table.aligned[positions.numpy()])
