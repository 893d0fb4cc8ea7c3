"""The witness, a run read back from its folder, and the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.cli import main
from colonnade.errors import ColonnadeError, ConfigError, DataError
from colonnade.lab.attacks import ATTACKS, Finding, Run, Witness, judge, lines, load_run
from colonnade.lab.attacks.finding import standard_error
from colonnade.lab.compare.tradeoff import train_and_attack
from colonnade.lab.compare.trials import Asked, Trial
from colonnade.lab.run.cell import Cell
from colonnade.wire.message import Message
from tests.lab.attacks.small import LABELLED, make_parts, make_run

TINY = ["--set", "epochs=2", "--set", "hidden=[8]", "--set", "width=4"]


def test_a_witness_keeps_what_its_party_receives_and_nothing_else() -> None:
    parts = make_parts(rows=100)
    model = cn.SplitNN(**{**LABELLED, "epochs": 2})
    every: list[Message] = []
    shop, bank = Witness("shop"), Witness("bank", frozenset({"representation"}))
    model.observers = (shop, bank, every.append)
    model.fit(parts.train, parts.valid)
    assert [m.kind for m in shop.messages] == [m.kind for m in every if m.receiver == "shop"]
    assert {m.receiver for m in shop.messages} == {"shop"} and {m.receiver for m in bank.messages} == {"bank"}
    assert {m.kind for m in bank.messages} == {"representation"} and shop.missed == 0


def test_a_witness_keeps_copies_until_it_is_full() -> None:
    witness = Witness("shop", limit=100)
    g = torch.zeros(4, 4)  # 64 bytes
    for receiver in ("shop", "shop", "other"):
        witness(Message("gradient", "bank", receiver, "train", {"gradient": g}))
    witness(Message("order", "bank", "shop", "train"))  # small, but after a gap
    g += 1
    assert len(witness.messages) == 1 and witness.size == 64 and witness.missed == 2
    assert float(witness.messages[0].tensors["gradient"].sum()) == 0


def test_findings_of_several_seeds_become_one_line() -> None:
    def found(seed: int, score: float) -> Finding:
        return Finding(
            attack="a", adversary="shop", target="labels", metric="accuracy", score=score, baseline=0.5, prior=0.4,
            advantage=score - 0.5, error=0.05, used="x", n=3, seed=seed,
        )  # fmt: skip

    (line,) = lines([found(0, 0.6), found(1, 0.8)])
    assert line.score == pytest.approx(0.7) and line.spread == pytest.approx(0.1 * 2**0.5) and line.seeds == 2
    assert line.sentence() == (
        "Party 'shop' could learn labels: accuracy 0.700 where it had 0.500 alone, "
        "advantage +0.200 (standard error 0.050)."
    )
    assert "was not shown to learn labels" in lines([found(0, 0.59)])[0].sentence()  # within two standard errors


def test_the_standard_error_of_a_share_is_the_binomial_one() -> None:
    right = np.arange(400) < 100  # a quarter
    wanted = np.sqrt(0.25 * 0.75 / 400)
    assert standard_error(lambda at: float(right[at].mean()), 400) == pytest.approx(wanted, rel=0.3)


def test_unknown_names_are_refused() -> None:
    run = make_run(make_parts(rows=100), epochs=1)
    with pytest.raises(ConfigError, match=r"there is no attack 'gradient'. Did you mean 'gradients'"):
        judge(run, attacks=["gradient"])
    with pytest.raises(ConfigError, match=r"there is no party 'shoppe'. Did you mean 'shop'"):
        judge(run, adversary="shoppe")
    with pytest.raises(ConfigError, match="seeds must be"):
        judge(run, seeds=0)


def _break(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let an attack end in an error that nobody foresaw."""

    def broken(run: Run, adversary: str, **options: Any) -> list[Finding]:
        raise ValueError("no [luck]\nat all")

    monkeypatch.setitem(ATTACKS, name, broken)


def test_an_attack_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, "membership")
    found = judge(make_run(make_parts(rows=100), epochs=1), adversary="anyone")
    assert found.failed == [{"attack": "membership", "adversary": "anyone", "reason": "ValueError: no [luck]"}]
    assert {finding.attack for finding in found.findings} == {"shadow-models"}
    assert found.to_json()["failed"] == found.failed


def test_a_trial_whose_attack_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, "membership")
    cell = Cell("splitnn", "wine", options={"epochs": 1})
    with pytest.raises(ColonnadeError, match=r"attack: membership by anyone: ValueError: no \[luck\]"):
        train_and_attack(Trial(cell, "splitnn", ""), Asked(("membership",)), {})


@pytest.fixture
def colonnade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys.modules["colonnade.lab.attacks.reconstruction"], "STEPS", 5)

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return run


def test_the_command_judges_a_run_and_refuses_by_name(colonnade: Any, tmp_path: Path) -> None:
    colonnade("run", "splitnn", "--data", "digits", "--labels", "60", *TINY, "--out", "r")
    code, out, _ = colonnade("attack", "r", "--adversary", "nw", "--seeds", "2", "--json", "a.json")
    assert code == 0 and "Party 'nw'" in out and "columns of 'se'" in out and "±" in out
    assert "Not performed: gradients by nw: 'nw' is no passive party" in out
    saved = json.loads((tmp_path / "a.json").read_text())
    assert saved["run"] == "r" and [f["seed"] for f in saved["findings"]] == [0, 0, 0, 1, 1, 1]
    assert {f["attack"] for f in saved["findings"]} == {"reconstruction"}
    assert {r["attack"] for r in saved["refused"]} == set(ATTACKS) - {"reconstruction"}
    code, out, err = colonnade("attack", "r", "--attack", "gradients")
    assert code == 2 and "attack gradients by 'ne': norm and cosine tell two classes apart" in " ".join(err.split())
    code, _, err = colonnade("attack", "r", "--adversary", "north")
    assert code == 2 and "there is no party 'north'" in err
    code, _, err = colonnade("attack", "r", "--attack", "reconstruction", "--auxiliary", "359")
    assert code == 2 and "below 359" in err
    (tmp_path / "r" / "audit.json").unlink()
    code, _, err = colonnade("attack", "r")
    assert code == 2 and "kept no audit log" in err and "--out" in err
    code, _, err = colonnade("attack", "nowhere")
    assert code == 2 and "holds no finished run" in err


def test_an_attack_that_fails_is_a_line_in_the_table_and_in_the_file(
    colonnade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break(monkeypatch, "shadow-models")
    colonnade("run", "splitnn", "--data", "breast_cancer", *TINY, "--out", "r")
    code, out, _ = colonnade("attack", "r", "--adversary", "anyone", "--json", "a.json")
    assert code == 1 and "failed: ValueError: no [luck]" in out and "who is a training row (AUC)" in out
    saved = json.loads((tmp_path / "a.json").read_text())
    assert [f["attack"] for f in saved["failed"]] == ["shadow-models"]
    assert [f["attack"] for f in saved["findings"]] == ["membership"]


@pytest.mark.parametrize("protection", [(), ("--set", "protect=iso:gradient:5")])
def test_the_runs_of_the_readme_can_be_attacked(colonnade: Any, protection: tuple[str, ...]) -> None:
    """Long enough training that probabilities round to 1."""
    colonnade("run", "splitnn", "--data", "breast_cancer", *protection, "--out", "r")
    code, out, _ = colonnade("attack", "r", "--adversary", "anyone")
    assert code == 0 and "shadow-models" in out and "failed" not in out


def test_a_run_read_back_is_the_run(colonnade: Any, tmp_path: Path) -> None:
    colonnade("run", "splitnn", "--data", "breast_cancer", "--aligned", "0.5", "--seed", "3", *TINY, "--out", "r")
    run = load_run("r")
    record = json.loads((tmp_path / "r" / "record.json").read_text())
    score = run.model.score(run.parts.test.views, run.parts.test.labels)
    assert score == record["scores"]["accuracy"]
    assert run.received("variation").keys() == {"plan", "order", "rows", "gradient"}
    assert run.telling("variation") == ["gradient"]
    assert {f.attack for f in judge(run, attacks=["gradients"]).findings} == {"gradient norm", "gradient cosine"}
    record["config"]["rows"]["test"] += 1
    (tmp_path / "r" / "record.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match="no longer gives the rows"):
        load_run("r")


def test_help_teaches_by_example(colonnade: Any) -> None:
    code, out, _ = colonnade("attack", "--help")
    assert code == 0 and "Example: colonnade attack my-run" in " ".join(out.split())
    assert all(name in " ".join(out.split()) for name in ATTACKS)


def test_a_finding_can_be_written(tmp_path: Path) -> None:
    run = make_run(make_parts(rows=100), epochs=1)
    found = judge(run, attacks=["membership"])
    assert isinstance(run, Run) and json.loads(json.dumps(found.to_json()))["findings"][0]["attack"] == "membership"
