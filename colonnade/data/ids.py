"""Sample ids: the only thing by which rows of different parties are joined.

Ids are integers or text, unique within a party. Everything that needs an order uses the sorted order of the ids, so
that the order in which rows happen to arrive changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[Any]  # (N,) integers or text
Positions = npt.NDArray[np.int64]

_SHOWN = 3
_EXACT = 2.0**53  # from here on floats skip whole numbers


def as_ids(values: Any, where: str, problems: list[str]) -> Ids:
    """Turn an index, a list or an array into ids; append to `problems` what stands in the way."""
    ids = np.asarray(values)
    if ids.ndim != 1:
        problems.append(f"{where}: ids must be one column. Got shape {ids.shape}. Use a single id per row.")
        return _placeholders(len(ids) if ids.ndim else 0)
    if ids.dtype.kind == "f":
        ids = _whole_numbers(ids, where, problems)
    elif ids.dtype.kind in "OTSM":
        ids = _text_or_numbers(ids, where, problems)
    elif ids.dtype.kind not in "iuU":
        problems.append(f"{where}: ids have the type {ids.dtype}. Use integers or text.")
        return _placeholders(len(ids))
    _refuse_duplicates(ids, where, problems)
    return ids.astype(np.int64) if ids.dtype.kind in "iu" else ids


def _placeholders(rows: int) -> Ids:
    """Numbers in the place of ids that cannot be used; their type keeps them out of all further checks."""
    return np.arange(rows).astype(object)


def usable(ids: Ids) -> bool:
    """Whether `as_ids` found nothing wrong with the values themselves."""
    return ids.dtype.kind != "O"


def _whole_numbers(ids: Ids, where: str, problems: list[str]) -> Ids:
    missing = int(np.isnan(ids).sum())
    if missing:
        problems.append(f"{where}: {missing} ids are missing (NaN). Give every row an id or leave the row out.")
    elif (broken := ids[(ids != np.floor(ids)) | (np.abs(ids) >= _EXACT)]).size:
        problems.append(f"{where}: ids are no whole numbers, e.g. {shown(broken)}. Use integers or text.")
    else:
        return ids.astype(np.int64)
    return _placeholders(len(ids))


def _text_or_numbers(ids: Ids, where: str, problems: list[str]) -> Ids:
    if ids.dtype.kind == "M":
        ids = np.datetime_as_string(ids, unit="ns").astype(object)
        ids[ids == "NaT"] = None
    kinds = {_kind(value) for value in ids.tolist()}
    if "missing" in kinds:
        problems.append(f"{where}: some ids are missing. Give every row an id or leave the row out.")
    elif len(kinds) > 1:
        problems.append(
            f"{where}: ids mix {' and '.join(sorted(kinds))}. Make them all text, e.g. df.index.astype(str)."
        )
    elif kinds == {"number"}:
        if all(-(1 << 63) <= value < 1 << 63 for value in ids.tolist()):
            return ids.astype(np.int64)
        problems.append(f"{where}: some ids have more than 64 bits. Make them text, e.g. df.index.astype(str).")
    else:
        return ids.astype(str)
    return _placeholders(len(ids))


def is_missing(value: object) -> bool:
    """None, NaN, or pandas' NA, which refuses to be compared."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _kind(value: object) -> str:
    if is_missing(value):
        return "missing"
    return "number" if isinstance(value, int | np.integer) and not isinstance(value, bool) else "text"


def _refuse_duplicates(ids: Ids, where: str, problems: list[str]) -> None:
    unique, counts = np.unique(ids, return_counts=True)
    if len(unique) == len(ids):
        return
    repeated = unique[counts > 1]
    problems.append(
        f"{where}: {len(repeated)} ids occur more than once, e.g. {shown(repeated)}. "
        f"Keep one row per id (e.g. df[~df.index.duplicated()])."
    )


def shown(values: Sequence[Any] | npt.NDArray[Any]) -> str:
    """A few values for an error text."""
    first = ", ".join(repr(v.item() if isinstance(v, np.generic) else v) for v in values[:_SHOWN])
    return first + (", …" if len(values) > _SHOWN else "")


def common(ids: Sequence[Ids]) -> Ids:
    """Ids that occur in every one of `ids`, sorted."""
    shared = np.unique(ids[0])
    for other in ids[1:]:
        shared = np.intersect1d(shared, other, assume_unique=True)
    return shared


def locate(ids: Ids, wanted: Ids) -> Positions:
    """Position of each of `wanted` in `ids`; -1 where it is absent."""
    if len(ids) == 0 or ids.dtype.kind != wanted.dtype.kind:
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    slot = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    found: Positions = order[slot].astype(np.int64)
    found[ids[found] != wanted] = -1
    return found
