"""The table of a comparison in a terminal: references apart, and no verdict from too little."""

from __future__ import annotations

import re

import pytest

from colonnade.cli.compare import print_summary
from colonnade.cli.terminal import console
from tests.lab.report.test_summary import three_kinds


@pytest.fixture(autouse=True)
def ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "_width", 80)


def printed(records: list[dict]) -> list[str]:
    with console.capture() as shown:
        print_summary(records)
    return [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", shown.get()).splitlines()]


def test_references_stand_apart_and_are_marked():
    lines = printed(three_kinds())
    order = [name for line in lines for name in ("dear", "cheap", "local", "combined") if f" {name} " in line]
    assert order == ["dear", "cheap", "local", "combined"]
    assert any(line.endswith(" alone") for line in lines) and any(line.endswith(" pooled") for line in lines)
    assert "pooled, not federated: all columns in one place, a reference" in lines
    assert max(map(len, lines)) <= 80 and not any("•" in line for line in lines)
    assert lines[-1] == "*: best federated method"  # a legend only for marks that occur


def test_one_seed_gives_no_verdict():
    lines = printed(three_kinds(1))
    assert lines[-1] == "Too little to judge by (one seed): no method is called best."
