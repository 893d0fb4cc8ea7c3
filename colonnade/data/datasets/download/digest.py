"""A digest of the rows of a data set: the same for the same rows, however the files are packed."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from colonnade.data.vertical import VerticalData


def rows_digest(data: VerticalData, *, ordered: bool = True) -> str:
    """SHA-256 of all views and labels, parties and columns by name; with `ordered=False` whatever the order of rows."""
    names = sorted(data.views)
    labels = data.labels.values.astype("<f8")
    order = np.arange(len(labels)) if ordered else _order([data.views[n].x for n in names], labels)
    digest = hashlib.sha256()
    for name in names:
        view = data.views[name]
        digest.update(repr((name, view.columns, view.fields, view.vocabularies)).encode())
        _add(digest, view.x[order])
        _add(digest, view.codes[order])
    _add(digest, labels[order])
    return digest.hexdigest()


def _order(tables: list[npt.NDArray[np.generic]], labels: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """An order that depends on the rows alone: sorted by all columns."""
    columns = np.column_stack([*tables, labels])
    return np.lexsort(columns.T)


def _add(digest: hashlib._Hash, array: npt.NDArray[np.generic]) -> None:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    digest.update(repr((little.shape, little.dtype.str)).encode())
    digest.update(np.ascontiguousarray(little).tobytes())
