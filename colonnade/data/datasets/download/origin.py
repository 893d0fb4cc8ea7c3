"""Where a data set comes from, and how the source's files become those that its loader reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Remote:
    """One file at its source."""

    name: str  # the file's name in the folder of downloads
    urls: tuple[str, ...]  # the source first, then mirrors of the same bytes
    size: int | None = None  # bytes, where known
    sha256: str | None = None  # None: no checksum of the source's file is known


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A data set that `colonnade data get` can fetch.

    `make(source, target)` reads the downloaded files in the folder `source`, and writes the loader's files below the
    folder `target`, in the layout of the data folder.
    """

    remotes: tuple[Remote, ...]
    make: Callable[[Path, Path], None]
    rows: str | None = None  # digest of the rows behind the published results; None: not known
    ordered: bool = True  # whether that digest covers the order of the rows
    accept: bool = False  # whether the user must accept the terms first
    note: str = ""  # a sentence to be said: what differs, or what takes long

    @property
    def size(self) -> int:
        """Bytes to download, as far as known."""
        return sum(remote.size or 0 for remote in self.remotes)


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """A data set that cannot be fetched by a program."""

    why: str  # one sentence
    where: str  # one sentence: where a person gets it
