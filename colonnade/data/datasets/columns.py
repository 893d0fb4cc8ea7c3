"""From arrays to parties: uninformative columns dropped, blocks of columns, image parts, rows set apart for testing.

N rows, F columns, H x W pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from colonnade.data.vertical import VerticalData
from colonnade.data.view import View
from colonnade.errors import ConfigError


def numeric(
    x: npt.ArrayLike, columns: Sequence[str] | None = None, *, prefix: str = "x", train: int | None = None
) -> View:
    """A view of numbers with the ids 0, 1, 2, …, without the columns that are constant in the first `train` rows.

    Args:
        x: (N, F).
        columns: the F names; `prefix` and a number counted from 1 when left out.
        prefix: of the names.
        train: number of rows that are not set apart for testing; all by default.
    """
    values = np.asarray(x, dtype=np.float32)  # (N, F)
    names = columns or [f"{prefix}{i}" for i in range(1, values.shape[1] + 1)]
    varies = values[:train].max(axis=0) != values[:train].min(axis=0)
    return View(
        ids=np.arange(len(values)),
        x=np.ascontiguousarray(values[:, varies]),
        columns=tuple(name for name, keep in zip(names, varies, strict=True) if keep),
        codes=np.zeros((len(values), 0), dtype=np.int32),
    )


def pick(view: View, columns: Iterable[str]) -> View:
    """The numeric columns of that name, as far as the view has them."""
    wanted = set(columns)
    at = [i for i, name in enumerate(view.columns) if name in wanted]
    return replace(view, x=np.ascontiguousarray(view.x[:, at]), columns=tuple(view.columns[i] for i in at))


def blocks(view: View, parties: int, prefix: str = "block") -> dict[str, View]:
    """Contiguous blocks of the numeric columns, one per party, as equal in size as possible."""
    if parties > len(view.columns):
        raise ConfigError(
            f"parties={parties} is more than the {len(view.columns)} columns there are to share out. "
            f"Use at most {len(view.columns)}."
        )
    shares = np.array_split(np.array(view.columns), parties)
    return {f"{prefix}{k}": pick(view, share.tolist()) for k, share in enumerate(shares, 1)}


def halves(images: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[np.uint8]]:
    """Left and right half of (N, H, W) images, each (N, 1, H, W / 2)."""
    middle = images.shape[2] // 2
    return {"left": images[:, None, :, :middle], "right": images[:, None, :, middle:]}


def quadrants(images: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[np.uint8]]:
    """The four quarters of (N, H, W) images, each (N, 1, H / 2, W / 2), named by compass: nw, ne, sw, se."""
    row, column = images.shape[1] // 2, images.shape[2] // 2
    return {
        "nw": images[:, None, :row, :column],
        "ne": images[:, None, :row, column:],
        "sw": images[:, None, row:, :column],
        "se": images[:, None, row:, column:],
    }


def apart(data: VerticalData, train: int) -> tuple[VerticalData, VerticalData]:
    """The first `train` rows, and the rest: the test rows that the authors set apart. Ids are row numbers."""
    rows = len(next(iter(data.views.values())))
    return data.only(np.arange(train)), data.only(np.arange(train, rows))
