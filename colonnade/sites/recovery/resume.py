"""The active party's memory of a run, and how it and the sites find together again after a crash of any of them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from colonnade.engines.absent import LostSiteError
from colonnade.engines.remote import RESUME, Call, Link
from colonnade.errors import ColonnadeError, WireError, raise_all
from colonnade.sites.files.parts import write_bytes
from colonnade.sites.recovery.journal import Journal
from colonnade.sites.recovery.keeper import Courses
from colonnade.sites.recovery.past import STANDING
from colonnade.sites.recovery.replies import Replies
from colonnade.wire.envelope import Request, open_reply, seal_request

_PAUSE = 0.2  # seconds until a site that is still at it is asked again


class Memory:
    """What the active party remembers of one run, on its own disk.

    Args:
        folder: of the site.
        run: which run.
        party: the active one.
    """

    def __init__(self, folder: Path, run: str, party: str) -> None:
        self._secret = folder / f"{run}-{party}-secret"
        if not self._secret.exists():
            write_bytes(self._secret, secrets.token_bytes(32))
        self.secret = self._secret.read_bytes()
        self.courses = Courses(folder, f"{run}-{party}")
        self.replies = Replies(Journal(folder / f"{run}-{party}-journal"))

    def remove(self) -> None:
        """Forget the run, as its record is written."""
        self.replies.journal.remove()
        self.courses.remove()
        self._secret.unlink(missing_ok=True)


def find_together(link: Link, replies: Replies, told: Callable[[str], None] = lambda text: None) -> None:
    """Wait until every site stands where the active party does: it has taken what it answered, and nothing else."""
    with ThreadPoolExecutor(max(1, len(link.calls))) as threads:
        asked = {
            name: threads.submit(_stand, name, call, link.run, replies.last.get(name, 0), told)
            for name, call in link.calls.items()
        }
    problems, lost = [], []
    for name, future in asked.items():
        try:
            future.result()
        except LostSiteError:
            lost.append(name)
        except ColonnadeError as error:
            problems.append(str(error))
    raise_all(problems, WireError, "the run cannot go on")
    if lost:
        raise LostSiteError(f"{', '.join(lost)} did not answer. Look whether it runs, and at its log.", tuple(lost))


def _stand(name: str, call: Call, run: bytes, last: int, told: Callable[[str], None]) -> None:
    while True:
        reply = open_reply(call(seal_request(Request(run, last, RESUME, b""))))
        if reply.ended == "refused":
            raise WireError(f"site {name!r}: {reply.reason}")
        if (reply.run, reply.number) != (run, last):
            raise WireError(f"site {name!r} answered for another run than it was asked about.")
        if reply.ended == "answered" and len(reply.content) == STANDING.size:
            return
        told(f"{name} catches up with what it did before")
        time.sleep(_PAUSE)
