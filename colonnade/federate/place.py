"""Where FLARE can run: it writes paths into a command line without quotes."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from colonnade.errors import ConfigError


def check_place(folder: Path, way_out: str) -> None:
    """Refuse a folder from which FLARE could not start a job."""
    for what, path in (("folder", folder.resolve()), ("Python", Path(sys.executable))):
        if not _is_one_word(str(path)):
            raise ConfigError(
                f"FLARE cannot run jobs where a path has blanks or quotes. The {what} is {path}. {way_out}"
            )


def _is_one_word(path: str) -> bool:
    try:
        return shlex.split(path, comments=True) == [path]
    except ValueError:  # a quote without its end
        return False
