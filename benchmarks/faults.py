"""A real federation, of which one process after another is killed: does the run resume, and is the model the same?

Each process of each site (FLARE's parent and the job's own) may be hit, at a random moment; `federate join` starts a
site again that died, and `federate train` goes on. One training without kills is the model to compare with.

    python -m benchmarks.faults [KILLS] [SEED]
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError
from colonnade.sites.provisioning.jobs import connected
from colonnade.sites.provisioning.processes import Kit, open_kit, running, stop, wait_until
from colonnade.sites.provisioning.provision import provision
from colonnade.sites.running.train import Faults, train
from colonnade.sites.settings.description import read_site
from tests.sites.small import METHODS, in_process, write_sites

METHOD, OPTIONS = "splitnn", {**METHODS["splitnn"], "epochs": 150, "patience": 150}
NAMES = ("bank", "shop", "telco")


class Sites:
    """A server and two sites, each under `federate join`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, write_sites(folder / "homes")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        toml = folder / "federation.toml"
        toml.write_text(
            f'[federation]\nname = "faults"\nactive = "bank"\npassive = ["shop", "telco"]\nport = {port}\n'
            f"timeout = 20\n"
        )
        self.kits: dict[str, Kit] = {n: open_kit(path) for n, path in provision(toml, folder / "kits").items()}
        self.joined: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Sites:
        program = "from colonnade.cli import main; main()"
        for name, kit in self.kits.items():
            command = [sys.executable, "-c", program, "federate", "join", str(kit.folder)]
            command += ["--site", str(self.files[name])]
            with (self.folder / f"{name}.log").open("ab") as log:
                self.joined.append(subprocess.Popen(command, stdout=log, stderr=log))
        assert wait_until(self.all_here, 120)
        return self

    def all_here(self) -> bool:
        try:
            return connected(self.kits["bank"]) == ["shop", "telco"]
        except ConfigError:
            return False

    def __exit__(self, *_: object) -> None:
        for kit in self.kits.values():
            stop(kit)
        for process in self.joined:
            process.wait(30)

    def train(self) -> dict[str, Any]:
        bank = read_site(self.files["bank"])
        return train(self.kits["bank"], bank, METHOD, OPTIONS, faults=Faults("wait", 300), fresh=True)

    def parts(self, record: dict[str, Any]) -> dict[str, bytes]:
        out = {n: self.files[n].parent / "out" / f"{record['run']}-{n}.safetensors" for n in NAMES}
        return {name: path.read_bytes() for name, path in out.items()}

    def kill(self, draw: random.Random) -> str:
        """Kill -9 of one process of one site; which."""
        import psutil

        name = draw.choice(NAMES)
        found = sorted(running(self.kits[name]))
        if not found:
            return f"{name}: was about to be started again"
        pid = draw.choice(found)
        try:
            command = psutil.Process(pid).cmdline()
            os.kill(pid, signal.SIGKILL)
        except (psutil.Error, ProcessLookupError):
            return f"{name}: a process that had just ended"
        return f"{name}: {'the job' if any('_process' in word for word in command) else 'the parent'}"


def main(kills: int = 10, seed: int = 0) -> None:
    folder = Path(tempfile.mkdtemp(prefix="colonnade-faults-"))
    draw = random.Random(seed)
    try:
        with Sites(folder) as sites:
            started = time.monotonic()
            calm = sites.train()
            length = time.monotonic() - started
            started = time.monotonic()
            alone = in_process(METHOD, **OPTIONS)
            print(
                f"undisturbed: {length:.0f} s in all, {calm['seconds']:.1f} s of training; the same in one process "
                f"{time.monotonic() - started:.1f} s; bytes {calm['traffic']['bytes']:,} and {alone.traffic_.bytes:,}",
                flush=True,
            )
            for number in range(1, kills + 1):
                one_kill(sites, draw, calm, length, number)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def one_kill(sites: Sites, draw: random.Random, calm: dict[str, Any], length: float, number: int) -> None:
    moment, hit = draw.uniform(0.3, 1.0) * length, []
    killer = threading.Timer(moment, lambda: hit.append(sites.kill(draw)))
    killer.start()
    started = time.monotonic()
    record = sites.train()
    took = time.monotonic() - started
    killer.cancel()
    same = sites.parts(record) == sites.parts(calm) and record["traffic"] == calm["traffic"]
    print(
        f"{number:2d}  after {moment:4.1f} s  {hit[0] if hit else 'too late':22s}  {record['resumed']:4d} replies were "
        f"there, {took:5.1f} s; {'the same model and bytes' if same else 'ANOTHER MODEL'}",
        flush=True,
    )
    wait_until(sites.all_here, 120)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
