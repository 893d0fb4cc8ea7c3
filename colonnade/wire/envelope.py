"""What is around a frame between sites: which run, the how-manieth request, and which operation, or how it ended.

Request: 4 bytes `CRQ1`, 16 the run, 8 the number (little-endian), 1 length of the operation's name, the name, a frame.
Reply: 4 bytes `CRP1`, 16 the run, 8 the number of the request, 1 how it ended, then a frame, nothing, or a text.
The envelope belongs to the transport, like TLS: the meter counts the frame in it.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Literal

from colonnade.errors import WireError

Ended = Literal["done", "answered", "refused"]
ENDED: tuple[Ended, ...] = ("done", "answered", "refused")
MAX_REASON = 2000  # characters of a refusal's text

_REQUEST, _REPLY = b"CRQ1", b"CRP1"
_HEAD = struct.Struct("<4s16sQB")


@dataclass(frozen=True)
class Request:
    """An operation and the frame of its message."""

    run: bytes
    number: int
    operation: str
    frame: bytes


@dataclass(frozen=True)
class Reply:
    """How a request ended: nothing to say, the frame of an answer, or why it was refused."""

    run: bytes
    number: int
    ended: Ended
    content: bytes = b""

    @property
    def reason(self) -> str:
        """The text of a refusal, fit to be shown."""
        text = self.content[: 4 * MAX_REASON].decode("utf-8", "replace")[:MAX_REASON]
        return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def run_of(name: str) -> bytes:
    """The 16 bytes that stand for a run."""
    return hashlib.blake2b(name.encode(), digest_size=16).digest()


def seal_request(request: Request) -> bytes:
    """The request as bytes."""
    name = request.operation.encode()
    return _HEAD.pack(_REQUEST, request.run, request.number, len(name)) + name + request.frame


def seal_reply(reply: Reply) -> bytes:
    """The reply as bytes."""
    return _HEAD.pack(_REPLY, reply.run, reply.number, ENDED.index(reply.ended)) + reply.content


def open_request(data: object) -> Request:
    """The inverse of `seal_request`; anything malformed is a `WireError`."""
    whole, run, number, length = _open(data, _REQUEST)
    start = _HEAD.size + length
    if start > len(whole):
        raise WireError(f"a request of {len(whole)} bytes announces an operation up to byte {start}. It was cut.")
    try:
        operation = whole[_HEAD.size : start].decode("ascii")
    except UnicodeDecodeError:
        raise WireError("a request names its operation in bytes that are no text.") from None
    return Request(run, number, operation, whole[start:])


def open_reply(data: object) -> Reply:
    """The inverse of `seal_reply`; anything malformed is a `WireError`."""
    whole, run, number, code = _open(data, _REPLY)
    if code >= len(ENDED):
        raise WireError(f"a reply ends in the unknown way {code}.")
    return Reply(run, number, ENDED[code], whole[_HEAD.size :])


def run_in(data: object) -> bytes:
    """The run that a request names; nothing where it names none."""
    return data[4:20] if isinstance(data, bytes) and data[:4] == _REQUEST else b""


def _open(data: object, kind: bytes) -> tuple[bytes, bytes, int, int]:
    if not isinstance(data, bytes):
        raise WireError(f"bytes were expected, and {type(data).__name__} came.")
    if len(data) < _HEAD.size or data[:4] != kind:
        raise WireError(f"{len(data)} bytes came that are not ours: they do not begin as {kind.decode()} does.")
    _, run, number, last = _HEAD.unpack_from(data)
    return data, run, number, last
