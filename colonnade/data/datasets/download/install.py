"""From complete downloads to files in the data folder. Nothing appears there before its rows were checked."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from colonnade.data.datasets.dataset import BROKEN, Dataset, joined
from colonnade.data.datasets.download.digest import rows_digest
from colonnade.data.datasets.download.origin import Origin
from colonnade.data.datasets.place import VARIABLE
from colonnade.errors import ColonnadeError, DataError

Say = Callable[[str], None]

_FULL = (errno.ENOSPC, errno.EDQUOT)


def install(data: Dataset, origin: Origin, downloads: Path, root: Path, say: Say) -> None:
    """Make the loader's files beside their place, check their rows, and move them to their place."""
    with _staging(downloads) as made:
        try:
            origin.make(downloads, made)
            digest = _digest(data, origin, made)
        except ColonnadeError:
            raise
        except BROKEN as error:
            raise _failure(data, origin, downloads, error) from error
        say(_verdict(data, origin, downloads, digest))
        for file in data.files:
            place = root / file
            place.parent.mkdir(parents=True, exist_ok=True)
            (made / file).replace(place)


@contextmanager
def _staging(downloads: Path) -> Iterator[Path]:
    """A folder on the disk of the data folder, so that files can be moved in one step."""
    folder = Path(tempfile.mkdtemp(prefix="made-", dir=downloads.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _digest(data: Dataset, origin: Origin, made: Path) -> str:
    """Read the made files as the loader does, and digest their rows."""
    rows = data.read(data.default_parties, *(made / file for file in data.files))
    whole = joined(*rows) if isinstance(rows, tuple) else rows
    return rows_digest(whole, ordered=origin.ordered)


def _verdict(data: Dataset, origin: Origin, downloads: Path, digest: str) -> str:
    """What the check of the rows says; an error where nothing else vouches for the download."""
    if digest == origin.rows:
        return f"{data.name}: checked, these are the rows behind the published results."
    if not _discard_unchecked(origin, downloads):
        return f"{data.name}: checked, the downloads have the known checksums." + (
            " The rows differ from those behind the published results, so scores may differ." if origin.rows else ""
        )
    raise DataError(
        f"dataset {data.name!r}: the rows are not those behind the published results. Expected the digest "
        f"{origin.rows}, got {digest}. No checksum of the source is known, so a damaged download cannot be told from "
        f"a changed source; it was removed. Try again; if it repeats, the source has changed: {data.source}"
    )


def _failure(data: Dataset, origin: Origin, downloads: Path, error: Exception) -> DataError:
    if isinstance(error, OSError) and error.errno in _FULL:
        return DataError(
            f"dataset {data.name!r} could not be written: {error.strerror}. Make room, or set {VARIABLE} to a folder "
            f"on another disk. The download is kept; the same command goes on from there."
        )
    _discard_unchecked(origin, downloads)
    return DataError(
        f"dataset {data.name!r}: the download could not be converted ({type(error).__name__}: {error}). "
        f"Try again; if it repeats, the source has changed its files: {data.source}"
    )


def _discard_unchecked(origin: Origin, downloads: Path) -> bool:
    """Remove downloads of which no checksum is known. Returns whether there were any."""
    unchecked = [remote for remote in origin.remotes if remote.sha256 is None]
    for remote in unchecked:
        (downloads / remote.name).unlink(missing_ok=True)
    return bool(unchecked)
