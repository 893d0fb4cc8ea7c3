"""What the active party remembers of a run: the reply to each request. With them, a run that was cut is run again from
its start without asking anybody twice: the same seed makes the same requests, and each has its reply already.

A record is 8 bytes the number of a request, 12 a digest of it, 1 length of the site's name, the name, and the reply.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator

from colonnade.errors import WireError
from colonnade.sites.recovery.journal import Journal

_HEAD = struct.Struct("<Q12sB")
_DIGEST = struct.Struct("<IQ")


class Replies:
    """The replies of a run, by site and number.

    They are asked for about in the order in which they came, so few are held at a time.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.last: dict[str, int] = {}  # number of the last request that each site has answered
        self.count = 0
        for record in journal:
            number, _, name, _ = _parts(record)
            self.last[name] = max(number, self.last.get(name, 0))
            self.count += 1
        self._records: Iterator[bytes] = iter(journal)
        self._read: dict[tuple[str, int], tuple[bytes, bytes]] = {}
        self._turn = threading.Lock()

    def known(self, name: str, number: int) -> bool:
        """Whether a site has answered a request already: it answers one after the other."""
        return number <= self.last.get(name, 0)

    def find(self, name: str, number: int, request: bytes) -> bytes:
        """The reply to a request that is known; another request under its number is an error."""
        with self._turn:
            while (name, number) not in self._read:
                record = next(self._records, None)
                if record is None:
                    raise WireError(f"{self.journal.path} has no reply of {name!r} to request {number}. {_ANEW}")
                found, digest, site, reply = _parts(record)
                self._read[site, found] = digest, reply
            digest, reply = self._read.pop((name, number))
        if digest != digest_of(request):
            raise WireError(f"request {number} to {name!r} is another one than before the run was cut. {_ANEW}")
        return reply

    def keep(self, name: str, number: int, request: bytes, reply: bytes) -> None:
        """Remember a reply."""
        with self._turn:
            self.journal.append(_HEAD.pack(number, digest_of(request), len(name)), name.encode(), reply)


_ANEW = "Its table, options or versions have changed since: train with --fresh."


def digest_of(request: bytes) -> bytes:
    """12 bytes that tell a request from another: against accidents, not against an adversary."""
    return _DIGEST.pack(zlib.crc32(request), len(request))


def _parts(record: bytes) -> tuple[int, bytes, str, bytes]:
    number, digest, length = _HEAD.unpack_from(record)
    start = _HEAD.size + length
    return number, digest, record[_HEAD.size : start].decode(), record[start:]
