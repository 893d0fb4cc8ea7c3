"""What a run is held against: `local` on the active party's rows, and a constant guess."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from colonnade.lab.run.cell import Cell, run_cell
from colonnade.lab.run.references import references
from colonnade.methods.local import Local

CELL = Cell("splitnn", "wine", labels=30, options={"epochs": 2, "hidden": (8,), "join": "mean"})


def test_alone_is_what_local_gets_with_the_same_settings() -> None:
    found, reason = references(CELL, *CELL.split())
    settings = {name: value for name, value in CELL.options.items() if name != "join"}
    record, _ = run_cell(replace(CELL, method="local", options=settings))
    assert reason == "" and found.alone == record["score"]
    default, _ = run_cell(replace(CELL, method="local", options={}))
    assert found.alone != default["score"]  # the settings do reach it


def test_the_guess_is_the_most_frequent_class_of_the_training_rows() -> None:
    parts, metric = CELL.split()
    names, counts = np.unique(parts.train.labels.values, return_counts=True)
    found, _ = references(CELL, parts, metric, train=False)
    assert found.guess == np.mean(parts.test.labels.values == names[counts.argmax()])
    assert found.alone is None


def test_the_guess_of_a_number_is_the_mean_of_the_training_rows() -> None:
    cell = Cell("splitnn", "diabetes")
    parts, metric = cell.split()
    found, _ = references(cell, parts, metric, train=False)
    wrong = parts.test.labels.values - parts.train.labels.values.mean()
    assert metric == "rmse" and found.guess == pytest.approx(np.sqrt(np.mean(wrong**2)))


def test_the_own_options_of_trees_are_not_given_to_a_network() -> None:
    cell = Cell("secureboost", "wine", labels=30, options={"encrypt": False, "trees": 2, "learning_rate": 0.9})
    found, _ = references(cell, *cell.split())
    record, _ = run_cell(Cell("local", "wine", labels=30))
    assert found.alone == record["score"]


def test_nothing_is_noised_where_nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(Local, "run", lambda self, fed, monitor: made.append(self.epsilon))
    cell = replace(CELL, options={**CELL.options, "epsilon": 4.0})
    references(cell, *cell.split())
    assert made == [None]


def test_local_is_not_trained_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Local, "fit", lambda *_, **__: pytest.fail("trained again"))
    cell = replace(CELL, method="local", options={})
    found, reason = references(cell, *cell.split())
    assert found.alone is None and reason == ""


def test_a_party_without_columns_cannot_be_trained_alone() -> None:
    cell = replace(CELL, active="server")
    found, reason = references(cell, *cell.split())
    assert found.alone is None and 0 < found.guess < 1
    assert reason == "party 'server' has labels and no columns"
