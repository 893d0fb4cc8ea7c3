"""The rows of a case: drawn from a seed, with text ids, gaps, categories, and rows that one party holds alone."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

PATTERNS, SIDE = 3, 8  # classes of the images, and their height and width


@dataclass(frozen=True)
class Data:
    """The rows of a case.

    Args:
        task: binary, multiclass or regression.
        parties: number of parties, p0, p1, …
        columns: "mixed" (3 or 4 numbers, and a category at every second party), "equal" (4 numbers at every party),
            "unequal" (3, 4, 5, … numbers), "images" (one picture per party) or "images and table".
        rows: rows that all parties hold.
        active: the party with the labels; "server" holds nothing else.
        labels: fraction of labelled training rows; None keeps all that are drawn.
        aligned: fraction of the training rows that all parties hold.
        validation: whether training is given validation rows.
    """

    task: str = "multiclass"
    parties: int = 2
    columns: str = "mixed"
    rows: int = 90
    active: str = "p0"
    labels: float | None = None
    aligned: float = 1.0
    validation: bool = True

    def make(self) -> tuple[dict[str, Any], pd.Series]:
        """Views by party, and the labels."""
        make = _pictures if self.columns.startswith("images") else _tables
        return make(self, np.random.default_rng(self.parties))


def _tables(data: Data, draw: np.random.Generator) -> tuple[dict[str, Any], pd.Series]:
    hidden = draw.normal(size=(data.rows, 4))
    views = {f"p{k}": _table(data, k, hidden, draw) for k in range(data.parties)}
    classes = {"binary": 2, "multiclass": 3, "regression": 1}[data.task]
    signal = hidden @ draw.normal(size=(4, classes))
    values = signal[:, 0] if data.task == "regression" else signal.argmax(axis=1).astype(float)
    values[draw.random(data.rows) > 0.8] = np.nan
    return views, pd.Series(values, index=_ids(range(data.rows)))


def _table(data: Data, k: int, hidden: npt.NDArray[Any], draw: np.random.Generator, alone: int = 10) -> pd.DataFrame:
    """The table of one party: the common rows, and `alone` rows of its own."""
    width = {"mixed": 3 + k % 2, "equal": 4, "unequal": 3 + k}[data.columns]
    base = np.concatenate([hidden, draw.normal(size=(alone, 4))])
    x = base @ draw.normal(size=(4, width)) + 0.3 * draw.normal(size=(len(base), width))
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(width)])
    frame.index = _ids([*range(data.rows), *range(1000 * (k + 1), 1000 * (k + 1) + alone)])
    frame.loc[draw.random(len(base)) < 0.1, "x1"] = np.nan
    if data.columns == "mixed" and k % 2:
        frame["kind"] = np.where(base[:, 0] > 0, "a", np.where(base[:, 1] > 0, "b", "c"))
    return frame


def _pictures(data: Data, draw: np.random.Generator) -> tuple[dict[str, Any], pd.Series]:
    """Grey pictures of bytes, each class a pattern under noise; with a table, it is the active party's."""
    classes = draw.integers(0, PATTERNS, data.rows)
    patterns = draw.normal(size=(PATTERNS, data.parties, SIDE, SIDE))
    pixels = patterns[classes] + 0.7 * draw.normal(size=(data.rows, data.parties, SIDE, SIDE))
    grey = np.clip(128 + 40 * pixels, 0, 255).astype(np.uint8)
    ids = _ids(range(data.rows))
    views: dict[str, Any] = {f"p{k}": (grey[:, k : k + 1], np.array(ids)) for k in range(data.parties)}
    if data.columns == "images and table":
        x = draw.normal(size=(data.rows, 3)) + classes[:, None]
        views["p0"] = pd.DataFrame(x, columns=["x0", "x1", "x2"], index=ids)
    return views, pd.Series(classes.astype(float), index=ids)


def _ids(numbers: Any) -> pd.Index:
    return pd.Index([f"id{number:05d}" for number in numbers])


def write_phishing(folder: Path, rows: int = 300, columns: int = 68) -> None:
    """A drawn table in the place and form of the data set "phishing"."""
    draw = np.random.default_rng(0)
    x = draw.integers(0, 2, (rows, columns))
    y = np.where(x[:, :9].sum(axis=1) + draw.normal(size=rows) > 4.5, 1, -1)
    home = folder / "phishing"
    home.mkdir(parents=True)
    with gzip.open(home / "phishing.libsvm.gz", "wt") as file:
        for label, row in zip(y, x, strict=True):
            print(label, *(f"{i + 1}:{value}" for i, value in enumerate(row)), file=file)
