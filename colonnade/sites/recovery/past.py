"""A passive party's memory of a run: every request it took, so that after a crash it does the same again by itself.

A party is a machine that one request after another moves: the same requests bring a fresh one to where it was. Each is
written down before it is performed. Learning alone, which can be long, is not done again: see `keeper.py`. Noise and
masks come from a secret that is written down first, so they are the same too.

The journal has the secret, then requests; and only the number and the digest of the last request once the run ended.
"""

from __future__ import annotations

import logging
import secrets
import struct
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade.engines.remote import RESUME
from colonnade.errors import WireError
from colonnade.sites.recovery.journal import Journal
from colonnade.sites.recovery.keeper import Courses
from colonnade.sites.recovery.replies import digest_of
from colonnade.wire.envelope import Reply, Request, open_request, seal_reply, seal_request

if TYPE_CHECKING:
    from colonnade.sites.training.passive_site import PassiveSite

log = logging.getLogger(__name__)
STANDING = struct.Struct("<Q")  # what a site answers when it is asked where it stands: number of its last request
_SECRET, _REQUEST, _ENDED = b"S", b"R", b"E"
_LAST = struct.Struct("<Q12s")


class Past:
    """What a party remembers of one run, on its own disk.

    Args:
        folder: of the site.
        name: how the files begin: the run and the party.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.courses = Courses(folder, name)
        self.journal = Journal(folder / f"{name}-journal")
        self.settled = False  # whether the party is where it was
        self._reading: threading.Thread | None = None
        self._kept: tuple[bytes, bytes] | None = None  # digest of the last request, and its reply
        self._repeatable = False
        first = next(iter(self.journal), None)
        if first is None:
            self.secret = secrets.token_bytes(32)
            self.journal.append(_SECRET, self.secret)
        else:
            self.secret = first[1:] if first[:1] == _SECRET else bytes(32)

    def is_asked_for(self, data: object, run: bytes) -> bool:
        """Whether a request asks where the party stands."""
        try:
            request = open_request(data)
        except WireError:
            return False
        return request.run == run and request.operation == RESUME

    def stand(self, data: object, site: PassiveSite) -> bytes:
        """Where the party stands; nothing while it is still at doing what it did before."""
        number = open_request(data).number
        if self._reading is None:
            self._reading = threading.Thread(target=self._relive, args=(site,), daemon=True, name="past")
            self._reading.start()
        self._reading.join(timeout=1.0)
        if not self.settled:
            return seal_reply(Reply(site.run, number, "done"))
        if number not in (site.last, site.last - 1):
            text = f"stands at request {site.last} of this run, and the active party at {number}. Train with --fresh."
            log.warning("party %r %s", site.name, text)
            return seal_reply(Reply(site.run, number, "refused", text.encode()))
        self._repeatable = number != site.last  # the last one was taken, and its reply got lost
        return seal_reply(Reply(site.run, number, "answered", STANDING.pack(site.last)))

    def _relive(self, site: PassiveSite) -> None:
        """Take all requests of before once more."""
        for record in self.journal:
            if record[:1] == _REQUEST:
                self._kept = digest_of(record[1:]), site.reply_to(record[1:])
            elif record[:1] == _ENDED:
                site.last, digest = _LAST.unpack(record[1:])
                site.ended = True
                self._kept = digest, seal_reply(Reply(site.run, site.last, "done"))
        self.settled = True

    def take(self, request: Request) -> None:
        """Write a request down that is about to be performed."""
        if self.settled:
            self._repeatable = False
            self.journal.append(_REQUEST, seal_request(request))

    def answered(self, data: object, reply: bytes) -> None:
        """Remember the reply to the last request, until the next one shows that it arrived."""
        if isinstance(data, bytes):
            self._kept = digest_of(data), reply

    def again(self, data: object) -> bytes | None:
        """The reply to the last request, if it is put once more and its reply was lost."""
        if self._repeatable and self._kept is not None and isinstance(data, bytes) and digest_of(data) == self._kept[0]:
            self._repeatable = False
            return self._kept[1]
        return None

    def ended(self, request: Request) -> None:
        """Let go of everything but that the run has ended."""
        self.journal.end_with(_ENDED + _LAST.pack(request.number, digest_of(seal_request(request))))
        self.courses.remove()
