"""The processes of the demo: a `join` for each site, and one command after another. None of them outlives it."""

from __future__ import annotations

import contextlib
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from colonnade.errors import ColonnadeError
from colonnade.sites.files.say import LOG
from colonnade.sites.provisioning.processes import open_kit, stop

READY = 120.0  # seconds in which the sites must have found each other
_END = 20.0  # seconds that a process gets to end by itself
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PROGRAM = "from colonnade.cli import main; main()"


class DemoError(ColonnadeError):
    """A step of the demo did not end well."""


def free_port(wanted: int) -> int:
    """The wanted port, or another one where it is in use."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise DemoError("no port of this machine is free.")


@dataclass
class Site:
    """A `join` that runs, and what it printed."""

    party: str
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read(self, show: Callable[[str], None]) -> None:
        """Show and keep each line until the process ends."""
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))
            show(self.lines[-1])

    def said(self, text: str) -> bool:
        """Whether a line ends so."""
        return any(line.endswith(text) for line in self.lines)


class Terminal:
    """Runs commands in a folder as somebody would type them there, and shows both.

    Args:
        folder: where they are typed.
        show: takes each line.
    """

    def __init__(self, folder: Path, show: Callable[[str], None]) -> None:
        self.folder, self.show = folder, show
        self.sites: dict[str, Site] = {}
        self._running: subprocess.Popen[str] | None = None

    def run(self, *words: str) -> None:
        """Run a command to its end; what it prints goes where ours does."""
        self.show(f"$ colonnade {shlex.join(words)}")
        with undisturbed():
            self._running = self._start(words, None)
        code = self._running.wait()
        self._running = None
        if code:
            raise DemoError(f"`colonnade {shlex.join(words)}` ended with code {code}. {self._where()}")

    def join(self, party: str) -> None:
        """Start a party's site, and go on while it runs."""
        words = ("federate", "join", f"kits/{party}")
        self.show(f"$ colonnade {shlex.join(words)}      (in a terminal of its own)")
        with undisturbed():
            site = self.sites[party] = Site(party, self._start(words, subprocess.PIPE))
        threading.Thread(target=site.read, args=(self.show,), daemon=True).start()

    def _start(self, words: tuple[str, ...], output: int | None) -> subprocess.Popen[str]:
        """In a session of its own: Ctrl-C reaches the demo alone, which then ends the others in order."""
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *words], cwd=self.folder, stdout=output,
            stderr=None if output is None else subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def wait_for_sites(self) -> None:
        """Until the passive site is connected and both say that they are ready."""
        until = time.monotonic() + READY
        while not (self._all("ready") and self.sites["bank"].said("shop has joined")):
            ended = [site.party for site in self.sites.values() if site.process.poll() is not None]
            if ended or time.monotonic() > until:
                what = f"{' and '.join(ended)} ended" if ended else f"the sites were not ready in {READY:g} s"
                raise DemoError(f"{what}. {self._where()}")
            time.sleep(0.1)

    def _all(self, text: str) -> bool:
        return all(site.said(text) for site in self.sites.values())

    def _where(self) -> str:
        logs = " and ".join(str(self.folder / "kits" / party / LOG) for party in ("bank", "shop"))
        return f"What FLARE printed is in {logs}."

    def end(self) -> None:
        """End all processes: the command that runs, then the sites, and what FLARE started for them."""
        if self._running is not None:
            _end([self._running])
        _end([site.process for site in self.sites.values()])
        for party in self.sites:
            stop(open_kit(self.folder / "kits" / party))


def _end(processes: list[subprocess.Popen[str]]) -> None:
    """Ask processes to end, and wait until they have; one that takes too long is killed."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Put Ctrl-C off to the end of the block: a process must not be started without being known."""
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


@contextlib.contextmanager
def ended_at_last(terminal: Terminal) -> Iterator[None]:
    """End all processes of a terminal when the block is left, also by Ctrl-C; a second Ctrl-C does not cut this."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        terminal.end()
        for number, handler in before.items():
            signal.signal(number, handler)


def lines_in(path: Path) -> int:
    """How many lines a file has; none where there is no file."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(1 for _ in file)
