"""ModelNet10 seen from twelve directions around the vertical axis, rendered from voxels.

N objects, cubes of X x Y x Z cells with Z upwards, V = 12 directions, images of S x S pixels. The projection is
orthographic and a pixel is as wide as a cell. A cell's shadow is the projection of its square footprint; a pixel is hit
by the cells whose shadow covers its centre, and shows the nearest of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets import cache
from colonnade.data.datasets.columns import apart
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.datasets.images import MODELNET10
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError

Pixels = npt.NDArray[np.uint8]
Mode = Literal["depth", "silhouette"]

CELLS = 30  # along each edge of the cube
SIZE = 32  # S; the objects of ModelNet10 fill 24 cells at most, so that none is cut off
VIEWS = 12  # V, one every 30 degrees
NEAR, FAR = 255, 64  # brightness of the nearest and the farthest cell; 0 is background
_EDITION = 1  # to be raised when the rendering changes
_CHUNK = 512  # objects at a time: one cell of all of them stays in the processor's cache


def read_modelnet10_views(parties: int, path: Path, *, mode: Mode = "depth") -> tuple[VerticalData, VerticalData]:
    """3,991 objects and 908 official test objects from 12 directions; 4 or 12 parties. Princeton ModelNet.

    With 12 parties each holds one view, (N, 1, 32, 32); with 4 three neighbouring ones as channels, (N, 3, 32, 32).
    """
    if mode not in get_args(Mode):
        raise ConfigError(f"mode must be 'depth' or 'silhouette'. Got {mode!r}.")
    with np.load(path) as z:
        y, train = np.concatenate([z["y_train"], z["y_test"]]), len(z["y_train"])
        settings = {"edition": _EDITION, "size": SIZE, "views": VIEWS, "near": NEAR, "far": FAR}
        images = cache.kept(
            f"modelnet10-{cache.key(path, settings)}",
            (len(y), VIEWS, SIZE, SIZE),
            lambda: render(np.concatenate([z["X_train_bits"], z["X_test_bits"]])),
        )
    if mode == "silhouette":
        images = np.where(images > 0, np.uint8(255), np.uint8(0))
    return apart(VerticalData(shared_out(images, parties), y.astype(np.int64)), train)


def shared_out(images: Pixels, parties: int) -> dict[str, Pixels]:
    """(N, V, H, W) among the parties: view1, view2, … of one channel each, or views1-3, … of several."""
    each = images.shape[1] // parties
    starts = range(0, images.shape[1], each)
    names = [f"view{i + 1}" if each == 1 else f"views{i + 1}-{i + each}" for i in starts]
    return {name: images[:, i : i + each] for name, i in zip(names, starts, strict=True)}


def render(bits: Pixels) -> Pixels:
    """Depth maps (N, V, S, S) of packed occupancy grids (N, 3375); the first row is the top."""
    out = np.zeros((len(bits), VIEWS, SIZE, SIZE), dtype=np.uint8)
    edge = (SIZE - CELLS) // 2
    for start in range(0, len(bits), _CHUNK):
        rows = slice(start, start + _CHUNK)
        cells = np.unpackbits(bits[rows], axis=1, count=CELLS**3).reshape(-1, CELLS, CELLS, CELLS)  # (n, X, Y, Z)
        lit = np.ascontiguousarray(NEAR * cells.transpose(1, 2, 0, 3))  # (X, Y, n, Z)
        for v in range(VIEWS):
            seen = _seen(lit, 2 * math.pi * v / VIEWS)  # (S, n, Z)
            out[rows, v, edge : edge + CELLS] = seen.transpose(1, 2, 0)[:, ::-1]  # upwards becomes towards row 0
    return out


def _seen(lit: Pixels, angle: float) -> Pixels:
    """The nearest cell in every column of the image: (X, Y, n, Z) of 0 or 255 to (S, n, Z)."""
    out = np.zeros((SIZE, *lit.shape[2:]), dtype=np.uint8)
    occupied = lit.max(axis=(2, 3), initial=0)  # (X, Y)
    for x, y, columns, brightness in _shadows(angle):
        if occupied[x, y]:
            shown = np.minimum(lit[x, y], brightness)  # (n, Z)
            for column in columns:
                np.maximum(out[column], shown, out=out[column])
    return out


def _shadows(angle: float) -> Iterator[tuple[int, int, range, np.uint8]]:
    """For every cell (x, y): the columns of the image that its shadow covers, and its brightness.

    The viewer stands in the direction (cos, sin) of `angle`. The shadow of a unit square is |cos| + |sin| wide.
    """
    c, s = math.cos(angle), math.sin(angle)
    half, middle, radius = (abs(c) + abs(s)) / 2, (SIZE - 1) / 2, SIZE / 2
    for x in range(CELLS):
        for y in range(CELLS):
            right, back = x - (CELLS - 1) / 2, y - (CELLS - 1) / 2
            across, towards = back * c - right * s, right * c + back * s
            first = math.ceil(round(across - half + middle, 6))  # rounded: a shadow may end at a pixel's very centre
            last = math.ceil(round(across + half + middle, 6))
            share = min(max((towards + radius) / (2 * radius), 0.0), 1.0)
            yield x, y, range(max(first, 0), min(last, SIZE)), np.uint8(round(FAR + (NEAR - FAR) * share))


MODELNET10_4 = replace(
    MODELNET10,
    name="modelnet10-4",
    title="ten kinds of furniture as depth maps from 12 directions, three per party",
    parties="views1-3, views4-6, views7-9, views10-12: 3 channels of 32 x 32 pixels each, 30 degrees apart",
    read=read_modelnet10_views,
    default_parties=4,
    party_numbers=(4,),
)

MODELNET10_12 = replace(
    MODELNET10_4,
    name="modelnet10-12",
    title="ten kinds of furniture as depth maps from 12 directions, one per party",
    parties="view1 … view12: 32 x 32 pixels each, 30 degrees apart",
    default_parties=12,
    party_numbers=(12,),
)


def silhouettes(data: Dataset) -> Dataset:
    """The same views as silhouettes, 0 or 255; opposite directions then show mirror images of one another."""
    return replace(
        data,
        name=f"{data.name}-silhouettes",
        title=data.title.replace("depth maps", "silhouettes"),
        read=partial(read_modelnet10_views, mode="silhouette"),
    )


MODELNET10_4_SILHOUETTES = silhouettes(MODELNET10_4)
MODELNET10_12_SILHOUETTES = silhouettes(MODELNET10_12)
