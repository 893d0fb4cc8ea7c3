"""Labels by id, and what task they make.

Only the active party has them. A row without a label is unlabelled; NaN, None and absence mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, as_ids, is_missing, locate
from colonnade.errors import DataError

Task = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of the rows that have one: `values[i]` belongs to `ids[i]`."""

    ids: Ids  # (N,)
    values: npt.NDArray[Any]  # (N,) class names, or float64 targets

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.values if dtype is None else self.values.astype(dtype)

    def take(self, positions: npt.NDArray[Any]) -> Labels:
        """The labels at `positions`."""
        return Labels(self.ids[positions], self.values[positions])

    def of(self, ids: Ids) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Values for `ids`, and a mask that says which of them are labelled."""
        at = locate(self.ids, ids)
        values = self.values[at] if len(self.values) else np.zeros(len(ids), dtype=self.values.dtype)
        return values, at >= 0


def as_labels(value: Any, positional_ids: Ids | None, where: str, problems: list[str]) -> Labels:
    """Turn a Series by id, `(array, ids)`, or an array in the row order of `positional_ids` into `Labels`."""
    if isinstance(value, Labels):
        return value
    if value is None:
        problems.append(f"{where}: there are none. Give a Series by id, or an array in the order of the rows.")
        return Labels(np.arange(0), np.zeros(0))
    if hasattr(value, "iloc"):  # pandas
        if getattr(value, "ndim", 1) != 1:
            problems.append(f"{where}: labels must be one column. Got {value.shape[1]}. Select one, e.g. df['label'].")
            value = value.iloc[:, 0]
        ids = as_ids(value.index, where, problems)
        value = value.to_numpy()
    elif isinstance(value, tuple) and len(value) == 2:
        value, ids = value[0], as_ids(value[1], where, problems)
    else:
        value = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
        ids = np.arange(value.size) if positional_ids is None else positional_ids
    values = np.asarray(value)
    if values.ndim != 1 or len(values) != len(ids):
        problems.append(
            f"{where}: labels of shape {values.shape} for {len(ids)} rows. Give one per row, or a Series by id."
        )
        return Labels(ids[:0], np.zeros(0))
    return _without_missing(Labels(ids, values))


def _without_missing(labels: Labels) -> Labels:
    values = labels.values
    if values.dtype.kind == "O":
        present = np.array([not is_missing(v) for v in values.tolist()], dtype=bool)
        values = np.array(values[present].tolist()) if present.any() else values[present]
    else:
        present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
        values = values[present]
    if values.dtype.kind == "f" and len(values) and not _looks_continuous(values):
        values = values.astype(np.int64)  # classes that a NaN had turned into floats
    return Labels(labels.ids[present], values)


def _looks_continuous(values: npt.NDArray[Any]) -> bool:
    """Whether numbers are measurements rather than class numbers: fractions, or many distinct values."""
    distinct = len(np.unique(values))
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return True
    return not np.array_equal(values, np.floor(values)) or (distinct > 50 and distinct > 0.1 * len(values))


def infer_task(values: npt.NDArray[Any]) -> Task:
    """Regression for numbers that look continuous, classification for all else."""
    if values.dtype.kind in "iuf" and len(values) and _looks_continuous(values):
        return "regression"
    return "binary" if len(np.unique(values)) <= 2 else "multiclass"


def check_task(task: str | None) -> None:
    """Refuse a task that does not exist."""
    if task not in (None, "binary", "multiclass", "regression"):
        raise DataError(f"task must be 'binary', 'multiclass' or 'regression'. Got {task!r}. Leave it out to infer it.")
