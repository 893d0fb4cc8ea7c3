"""One party's preprocessing, fitted on that party's training rows and nothing else.

Numbers are standardised and clipped to ±10 standard deviations; a missing number becomes the mean, and a column that
misses values in training gets an indicator column beside it. A category seen at least twice in training gets a code of
its own; all others, and missing ones, share the code 0 ("unknown"), which is thereby trained too. Images are scaled to
[0, 1] and standardised per channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from colonnade.data.ids import shown
from colonnade.data.table import Table
from colonnade.data.view import View
from colonnade.errors import DataError, raise_all

CLIP = 10.0
MIN_COUNT = 2
_CHUNK = 1 << 16  # rows at a time, so that statistics of a large table need little memory

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """How one party turns its raw columns into what its encoder reads."""

    columns: tuple[str, ...]
    mean: Floats  # (F,), or (C,) for images
    scale: Floats
    gaps: tuple[int, ...]  # numeric columns that miss values in training
    fields: tuple[str, ...]
    vocabularies: tuple[tuple[str, ...], ...]  # code i+1 of a field is its i-th value
    shape: tuple[int, ...] = ()  # (C, H, W) of images
    in_bytes: bool = False  # whether pixels were bytes

    @classmethod
    def fit(cls, view: View) -> Preprocessor:
        """Learn scales and vocabularies from training rows."""
        mean, scale, gaps = _moments(view)
        vocabularies = []
        for codes, values in zip(view.codes.T, view.vocabularies, strict=True):
            counts = np.bincount(codes[codes >= 0], minlength=len(values))
            vocabularies.append(tuple(sorted(v for v, n in zip(values, counts, strict=True) if n >= MIN_COUNT)))
        shape = view.x.shape[1:] if view.is_image else ()
        return cls(
            view.columns, mean, scale, gaps, view.fields, tuple(vocabularies), shape, view.x.dtype == np.uint8
        )  # fmt: skip

    def transform(self, view: View, where: str) -> Table:
        """Rows as an encoder reads them; `where` names the party in an error."""
        self._check(view, where)
        if view.is_image:
            x = (_unit(view.x) - self.mean[:, None, None]) / self.scale[:, None, None]
            return Table(torch.from_numpy(x))
        order = [view.columns.index(c) for c in self.columns]
        raw = view.x if order == list(range(view.x.shape[1])) else view.x[:, order]
        x = np.empty((len(view), len(self.columns) + len(self.gaps)), dtype=np.float32)
        for rows in _chunks(len(view)):
            part = x[rows, : len(self.columns)]
            np.subtract(raw[rows], self.mean, out=part)
            part /= self.scale
            np.clip(part, -CLIP, CLIP, out=part)
            x[rows, len(self.columns) :] = np.isnan(part[:, list(self.gaps)])
            np.nan_to_num(part, copy=False)
        return Table(torch.from_numpy(x), self._codes(view), self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Known values of each categorical column."""
        return tuple(len(v) for v in self.vocabularies)

    def blank(self, rows: int = 2) -> tuple[torch.Tensor, ...]:
        """Rows of zeros in the shape that an encoder reads."""
        x = torch.zeros(rows, *(self.shape or (len(self.columns) + len(self.gaps),)))
        return (x, torch.zeros(rows, len(self.fields), dtype=torch.int64)) if self.fields else (x,)

    def _codes(self, view: View) -> torch.Tensor | None:
        if not self.fields:
            return None
        out = np.zeros((len(view), len(self.fields)), dtype=np.int64)
        for q, (field, vocabulary) in enumerate(zip(self.fields, self.vocabularies, strict=True)):
            known = {value: code for code, value in enumerate(vocabulary, 1)}
            at = view.fields.index(field)
            recode = np.array([*(known.get(v, 0) for v in view.vocabularies[at]), 0])  # last: missing, code -1
            out[:, q] = recode[view.codes[:, at]]
        return torch.from_numpy(out)

    def _check(self, view: View, where: str) -> None:
        problems: list[str] = []
        if view.is_image or self.shape:
            if view.x.shape[1:] != self.shape:
                problems.append(
                    f"{where}: rows of shape {view.x.shape[1:]}, but training had {self.shape}. Resize them."
                )
            elif len(view) and (view.x.dtype == np.uint8) != self.in_bytes:
                sorts = ("numbers", "bytes")
                problems.append(
                    f"{where}: pixels are {sorts[not self.in_bytes]}, but training had {sorts[self.in_bytes]}. "
                    f"Give them in the same type and range."
                )
            raise_all(problems, DataError, "The rows do not fit the trained model")
            return
        have = {**dict.fromkeys(view.columns, "numbers"), **dict.fromkeys(view.fields, "text")}
        want = {**dict.fromkeys(self.columns, "numbers"), **dict.fromkeys(self.fields, "text")}
        absent = [c for c in want if c not in have]
        extra = [c for c in have if c not in want]
        if absent:
            problems.append(f"{where}: column {shown(absent)} is missing. Give every column that training had.")
        if extra:
            problems.append(f"{where}: column {shown(extra)} was not there in training. Leave it out.")
        changed = [c for c in want if c in have and have[c] != want[c]]
        if changed:
            problems.append(
                f"{where}: column {shown(changed)} held {want[changed[0]]} in training, now {have[changed[0]]}."
            )
        infinite = [c for c, bad in zip(view.columns, np.isinf(view.x).any(axis=0), strict=True) if bad]
        if infinite:
            problems.append(
                f"{where}: column {shown(infinite)} holds infinity. Replace it by a number or by missing (NaN)."
            )
        raise_all(problems, DataError, "The rows do not fit the trained model")

    def to_json(self) -> dict[str, Any]:
        """A description that JSON can hold."""
        return {
            "columns": list(self.columns),
            "mean": self.mean.astype(float).tolist(),
            "scale": self.scale.astype(float).tolist(),
            "gaps": list(self.gaps),
            "fields": list(self.fields),
            "vocabularies": [list(v) for v in self.vocabularies],
            "shape": list(self.shape),
            "in_bytes": self.in_bytes,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Preprocessor:
        """The inverse of `to_json`."""
        return cls(
            tuple(saved["columns"]),
            np.array(saved["mean"], dtype=np.float32),
            np.array(saved["scale"], dtype=np.float32),
            tuple(saved["gaps"]),
            tuple(saved["fields"]),
            tuple(tuple(v) for v in saved["vocabularies"]),
            tuple(saved["shape"]),
            saved["in_bytes"],
        )


def _moments(view: View) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Mean and standard deviation of each column over the values that are there; 1 where it would be 0."""
    axes = (0, 2, 3) if view.is_image else (0,)
    width = view.x.shape[1]
    total, count = np.zeros(width), np.zeros(width)
    for rows in _chunks(len(view)):
        part = _unit(view.x[rows])
        total += np.nansum(part, axis=axes, dtype=np.float64)
        count += (~np.isnan(part)).sum(axis=axes)
    mean = total / np.maximum(count, 1)
    squares = np.zeros(width)
    centre = mean[:, None, None] if view.is_image else mean
    for rows in _chunks(len(view)):
        squares += np.nansum((_unit(view.x[rows]) - centre) ** 2, axis=axes, dtype=np.float64)
    scale = np.sqrt(squares / np.maximum(count, 1))
    scale[scale <= np.maximum(1e-7 * np.abs(mean), 1e-37)] = 1.0  # rounding of float32 is no spread
    gaps = () if view.is_image else tuple(np.flatnonzero(count < len(view)).tolist())
    return mean.astype(np.float32), scale.astype(np.float32), gaps


def _unit(x: npt.NDArray[Any]) -> Floats:
    """Bytes as numbers in [0, 1]; numbers as they are."""
    return x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x


def _chunks(rows: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK) for start in range(0, rows, _CHUNK))
