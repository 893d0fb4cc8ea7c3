"""Rows to check an export with, drawn from what the preprocessing knows: no row of anybody is needed.

They hold what real rows hold: values far out, missing ones, categories never seen.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from colonnade.data.preprocess import Preprocessor
from colonnade.data.view import MISSING, View

ROWS = 9
Feeds = dict[str, npt.NDArray[Any]]


def sample(made: Preprocessor, rows: int = ROWS, seed: int = 0) -> View:
    """Raw rows in the shape of a party's table."""
    rng = np.random.default_rng(seed)
    ids = np.arange(rows)
    if made.shape:
        return View(ids, _pixels(made, rows, rng), (), np.zeros((rows, 0), np.int32))
    spread = rng.normal(size=(rows, len(made.columns))) * rng.choice([1.0, 3.0, 30.0], size=(rows, 1))
    x = (made.mean + made.scale * spread).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    vocabularies = tuple((*known, unseen(known)) for known in made.vocabularies)
    codes = [rng.integers(MISSING, len(v), rows) for v in vocabularies]
    stacked = np.stack(codes, axis=1).astype(np.int32) if codes else np.zeros((rows, 0), np.int32)
    return View(ids, x, made.columns, stacked, made.fields, vocabularies)


def _pixels(made: Preprocessor, rows: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    if made.in_bytes:
        return rng.integers(0, 256, (rows, *made.shape), dtype=np.uint8)
    spread = rng.normal(size=(rows, *made.shape))
    return (made.mean[:, None, None] + made.scale[:, None, None] * spread).astype(np.float32)


def unseen(known: tuple[str, ...]) -> str:
    """A text that is no category."""
    text = ""
    while text in known:
        text += "?"
    return text


def feeds(made: Preprocessor, view: View, categories: str) -> Feeds:
    """The rows as the exported encoder reads them, by input."""
    if made.shape:
        return {"pixels": view.x}
    out: Feeds = {"numbers": view.x} if made.columns else {}
    if not made.fields:
        return out
    if categories == "codes":
        codes = cast(Tensor, made.transform(view, "sample").codes)  # there are categories
        return {**out, "categories": codes.numpy()}
    text = np.empty(view.codes.shape, dtype=object)
    for q, values in enumerate(view.vocabularies):
        text[:, q] = [unseen(made.vocabularies[q]) if c == MISSING else values[c] for c in view.codes[:, q]]
    return {**out, "categories": text}
