"""`colonnade --help` and `--version`: what a new user types first."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import pytest

import colonnade as cn
from colonnade.cli.app import START, app


def test_help_names_every_command_and_where_to_start(colonnade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = colonnade("--help")
    lines = [line.strip() for line in out.splitlines()]
    assert code == 0 and "active party, holds the labels" in " ".join(out.split())
    assert all(line in lines for line in START)  # whole, so that each can be copied
    names = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]
    assert len(names) > 10 and all(name in out for name in names)


@pytest.mark.parametrize("line", START)
def test_each_first_command_runs_on_bundled_data(colonnade: Any, line: str) -> None:
    program, *arguments = line.split()
    few = ["--set", "epochs=1"]
    quick = {
        "run": few,
        "compare": [*few, "--set", "pretrain_epochs=1", "--seeds", "1", "--jobs", "1", "--rows", "150"],
    }
    more = quick.get(arguments[0], [])
    code, _, err = colonnade(*arguments, *more)
    assert program == "colonnade" and code == 0, err


def test_version_names_the_package_torch_and_python(colonnade: Any) -> None:
    code, out, _ = colonnade("--version")
    assert code == 0
    assert out.strip() == f"colonnade {cn.__version__}, torch {version('torch')}, Python {platform.python_version()}"
