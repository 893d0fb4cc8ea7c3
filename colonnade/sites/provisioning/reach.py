"""The sites, reached from a command's own process: a FLARE job that passes requests on, for as long as it is needed."""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colonnade.engines.remote import Call
from colonnade.errors import ConfigError
from colonnade.sites.provisioning.channel import closed, connect, line
from colonnade.sites.provisioning.jobs import session, write_job
from colonnade.sites.provisioning.processes import Kit
from colonnade.sites.settings.description import SiteFile
from colonnade.wire.envelope import run_of

ALIVE = 30.0  # seconds since a site was last heard of; FLARE itself counts it as connected for ten minutes
START = 120.0  # seconds in which a job must have started; FLARE goes on trying when no site is there any more


@dataclass(frozen=True, eq=False)
class Reach:
    """The sites of one job; none where no site is connected."""

    calls: dict[str, Call]
    run: bytes
    control: socket.socket | None = None

    @property
    def ended(self) -> bool:
        """Whether the job is over, so that nobody can be asked."""
        return self.control is None or closed(self.control)

    def close(self) -> None:
        """Let the job end."""
        if self.control is not None:
            self.control.close()


def heard_of(kit: Kit) -> list[str]:
    """The passive sites that were heard of lately."""
    with session(kit) as opened:
        return heard_by(opened)


def heard_by(opened: Any) -> list[str]:
    """The same, in a session that is open."""
    clients = opened.get_connected_client_list()
    return sorted(c.name for c in clients if time.time() - (c.last_connect_time or 0) < ALIVE)


def open_reach(kit: Kit, site: SiteFile, *, wait: float, every: bool) -> Reach:
    """Start a job and reach the sites through it.

    Args:
        kit: the active party's.
        site: its site's file; the job tells in `out` where it is reached.
        wait: seconds for which a site's answer is waited for.
        every: whether a site that is not connected is an error.
    """
    with session(kit) as opened:
        here = heard_by(opened)
        absent = [name for name in kit.federation.passive if name not in here]
        if absent and every:
            raise ConfigError(f"{', '.join(absent)} have not joined. Each starts by `colonnade federate join`.")
        if not here:
            return Reach({}, bytes(16))
        with tempfile.TemporaryDirectory() as draft:
            job = str(opened.submit_job(str(_relay_job(Path(draft) / "relay", kit, every))))
        run = run_of(f"{job}/1")
        told = _wait(opened, job, site.out / f"{run.hex()}-relay.json")
        if told is None:
            opened.abort_job(job)
            if every:
                raise ConfigError(f"no job could be started within {START:.0f} seconds. Look whether all sites run.")
            return Reach({}, bytes(16))
    path = Path(told["socket"])
    control = connect(path)
    return Reach({name: line(path, name, wait) for name in told["sites"]}, run, control)


@contextlib.contextmanager
def reached(kit: Kit, site: SiteFile, *, wait: float, every: bool) -> Iterator[Reach]:
    """The same, for the time of a `with` block."""
    reach = open_reach(kit, site, wait=wait, every=every)
    try:
        yield reach
    finally:
        reach.close()


def _relay_job(folder: Path, kit: Kit, every: bool) -> Path:
    """A job whose active side passes requests on; it starts with the sites that are there, unless all must be."""
    write_job(folder, kit, [])
    server = folder / "app" / "config" / "config_fed_server.json"
    config = json.loads(server.read_text())
    config["components"] = [{"id": "_server", "path": "colonnade.sites.running.components.Relay", "args": {}}]
    server.write_text(json.dumps(config))
    if not every:
        meta = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**meta, "min_clients": 1, "mandatory_clients": []}))
    return folder


def _wait(opened: Any, job: str, path: Path) -> dict[str, Any] | None:
    """Until the job says where it is reached; its note is removed once it was read. None: it does not start."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            told: dict[str, Any] = json.loads(path.read_text())
            path.unlink()
            return told
        status = str(opened.get_job_status(job))
        if status.startswith("FINISHED"):
            raise ConfigError(f"the job ended as {status} before the sites were reached. The server's log says why.")
        time.sleep(0.2)
    return None
