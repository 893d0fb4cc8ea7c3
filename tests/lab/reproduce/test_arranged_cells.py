"""Cells whose data are arranged otherwise: another host, fewer rows, a biased division."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colonnade.cli import main
from colonnade.lab.attacks import load_run
from colonnade.lab.run.cell import Cell, run_cell

CELL = Cell("local", "wine", parties=3, options={"epochs": 1, "hidden": (4,), "width": 3})
TINY = ["--set", "epochs=1", "--set", "hidden=[4]", "--set", "width=3"]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return int(end.value.code or 0), capsys.readouterr().err

    return run


def test_each_arrangement_is_a_cell_of_its_own():
    others = [replace(CELL, active="lab2"), replace(CELL, rows=60), replace(CELL, bias=(0.5, 4)), CELL]
    assert len({cell.key for cell in others}) == 4


def test_the_record_says_how_the_data_were_arranged():
    record, _ = run_cell(replace(CELL, active="lab3", rows=90))
    assert record["config"]["active"] == "lab3" and record["config"]["parties"] == ["lab3", "lab1", "lab2"]
    assert record["config"]["arrangement"] == {"parties": 3, "active": "lab3", "rows": 90}
    assert record["config"]["rows"]["train_lab3"] < 60
    record, _ = run_cell(replace(CELL, parties=2, bias=(1.0, 4)))
    assert record["config"]["parties"] == ["host", "guest"] and record["config"]["arrangement"]["bias"] == (1.0, 4)
    assert "arrangement" not in run_cell(CELL)[0]["config"]


def test_a_host_of_labels_only():
    record, _ = run_cell(replace(CELL, method="splitnn", active="server"))
    assert record["config"]["active"] == "server" and record["config"]["parties"] == ["lab1", "lab2", "lab3"]
    assert len(record["traffic"]["by_direction"]) and record["traffic"]["bytes"] > 0


def test_run_and_compare_take_the_options(command: Any, tmp_path: Path):
    arguments = ["--data", "wine", "--parties", "3", "--active", "lab2", "--rows", "120", *TINY]
    code, _ = command("run", "splitnn", *arguments, "--out", "run")
    assert code == 0
    assert load_run(tmp_path / "run").parts.train.active == "lab2"  # the same rows again, for attacks
    code, _ = command("compare", "--methods", "local", "--data", "wine", "--bias", "0.5:4", *TINY, "--seeds", "1",
                      "--json", "found.json")  # fmt: skip
    assert code == 0
    (run,) = json.loads((tmp_path / "found.json").read_text())["runs"]
    assert run["config"]["parties"] == ["host", "guest"]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--bias", "much", "--bias must be SHARE:DOMINANT"), ("--active", "lab9", "active names the party 'lab9'")],
)
def test_what_cannot_be_is_refused(command: Any, option: str, value: str, said: str):
    code, error = command("run", "local", "--data", "wine", option, value)
    assert code == 2 and said in error


@pytest.mark.filterwarnings("ignore:class")
def test_a_draw_of_labels_is_a_cell_of_its_own_and_recorded(command: Any, tmp_path: Path):
    assert (
        len({replace(CELL, labels_drawn=d, labelled_rows=r).key for d in (None, "random") for r in (None, "aligned")})
        == 4
    )
    config = run_cell(CELL)[0]["config"]
    assert (config["labels_drawn"], config["labelled_rows"]) == ("stratified", "any")
    given = ["--data", "wine", "--labels", "12", "--labels-drawn", "random", "--labelled-rows", "aligned", *TINY]
    assert command("run", "local", *given, "--out", "run")[0] == 0
    config = json.loads((tmp_path / "run" / "record.json").read_text())["config"]
    assert (config["labels_drawn"], config["labelled_rows"]) == ("random", "aligned")
    assert "Labels drawn at random. Labels on aligned rows alone." in (tmp_path / "run" / "report.html").read_text()
    assert load_run(tmp_path / "run").parts.labels_drawn == "random"  # the same rows again, for attacks


def test_a_class_without_a_label_is_in_the_record():
    with pytest.warns(UserWarning, match="no labelled training row"):
        record, _ = run_cell(replace(CELL, labels=3, seed=0, labels_drawn="random"))
    assert record["config"]["unlabelled_classes"] == [2] and 0 <= record["score"] < 1
