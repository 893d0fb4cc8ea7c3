"""Messages of the alignment as bytes: a header of fixed size, then points or positions. Everything is checked.

Both sides know how many items each part must hold, from the set's size and the chunk, so that a frame is accepted only
at its exact length, and nothing is allocated because a header says so.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from colonnade.data.ids import Positions
from colonnade.errors import WireError
from colonnade.sites.intersection.cipher import POINT, Points
from colonnade.sites.intersection.rules import RULES

MAGIC = b"CnPI"
VERSION = 1
CHUNK = 8192  # ids a message: 270 kB, about a second of work
MAX_CHUNK = 1 << 16
NO_SESSION = bytes(16)
REVEALS = ("both", "size")

_HEADER = struct.Struct("<4s4B16sIIQ")
_RULES = tuple(RULES)


class Kind(IntEnum):
    """What a frame is, and who sends it."""

    ASK_SETUP = 1  # active: may I have part p of your encrypted ids?
    SETUP = 2  # passive: E_b(y), sorted
    REQUEST = 3  # active: E_a(x)
    RESPONSE = 4  # passive: E_b(E_a(x)), in the same order, or all sorted when only the size is to be known
    WAIT = 5  # passive: go on, the answer comes at the end
    ASK_RESPONSE = 6  # active: may I have part p of the answer?
    NOTICE = 7  # active: these of your encrypted ids are agreed on, in this order
    DONE = 8  # passive: understood


_ITEM = {Kind.SETUP: POINT, Kind.REQUEST: POINT, Kind.RESPONSE: POINT, Kind.NOTICE: 8}  # bytes; others hold none


@dataclass(frozen=True)
class Frame:
    """One message. `total` items in all, `chunk` in each part but the last; this is part `part`."""

    kind: Kind
    rule: str
    reveal: str
    session: bytes
    part: int
    total: int
    chunk: int = CHUNK
    payload: bytes = b""

    @property
    def parts(self) -> int:
        """Number of parts."""
        return parts(self.total, self.chunk)

    def points(self) -> Points:
        """The payload as points."""
        return np.frombuffer(self.payload, dtype=f"S{POINT}")

    def positions(self) -> Positions:
        """The payload as positions."""
        return np.frombuffer(self.payload, dtype="<i8").astype(np.int64)

    def reply(self, kind: Kind, payload: bytes = b"") -> Frame:
        """A frame of another kind for the same session and part."""
        return replace(self, kind=kind, payload=payload)


def parts(total: int, chunk: int) -> int:
    """How many messages `total` items take."""
    return max(1, -(-total // chunk))


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    rule, reveal = _RULES.index(frame.rule), REVEALS.index(frame.reveal)
    fixed = (MAGIC, VERSION, frame.kind, rule, reveal, frame.session, frame.part, frame.chunk, frame.total)
    return _HEADER.pack(*fixed) + frame.payload


def decode(data: bytes) -> Frame:
    """The frame of some bytes; anything malformed is a `WireError`."""
    if not isinstance(data, bytes) or len(data) < _HEADER.size:
        raise WireError("a message of the alignment is shorter than its header. It was cut or is not ours.")
    magic, version, kind, rule, reveal, session, part, chunk, total = _HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION:
        raise WireError(
            f"a message is not of the alignment's version {VERSION}. Use the same Colonnade at all parties."
        )
    if kind not in Kind.__members__.values() or rule >= len(_RULES) or reveal >= len(REVEALS):
        raise WireError("a message of the alignment has an unknown kind or setting. It is damaged or not ours.")
    if not 1 <= chunk <= MAX_CHUNK or part >= parts(total, chunk):
        raise WireError(
            f"a message of the alignment is part {part} of {total} items by {chunk}: there is no such part."
        )
    frame = Frame(Kind(kind), _RULES[rule], REVEALS[reveal], session, part, total, chunk, data[_HEADER.size :])
    expected = _ITEM.get(frame.kind, 0) * min(chunk, total - part * chunk)
    if len(frame.payload) != expected:
        raise WireError(f"a message of the alignment holds {len(frame.payload)} bytes in place of {expected}.")
    return frame


def check(frame: Frame, asked: Frame, kind: Kind) -> Frame:
    """Refuse an answer that does not fit the question."""
    if replace(frame, payload=b"") != asked.reply(kind):
        raise WireError(
            f"the answer to {asked.kind.name} {asked.part} is {frame.kind.name} {frame.part}, of another session, part "
            f"or setting. It was replayed or mixed up."
        )
    return frame
