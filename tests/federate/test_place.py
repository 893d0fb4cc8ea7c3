"""Folders from which FLARE cannot start a job are refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from colonnade.errors import ConfigError
from colonnade.federate.demo import run
from colonnade.federate.place import check_place


@pytest.mark.parametrize("name", ["with blanks", "o'neill", 'a"b', "a#b", "back\\slash"])
def test_paths_that_are_more_than_one_word_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"blanks or quotes\. The folder is .* Move it\."):
        check_place(tmp_path / name, "Move it.")


@pytest.mark.parametrize("name", ["kits", "señor-ünal", "a=b,c+d@e"])
def test_other_paths_are_taken(name: str, tmp_path: Path) -> None:
    check_place(tmp_path / name, "Move it.")


def test_the_demo_refuses_before_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "with blanks"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="Name another folder by --out"):
        run.run_demo(None)
    assert list(folder.iterdir()) == []
