"""Finding the best split of each node from everybody's sums (Cheng et al. 2021, Alg. 2).

All sums are whole numbers, so that they do not depend on who added them up or in which order; `Units` says what one is
worth. A node's rows weigh G = Σ g_i and H = Σ h_i, and a split gains

    ½ [ G_L² / (H_L + λ) + G_R² / (H_R + λ) - G² / (H + λ) ] - γ.

J nodes, F columns, T slots of all columns together, S slots of the column that has most. Last axis: G, H.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from colonnade.methods.secureboost.trees.columns import Layout, Mask, Whole

Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.float64)
LEAST = 1e-9  # a gain that is not rounding


@dataclass(frozen=True)
class Rules:
    """What makes a split worth making."""

    penalty: float  # λ
    gamma: float  # γ
    least_weight: float  # of the Hessians on each side


@dataclass(frozen=True, eq=False)
class Split:
    """The best split of one node."""

    party: int  # whose column it is, as a position in the order of the layouts
    column: int
    left: Mask  # (S,) which of the column's slots go left
    total: Whole  # (2,) sums on the left


@dataclass(frozen=True, eq=False)
class _Best:
    """The best split by each column of one party, at each node."""

    gain: Floats  # (J, F)
    order: Whole  # (J, F, S) slots, those that go left first
    cut: Whole  # (J, F) how many of them go left
    total: Whole  # (J, F, 2) their sums


def find_splits(
    layouts: Sequence[Layout], sums: Sequence[Whole], totals: Whole, units: Floats, rules: Rules
) -> list[Split | None]:
    """The best split of each node over all parties' columns; None where none gains anything.

    Of equal gains the first column wins: numbers before categories, each in the order of the parties.

    Args:
        layouts: of each party's columns.
        sums: (J, T, 2) of each party.
        totals: (J, 2) sums of each node.
        units: (2,) what one is worth, in g and in h.
        rules: λ, γ, and the least weight.
    """
    found = [_by_column(layout, s, totals, units, rules) for layout, s in zip(layouts, sums, strict=True)]
    places = [
        (party, column)
        for sort in (False, True)
        for party, layout in enumerate(layouts)
        for column in np.flatnonzero(layout.categorical == sort).tolist()
    ]
    gains = np.stack([found[party].gain[:, column] for party, column in places], axis=1)  # (J, ΣF)
    splits: list[Split | None] = []
    for node, winner in enumerate(gains.argmax(axis=1).tolist()):
        party, column = places[winner]
        worth_it = gains[node, winner] > LEAST
        splits.append(_split(found[party], layouts[party], party, column, node, sums, totals) if worth_it else None)
    return splits


def _by_column(layout: Layout, sums: Whole, totals: Whole, units: Floats, rules: Rules) -> _Best:
    """The best split by each column."""
    padded = _padded(layout, sums)  # (J, F, S, 2)
    order = np.where(
        layout.categorical[:, None], _by_ratio(padded, units, rules), np.roll(np.arange(layout.most), -1)
    )  # numbers: slots 1, 2, …, and 0, of missing values, last
    sorted_sums = np.take_along_axis(padded, order[..., None], axis=2)
    left = np.cumsum(sorted_sums, axis=2)  # (J, F, S, 2): Alg. 2, g_l and h_l for every threshold
    gain = _gain(left, totals, units, rules)
    cut = gain.argmax(axis=2)
    best = _Best(_at(gain, cut), order, cut + 1, _at(left, cut))
    return _missing_left(best, padded[:, :, 0], left, layout, totals, units, rules)


def _missing_left(
    best: _Best, missing: Whole, left: Whole, layout: Layout, totals: Whole, units: Floats, rules: Rules
) -> _Best:
    """The same where missing numbers, (J, F, 2), go left with the small ones, if that gains more."""
    also = left + missing[:, :, None]
    gain = _gain(also[:, :, :-1], totals, units, rules)  # the last slot is that of missing values itself
    gain[:, layout.categorical] = -np.inf
    cut = gain.argmax(axis=2)
    better = _at(gain, cut) > best.gain
    first = np.roll(best.order, 1, axis=2)  # the slot of missing values first
    return _Best(
        np.where(better, _at(gain, cut), best.gain),
        np.where(better[..., None], first, best.order),
        np.where(better, cut + 2, best.cut),
        np.where(better[..., None], _at(also, cut), best.total),
    )


def _gain(left: Whole, totals: Whole, units: Floats, rules: Rules) -> Floats:
    """Of dividing nodes with these totals, (J, 2), into what is in `left`, (J, F, S, 2), and the rest; (J, F, S)."""
    whole = totals[:, None, None]
    right = whole - left
    parts = [part * units for part in (left, right, whole)]
    allowed = (left[..., 1] > 0) & (right[..., 1] > 0)
    for side in parts[:2]:
        allowed &= side[..., 1] >= rules.least_weight
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high, both = (part[..., 0] ** 2 / (part[..., 1] + rules.penalty) for part in parts)
        return np.where(allowed, 0.5 * (low + high - both) - rules.gamma, -np.inf)


def _by_ratio(padded: Whole, units: Floats, rules: Rules) -> Whole:
    """Slots from the lowest G / (H + λ) to the highest, those without rows last: the best division is one cut in them
    (Fisher 1958)."""
    values = padded * units
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values[..., 0] / (values[..., 1] + rules.penalty)
    ratio[padded[..., 1] == 0] = np.inf
    return ratio.argsort(axis=2, kind="stable")


def _split(
    best: _Best, layout: Layout, party: int, column: int, node: int, sums: Sequence[Whole], totals: Whole
) -> Split:
    """The winner; slots that none of the node's rows is in follow the heavier side."""
    slots, start = int(layout.slots[column]), int(layout.starts[column])
    left = np.zeros(layout.most, dtype=bool)
    left[best.order[node, column, : best.cut[node, column]]] = True
    total = best.total[node, column]
    empty = sums[party][node, start : start + slots, 1] == 0
    categorical = bool(layout.categorical[column])
    follow = np.flatnonzero(empty) if categorical else np.flatnonzero(empty[:1])  # of numbers, missing ones alone
    left[follow] = 2 * total[1] >= totals[node, 1]
    return Split(party, column, left, total)


def _padded(layout: Layout, sums: Whole) -> Whole:
    """(J, T, 2) → (J, F, S, 2), with zeros where a column has fewer slots."""
    place = layout.starts[:, None] + np.arange(layout.most)  # (F, S)
    place = np.where(np.arange(layout.most) < layout.slots[:, None], place, layout.width)
    extended = np.concatenate([sums, np.zeros_like(sums[:, :1])], axis=1)
    return extended[:, place]


def _at(values: npt.NDArray[Number], cut: Whole) -> npt.NDArray[Number]:
    """What is at each column's cut: (J, F, S, …) → (J, F, …)."""
    index = cut.reshape(*cut.shape, *([1] * (values.ndim - 2)))
    return np.take_along_axis(values, index, axis=2)[:, :, 0]
