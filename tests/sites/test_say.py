"""A site prints plain lines; everything else that its processes print stays in a file."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from colonnade.sites.files.say import Follower, plain, say

STAMP = "2026-11-19 22:58:42,312"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"{STAMP} - say - INFO - run splitnn-2026-11-19-225812 ended", "run splitnn-2026-11-19-225812 ended"),
        (f"{STAMP} - say - WARNING - refused request 1, because: {{0}}", "refused request 1, because: {0}"),
        (f"\x1b[33m{STAMP} - say - WARNING - refused\x1b[0m", "refused"),
        (f"{STAMP} - FederatedClient - INFO - Successfully registered client:shop for project two.", "ready"),
        (f"{STAMP} - root - INFO - Server started", "ready"),
        (f"{STAMP} - ClientManager - INFO - Client: New client shop@192.0.2.2 joined. Sent token.", "shop has joined"),
        (f"{STAMP} - ClientManager - INFO - Client: New admin admin@bank.local@192.0.2.2 joined.", None),
        (f"{STAMP} - AuxRunner - INFO - registered aux handler for topic fed.event", None),
        ("", None),
    ],
)
def test_only_what_is_for_people_is_told(line: str, told: str | None) -> None:
    assert plain(line + "\n") == told


def test_what_is_said_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        say(f"refused\n{STAMP} - say - INFO - a line that another party made up")
    assert "\n" not in caplog.records[-1].getMessage() and caplog.records[-1].name == "colonnade.say"


def test_a_log_is_followed_from_its_end_over_cut_lines(tmp_path: Path) -> None:
    log, told = tmp_path / "flare.log", list[str]()
    log.write_text(f"{STAMP} - say - INFO - of an earlier start\n")
    with Follower(log, told.append, pause=0.01), log.open("a", buffering=1) as writer:
        writer.write(f"{STAMP} - say - IN")
        writer.flush()
        time.sleep(0.05)
        writer.write("FO - first\n")
        writer.write(f"{STAMP} - say - INFO - last\n")
    assert told == ["first", "last"]


def test_a_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    log, told = tmp_path / "flare.log", list[str]()
    with log.open("a", buffering=1) as writer, Follower(log, told.append, pause=0.01, largest=1000):
        for _ in range(50):
            writer.write("x" * 100 + "\n")
        time.sleep(0.1)
        assert log.stat().st_size <= 1000
        writer.write(f"{STAMP} - say - INFO - still heard\n")
    assert told == ["still heard"]
