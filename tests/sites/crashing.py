"""Sites as processes that can be killed: each passive one listens on a socket, the active one runs the method.

What supervises them starts again whatever died, as `federate join` and `federate train` do with FLARE's processes.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Listener
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from colonnade.engines.absent import LostSiteError
from colonnade.engines.remote import Link
from colonnade.sites.recovery.past import Past
from colonnade.sites.recovery.resume import Memory
from colonnade.sites.settings.description import read_site
from colonnade.sites.settings.table import read_site_table
from colonnade.sites.training.active_site import ActiveSite
from colonnade.sites.training.passive_site import PassiveSite
from tests.sites.small import FEDERATION, RUN

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.sites.crashing", "colonnade.methods.registry", "colonnade.deploy.serve"])


def passive(name: str, path: Path, socket: str) -> None:
    """The process of a passive site."""
    import torch

    torch.set_num_threads(1)
    site = read_site(path)
    past = Past(site.out, f"{RUN.hex()}-{name}")
    there = PassiveSite(name, "bank", read_site_table(site), site.policy, RUN, site.out, past=past)
    Path(socket).unlink(missing_ok=True)
    with Listener(socket) as listener:
        while True:
            with listener.accept() as asked, contextlib.suppress(EOFError, OSError):
                while True:
                    asked.send_bytes(there.answer(asked.recv_bytes()))


def active(path: Path, sockets: dict[str, str], method: str, options: dict[str, Any], absent: tuple[str, ...]) -> None:
    """The process of the active site; it ends when a site is lost, and is started again."""
    import torch

    torch.set_num_threads(1)
    site = read_site(path)
    memory = Memory(site.out, RUN.hex(), "bank")
    calls = {name: call_of(name, socket) for name, socket in sockets.items() if name not in absent}
    link = Link(calls, RUN, memory=memory.replies, absent=absent)
    with contextlib.suppress(LostSiteError):
        ActiveSite(FEDERATION, site, read_site_table(site, FEDERATION.passive), link, memory).train(method, options)
    os._exit(0)


def call_of(name: str, socket: str) -> Callable[[bytes], bytes]:
    connected: list[Any] = []

    def call(request: bytes) -> bytes:
        try:
            if not connected:
                connected.append(Client(socket))
            connected[0].send_bytes(request)
            return bytes(connected[0].recv_bytes())
        except (OSError, EOFError):
            raise LostSiteError(f"{name} did not answer", (name,)) from None

    return call


class Crashing:
    """A run whose processes are killed at random moments, and started again."""

    def __init__(self, files: dict[str, Path], method: str, options: dict[str, Any]) -> None:
        self.files, self.method, self.options = files, method, options
        self.folder = files["bank"].parent.parent
        self.record = files["bank"].parent / "out" / f"{RUN.hex()}.json"
        self.processes: dict[str, BaseProcess] = {}
        self.absent: tuple[str, ...] = ()
        self.kills: list[tuple[str, float]] = []

    def start(self, name: str) -> None:
        sockets = {p: str(self.folder / f"{p}.socket") for p in FEDERATION.passive}
        if name == "bank":
            made = CONTEXT.Process(
                target=active, args=(self.files[name], sockets, self.method, self.options, self.absent)
            )
        else:
            made = CONTEXT.Process(target=passive, args=(name, self.files[name], sockets[name]))
        made.start()
        self.processes[name] = made

    def run(self, kills: int, apart: float, seed: int, patience: float = 150.0) -> None:
        """Until there is a record; one process is killed about every `apart` seconds, `kills` times."""
        draw = random.Random(seed)
        until = time.monotonic() + patience
        due = time.monotonic() + draw.uniform(0, 2 * apart)
        try:
            while not self.record.exists():
                assert time.monotonic() < until, f"no end after {self.kills}"
                for name in ("shop", "telco", "bank"):
                    if name not in self.absent and (name not in self.processes or not self.processes[name].is_alive()):
                        self.start(name)
                if time.monotonic() > due and len(self.kills) < kills:
                    self.kill(draw.choice(sorted(self.processes)))
                    due = time.monotonic() + draw.uniform(0, 2 * apart)
                time.sleep(0.005)
            self.processes["bank"].join(10)
        finally:
            for process in self.processes.values():
                process.kill()
                process.join()

    def kill(self, name: str) -> None:
        """Kill -9."""
        process = self.processes[name]
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        self.kills.append((name, time.monotonic()))

    def parts(self) -> dict[str, bytes]:
        """What the sites keep of the model, byte by byte."""
        found = [path for file in self.files.values() for path in (file.parent / "out").glob("*.safetensors")]
        return {path.name: path.read_bytes() for path in found}
