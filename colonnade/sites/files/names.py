"""Names of runs: the text that people read and type, and the 16 bytes that stand for it in each message.

A name is the method, the day and the time of day, e.g. `splitnn-2026-11-19-225812`. It is chosen at the active party
without asking the others, so it must not occur twice: a plain counter would start again when `out` is emptied.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from colonnade.errors import ConfigError
from colonnade.wire.envelope import run_of

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*-\d{4}-\d\d-\d\d-\d{6}")
OLDER = re.compile(r"[0-9a-f]{32}")  # of earlier versions: the 16 bytes themselves
LONGEST = 100  # characters; file names are made of it


def new_name(method: str, out: Path, now: datetime | None = None) -> str:
    """A name that no file in `out` has yet."""
    at = now or datetime.now()
    while True:
        name = f"{_plain(method)}-{at:%Y-%m-%d-%H%M%S}"
        if not any(out.glob(f"{name}*")):
            return name
        at += timedelta(seconds=1)


def _plain(method: str) -> str:
    """The method's name in letters, digits and hyphens: `fedhssl*` becomes `fedhssl-star`."""
    words = method.lower().replace("*", "-star")
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-") or "run"


def is_name(text: str) -> bool:
    """Whether a text is the name of a run. Anything else must not become part of a path."""
    return len(text) <= LONGEST and bool(NAME.fullmatch(text) or OLDER.fullmatch(text))


def check_name(text: str) -> str:
    """The text, if it is the name of a run."""
    if not is_name(text):
        raise ConfigError(f"{text!r} is no name of a run. A name is like splitnn-2026-11-19-225812.")
    return text


def id_of(name: str) -> bytes:
    """The 16 bytes that stand for a run in its messages."""
    return bytes.fromhex(name) if OLDER.fullmatch(name) else run_of(name)
