"""CIFAR-10 from its binary version: records of one class byte and 3 x 32 x 32 colour bytes.

The python version of CIFAR-10 is a set of pickles. Reading a pickle runs the code in it, so it is never read here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets.columns import apart, halves, quadrants
from colonnade.data.datasets.downloaded import Downloaded
from colonnade.data.vertical import VerticalData

Pixels = npt.NDArray[np.uint8]

_SHAPE = (3, 32, 32)
_RECORD = 1 + 3 * 32 * 32  # bytes
_CLASSES = 10
_BINARY, _PICKLED = "cifar-10-batches-bin", "cifar-10-batches-py"


def read_cifar10(parties: int, *paths: Path) -> tuple[VerticalData, VerticalData]:
    """50,000 images and 10,000 official test images; parties nw, ne, sw, se of 16 x 16 pixels, or halves. CIFAR-10."""
    batches = [_records(path) for path in paths]
    images = np.concatenate([x for x, _ in batches])  # (N, 3, 32, 32)
    y = np.concatenate([y for _, y in batches])
    return apart(VerticalData(cut(images, parties), y.astype(np.int64)), len(images) - len(batches[-1][0]))


def cut(images: Pixels, parties: int) -> dict[str, Pixels]:
    """Halves (2 parties) or quarters (4) of (N, C, H, W) images, with all channels."""
    flat = images.reshape(-1, *images.shape[2:])  # (N C, H, W)
    parts = halves(flat) if parties == 2 else quadrants(flat)
    return {name: part.reshape(*images.shape[:2], *part.shape[2:]) for name, part in parts.items()}


def _records(path: Path) -> tuple[Pixels, Pixels]:
    """Images (N, 3, 32, 32) and classes (N,) of one batch."""
    raw = np.fromfile(path, dtype=np.uint8)
    if len(raw) == 0 or len(raw) % _RECORD:
        raise ValueError(f"{path.name} has {len(raw)} bytes, which is no multiple of the {_RECORD} of a record")
    records = raw.reshape(-1, _RECORD)
    if records[:, 0].max() >= _CLASSES:
        raise ValueError(f"{path.name} has the class {records[:, 0].max()}, but there are {_CLASSES}, from 0")
    return records[:, 1:].reshape(-1, *_SHAPE), records[:, 0]


def _pickled(root: Path) -> str:
    if not (root / _PICKLED).exists() and not (root / "cifar10" / _PICKLED).exists():
        return ""
    return (
        f"There is {_PICKLED}, the python version. It is made of pickles, which run code when they are read, so it is "
        f"not used. Fetch the binary version, cifar-10-binary.tar.gz."
    )


CIFAR10 = Downloaded(
    name="cifar10",
    title="ten kinds of animals and vehicles in colour, 32 x 32 pixels, a part of the image per party",
    parties="nw, ne, sw, se: 3 x 16 x 16 pixels each; with 2 parties left and right half",
    task="multiclass",
    metric="accuracy",
    source="CIFAR-10 (Krizhevsky 2009), binary version: www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz, unpacked",
    terms="not stated; cite the technical report",
    read=read_cifar10,
    files=(*(f"{_BINARY}/data_batch_{i}.bin" for i in range(1, 6)), f"{_BINARY}/test_batch.bin"),
    default_parties=4,
    party_numbers=(2, 4),
    hint=_pickled,
)

CIFAR10_HALVES = replace(
    CIFAR10,
    name="cifar10-halves",
    title="ten kinds of animals and vehicles in colour, 32 x 32 pixels, half of the image per party",
    parties="left, right: 3 x 32 x 16 pixels each",
    default_parties=2,
    party_numbers=(2,),
)
