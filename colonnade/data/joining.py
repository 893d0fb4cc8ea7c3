"""How rows of several parties are joined: by id, or by position where that is asked for.

Frames that nobody gave an index have the index 0, 1, 2, …, which says nothing about whose rows they are. Joined by it,
row k of one party meets row k of another. That is refused unless `join` asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from colonnade.data.ids import Ids, locate, shown, usable
from colonnade.data.view import View
from colonnade.errors import DataError, did_you_mean

Join = Literal["id", "position"]
JOINS = ("id", "position")

_KEYS = {"id", "ids", "key", "keys", "uid", "uuid", "guid", "ssn", "identifier", "index"}
_PEOPLE = {
    "customer",
    "client",
    "user",
    "person",
    "patient",
    "member",
    "account",
    "subject",
    "sample",
    "case",
    "record",
}
_COMMON = 0.5  # share of common values from which columns of one name identify rows
_POSITION = "or join='position' where row k is the same person in every table"


def check_join(join: str | None) -> None:
    """Refuse an unknown way to join."""
    if join is not None and join not in JOINS:
        raise DataError(f"join must be 'id' or 'position'. Got {join!r}. {did_you_mean(str(join), JOINS)}")


def is_frame(value: Any) -> bool:
    """Whether this is a DataFrame, without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def unnamed_range(table: Any) -> bool:
    """Whether a DataFrame or Series has the index 0, 1, 2, … that pandas gives when nobody names one."""
    index = table.index
    return type(index).__name__ == "RangeIndex" and index.name is None and (index.start, index.step) == (0, 1)


def needs_ids(views: Mapping[str, Any]) -> str | None:
    """Why these tables cannot be joined unless somebody says how; None when they can."""
    bare = _without_ids(views)
    if not bare:
        return None
    if found := id_columns(views):
        first = next(iter(found.values()))[0]
        return (
            f"{_listed(bare)}. {_seen(found)} Use df.set_index({first!r}), "
            f"VerticalData.from_frames(tables, id={first!r}, label=…), {_POSITION}."
        )
    if len(bare) == len(views):
        return f"{_listed(bare)}. Use df.set_index(…) with the column that identifies a row, {_POSITION}."
    most = max(len(view) for view in bare.values())
    for name, view in views.items():
        ids = _given_ids(view)
        if ids is not None and ids.dtype.kind in "iu" and len(ids) and (ids.min() < 0 or ids.max() >= most):
            return (
                f"{_listed(bare)}. Those of {name!r} are {shown(ids)}. Use df.set_index(…) with the column of ids, "
                f"or join='id' where the index is the id."
            )
    return None


def check_ids_left_as_columns(views: Mapping[str, Any]) -> None:
    """Refuse rows to predict whose ids are a column, so that they would be joined by position."""
    bare = _without_ids(views)
    if bare and (found := id_columns(views)):
        first = next(iter(found.values()))[0]
        raise DataError(
            f"predict: {_listed(bare)}. {_seen(found)} Use df.set_index({first!r}), or df.rename_axis('row') where "
            f"row k is the same person in every table."
        )


def _without_ids(views: Mapping[str, Any]) -> dict[str, Any]:
    """The tables whose index nobody set, where there are others to join them with."""
    bare = {name: view for name, view in views.items() if is_frame(view) and unnamed_range(view)}
    return bare if len(views) > 1 else {}


def _seen(found: Mapping[str, list[str]]) -> str:
    where = ", ".join(f"{columns[0]!r} of {name!r}" for name, columns in found.items())
    return f"Ids seem to be in column {where}."


def _listed(bare: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name!r} ({len(view):,} rows)" for name, view in bare.items())
    return f"tables without ids (their index is 0, 1, 2, …): {listed}"


def id_columns(views: Mapping[str, Any]) -> dict[str, list[str]]:
    """By party with a table without ids, the columns that look like ids: by name, or shared with another party."""
    frames = {name: view for name, view in views.items() if is_frame(view)}
    found = {}
    for name, frame in frames.items():
        if unnamed_range(frame):
            others = [other for party, other in frames.items() if party != name]
            columns = [str(c) for i, c in enumerate(frame.columns) if _identifies(frame.iloc[:, i], str(c), others)]
            if columns:
                found[name] = columns
    return found


def _identifies(column: Any, name: str, others: list[Any]) -> bool:
    """Whether a column of whole numbers or text says whose rows these are."""
    values = _whole_or_text(column)
    if values is None or len(values) < 2:
        return False
    if _named_like_an_id(name) or any(str(other.index.name) == name for other in others):
        return bool(values.nunique() >= _COMMON * len(values))
    return bool(values.is_unique) and any(_shared(values, other, name) for other in others)


def _whole_or_text(column: Any) -> Any:
    """The present values; None when they are fractions, dates, truth values or categories."""
    present = column.dropna()
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f":
        return present if len(present) and bool((present == np.floor(present)).all()) else None
    return present if kind in "iuO" and str(column.dtype) != "category" else None


def _shared(values: Any, other: Any, name: str) -> bool:
    """Whether another table's column of that name holds largely the same values, each once."""
    at = [i for i, c in enumerate(other.columns) if str(c) == name]
    theirs = _whole_or_text(other.iloc[:, at[0]]) if at else None
    if theirs is None or not len(theirs) or not theirs.is_unique:
        return False
    return bool(values.isin(theirs).sum() >= _COMMON * min(len(values), len(theirs)))


def _named_like_an_id(name: str) -> bool:
    """`id`, `customer_id`, `CustomerID`, `customerid`, `client`, `Unnamed: 0`, …"""
    if re.fullmatch(r"Unnamed: \d+", name):  # an index that pandas wrote into a file
        return True
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    whole = "".join(words)
    return bool(_KEYS & set(words)) or whole in _PEOPLE or any(whole == f"{who}id" for who in _PEOPLE)


def _given_ids(value: Any) -> Ids | None:
    """The ids that came with a table; None when there were none."""
    if isinstance(value, View):
        return None if np.array_equal(value.ids, np.arange(len(value))) else value.ids
    if is_frame(value):
        return None if unnamed_range(value) else np.asarray(value.index)
    return np.asarray(value[1]) if isinstance(value, tuple) and len(value) == 2 else None


def by_position(given: Mapping[str, Any], views: Mapping[str, View], problems: list[str]) -> dict[str, View]:
    """The views under the same ids, row by row: those given with the tables, or 0, 1, 2, …"""
    sizes = {name: len(view) for name, view in views.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name!r} has {size:,}" for name, size in sizes.items())
        problems.append(f"join='position' needs as many rows at every party: {listed}. Join by id instead.")
        return dict(views)
    named = {name: views[name].ids for name in views if _given_ids(given[name]) is not None}
    first = next(iter(named), None)
    for name, ids in named.items():
        if first is not None and usable(ids) and not np.array_equal(ids, named[first]):
            problems.append(
                f"join='position', but ids differ: {first!r} has {shown(named[first])}, {name!r} {shown(ids)}. "
                f"Use join='id', or df.reset_index(drop=True) where row k is the same person in every table."
            )
            return dict(views)
    _check_order(given, problems)
    ids = np.arange(next(iter(sizes.values()))) if first is None else named[first]
    return {name: view.with_ids(ids) for name, view in views.items()}


def _check_order(given: Mapping[str, Any], problems: list[str]) -> None:
    """Columns of ids that say that row k is not the same person in two tables."""
    seen: dict[str, tuple[str, Any]] = {}
    for name, columns in id_columns(given).items():
        for column in columns:
            values = given[name][column].to_numpy() if column in given[name] else None
            if values is None:
                continue
            other, theirs = seen.setdefault(column, (name, values))
            if not np.array_equal(values.astype(str), theirs.astype(str)):
                problems.append(
                    f"join='position', but column {column!r} is not the same in {other!r} ({shown(theirs)}) and "
                    f"{name!r} ({shown(values)}). Use VerticalData.from_frames(tables, id={column!r}, label=…)."
                )


def positioned_labels(labels: Any, ids: Ids | None, problems: list[str]) -> Any:
    """Labels for rows that were joined by position: a Series has their index, or none of its own."""
    if ids is None or not hasattr(labels, "iloc") or getattr(labels, "ndim", 1) != 1 or len(labels) != len(ids):
        return labels
    index = np.asarray(labels.index)
    if np.array_equal(index.astype(str), ids.astype(str)):
        return labels
    if unnamed_range(labels):
        return labels.to_numpy()
    order = "are in another order" if (locate(ids, index) >= 0).all() else "have other ids"
    problems.append(
        f"join='position', but the labels {order} ({shown(index)}; the rows {shown(ids)}). "
        f"Use join='id', or labels.to_numpy() where they are in the order of the rows."
    )
    return labels
