"""Runs that an attack can be judged by within seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import colonnade as cn
from colonnade.lab.attacks import Run

LABELLED: dict[str, Any] = {"hidden": (16,), "width": 8, "epochs": 25, "batch_size": 64, "learning_rate": 0.01}


def make_parts(
    *,
    rows: int = 500,
    signal: float = 1.0,
    columns: int = 40,
    rare: float = 0.0,
    labels: int | None = None,
    seed: int = 0,
) -> cn.Split:
    """Two classes. "bank" has labels and a weak column, "shop" many columns, one direction of which tells the class.

    signal 0: the labels have nothing to do with the columns. rare: the threshold that makes one class rare.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    direction = rng.normal(size=columns) / np.sqrt(columns)
    hidden = signal * (x @ direction) + (1e-3 if signal else 1.0) * rng.normal(size=rows)
    y = (hidden > rare).astype(int)
    bank = pd.DataFrame(rng.normal(size=(rows, 2)) + 0.2 * y[:, None] * bool(signal), columns=["a", "b"])
    shop = pd.DataFrame(x, columns=[f"x{i}" for i in range(columns)])
    return cn.split(cn.VerticalData({"bank": bank, "shop": shop}, y, join="position"), labels=labels, seed=seed)


def make_run(parts: cn.Split, *, validate: bool = False, method: str = "splitnn", **options: Any) -> Run:
    model = cn.METHODS[method](**{**LABELLED, **options})
    if not validate:
        parts = cn.Split(parts.train, None, parts.test)
    return Run.of(model.fit(parts.train, parts.valid), parts)
