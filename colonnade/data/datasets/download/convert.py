"""From the files of a source to those that the loaders read.

Each function makes one: it returns `make(source, target)` for an `Origin`.
"""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath

Make = Callable[[Path, Path], None]


def copied(files: Mapping[str, str]) -> Make:
    """Files as they are: {file of the layout: downloaded file}."""

    def make(source: Path, target: Path) -> None:
        for file, name in files.items():
            shutil.copyfile(source / name, _place(target, file))

    return make


def compressed(file: str, name: str) -> Make:
    """The downloaded file `name`, gzipped."""

    def make(source: Path, target: Path) -> None:
        with (source / name).open("rb") as stream, writing_gzip(target, file) as out:
            shutil.copyfileobj(stream, out)

    return make


def unzipped(archive: str, files: Mapping[str, str]) -> Make:
    """Members of a zip archive, gzipped: {file of the layout: name of the member, in whatever folder}."""

    def make(source: Path, target: Path) -> None:
        with zipfile.ZipFile(source / archive) as opened:
            for file, name in files.items():
                with opened.open(member(opened.namelist(), name)) as stream, writing_gzip(target, file) as out:
                    shutil.copyfileobj(stream, out)

    return make


def untarred(archive: str, folder: str, names: tuple[str, ...]) -> Make:
    """Members of a gzipped tar archive, put into `folder` of the layout. No other path of the archive is used."""

    def make(source: Path, target: Path) -> None:
        with tarfile.open(source / archive, "r:gz") as opened:
            known = opened.getnames()
            for name in names:
                stream = opened.extractfile(member(known, name))
                if stream is None:
                    raise ValueError(f"{name} in {archive} is not a file")
                with stream, _place(target, f"{folder}/{name}").open("wb") as out:
                    shutil.copyfileobj(stream, out)

    return make


def first_lines(file: str, name: str, count: int) -> Make:
    """The first `count` lines of a gzipped text."""

    def make(source: Path, target: Path) -> None:
        with gzip.open(source / name) as stream, writing_gzip(target, file) as out:
            lines = list(islice(stream, count))
            if len(lines) != count:
                raise ValueError(f"{name} has {len(lines):,} lines, fewer than the {count:,} expected")
            out.writelines(lines)

    return make


def member(names: list[str], wanted: str) -> str:
    """The one member of an archive with that file name."""
    found = [name for name in names if PurePosixPath(name).name == wanted and "__MACOSX" not in name]
    if len(found) != 1:
        raise ValueError(f"expected one file {wanted} in the archive, found {len(found)}")
    return found[0]


@contextmanager
def writing_gzip(target: Path, file: str) -> Iterator[gzip.GzipFile]:
    """A gzipped file of the layout; the same content gives the same bytes."""
    with _place(target, file).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        yield out


@contextmanager
def writing_xz(target: Path, file: str) -> Iterator[lzma.LZMAFile]:
    """A file of the layout, compressed with xz."""
    with lzma.open(_place(target, file), "wb", preset=1) as out:
        yield out


def _place(target: Path, file: str) -> Path:
    path = target / file
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
