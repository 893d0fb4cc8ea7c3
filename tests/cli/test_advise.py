"""`colonnade advise` and `colonnade appraise` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colonnade.cli import main
from colonnade.cli.advise import bytes_of
from colonnade.lab.advisor import probes
from colonnade.methods.registry import METHODS


@pytest.fixture
def colonnade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in an empty folder with three short probes; its exit code, what it printed, and its errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    short = {name: {"epochs": 5} for name in ("local", "splitnn")}
    monkeypatch.setattr(probes, "PROBES", {**short, "mmvfl": {}})

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        shown = capsys.readouterr()
        return int(end.value.code or 0), shown.out, shown.err

    return run


def test_advise_prints_and_writes(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("advise", "wine", "--labels", "40", "--bytes", "1MB", "--all", "--json", "advice.json")
    saved = json.loads((tmp_path / "advice.json").read_text())
    assert code == 0 and f"Use {saved['advice']}:" in out
    assert "What would change it" in out and "Left out" in out and "1.00 MB allowed" in out
    assert saved["candidates"][0]["method"] == saved["advice"] and set(saved["probes"]) == {"local", "splitnn", "mmvfl"}
    assert saved["setting"]["labelled"] == 40 and saved["sentence"] in out
    assert rows_of_table(out) == [one["method"] for one in saved["candidates"]] and len(rows_of_table(out)) > 3


def rows_of_table(out: str) -> list[str]:
    """The methods in the table of candidates, in order."""
    known = set(METHODS)
    return [line.split()[0] for line in out.split("Use ")[0].splitlines() if line.split() and line.split()[0] in known]


def test_advise_shows_three_candidates_and_why(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("advise", "wine", "--labels", "40", "--json", "advice.json")
    saved = json.loads((tmp_path / "advice.json").read_text())
    names = [one["method"] for one in saved["candidates"]]
    assert code == 0 and len(names) > 3 and rows_of_table(out) == names[:3]
    assert f"--all shows the other {len(names) - 3} candidates" in out and "--all says why" in out
    assert all(f"\n{name}: " in out for name in names[:3])  # a line of its own says why


def test_appraise_prints_and_writes(colonnade: Any, tmp_path: Path) -> None:
    code, out, _ = colonnade("appraise", "wine", "--labels", "40", "--seeds", "1", "--check", "--json", "one.json")
    (saved,) = json.loads((tmp_path / "one.json").read_text())["appraisals"]
    assert code == 0 and saved["sentence"] in out and saved["party"] == "lab2"
    assert set(saved["realised"]["gains"]) == {"splitnn", "ss-vfl-c"} and "Full training with 'lab2'" in out


def test_wrong_options_are_refused_together(colonnade: Any, tmp_path: Path) -> None:
    code, _, err = colonnade("advise", "wine", "--bytes", "many", "--labels", "some", "--json", str(tmp_path))
    assert code == 2 and all(option in err for option in ("--bytes", "--labels", "--json"))
    code, _, err = colonnade("appraise", "wine", "--party", "lab3")
    assert code == 2 and "Did you mean 'lab2'?" in err


@pytest.mark.parametrize("command", ["advise", "appraise"])
def test_help_teaches_by_example(colonnade: Any, command: str) -> None:
    code, out, _ = colonnade(command, "--help")
    assert code == 0 and f"Example: colonnade {command}" in " ".join(out.split())


@pytest.mark.parametrize(("text", "value"), [("5MB", 5e6), ("200 kB", 2e5), ("1e6", 1e6), ("12", 12), ("1.5gb", 1.5e9)])
def test_bytes_with_units(text: str, value: float) -> None:
    problems: list[str] = []
    assert bytes_of(text, problems) == value and not problems


@pytest.mark.parametrize("text", ["", "MB", "-3", "5 miles", "0", "1.2.3"])
def test_bytes_that_are_none(text: str) -> None:
    problems: list[str] = []
    assert bytes_of(text, problems) is None and len(problems) == 1
