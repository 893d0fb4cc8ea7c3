"""One tuning budget for every method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from colonnade.cli import main
from colonnade.errors import ConfigError
from colonnade.lab.compare.compare import Outcome, run_grid
from colonnade.lab.compare.tuning import best_of_tries, merit, variants
from colonnade.lab.run.cell import Cell

CELL = Cell("splitnn", "wine", labels=40, options={"epochs": 2, "hidden": (4,), "width": 3})


@pytest.mark.parametrize("method", ["local", "splitnn", "fedhssl", "ssvfl", "lightgbm", "secureboost", "vflhlp"])
def test_every_method_gets_as_many_tries_and_the_first_is_what_was_given(method: str):
    options = {"epochs": 2} if method not in ("lightgbm", "secureboost") else {}
    cell = Cell(method, "wine", options=options)
    tries = variants(cell, 6)
    assert len(tries) == 6 and tries[0] == cell and len({t.key for t in tries}) == 6
    for one in tries:
        one.build()  # every try is a method that exists
    assert variants(cell, 6) == tries


def test_options_that_were_given_stay():
    tries = variants(Cell("splitnn:learning_rate=0.5", "wine", options={"batch_size": 7}), 5)
    for one in tries:
        model = one.build()
        assert model.learning_rate == 0.5 and model.batch_size == 7
    assert len({one.build().weight_decay for one in tries}) > 1


def test_the_choice_is_that_of_the_validation_rows(tmp_path: Path):
    tries = variants(CELL, 4)
    outcomes = run_grid(tries, tmp_path, jobs=1, done=lambda outcome: None)
    rigged = []
    for i, outcome in enumerate(outcomes):  # the third is best on validation rows and worst on test rows
        history = [{"validation": 0.9 if i == 2 else 0.5, "validation_loss": 1.0}]
        rigged.append(Outcome(outcome.cell, {**outcome.record, "history": history, "score": 0.1 if i == 2 else 0.8}))
    (chosen,) = best_of_tries({CELL.key: tries}, rigged, tmp_path)
    assert chosen.cell == tries[2] and chosen.record["score"] == 0.1 and chosen.record["tuned"]["tries"] == 4
    assert chosen.record["tuned"]["chosen"] == {k: v for k, v in tries[2].options.items() if k not in CELL.options}
    assert json.loads((tmp_path / "comparison.json").read_text())["cells"] == [tries[2].key]


def test_merit_reads_validation_alone():
    history = [{"validation": 0.2}, {"validation": 0.7}]
    assert merit({"metric": "accuracy", "history": history, "score": 0.99}) == 0.7
    assert merit({"metric": "rmse", "history": history}) == -0.2
    assert merit({"metric": "accuracy", "history": [{"validation_loss": 0.4}, {"validation_loss": 0.3}]}) == -0.3


def test_without_validation_rows_nothing_can_be_chosen():
    with pytest.raises(ConfigError, match="the transductive protocol has none"):
        variants(Cell("ssvfl", "wine", labels=0.2, protocol="transductive"), 3)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "--data", "wine", "--methods", "local,splitnn", "--labels", "40", "--seeds", "2"]
    tiny = ["--set", "epochs=2", "--set", "hidden=[4]", "--set", "width=3", "--jobs", "1", "--json", "found.json"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, *tiny, "--tune", "3", "--out", "here"])
    assert not end.value.code
    runs = json.loads((tmp_path / "found.json").read_text())["runs"]
    assert len(runs) == 4 and all(run["tuned"]["tries"] == 3 for run in runs)
    assert len(list((tmp_path / "here" / "cells").glob("*.json"))) == 12 and (tmp_path / "here/report.html").exists()
