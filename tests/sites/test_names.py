"""Names of runs can be read, are never given twice, and cannot leave a folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

import colonnade as cn
from colonnade.errors import ConfigError
from colonnade.sites.files.names import check_name, id_of, is_name, new_name
from colonnade.wire.envelope import run_of

NOON = datetime(2026, 11, 19, 12, 0, 59)


def test_a_name_says_method_day_and_time(tmp_path: Path) -> None:
    assert new_name("splitnn", tmp_path, NOON) == "splitnn-2026-11-19-120059"
    assert new_name("fedhssl*", tmp_path, NOON) == "fedhssl-star-2026-11-19-120059"


def test_a_name_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "splitnn-2026-11-19-120059-bank.json").touch()
    assert new_name("splitnn", tmp_path, NOON) == "splitnn-2026-11-19-120100"


@pytest.mark.parametrize("method", cn.METHODS)
def test_every_method_gives_a_name(method: str, tmp_path: Path) -> None:
    assert is_name(new_name(method, tmp_path))


@pytest.mark.parametrize(
    "text", ["../x-2026-11-19-120059", "a/b-2026-11-19-120059", "splitnn", "", "x" * 200, ".", "A"]
)
def test_other_texts_are_no_names(text: str) -> None:
    assert not is_name(text)
    with pytest.raises(ConfigError, match=r"is no name of a run. A name is like splitnn-"):
        check_name(text)


def test_a_site_takes_no_name_from_a_job_that_would_leave_its_folder() -> None:
    pytest.importorskip("nvflare")
    from colonnade.sites.running.components import Passive

    with pytest.raises(ConfigError, match="is no name of a run"):
        Passive(["../../etc/passwd"])


def test_names_of_older_runs_stand_for_the_same_bytes_as_before() -> None:
    assert id_of("0f" * 16) == bytes([15] * 16)
    assert id_of("splitnn-2026-11-19-120059") == run_of("splitnn-2026-11-19-120059")
