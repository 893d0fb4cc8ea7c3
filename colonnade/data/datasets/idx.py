"""The idx format of MNIST and its relatives: bytes with their sizes in front."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

_BYTES = 8  # the code of unsigned bytes, the only type these data sets use


def read_idx(path: Path) -> Pixels:
    """The array of a gzipped idx file: two zero bytes, type, rank, then the sizes as big-endian 32-bit numbers."""
    raw = gzip.decompress(path.read_bytes())
    if len(raw) < 4 or raw[:3] != bytes([0, 0, _BYTES]):
        raise ValueError(f"{path.name} does not begin as an idx file of bytes")
    rank = raw[3]
    start = 4 + 4 * rank
    if len(raw) < start:
        raise ValueError(f"{path.name} ends before its sizes do")
    shape = [int(size) for size in np.frombuffer(raw, dtype=">u4", count=rank, offset=4)]
    if len(raw) != start + math.prod(shape):
        raise ValueError(f"{path.name} says it holds {shape} bytes, but {len(raw) - start} follow")
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


def read_pair(images: Path, labels: Path) -> tuple[Pixels, Pixels]:
    """Images (N, H, W) and classes (N,) of two idx files that belong together."""
    x, y = read_idx(images), read_idx(labels)
    if x.ndim != 3 or y.ndim != 1 or len(x) != len(y):
        raise ValueError(f"{images.name} of shape {x.shape} and {labels.name} of shape {y.shape} do not fit together")
    return x, y
