"""Columns as bins, fitted by each party on its own training rows.

A column has slots. Slot 0 takes missing values, and of categories also those that training did not have. Slots 1, 2, …
are the bins of a number, from small to large, or the known values of a category. Each pixel of an image is a column.

N rows, F columns: the numeric ones, then the categorical ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.preprocess import Preprocessor
from colonnade.data.table import Table
from colonnade.data.view import View

MAX_BINS = 255  # a slot's number is one byte, and slot 0 is taken
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Binner(Preprocessor):
    """A party's preprocessing for trees: its tables hold slots, not numbers."""

    edges: tuple[Floats, ...] = ()  # s_k1 < s_k2 < … of each numeric column; bin v holds s_k(v-1) < x <= s_kv

    @classmethod
    def fit_bins(cls, view: View, bins: int) -> Binner:
        """Quantiles of the numbers, and the `bins` most frequent values of each category, of training rows."""
        base = Preprocessor.fit(view)
        vocabularies = tuple(
            _most_frequent(codes, values, known, bins)
            for codes, values, known in zip(view.codes.T, view.vocabularies, base.vocabularies, strict=True)
        )
        edges = tuple(_quantiles(column[~np.isnan(column)], bins) for column in _flat(view.x).T)
        return cls._of(replace(base, vocabularies=vocabularies), edges)

    @classmethod
    def _of(cls, base: Preprocessor, edges: tuple[Floats, ...]) -> Binner:
        known: dict[str, Any] = {field.name: getattr(base, field.name) for field in fields(Preprocessor)}
        return cls(**known, edges=edges)

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """How many slots each column has, (F,)."""
        numbers = [len(edges) + 2 for edges in self.edges]
        return np.array([*numbers, *(size + 1 for size in self.sizes)], dtype=np.int64)

    @property
    def categorical(self) -> npt.NDArray[np.bool_]:
        """Which columns are categories, (F,)."""
        return np.arange(len(self.edges) + len(self.fields)) >= len(self.edges)

    def transform(self, view: View, where: str) -> Table:
        """Rows as slots, (N, F) bytes."""
        self._check(view, where)
        out = np.empty((len(view), len(self.edges) + len(self.fields)), dtype=np.uint8)
        numbers = _flat(view.x)
        for k, edges in enumerate(self.edges):
            x = numbers[:, k if view.is_image else view.columns.index(self.columns[k])]
            out[:, k] = np.where(np.isnan(x), 0, np.searchsorted(edges, x, side="left") + 1)
        codes = self._codes(view)
        if codes is not None:
            out[:, len(self.edges) :] = codes.numpy()
        return Table(torch.from_numpy(out))

    def to_json(self) -> dict[str, Any]:
        """A description that JSON can hold."""
        return {**super().to_json(), "edges": [edges.astype(float).tolist() for edges in self.edges]}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Binner:
        """The inverse of `to_json`."""
        return cls._of(Preprocessor.from_json(saved), tuple(np.array(e, dtype=np.float32) for e in saved["edges"]))


def _flat(x: npt.NDArray[Any]) -> Floats:
    """Rows of numbers; the pixels of an image side by side."""
    return x.reshape(len(x), math.prod(x.shape[1:])).astype(np.float32, copy=False)


def _quantiles(x: Floats, bins: int) -> Floats:
    """At most `bins - 1` edges that part the values into about equally many each (Alg. 1: S_k, by percentiles).

    An edge lies halfway to the next larger value of training, so that few distinct values get a bin each.
    """
    values, counts = np.unique(x, return_counts=True)
    if len(values) <= bins:
        last = np.arange(len(values))
    else:
        wanted = np.arange(1, bins) * (counts.sum() / bins)
        last = np.unique(np.searchsorted(np.cumsum(counts), wanted))
    last = last[last < len(values) - 1]  # the last value of each bin but the highest
    low, high = values[last].astype(np.float64), values[last + 1].astype(np.float64)
    middle = ((low + high) / 2).astype(np.float32)
    return np.where(middle < values[last + 1], middle, values[last])  # neighbours in float32 have no middle


def _most_frequent(
    codes: npt.NDArray[np.int32], values: tuple[str, ...], known: tuple[str, ...], most: int
) -> tuple[str, ...]:
    """Of the known values the `most` frequent ones, in the order of their names."""
    if len(known) <= most:
        return known
    counts = dict(zip(values, np.bincount(codes[codes >= 0], minlength=len(values)).tolist(), strict=True))
    return tuple(sorted(sorted(known, key=lambda value: (-counts[value], value))[:most]))
