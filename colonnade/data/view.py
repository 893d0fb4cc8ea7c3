"""One party's rows, as they came, column by column.

N rows, F numeric columns, Q categorical columns. A view holds raw values; turning them into what an encoder reads is
the party's preprocessing, which is fitted on training rows alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, Positions, as_ids, is_missing, shown

MISSING = -1  # code of a missing category


@dataclass(frozen=True, eq=False)
class View:
    """Rows of one party by id."""

    ids: Ids  # (N,)
    x: npt.NDArray[Any]  # (N, F) float32 with NaN for missing; images (N, C, H, W), float32 or uint8
    columns: tuple[str, ...]  # names of the F numeric columns; empty for images
    codes: npt.NDArray[np.int32]  # (N, Q) position in the vocabulary, MISSING for missing
    fields: tuple[str, ...] = ()  # names of the Q categorical columns
    vocabularies: tuple[tuple[str, ...], ...] = ()  # the values of each categorical column

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_image(self) -> bool:
        """Whether the rows are images."""
        return self.x.ndim > 2

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(np.prod(self.x.shape[1:])) + len(self.fields)

    def take(self, positions: Positions) -> View:
        """The rows at `positions`, in that order."""
        return replace(self, ids=self.ids[positions], x=self.x[positions], codes=self.codes[positions])

    def with_ids(self, ids: Ids) -> View:
        """The same rows under other ids."""
        return replace(self, ids=ids)


def as_view(value: Any, name: str, categorical: Collection[str], problems: list[str]) -> View:
    """Turn a DataFrame, an array, a tensor, a sparse matrix, or `(array, ids)` into a `View`.

    `categorical` names columns that hold categories although they look like numbers. What stands in the way is appended
    to `problems`.
    """
    if isinstance(value, View):
        return value
    where = f"party {name!r}"
    categorical = _column_names(categorical, where, problems)
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        return _from_frame(value, where, categorical, problems)
    ids = None
    if isinstance(value, tuple) and len(value) == 2:
        value, ids = value
    x = _as_array(value, where, problems)
    ids = np.arange(len(x)) if ids is None else as_ids(ids, where, problems)
    if len(ids) != len(x):
        problems.append(f"{where}: {len(x)} rows but {len(ids)} ids. Give one id per row.")
        ids = np.arange(len(x))
    columns = tuple(str(i) for i in range(x.shape[1])) if x.ndim == 2 else ()
    return _numeric_and_declared(x, columns, ids, where, categorical, problems)


def _column_names(categorical: Collection[Any], where: str, problems: list[str]) -> frozenset[str]:
    if isinstance(categorical, str):
        problems.append(f"{where}: categorical must list columns. Got {categorical!r}. Use [{categorical!r}].")
        return frozenset()
    return frozenset(map(str, categorical))


def _as_array(value: Any, where: str, problems: list[str]) -> npt.NDArray[Any]:
    """Numbers of any type; images of bytes stay bytes."""
    if hasattr(value, "toarray"):  # scipy.sparse
        value = value.toarray()
    if hasattr(value, "detach"):  # torch.Tensor; numpy has no bfloat16
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    try:
        x = np.asarray(value)
    except ValueError:
        shapes = sorted({np.shape(row) for row in value})
        shown = ", ".join(map(str, shapes[:3])) + (", …" if len(shapes) > 3 else "")
        if len(shapes[0]) >= 2:
            problems.append(f"{where}: its images differ in size: {shown}. Resize or crop them to one size.")
        else:
            problems.append(f"{where}: its rows differ in length: {shown}. Give every row the same columns.")
        return np.arange(len(value), dtype=np.float32)[:, None]
    if x.ndim == 1 or x.ndim == 3 or x.ndim > 4:
        problems.append(
            f"{where}: shape {x.shape} is neither a table (rows, columns) nor images (rows, channels, height, width). "
            f"Reshape it, e.g. x[:, None] for one column or one channel."
        )
        return np.zeros((len(x), 1), dtype=np.float32)
    if x.ndim == 0 or x.dtype.kind not in "fiub":
        problems.append(f"{where}: values of type {x.dtype} are not numbers. Use a DataFrame for text columns.")
        return np.zeros((len(x) if x.ndim else 0, 1), dtype=np.float32)
    return x


def _numeric_and_declared(
    x: npt.NDArray[Any],
    columns: tuple[str, ...],
    ids: Ids,
    where: str,
    categorical: Collection[str],
    problems: list[str],
) -> View:
    """A view of an array whose columns are numbers, save those declared categorical."""
    unknown = sorted(set(categorical) - set(columns))
    if unknown:
        problems.append(f"{where}: categorical column {shown(unknown)} does not exist. It has {shown(columns)}.")
    fields = tuple(c for c in columns if c in categorical)
    coded = [factorize(x[:, columns.index(c)]) for c in fields]
    keep = [i for i, c in enumerate(columns) if c not in categorical]
    x = x[:, keep] if fields else x
    return View(
        ids=ids,
        x=x if x.ndim == 4 and x.dtype == np.uint8 else x.astype(np.float32, copy=False),
        columns=tuple(columns[i] for i in keep),
        codes=_stacked([codes for codes, _ in coded], len(ids)),
        fields=fields,
        vocabularies=tuple(values for _, values in coded),
    )


def _from_frame(frame: Any, where: str, categorical: Collection[str], problems: list[str]) -> View:
    """A view of a DataFrame: numbers stay numbers; text, booleans and pandas categories become categories."""
    names = [str(c) for c in frame.columns]
    repeated = sorted({n for n in names if names.count(n) > 1})
    if repeated:
        problems.append(f"{where}: column {shown(repeated)} occurs more than once. Rename one of them.")
        frame = frame.loc[:, ~frame.columns.duplicated()]
        names = [str(c) for c in frame.columns]
    unknown = sorted(set(categorical) - set(names))
    if unknown:
        problems.append(f"{where}: categorical column {shown(unknown)} does not exist. It has {shown(names)}.")
    numeric: list[str] = []
    arrays: list[npt.NDArray[np.float32]] = []
    fields: list[str] = []
    coded: list[tuple[npt.NDArray[np.int32], tuple[str, ...]]] = []
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        if name not in categorical and _is_numeric(column, f"{where}, column {name!r}", problems):
            numeric.append(name)
            arrays.append(column.to_numpy(dtype=np.float32, na_value=np.nan))
        else:
            fields.append(name)
            coded.append(factorize(column.to_numpy(dtype=object, na_value=None)))
    return View(
        ids=as_ids(frame.index, where, problems),
        x=np.stack(arrays, axis=1) if arrays else np.zeros((len(frame), 0), dtype=np.float32),
        columns=tuple(numeric),
        codes=_stacked([codes for codes, _ in coded], len(frame)),
        fields=tuple(fields),
        vocabularies=tuple(values for _, values in coded),
    )


def _is_numeric(column: Any, where: str, problems: list[str]) -> bool:
    """Whether a DataFrame column holds numbers; text among numbers is a problem, not a category."""
    kind = column.dtype.kind if hasattr(column.dtype, "kind") else "O"
    if kind in "iuf":
        return True
    if kind in "mM":
        problems.append(f"{where}: dates are not used as they are. Derive numbers from them, e.g. age in days.")
        return False
    if kind == "b" or str(column.dtype) in ("category", "boolean"):
        return False
    import pandas as pd

    present = column.dropna()
    if len(present) == 0:
        return True  # nothing speaks against it: one row with a gap is still a row of numbers
    numbers = pd.to_numeric(present, errors="coerce").notna()
    if all(isinstance(v, Number) and not isinstance(v, bool) for v in present.head(100)):
        if numbers.all():
            return True
    elif not 0.5 <= numbers.mean() < 1:
        return False
    bad = present[~numbers]
    if len(bad) == 0:
        return False
    problems.append(
        f"{where}: {len(bad)} of {len(present)} values are text among numbers, e.g. {shown(bad.tolist())}. "
        f"Make them numbers or missing, or declare the column categorical."
    )
    return False


def factorize(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Codes and vocabulary of one categorical column; values are compared as text, whole numbers without a point."""
    if values.dtype.kind == "f":
        present = ~np.isnan(values)
        whole = np.all(values[present] == np.floor(values[present]))
        numbers = values[present].astype(np.int64) if whole else values[present]
        vocabulary, inverse = np.unique(numbers, return_inverse=True)
        codes = np.full(len(values), MISSING, dtype=np.int32)
        codes[present] = inverse
        return codes, tuple(str(v) for v in vocabulary)
    seen: dict[str, int] = {}
    codes = np.fromiter(
        (MISSING if is_missing(v) else seen.setdefault(_text(v), len(seen)) for v in values.tolist()),
        dtype=np.int32,
        count=len(values),
    )
    return codes, tuple(seen)


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _stacked(columns: list[npt.NDArray[np.int32]], rows: int) -> npt.NDArray[np.int32]:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), dtype=np.int32)
