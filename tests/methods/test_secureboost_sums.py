"""What docs/methods/secureboost.md says that the sums of trees give away: each labelled row's bin in every column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn
from colonnade.engines.in_process.engine import InProcess
from colonnade.methods.secureboost.model import TreesModel
from colonnade.methods.secureboost.skills import owner_of
from colonnade.methods.secureboost.trees.owners import Owners

DOCS = Path(__file__).parents[2] / "docs"
ROWS, TREES, COLUMNS = 300, 40, 8


def table(seed: int) -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, 2 * COLUMNS))
    y = (x @ rng.normal(size=2 * COLUMNS) + rng.logistic(size=ROWS) > 0).astype(int)
    halves = {name: pd.DataFrame(part) for name, part in zip("ab", np.split(x, 2, axis=1), strict=True)}
    return cn.VerticalData(halves, y, active="a", join="position")


def equations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """What the active party has of every node: its own derivatives of each row (n,), and b's sums of them (T,)."""
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    tell, sums = Owners.tell, Owners.sums
    now: dict[str, np.ndarray] = {}

    def telling(self: Owners, counted: Any, sample: Any) -> Any:
        now["values"] = counted.values[sample].astype(float)
        return tell(self, counted, sample)

    def summing(self: Owners, nodes: Any, totals: Any, output: Any) -> Any:
        found = sums(self, nodes, totals, output)
        (of_b,) = [part for name, part in zip(self.names, found, strict=True) if name == "b"]
        for node, part in enumerate(of_b):
            for k in (0, 1):  # first and second derivative
                row = np.where(nodes == node, now["values"][:, k], 0.0)
                scale = np.abs(row).max() or 1.0
                seen.append((row / scale, part[:, k].astype(float) / scale))
        return found

    monkeypatch.setattr(Owners, "tell", telling)
    monkeypatch.setattr(Owners, "sums", summing)
    return seen


def test_least_squares_reads_every_bin_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = equations(monkeypatch)
    model = cn.SecureBoost(trees=TREES, encrypt=False, seed=0).fit(table(0))
    rows, sums = (np.array(side) for side in zip(*seen, strict=True))
    solved = np.linalg.lstsq(rows, sums, rcond=None)[0]  # (n, T): which slots each row is in
    engine, fitted = model.federation_.engine, model.fitted_
    assert isinstance(engine, InProcess) and isinstance(fitted, TreesModel)
    owner = owner_of(engine.parties["b"])
    bins, layout = owner.bins("train")[fitted.owners.rows], owner.layout
    read = [
        solved[:, start : start + slots].argmax(axis=1) == bins[:, column]
        for column, (start, slots) in enumerate(zip(layout.starts, layout.slots, strict=True))
    ]
    assert len(read) == COLUMNS and np.mean(read) == 1.0
    page = " ".join((DOCS / "methods" / "secureboost.md").read_text(encoding="utf-8").split())
    assert f"With {ROWS} rows and {TREES} trees" in page and "it reads 100 % of the bins" in page
    assert "every labelled row's bin in every column" in (DOCS / "threat-model.md").read_text(encoding="utf-8")
