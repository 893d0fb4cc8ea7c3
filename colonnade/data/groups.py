"""Rows that belong together, e.g. those of one patient: a split puts all rows of a group on one side.

Groups are drawn, not rows: 20 % of the groups are test rows, 20 % validation rows. A group with more rows than a fifth
of them all stays in training, unless there are too few others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, locate, shown
from colonnade.data.labels import Labels
from colonnade.errors import DataError

if TYPE_CHECKING:
    from colonnade.data.vertical import VerticalData


def groups_of(groups: Labels, ids: Ids) -> npt.NDArray[Any]:
    """The group of each row; a row without one is an error."""
    found, known = groups.of(ids)
    if not known.all():
        raise DataError(
            f"{int((~known).sum())} of {len(ids)} rows that are labelled and held by all parties have no group, e.g. "
            f"{shown(ids[~known])}. Give each of them a group, or leave the rows out."
        )
    return found


def divided(
    groups: npt.NDArray[Any], fractions: tuple[float, ...], rng: np.random.Generator
) -> list[npt.NDArray[np.int64]]:
    """Disjoint positions, one array per fraction of the groups, at least one group each; the others are left."""
    names, inverse, rows = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) <= len(fractions):
        raise DataError(
            f"the rows that are labelled and held by all parties have {len(names)} group(s) ({shown(names)}). A split "
            f"into {len(fractions) + 1} parts needs {len(fractions) + 1} or more. Name finer groups."
        )
    order = rng.permutation(len(names))
    large = np.where(rows > min(fractions) * len(groups), rows, 0)  # all others are equal
    order = order[np.argsort(large[order], kind="stable")]
    parts, start = [], 0
    for fraction in fractions:
        count = max(1, round(fraction * len(names)))
        parts.append(np.flatnonzero(np.isin(inverse, order[start : start + count])))
        start += count
    return parts


def whole_groups(groups: Labels, ids: Ids) -> Ids:
    """These ids, and those of all other rows in their groups."""
    mine = groups.values[locate(groups.ids, ids)]
    return np.union1d(ids, groups.ids[np.isin(groups.values, mine)])


def refuse_shared_groups(train: VerticalData, other: VerticalData, what: str) -> None:
    """Refuse a group on both sides, where both sides know their groups."""
    if train.groups is None or other.groups is None:
        return
    both = np.intersect1d(train.groups.values, other.groups.values)
    if len(both):
        raise DataError(
            f"group {shown(both)} has training rows and {what} rows, so that a score can rest on memory. Put all rows "
            f"of a group on one side, e.g. with colonnade.split(data, groups=…)."
        )
