"""Auxiliary rows: the few that an adversary knows more about; drawn from new rows, never from the run's own.

A auxiliary rows, N rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from colonnade.errors import ConfigError

AUXILIARY = 80  # labelled rows of the adversary in He et al. 2022, §4.4
FOLDS = 4
Positions = npt.NDArray[np.int64]


def count_auxiliary(asked: int | None, rows: int, least: int) -> int:
    """How many auxiliary rows: as asked, or 80, or half of the rows where they are fewer than 160."""
    count = min(AUXILIARY, rows // 2) if asked is None else asked
    if not least <= count < rows:
        raise ConfigError(
            f"auxiliary must be at least {least} and below {rows}, the new rows that there are, as the others are "
            f"attacked. Got {count}."
        )
    return count


def balanced(y: npt.NDArray[np.int64], count: int, rng: np.random.Generator) -> tuple[Positions, Positions]:
    """`count` positions with as many of each class as can be, and all the others, (A,) and (N - A,)."""
    order = rng.permutation(len(y))
    rank = np.zeros(len(y), dtype=np.int64)  # of a row within its class
    for value in np.unique(y):
        members = order[y[order] == value]
        rank[members] = np.arange(len(members))
    first = order[np.argsort(rank[order], kind="stable")]
    return np.sort(first[:count]), np.sort(first[count:])


def folds(y: npt.NDArray[np.int64], count: int = FOLDS) -> Iterator[tuple[Positions, Positions]]:
    """Positions to learn from and to choose by, `count` times; classes are spread over the folds."""
    place = np.empty(len(y), dtype=np.int64)
    place[np.argsort(y, kind="stable")] = np.arange(len(y)) % min(count, len(y))
    for fold in range(min(count, len(y))):
        yield np.flatnonzero(place != fold), np.flatnonzero(place == fold)
