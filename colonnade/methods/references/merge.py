"""All parties' columns in one table: what references see, and federated parties never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, Positions, locate
from colonnade.data.preprocess import Preprocessor
from colonnade.data.vertical import VerticalData
from colonnade.data.view import MISSING, View, as_view
from colonnade.errors import DataError, raise_all

EVERYONE = "everyone"  # name of the one party that holds all columns


def merge(views: Mapping[str, View], ids: Ids) -> View:
    """One view with the columns of all parties for `ids`; values that a party does not hold are missing.

    Images of one size become channels of one image; a party without a row gives black ones.
    """
    if any(view.is_image for view in views.values()):
        return _merge_images(views, ids)
    at = {name: locate(view.ids, ids) for name, view in views.items()}
    return View(
        ids=ids,
        x=np.concatenate([_rows(view.x, at[name], np.nan) for name, view in views.items()], axis=1),
        columns=tuple(f"{name}.{c}" for name, view in views.items() for c in view.columns),
        codes=np.concatenate([_rows(view.codes, at[name], MISSING) for name, view in views.items()], axis=1),
        fields=tuple(f"{name}.{f}" for name, view in views.items() for f in view.fields),
        vocabularies=tuple(v for view in views.values() for v in view.vocabularies),
    )


def _merge_images(views: Mapping[str, View], ids: Ids) -> View:
    """(N, ΣC, H, W)."""
    sorts = {name: f"{view.x.shape[2:]} {view.x.dtype}" if view.is_image else "columns" for name, view in views.items()}
    if len(set(sorts.values())) > 1:
        listed = ", ".join(f"{name!r} {sort}" for name, sort in sorts.items())
        raise DataError(
            f"Only images of one size and type can be put into one: {listed}. Use splitnn as the reference."
        )
    x = np.concatenate([_rows(view.x, locate(view.ids, ids), 0) for view in views.values()], axis=1)
    return View(ids, x, (), np.zeros((len(ids), 0), np.int32))


def _rows(values: npt.NDArray[Any], at: Positions, missing: float) -> npt.NDArray[Any]:
    """The rows at these positions; `missing` where a position is -1."""
    if len(values) == 0:
        return np.full((len(at), *values.shape[1:]), missing, dtype=values.dtype)
    out = values[at]
    out[at < 0] = missing
    return out


def merge_data(data: VerticalData) -> VerticalData:
    """The aligned rows of all parties as the data of one party."""
    view = merge(data.views, data.aligned)
    keep = np.flatnonzero(locate(view.ids, data.labels.ids) >= 0)
    return VerticalData.of({EVERYONE: view}, data.labels.take(keep), EVERYONE, data.task)


def merge_given(
    views: Mapping[str, Any], made: Preprocessor, parties: Mapping[str, tuple[str, ...]], active: str, absent: str
) -> tuple[View, dict[str, int]]:
    """Tables given for prediction as one view, and how many rows each party lacks.

    `parties` maps each party to its categorical columns; `made` is the preprocessing of the merged columns.
    """
    problems: list[str] = []
    given = {n: as_view(views[n], n, fields, problems) for n, fields in parties.items() if n in views}
    if not given:
        problems.append(f"no table was given. Give those of {', '.join(map(repr, parties))}.")
    raise_all(problems, DataError, "predict")
    ids = given[active if active in given else next(iter(given))].ids
    lacking = {n: int((locate(given[n].ids, ids) < 0).sum()) if n in given else len(ids) for n in parties}
    lacking = {n: k for n, k in lacking.items() if k}
    if lacking and absent == "error":
        listed = ", ".join(
            f"{n!r} lacks {k} of {len(ids)} rows" if n in given else f"party {n!r} has no rows"
            for n, k in lacking.items()
        )
        raise DataError(f"predict: {listed}. Give these rows, or use absent='zero' to predict without them.")
    if made.shape and len(given) < len(parties):
        blank = next(iter(given.values()))
        every = {n: given.get(n, blank.take(np.zeros(0, np.int64))) for n in parties}
        return merge(every, ids), lacking
    every = {n: given[n] if n in given else _nothing(n, made) for n in parties}
    return merge(every, ids), lacking


def _nothing(party: str, made: Preprocessor) -> View:
    """A party's table without a row, with the columns that training had."""
    columns = tuple(c.removeprefix(f"{party}.") for c in made.columns if c.startswith(f"{party}."))
    fields = tuple(f.removeprefix(f"{party}.") for f in made.fields if f.startswith(f"{party}."))
    none = np.zeros(0, dtype=np.int64)
    codes = np.zeros((0, len(fields)), dtype=np.int32)
    return View(none, np.zeros((0, len(columns)), np.float32), columns, codes, fields, tuple(() for _ in fields))
