"""The passive party's side of private set intersection: it answers messages, whatever carries them.

It sends its own ids under its key b, sorted by what they became, and multiplies the active party's encrypted ids by b.
It learns the number of the active party's ids and, when told, which of its own are agreed on.

One `Holder` serves one alignment: its key and its session number are new, so that nothing of another one fits.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Literal

import numpy as np

from colonnade.data.ids import Positions
from colonnade.errors import ConfigError, WireError
from colonnade.sites.intersection.cipher import Cipher, Points
from colonnade.sites.intersection.frames import CHUNK, NO_SESSION, REVEALS, Frame, Kind, decode, encode, parts
from colonnade.sites.intersection.ids import IdSet

Reveal = Literal["both", "size"]
Progress = Callable[[str, int, int], None]  # phase, done, total

MANY = 1_000_000
FEW = 100


def silent(phase: str, done: int, total: int) -> None:
    """Progress that nobody follows."""


def limit(ids: IdSet, most: int | None) -> int:
    """How many ids another party may come with."""
    return max(10 * len(ids), MANY) if most is None else most


class Holder:
    """Answers the active party's messages about `ids`.

    Args:
        ids: the party's own.
        reveal: "both", which ids are common becomes known to both; "size", only how many, and only to the active party.
        most: ids that the active party may ask about; ten times the own number by default, at least a million.
        least: with reveal="size", the fewest ids at either side: with one id, the size says whether it is there.
        threads: for encryption; all cores by default.
        progress: called with the phase, how much is done, and of how much.
    """

    def __init__(
        self,
        ids: IdSet,
        *,
        reveal: Reveal = "both",
        most: int | None = None,
        least: int = FEW,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> None:
        if reveal not in REVEALS:
            raise ConfigError(f"reveal={reveal!r} is no choice. Use 'both' or 'size'.")
        self.ids, self.reveal, self.progress = ids, reveal, progress
        self.most = limit(ids, most)
        self.least = least if reveal == "size" else 1
        self.asked = 0  # ids of the active party
        self._cipher = Cipher(threads)
        self._session = NO_SESSION
        self._next = Frame(Kind.ASK_SETUP, ids.normalise, reveal, NO_SESSION, 0, 0)  # the message to come
        self._points: Points | None = None  # own ids, encrypted and sorted
        self._order: Positions = np.zeros(0, dtype=np.int64)  # the row of each of them
        self._gathered: list[Points] = []  # what is answered at the end
        self._notices: list[Positions] = []
        self._agreed: Positions | None = None
        self._lock = Lock()

    @property
    def agreed(self) -> Positions:
        """Own rows held by all parties, in the agreed order."""
        if self._agreed is None:
            raise WireError(f"party {self.ids.party!r} has not been told which rows are aligned. Finish the alignment.")
        return self._agreed

    @property
    def listed(self) -> Positions:
        """Own rows in the order of the encrypted list that the active party has: the row of each place in it."""
        return self._order

    def prepare(self) -> None:
        """Encrypt the own ids. The first message waits for it, unless it was done before."""
        with self._lock:
            self._prepare()

    def _prepare(self) -> None:
        if len(self._order):
            return
        made = []
        for start in range(0, len(self.ids), CHUNK):
            made.append(self._cipher.hide(self.ids.keys[start : start + CHUNK]))
            self.progress("encrypt", min(start + CHUNK, len(self.ids)), len(self.ids))
        points = np.concatenate(made)
        self._order = np.argsort(points).astype(np.int64)  # by what they became: tells nothing of the ids or their rows
        self._points = points[self._order]

    def reply(self, message: bytes) -> bytes:
        """The answer to one message; one that is not the next of this alignment is refused and changes nothing."""
        frame = decode(message)
        with self._lock:
            self._check(frame)
            if frame.kind == Kind.ASK_SETUP:
                return encode(self._setup(frame))
            if frame.kind == Kind.REQUEST:
                return encode(self._respond(frame))
            if frame.kind == Kind.ASK_RESPONSE:
                return encode(self._collected(frame))
            return encode(self._notice(frame))

    def _check(self, frame: Frame) -> None:
        """The message is the one to come, in this session, under the same rule."""
        me, due = f"party {self.ids.party!r}", self._next
        if (frame.kind, frame.part, frame.session) != (due.kind, due.part, due.session):
            raise WireError(
                f"{me} expected {due.kind.name} {due.part} of this alignment and got {frame.kind.name} {frame.part}. "
                f"It was replayed, lost or out of order. Begin the alignment again."
            )
        for option, ours, theirs in (("normalise", due.rule, frame.rule), ("reveal", due.reveal, frame.reveal)):
            if ours != theirs:
                raise WireError(f"{me} has {option}={ours!r}, the active party {theirs!r}. Agree on one.")
        if frame.session == NO_SESSION:
            self._check_numbers(frame.total)
        elif frame.chunk != due.chunk or (frame.total != due.total and (frame.kind, frame.part) != (Kind.NOTICE, 0)):
            raise WireError(f"{me} got {frame.kind.name} {frame.part} with other numbers than those before it.")
        elif frame.kind == Kind.NOTICE and frame.total > min(self.asked, len(self.ids)):
            raise WireError(f"{me} is told of {frame.total} common ids, more than a party has.")

    def _check_numbers(self, asked: int) -> None:
        me = f"party {self.ids.party!r}"
        if not self.least <= asked <= self.most:
            raise WireError(
                f"{me} is asked about {asked} ids and answers between {self.least} and {self.most}. "
                f"Its owner may change least= and most=."
            )
        if len(self.ids) < self.least:
            raise WireError(f"{me} has {len(self.ids)} ids, fewer than least={self.least} for reveal={self.reveal!r}.")

    def _setup(self, frame: Frame) -> Frame:
        self._prepare()
        if self._points is None:
            raise WireError(f"{self.ids.party!r} sent all its encrypted ids already. Start another alignment.")
        if frame.session == NO_SESSION:
            self.asked, self._session = frame.total, secrets.token_bytes(16)
        answer = replace(frame, kind=Kind.SETUP, session=self._session, total=len(self.ids))
        chunk = self._points[frame.part * frame.chunk : (frame.part + 1) * frame.chunk]
        if frame.part + 1 == answer.parts:
            self._points = None  # all sent
        self._advance(answer, Kind.ASK_SETUP, Kind.REQUEST, self.asked)
        return replace(answer, payload=chunk.tobytes())

    def _respond(self, frame: Frame) -> Frame:
        points = self._cipher.again(frame.points())
        self.progress("answer", min((frame.part + 1) * frame.chunk, self.asked), self.asked)
        if self.reveal == "both":
            self._advance(frame, Kind.REQUEST, Kind.NOTICE, 0)
            return frame.reply(Kind.RESPONSE, points.tobytes())
        self._gathered.append(points)
        if frame.part + 1 == frame.parts:
            self._shuffle()
        self._advance(frame, Kind.REQUEST, Kind.ASK_RESPONSE, self.asked)
        return frame.reply(Kind.WAIT)

    def _shuffle(self) -> None:
        """Sort the whole answer, so that nobody can tell which id a point belongs to; refuse ids asked twice."""
        points = np.sort(np.concatenate(self._gathered))
        if len(points) > 1 and (points[1:] == points[:-1]).any():
            del self._gathered[-1]
            raise WireError(
                f"party {self.ids.party!r} is asked about an id twice, which reveal='size' does not answer."
            )
        self._gathered = [points]

    def _collected(self, frame: Frame) -> Frame:
        chunk = self._gathered[0][frame.part * frame.chunk : (frame.part + 1) * frame.chunk]
        self._advance(frame, Kind.ASK_RESPONSE, Kind.DONE, 0)
        return frame.reply(Kind.RESPONSE, chunk.tobytes())

    def _notice(self, frame: Frame) -> Frame:
        slots = np.concatenate([*self._notices, frame.positions()])
        if len(slots) and (slots.min() < 0 or slots.max() >= len(self.ids) or len(np.unique(slots)) < len(slots)):
            raise WireError(f"party {self.ids.party!r} is told of rows that it does not have, or of one twice.")
        self._notices = [slots]
        if frame.part + 1 == frame.parts:
            self._agreed = self._order[slots]
        self._advance(frame, Kind.NOTICE, Kind.DONE, 0)
        return frame.reply(Kind.DONE)

    def _advance(self, frame: Frame, kind: Kind, then: Kind, total: int) -> None:
        """What comes next: another part, or the next stage, of `total` items."""
        if frame.part + 1 < parts(frame.total, frame.chunk):
            self._next = replace(frame, kind=kind, part=frame.part + 1, payload=b"")
        else:
            self._next = replace(frame, kind=then, part=0, total=total, payload=b"")
