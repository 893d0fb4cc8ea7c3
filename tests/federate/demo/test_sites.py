"""The demo's own processes: none is left behind, and one that fails is named."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from colonnade.cli import main
from colonnade.errors import ConfigError
from colonnade.federate.demo import run, sites
from colonnade.federate.demo.sites import DemoError, Terminal, ended_at_last, free_port


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """One whose commands sleep, instead of starting FLARE."""
    monkeypatch.setattr(sites, "_PROGRAM", "import time; print('shop: ready', flush=True); time.sleep(60)")
    monkeypatch.setattr(sites, "open_kit", lambda folder: folder)
    monkeypatch.setattr(sites, "stop", lambda kit: 0)
    return Terminal(tmp_path, lambda text: None)


def test_ctrl_c_ends_the_command_and_the_sites(terminal: Terminal) -> None:
    def interrupt() -> None:
        while terminal._running is None or not terminal.sites["shop"].lines:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt), ended_at_last(terminal):
        terminal.join("shop")
        terminal.run("federate", "align", "kits/bank")
    assert terminal.sites["shop"].process.poll() is not None
    assert terminal._running is not None and terminal._running.poll() is not None
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_a_process_starts_does_not_lose_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = terminal._start, list[subprocess.Popen[str]]()

    def start(words: tuple[str, ...], output: int | None) -> subprocess.Popen[str]:
        started.append(real(words, output))
        os.kill(os.getpid(), signal.SIGINT)
        return started[-1]

    monkeypatch.setattr(terminal, "_start", start)
    with pytest.raises(KeyboardInterrupt), ended_at_last(terminal):
        terminal.run("federate", "align", "kits/bank")
    assert [process.poll() is not None for process in started] == [True]


def test_kits_are_stopped_too_when_the_demo_ends(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(sites, "stop", lambda kit: stopped.append(kit.name))
    with ended_at_last(terminal):
        terminal.join("bank")
        terminal.join("shop")
    assert stopped == ["bank", "shop"]


def test_a_command_that_fails_is_named(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "_PROGRAM", "raise SystemExit(3)")
    with pytest.raises(DemoError, match=r"`colonnade federate align kits/bank` ended with code 3.*flare.log"):
        terminal.run("federate", "align", "kits/bank")


def test_a_site_that_ends_at_once_is_not_waited_for(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "_PROGRAM", "raise SystemExit(2)")
    terminal.join("bank")
    with pytest.raises(DemoError, match="bank ended"):
        terminal.wait_for_sites()


def test_commands_are_shown_before_they_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(sites, "_PROGRAM", "pass")
    Terminal(tmp_path, shown.append).run("report", "bank/out")
    assert shown == ["$ colonnade report bank/out"]


def test_another_port_is_taken_where_the_usual_one_is_in_use() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert free_port(taken) not in (taken, 0)
    assert free_port(taken) == taken


def test_a_folder_of_somebody_elses_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"--out .* exists and is not an empty folder. Name a new one."):
        run.run_demo(tmp_path)
    with pytest.raises(ConfigError, match="is not an empty folder"):
        run.run_demo(tmp_path / "mine.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_without_out_the_next_free_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [str(run._folder(None)) for _ in range(2)]
    assert names == ["colonnade-out/federate-demo", "colonnade-out/federate-demo-2"]


def test_ctrl_c_says_nothing_of_comparisons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(out: Path | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_demo", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["federate", "demo"])
    assert end.value.code == 130 and capsys.readouterr().err == ""
