"""How many threads a run takes: one for tables, the cores for images and large tables, or what the environment says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from joblib import parallel_config

import colonnade as cn
from colonnade.attacks import ATTACKS, Run, judge
from colonnade.bench import compare
from colonnade.bench.cell import Cell, run_cell
from colonnade.bench.compare import grid, run_grid
from colonnade.cli import main
from colonnade.methods import threads
from colonnade.methods.threads import VARIABLES, Rule, limited

RNG = np.random.default_rng(0)
TABLES = cn.VerticalData({"a": RNG.normal(size=(50, 2)), "b": RNG.normal(size=(50, 2))}, RNG.integers(0, 2, 50))
IMAGES = cn.VerticalData({"a": RNG.normal(size=(50, 1, 4, 4)), "b": RNG.normal(size=(50, 2))}, RNG.integers(0, 2, 50))
TINY: dict[str, Any] = {"epochs": 1, "hidden": (4,), "width": 2}


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine of four cores, and nobody who asks for a number of threads."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 4)
    with limited(4):
        yield


@pytest.mark.usefixtures("four")
def test_tables_take_one_thread_and_images_the_cores_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [Rule.here(jobs).of(TABLES).number for jobs in (1, 2, 8)] == [1, 1, 1]
    assert [Rule.here(jobs).of(IMAGES).number for jobs in (1, 2, 8)] == [4, 2, 1]
    assert "set OMP_NUM_THREADS for another number" in Rule.here().of(TABLES).why
    monkeypatch.setattr(threads, "LARGE", 200)
    assert [Rule.here(jobs).of(TABLES).number for jobs in (1, 2)] == [4, 2]
    assert Rule.here(2).of(TABLES).why == "tables of 200 values; cores shared by 2 runs"


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("variable", VARIABLES)
def test_the_environment_is_respected(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "3")
    with limited(3):  # torch read it when it started
        for data in (TABLES, IMAGES):
            assert Rule.here(8).of(data).number == 3 and Rule.here(8).of(data).why == f"{variable} says so"


@pytest.mark.usefixtures("four")
def test_a_run_trains_and_scores_with_that_number_and_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(cn.SplitNN, "run", lambda *_: seen.append(torch.get_num_threads()))
    monkeypatch.setattr(cn.SplitNN, "scores", lambda *_: seen.append(torch.get_num_threads()) or {"accuracy": 0.5})
    told: list[str] = []
    run_cell(Cell("splitnn", "wine", options=TINY), told=told.append)
    assert seen == [1, 1] and torch.get_num_threads() == 4
    assert told == ["threads: 1 (tables of 1,378 values; set OMP_NUM_THREADS for another number)"]


@pytest.mark.usefixtures("four")
def test_fit_in_python_follows_the_rule_and_leaves_other_threads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(cn.SplitNN, "run", lambda *_: seen.append(torch.get_num_threads()))
    cn.SplitNN(**TINY).fit(TABLES)
    cn.SplitNN(**TINY).fit(IMAGES)
    assert seen == [1, 4] and torch.get_num_threads() == 4


@pytest.mark.usefixtures("four")
def test_attacks_follow_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setitem(ATTACKS, "gradients", lambda *_, **__: seen.append(torch.get_num_threads()) or [])
    parts = cn.DATASETS["wine"](labels=20, seed=0)
    judge(Run.of(cn.SplitNN(**TINY).fit(parts.train), parts), attacks=["gradients"])
    assert seen and set(seen) == {1} and torch.get_num_threads() == 4


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_of_a_comparison_share_the_cores(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = []

    def run(cell: Cell, rule: Rule) -> Any:
        rules.append(rule)
        raise cn.ConfigError("that is enough")

    monkeypatch.setattr(compare, "run_cell", run)
    cells = grid(["local", "splitnn"], "wine", labels=[20], aligned=[1.0], seeds=1)
    with parallel_config(backend="threading"):
        run_grid(cells, tmp_path, jobs=jobs, done=lambda outcome: None)
    assert rules == [Rule(None, jobs)] * 2


def test_compare_verbose_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with pytest.raises(SystemExit) as end:
        main(["compare", "--data", "wine", "-m", "local", "--seeds", "1", "--set", "epochs=1", "--verbose"])
    assert end.value.code in (0, None)
    assert "1 at a time, each with threads: 1 (OMP_NUM_THREADS says so)" in capsys.readouterr().out


def test_run_verbose_says_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("COLUMNS", "160")
    for arguments, said in ((["--verbose"], True), ([], False)):
        with pytest.raises(SystemExit) as end:
            main(["run", "local", "--data", "wine", "--set", "epochs=1", *arguments])
        assert end.value.code in (0, None)
        assert ("threads: 1 (OMP_NUM_THREADS says so)" in capsys.readouterr().out) is said
