"""What the owner of columns does for a tree: adds up derivatives by slot, divides rows, and remembers how.

The active party asks the passive ones over the wire, and does the same with columns of its own.

n rows, F columns, T slots of all columns together, J nodes, S slots of the column that has most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Whole = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
NOWHERE = 255  # node of a row that is in none of those asked about


@dataclass(frozen=True, eq=False)
class Layout:
    """How many slots a party's columns have: all that others know of them."""

    slots: Whole  # (F,)
    categorical: Mask  # (F,)
    fullest: Whole  # (F,) the slot with most training rows, whose sum follows from the others

    @property
    def starts(self) -> Whole:
        """Where each column's slots begin among all, (F,)."""
        found: Whole = np.cumsum(self.slots) - self.slots
        return found

    @property
    def width(self) -> int:
        """T."""
        return int(self.slots.sum())

    @property
    def most(self) -> int:
        """S."""
        return int(self.slots.max())

    def tensor(self) -> Tensor:
        """(F, 3), as it is sent."""
        return torch.from_numpy(np.stack([self.slots, self.categorical, self.fullest], axis=1).astype(np.int32))

    @classmethod
    def of_tensor(cls, sent: Tensor) -> Layout:
        """The inverse of `tensor`."""
        slots, categorical, fullest = sent.numpy().astype(np.int64).T
        return cls(slots, categorical.astype(bool), fullest)


@dataclass
class Columns:
    """A party's columns as slots, and its part of the trees: the lookup table of its splits, by record."""

    slots: Whole  # (F,)
    categorical: Mask  # (F,)
    column: list[int] = field(default_factory=list)  # of each record
    left: list[Mask] = field(default_factory=list)  # of each record: which slots of its column go left, (S,)

    def layout(self, bins: Bytes) -> Layout:
        """What others may know, from the training rows, (n, F)."""
        counts = [np.bincount(x, minlength=s) for x, s in zip(bins.T, self.slots, strict=True)]
        return Layout(self.slots, self.categorical, np.array([c.argmax() for c in counts], dtype=np.int64))

    def histogram(self, bins: Bytes, nodes: Bytes, count: int, values: Whole) -> Whole:
        """Alg. 1: G_kv and H_kv, the sums of the values, (m, 2), by node and slot; (J, T, 2).

        Args:
            bins: (m, F) slots.
            nodes: (m,) the node that each row is in, or `NOWHERE`.
            count: J.
            values: (m, 2) derivatives as whole numbers.
        """
        inside = nodes != NOWHERE
        bins, at_node = bins[inside], nodes[inside].astype(np.int64)
        weights = values[inside].T.astype(np.float64)  # sums of whole numbers are exact below 2**53
        parts = []
        for x, slots in zip(bins.T, self.slots.tolist(), strict=True):
            keys = at_node * slots + x
            sums = [np.bincount(keys, weights=w, minlength=count * slots).reshape(count, slots) for w in weights]
            parts.append(np.stack(sums, axis=2))  # (J, slots, 2)
        return np.concatenate(parts, axis=1).astype(np.int64)

    def divide(self, bins: Bytes, rows: Sequence[Whole], column: Sequence[int], left: Mask) -> list[Mask]:
        """Alg. 2: which rows of each node go left. Each split, (S,) slots, is remembered as the next record."""
        sides = []
        for members, k, slots in zip(rows, column, left, strict=True):
            sides.append(slots[bins[members, k]])
            self.column.append(k)
            self.left.append(slots.copy())
        return sides

    def sides(self, bins: Bytes, records: Whole, at: Whole) -> Mask:
        """Whether the rows `at` of `bins`, (N, F), go left at these records, (m,)."""
        if not len(records):
            return np.zeros(0, dtype=bool)
        visited, which = np.unique(records, return_inverse=True)
        column = np.array([self.column[record] for record in visited.tolist()])
        left = np.stack([self.left[record] for record in visited.tolist()])
        found: Mask = left[which, bins[at, column[which]]]
        return found
