"""Arrays that are made once and kept: in $COLONNADE_CACHE, by default ~/.cache/colonnade.

A file is complete or absent: it is written under another name and then renamed. One that cannot be read, or that holds
something else than expected, is made again. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

VARIABLE = "COLONNADE_CACHE"
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


def folder() -> Path:
    """Where made arrays are kept."""
    given = os.environ.get(VARIABLE)
    return Path(given).expanduser() if given else Path.home() / ".cache" / "colonnade"


def key(source: Path, settings: Mapping[str, object]) -> str:
    """A digest of what an array is made from: the bytes of `source`, and `settings` that JSON can hold."""
    digest = hashlib.sha256(source.read_bytes())
    digest.update(json.dumps(settings, sort_keys=True).encode())
    return digest.hexdigest()[:24]


def kept(name: str, shape: tuple[int, ...], make: Callable[[], Pixels]) -> Pixels:
    """The bytes of that shape that are kept under `name`; `make` makes them when they are not there."""
    path = folder() / f"{name}.npz"
    found = _read(path, shape)
    if found is not None:
        return found
    made = make()
    with contextlib.suppress(OSError):  # a full or read-only disk costs time at the next call, not this result
        _write(path, made)
    return made


def _read(path: Path, shape: tuple[int, ...]) -> Pixels | None:
    try:
        with np.load(path, allow_pickle=False) as saved:
            pixels = saved["pixels"]
    except _UNREADABLE:
        return None
    return pixels if pixels.shape == shape and pixels.dtype == np.uint8 else None


def _write(path: Path, pixels: Pixels) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, pixels=pixels)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
