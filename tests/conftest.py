"""Fixtures shared by all tests: small federations with every difficulty that users' tables have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import colonnade as cn
from colonnade.cli import main
from colonnade.console import console

torch.set_num_threads(1)
console._width = None  # rich keeps the COLUMNS of the start, where it is set; each test sets its own


def make_data(
    parties: int = 2,
    task: str = "multiclass",
    rows: int = 120,
    seed: int = 0,
    unaligned: int = 15,
    labelled: float = 0.7,
) -> cn.VerticalData:
    """Parties "p0", "p1", …: 3-4 numbers each (one with gaps), a category at odd parties; text ids; some unlabelled."""
    rng = np.random.default_rng(seed)
    classes = {"binary": 2, "multiclass": 3, "regression": 1}[task]
    hidden = rng.normal(size=(rows, 4))
    views = {}
    for k in range(parties):
        own = np.concatenate([np.arange(rows), rows + 1000 * (k + 1) + np.arange(unaligned)])
        base = np.concatenate([hidden, rng.normal(size=(unaligned, 4))])
        x = base @ rng.normal(size=(4, 3 + k % 2)) + 0.3 * rng.normal(size=(len(own), 3 + k % 2))
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
        frame.loc[rng.random(len(own)) < 0.1, "x1"] = np.nan
        if k % 2:
            frame["kind"] = np.where(base[:, 0] > 0, "a", np.where(base[:, 1] > 0, "b", "c"))
            frame.loc[rng.random(len(own)) < 0.05, "kind"] = None
        frame.index = pd.Index([f"id{i:05d}" for i in own])
        views[f"p{k}"] = frame
    signal = hidden @ rng.normal(size=(4, classes))
    y = pd.Series(
        signal[:, 0] if task == "regression" else signal.argmax(1).astype(float), index=views["p0"].index[:rows]
    )
    if task == "binary":
        y = pd.Series((signal[:, 0] > 0).astype(float), index=y.index)
    y[rng.random(rows) > labelled] = np.nan
    return cn.VerticalData(views, y, task=task)


@pytest.fixture
def data() -> cn.VerticalData:
    return make_data()


@pytest.fixture
def colonnade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in an empty folder; its exit code, what it printed, and its errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("COLONNADE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # not this user's data sets

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return run
