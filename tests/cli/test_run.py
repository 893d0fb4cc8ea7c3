"""`colonnade run` and `compare` in the terminal: the score beside what it is held against, in any terminal."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.box import SIMPLE_HEAD, Box
from rich.console import Console
from rich.table import Table

from colonnade.cli.compare import print_summary
from colonnade.cli.terminal import console, print_table
from colonnade.methods.local import Local

TINY = ["--set", "epochs=2", "--set", "hidden=[8]", "--set", "width=4"]
RUN = ["run", "splitnn", "--data", "wine", "--labels", "30", *TINY]


def line_of(out: str, heading: str) -> str:
    """What is printed beside a heading."""
    return next(line.split(heading)[1].strip() for line in out.splitlines() if heading in line)


def test_run_shows_and_records_alone_and_guess(colonnade: Any, tmp_path: Path) -> None:
    code, out, err = colonnade(*RUN, "--out", "r", "--json", "r.json")
    assert code == 0, err
    record = json.loads((tmp_path / "r" / "record.json").read_text())
    assert json.loads((tmp_path / "r.json").read_text()) == record
    found = record["references"]
    assert set(found) == {"alone", "guess"} and 0 < found["alone"] <= 1 and 0 < found["guess"] < 1
    assert line_of(out, "active party alone") == f"{found['alone']:.4f}"
    assert line_of(out, "constant guess") == f"{found['guess']:.4f}"
    first = [line.split("  ")[1] for line in out[out.index("\n  ") + 1 :].splitlines()[:3]]
    assert first == ["accuracy", "active party alone", "constant guess"]


def test_alone_can_be_left_out(colonnade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Local, "fit", lambda *_, **__: pytest.fail("trained"))
    code, out, _ = colonnade(*RUN, "--no-alone", "--json", "r.json")
    assert code == 0 and "alone" not in out and "constant guess" in out
    assert json.loads(Path("r.json").read_text())["references"]["alone"] is None


def test_why_the_active_party_was_not_trained_alone(colonnade: Any) -> None:
    code, out, _ = colonnade(*RUN, "--active", "server")
    assert code == 0
    assert line_of(out, "active party alone") == "not trained: party 'server' has labels and no columns"


def test_an_interruption_afterwards_does_not_lose_the_run(colonnade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Local, "fit", interrupted)
    assert colonnade(*RUN, "--out", "r")[0] == 130
    assert Path("r/record.json").is_file() and Path("r/model/model.json").is_file()
    assert colonnade("report", "r")[0] == 0


# comparisons ----------------------------------------------------------------------------------------------------------


def record(method: str, score: float, seed: int) -> dict[str, Any]:
    config = {"labels": 50, "aligned": 1.0, "seed": seed}
    own = {"method": method, "data": "wine", "metric": "accuracy", "score": score, "seconds": 1.0}
    return {**own, "traffic": {"bytes": 1000}, "config": config, "history": []}


def shown(capsys: pytest.CaptureFixture[str], *runs: tuple[str, tuple[float, ...]]) -> str:
    print_summary([record(method, score, seed) for method, scores in runs for seed, score in enumerate(scores)])
    return capsys.readouterr().out


def test_a_legend_explains_the_marks_that_occur(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_width", 80)
    out = shown(capsys, ("fedonce", (0.5, 0.51)), ("splitnn", (0.9, 0.92)))
    assert "* 0.910" in out and "*: best federated method\n" in out and "•" not in out
    out = shown(capsys, ("fedonce", (0.91, 0.91)), ("splitnn", (0.9, 0.93)))
    assert "• 0.910" in out and "*: best federated method; •: within one standard deviation of it" in out
    out = shown(capsys, ("splitnn", (0.9, 0.92)))
    assert "best" not in out and "•" not in out


def test_a_title_has_the_whole_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", 80)
    out = shown(capsys, ("local", (0.5, 0.51)))
    assert "wine: accuracy on test rows (higher is better), 2 seeds\n" in out


def test_a_narrow_terminal_gets_lines_and_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_width", 40)
    out = shown(capsys, ("fedonce", (0.5, 0.51)), ("splitnn", (0.9, 0.92)))
    assert "…" not in out and max(map(len, out.splitlines())) <= 40
    assert "  method: splitnn\n  mean ± std: * 0.910 ± 0.014\n  sent: 1.00 kB\n" in out


@pytest.mark.parametrize(("box", "least"), [(None, 9 + 16 + 4), (SIMPLE_HEAD, 9 + 16 + 4 + 1)])
def test_a_table_is_a_table_as_soon_as_it_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, box: Box | None, least: int
) -> None:
    table = Table(box=box, show_edge=False)
    for heading, wraps in (("number", False), ("words", True)):
        table.add_column(heading, no_wrap=not wraps)
    table.add_row("[bold]123456789[/bold]", "some words that may be folded into lines")
    monkeypatch.setattr(console, "_width", least)
    print_table("t", table)
    out = capsys.readouterr().out
    assert "number:" not in out and "123456789" in out
    monkeypatch.setattr(console, "_width", least - 1)
    print_table("t", table)
    assert "number: 123456789" in capsys.readouterr().out


@pytest.mark.parametrize("without", [True, False])
def test_a_terminal_without_colour_gets_none(
    colonnade: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], without: bool
) -> None:
    if without:
        monkeypatch.setenv("NO_COLOR", "1")
    else:
        monkeypatch.delenv("NO_COLOR", raising=False)
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, color_system="standard", width=40, highlight=False)
    for module in ("run", "report", "terminal"):
        monkeypatch.setattr(f"colonnade.cli.{module}.console", terminal)
    assert colonnade(*RUN)[0] == 0
    shown = screen.getvalue()
    assert "\x1b[1m" in shown  # it is a terminal: the score is bold
    assert bool(re.search(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d)", shown)) != without  # the bars have colours
    plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown)
    assert all(len(line.split("\r")[-1]) <= 40 for line in plain.split("\n"))


def test_a_heading_of_rows_stays_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("protection", "score"):
        table.add_column(heading, no_wrap=True)
    table.add_row("splitnn")
    table.add_row("none", "0.9")
    monkeypatch.setattr(console, "_width", 18)
    print_table("t", table)
    assert capsys.readouterr().out == "t\nsplitnn\n  protection: none\n  score: 0.9\n\n"


def test_a_run_without_a_federation_keeps_an_empty_audit_log(colonnade: Any) -> None:
    code, _, err = colonnade("run", "linear", "--data", "wine", "--labels", "30", "--out", "r")
    assert code == 0, err
    assert json.loads(Path("r/audit.json").read_text()) == []
