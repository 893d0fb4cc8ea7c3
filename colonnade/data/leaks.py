"""Is the label left among the active party's columns?

A column that is the label is refused; one that nearly is gets a warning. N labelled rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import locate
from colonnade.data.labels import Labels, Task
from colonnade.data.view import View

CERTAIN, LIKELY = 10.0, 5.0  # bits; some column equals the label by chance in one of 2**10 tables, or of 2**5
NEARLY = 0.9  # of the rows that guessing the most frequent class gets wrong
NEARLY_LINEAR = 0.999  # of the variance of a target
ENOUGH = 20  # labelled rows, below which nothing is said about "nearly"
MORE_VALUES = 2  # values that a column may have beyond the number of classes
_LOOK = 256  # rows that show whether a column has few values

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Found = tuple[str, bool, str]  # a column, whether it is the label in every row, and a clause that says what it is


def find_label(view: View, labels: Labels, task: Task, where: str, name: str = "") -> tuple[list[str], list[str]]:
    """What to refuse and what to warn of; `name` is the name that the labels came with."""
    at = locate(view.ids, labels.ids)
    values, at = labels.values[at >= 0], at[at >= 0]
    if view.is_image or view.width == 0 or len(values) < 2:
        return [], []
    _, codes = np.unique(values, return_inverse=True)
    bits = _bits(codes) - math.log2(view.width)
    found = _linear_columns(view, at, values.astype(float)) if task == "regression" else _columns(view, at, codes)
    refused, warned = [], []
    for column, exact, clause in found:
        text = f"{where}: column {column!r} {clause}. If it comes from the label, drop it: df.drop(columns={column!r})."
        if exact and (bits >= CERTAIN or column == name):
            refused.append(text)
        elif (exact and bits >= LIKELY) or len(values) >= ENOUGH:
            warned.append(text)
    return refused, warned


def _bits(codes: Ints) -> float:
    """How much the labels tell: the number of rows times the entropy of the classes."""
    shares = np.bincount(codes) / len(codes)
    return float(-len(codes) * (shares * np.log2(shares)).sum())


def _columns(view: View, at: Ints, y: Ints) -> Iterator[Found]:
    """Columns from whose value the class follows, in all rows or nearly."""
    classes, rows = int(y.max()) + 1, len(y)
    if classes > rows / 2:
        return  # nearly every row has a class of its own, as in a column of ids
    guess = np.bincount(y).max() / rows
    for name, values in _columns_of_few_values(view, at, classes + MORE_VALUES):
        counts = _counts(values, y, classes)  # (values, classes)
        share = counts.max(axis=1).sum() / rows
        if (counts.sum() == rows) and ((counts > 0).sum(axis=0) == 1).all() and ((counts > 0).sum(axis=1) == 1).all():
            yield name, True, f"equals the label, or renames its classes, in all {rows:,} labelled rows"
        elif guess < 1 and (share - guess) / (1 - guess) >= NEARLY:
            yield name, False, f"tells the label of {100 * share:.1f} % of the {rows:,} labelled rows"


def _counts(values: Ints, y: Ints, classes: int) -> Ints:
    """Rows by value and class, (values, classes); rows without a value are left out."""
    here = values >= 0
    _, codes = np.unique(values[here], return_inverse=True)
    counts = np.bincount(codes * classes + y[here], minlength=(codes.max(initial=0) + 1) * classes)
    return counts.reshape(-1, classes)


def _columns_of_few_values(view: View, at: Ints, most: int) -> Iterator[tuple[str, Ints]]:
    """Columns with at most so many values, as codes; -1 is a missing value."""
    first = np.sort(view.x[at[:_LOOK]], axis=0)  # missing values come last
    changes = ((first[1:] != first[:-1]) & ~np.isnan(first[1:])).sum(axis=0)
    for j in np.flatnonzero(changes < most).tolist():
        x = view.x[at, j]
        found, codes = np.unique(x, return_inverse=True)
        if (~np.isnan(found)).sum() <= most:
            yield view.columns[j], np.where(np.isnan(x), -1, codes)
    for q, name in enumerate(view.fields):
        values = view.codes[at, q].astype(np.int64)
        if (np.unique(values) >= 0).sum() <= most:
            yield name, values


def _linear_columns(view: View, at: Ints, y: Floats) -> Iterator[Found]:
    """Columns on which the target depends linearly, in all rows or nearly."""
    for j, name in enumerate(view.columns):
        x = view.x[at, j].astype(np.float64)
        here = ~np.isnan(x)
        if here.sum() < NEARLY * len(y) or x[here].std() == 0 or y[here].std() == 0:
            continue
        explained, exact = _line(x[here], y[here])
        if exact and here.all():
            yield name, True, f"equals the target, or is a linear function of it, in all {len(y):,} labelled rows"
        elif explained >= NEARLY_LINEAR:
            yield name, False, f"explains {100 * explained:.2f} % of the target's variance"


def _line(x: Floats, y: Floats) -> tuple[float, bool]:
    """The share of variance that a line through the points explains, and whether all of them lie on it."""
    apart, target = x - x.mean(), y - y.mean()
    slope = float((apart * target).sum() / (apart**2).sum())
    rest = target - slope * apart
    rounding = 2.0**-22 * abs(slope) * float(np.abs(x).max()) + 1e-9 * float(np.abs(y).max())  # columns are float32
    return 1 - float((rest**2).sum() / (target**2).sum()), bool(np.abs(rest).max() <= rounding)
