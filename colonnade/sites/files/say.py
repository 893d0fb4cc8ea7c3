"""Plain lines for the person who watches a site.

A site's processes log much, most of it FLARE's, into one file. Lines of `say` are meant for people; `join` follows the
file and prints those, and what FLARE says about readiness, in words.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

_log = logging.getLogger("colonnade.say")

LOG = "flare.log"  # in a kit: what the processes of its site print
LARGEST = 64 << 20  # bytes of it; FLARE keeps rotated logs of its own beside it
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_KNOWN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r" - say - [A-Z]+ - (.*)"), "{0}"),
    (re.compile(r" - Successfully registered client:"), "ready"),
    (re.compile(r" - INFO - Server started$"), "ready"),
    (re.compile(r" - Client: New client ([A-Za-z0-9_-]+)@\S* joined\."), "{0} has joined"),
)


def say(text: str, *, warn: bool = False) -> None:
    """Log one line for people. It must hold no value of a row, like all logs."""
    _log.log(logging.WARNING if warn else logging.INFO, "%s", " ".join(text.split()))


def plain(line: str) -> str | None:
    """What a line of the log says to people; None where it is for FLARE's developers."""
    text = _COLOUR.sub("", line.rstrip("\n"))
    for pattern, words in _KNOWN:
        if found := pattern.search(text):
            return words.format(*found.groups())
    return None


class Follower:
    """Reads a log as it grows, from where it ends now, and hands on its plain lines.

    Args:
        path: the log.
        tell: takes each plain line.
        pause: seconds between two looks.
        largest: bytes at which the log is emptied.
    """

    def __init__(self, path: Path, tell: Callable[[str], None], *, pause: float = 0.2, largest: int = LARGEST) -> None:
        self._tell, self._pause, self._largest = tell, pause, largest
        self._file = path.open("a+b")
        self._rest = b""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True, name="say")

    def __enter__(self) -> Follower:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._file.close()

    def _follow(self) -> None:
        while not self._ended.wait(self._pause):
            self._read()
        self._read()  # what was said until the end

    def _read(self) -> None:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            if (text := plain(line.decode("utf-8", "replace"))) is not None:
                self._tell(text)
        if self._file.tell() > self._largest:
            os.truncate(self._file.fileno(), 0)  # writers append, so they go on at the new end
            self._file.seek(0)
