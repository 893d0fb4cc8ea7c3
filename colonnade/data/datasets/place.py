"""Where the files of data sets lie: the folder that COLONNADE_DATA names, or one in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "COLONNADE_DATA"
_CACHE = "XDG_CACHE_HOME"


def data_folder() -> Path:
    """The folder of data sets. It need not exist."""
    given = os.environ.get(VARIABLE)
    return Path(given).expanduser() if given else _default()


def chosen_by() -> str:
    """Why `data_folder` is that folder, as a clause for messages."""
    given = os.environ.get(VARIABLE)
    return f"{VARIABLE} is set to {given!r}" if given else f"{VARIABLE} is not set, so this is the default folder"


def _default() -> Path:
    cache = os.environ.get(_CACHE)
    return (Path(cache) if cache else Path.home() / ".cache") / "colonnade" / "data"
