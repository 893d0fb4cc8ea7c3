"""Trade-offs: which runs there are, what is refused, what is kept, and the command."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from colonnade.cli import main
from colonnade.cli import tradeoff as command
from colonnade.errors import ConfigError
from colonnade.lab.compare import tradeoff
from colonnade.lab.compare.tradeoff import run_trials
from colonnade.lab.compare.trials import Asked, trials
from colonnade.lab.run.cell import Cell

SETTING = Cell("", "breast_cancer", labels=60)
TINY = {"epochs": 2, "hidden": (4,), "width": 3, "pretrain_epochs": 1}
GRADIENTS = Asked(("gradients",))


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods of the cells that were trained, in order."""
    done: list[str] = []
    real = tradeoff.run_cell

    def counted(cell: Cell) -> Any:
        done.append(cell.method)
        return real(cell)

    monkeypatch.setattr(tradeoff, "run_cell", counted)
    return done


def test_every_method_without_and_with_each_of_its_protections():
    protections = ["iso:gradient:1", "fedhssl.iso:target:0.1+iso:average:0.1", "noise:representation:1@train"]
    every = trials(["splitnn", "fedhssl:width=4"], protections, GRADIENTS, SETTING, seeds=2)
    assert [(t.method, t.protection) for t in every if t.cell.seed == 0] == [
        ("splitnn", ""),
        ("splitnn", "iso:gradient:1"),
        ("splitnn", "noise:representation:1@train"),
        ("fedhssl:width=4", ""),
        ("fedhssl:width=4", "iso:gradient:1"),
        ("fedhssl:width=4", "iso:target:0.1+iso:average:0.1"),
        ("fedhssl:width=4", "noise:representation:1@train"),
    ]
    assert len(every) == 14 and len({t.cell.key for t in every}) == 14
    assert all((t.cell.build().protect or "") == t.protection for t in every)
    assert every[5].cell.build().get_params()["width"] == 4


def test_all_problems_at_once():
    asked = Asked(("gradients", "telepathy", "reconstruction"), adversary="nobody", auxiliary=10_000)
    protections = ["iso:gradient:0", "iso:target:1", "local.iso:gradient:1", "marvell:gradient:1", "iso:gradient:0"]
    with pytest.raises(ConfigError) as error:
        trials(
            ["splitnn", "fedonce", "nosuch"], protections, asked, Cell("", "wine", labels=40), seeds=1,
            settings={"epoks": 3},
        )  # fmt: skip
    for part in (
        "--protect names 'iso:gradient:0' twice",
        "there is no attack 'telepathy'",
        "LAMBDA must be a number above 0",
        "splitnn sends no target",
        "fedonce sends no gradient",
        "'local' is none of the methods",
        "'nosuch'",
        "'epoks'",
        "norm and cosine tell two classes apart",
        "attack gradients: fedonce sends no gradient",
        "--adversary must be one of lab2",
        "marvell",
        "auxiliary must be at least",
    ):
        assert part in str(error.value), part


def test_what_the_data_lack_and_protections_given_twice():
    with pytest.raises(ConfigError, match="nodata"):
        trials(["splitnn"], [], GRADIENTS, Cell("", "nodata"), seeds=1)
    with pytest.raises(ConfigError, match="give protections by --protect"):
        trials(["splitnn:protect=iso:gradient:1"], [], GRADIENTS, SETTING, seeds=1)
    with pytest.raises(ConfigError, match="label-inference: it names a class"):
        trials(["splitnn"], [], Asked(("label-inference",)), Cell("", "diabetes"), seeds=1)


def test_finished_runs_are_kept_and_another_attack_is_added(tmp_path: Path, trained: list[str]):
    def run(protections: list[str], *attacks: str) -> list[dict[str, Any]]:
        asked = Asked(attacks)
        settings = {k: v for k, v in TINY.items() if k != "pretrain_epochs"}
        every = trials(["splitnn"], protections, asked, SETTING, seeds=1, settings=settings)
        outcomes = run_trials(every, asked, tmp_path, jobs=1, done=lambda outcome: None)
        assert [o.error for o in outcomes] == [None] * len(every)
        return [o.record for o in outcomes]

    first = run(["iso:gradient:1"], "gradients")
    assert trained == ["splitnn", "splitnn:protect=iso:gradient:1"]
    assert [r["tradeoff"]["protection"] for r in first] == ["", "iso:gradient:1"]
    again = run(["iso:gradient:1", "iso:gradient:25"], "gradients")
    assert trained[2:] == ["splitnn:protect=iso:gradient:25"] and again[:2] == first
    more = run(["iso:gradient:1"], "gradients", "membership")
    assert trained[3:] == ["splitnn", "splitnn:protect=iso:gradient:1"]
    for before, after in zip(first, more, strict=True):
        assert list(after["tradeoff"]["attacks"]) == ["gradients", "membership"]
        assert after["tradeoff"]["attacks"]["gradients"] == before["tradeoff"]["attacks"]["gradients"]
        assert after["score"] == before["score"]


def test_a_run_that_fails_does_not_end_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = tradeoff.judge

    def broken(run: Any, **given: Any) -> Any:
        if run.model.protect:
            raise RuntimeError("boom")
        return real(run, **given)

    monkeypatch.setattr(tradeoff, "judge", broken)
    settings = {k: v for k, v in TINY.items() if k != "pretrain_epochs"}
    every = trials(["splitnn"], ["iso:gradient:1"], GRADIENTS, SETTING, seeds=1, settings=settings)
    outcomes = run_trials(every, GRADIENTS, tmp_path, jobs=1, done=lambda outcome: None)
    assert [o.error for o in outcomes] == [None, "RuntimeError: boom"]
    assert len(list((tmp_path / "cells").iterdir())) == 1


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, trained: Any):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    command = ["tradeoff", "--data", "breast_cancer", "--methods", "splitnn,fedhssl", "--labels", "60", "--seeds", "2"]
    command += [
        "--protect",
        "iso:gradient:50",
        "--attack",
        "gradients",
        "--jobs",
        "1",
        "--out",
        "t",
        "--json",
        "t.json",
    ]
    for key, value in {**TINY, "hidden": [4]}.items():
        command += ["--set", f"{key}={value}"]
    for count in (8, 8):  # the second time nothing is trained
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code in (0, None) and len(trained) == count
    out = " ".join(capsys.readouterr().out.split())
    assert "gradient cosine by variation: labels of training rows" in out and "Report: t/report.html" in out
    saved = json.loads(Path("t.json").read_text())
    assert len(saved["points"]) == 2 * 2 * 2 * 2 and len(saved["runs"]) == 8 and len(saved["summary"]) == 2
    point = saved["points"][0]
    assert {"method", "protection", "seed", "main", "score", "baseline", "prior", "advantage"} <= set(point)
    assert point["main"] == saved["runs"][0]["score"] and point["baseline"] == point["prior"] == 0.5
    cosine = {p["protection"]: p["score"] for p in saved["points"] if p["attack"] == "gradient cosine"}
    assert cosine[""] > 0.9 > cosine["iso:gradient:50"]
    assert "could learn something: variation" in out


def test_the_command_refuses_before_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main(
            ["tradeoff", "--data", "wine", "--methods", "splitnn", "--attack", "gradient", "--out", str(tmp_path / "t")]
        )
    assert end.value.code == 2 and "Did you mean 'gradients'?" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(("seeds", "leaks"), [(1, False), (1, True), (3, False), (3, True)])
def test_the_legend_explains_the_marks_that_occur(seeds: int, leaks: bool) -> None:
    spot: Any = SimpleNamespace(std=lambda name: 0.1 if seeds > 1 else None, leaks=leaks)
    legend = command._legend([spot])
    assert ("standard deviation over seeds" in legend) == (seeds > 1)
    assert ("*:" in legend) == leaks and "± of an advantage" in legend
