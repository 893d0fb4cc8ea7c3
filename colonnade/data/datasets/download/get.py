"""Get one data set: show its terms, download, check, convert, check the rows, and put the files in place."""

from __future__ import annotations

import shutil
from pathlib import Path

from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.download import record
from colonnade.data.datasets.download.install import Say, install
from colonnade.data.datasets.download.origin import ByHand, Origin
from colonnade.data.datasets.download.origins import origin_of
from colonnade.data.datasets.download.transfer import Progress, download, sha256_of
from colonnade.data.datasets.place import VARIABLE, data_folder
from colonnade.errors import ConfigError, DataError

_DOWNLOADS = "downloads"  # folder of complete and partial downloads, below the data folder
_ROOM = 2.5  # free bytes needed for a byte to download: the download, the made files, and some air


def get(data: Dataset, *, accept: bool = False, say: Say = print, progress: Progress = lambda *_: None) -> None:
    """Fetch a data set from its source, unless it is there.

    Args:
        data: the data set.
        accept: the user accepts the terms of use; needed where they demand it.
        say: gets one line per event: terms, checks, place.
        progress: gets file name, bytes that are there, and bytes in all.
    """
    origin = origin_of(data)
    if origin is None:
        return say(f"{data.name}: comes with scikit-learn, there is nothing to get.")
    root = data_folder()
    if data.available():
        return say(f"{data.name}: already here, in {root}")
    say(f"{data.name}: {data.source}\nTerms: {data.terms}")
    if isinstance(origin, ByHand):
        raise DataError(_by_hand(data, origin, root))
    if origin.accept and not accept:
        raise ConfigError(
            f"dataset {data.name!r} may be used under these terms only: {data.terms}. "
            f"If you accept them: colonnade data get {data.name} --yes"
        )
    if origin.note:
        say(origin.note)
    downloads = root / _DOWNLOADS / data.files[0].partition("/")[0]
    _fetch(data, origin, downloads, progress, say)
    install(data, origin, downloads, root, say)
    shutil.rmtree(downloads)
    say(f"{data.name}: ready, in {root}")


def _by_hand(data: Dataset, origin: ByHand, root: Path) -> str:
    places = "\n".join(f"  {root / file}" for file in data.files)
    return f"dataset {data.name!r} cannot be fetched by a program. {origin.why}\n{origin.where}\nPut it here:\n{places}"


def _fetch(data: Dataset, origin: Origin, downloads: Path, progress: Progress, say: Say) -> None:
    """All files of the source, checked."""
    downloads.mkdir(parents=True, exist_ok=True)
    _check_room(data, origin, downloads)
    for remote in origin.remotes:
        try:
            path = download(remote, downloads, progress)
        except DataError as error:
            raise DataError(
                f"dataset {data.name!r} could not be fetched.\n{error}\n"
                f"Or fetch {remote.urls[0]} elsewhere, put it here and run the same command: {downloads / remote.name}"
            ) from error
        found = sha256_of(path)
        before = record.note(downloads.parent.parent, remote, found, path.stat().st_size)
        if remote.sha256 is None:
            say(f"{remote.name}: no checksum of the source is known. Recorded sha256 {found} in {record.NAME}.")
        if before:
            say(f"{remote.name}: differs from the last download, which had sha256 {before}.")


def _check_room(data: Dataset, origin: Origin, folder: Path) -> None:
    there = sum(path.stat().st_size for path in folder.iterdir())
    needed, free = max(_ROOM * origin.size - there, 0), shutil.disk_usage(folder).free
    if free < needed:
        raise DataError(
            f"dataset {data.name!r} needs about {needed / 1e6:,.0f} MB of room, but {folder} has {free / 1e6:,.0f} MB "
            f"free. Make room, or set {VARIABLE} to a folder on another disk."
        )
