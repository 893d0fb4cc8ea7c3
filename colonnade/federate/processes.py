"""Starting and stopping a party's site from its kit. A site runs on its owner's machine and under its owner's account.

FLARE starts a further process for each job, in a session of its own; every process of a site knows its kit by an
environment variable, by which all of them are found again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError, MissingDependencyError
from colonnade.federate.description import FederationFile, SiteFile, read_federation, read_site
from colonnade.federate.pinned import settings
from colonnade.federate.place import check_place
from colonnade.federate.say import LOG, Follower
from colonnade.federate.table import read_site_table

KIT = "COLONNADE_KIT"
_PATIENCE = 5.0  # seconds between asking a process to end and ending it
_PAUSE = 2.0  # seconds until a site that died is started again
_QUICK, _TOO_OFTEN = 60.0, 5  # a site that dies this often, each time within so many seconds, is not started again


@dataclass(frozen=True)
class Kit:
    """A party's folder from `federate provision`."""

    folder: Path
    federation: FederationFile

    @property
    def active(self) -> bool:
        """Whether it is the active party's."""
        return (self.folder / "server").is_dir()

    @property
    def party(self) -> str:
        """Whose it is."""
        return self.federation.active if self.active else self.folder.name

    @property
    def workspace(self) -> Path:
        """FLARE's own folder in it."""
        return self.folder / "server" if self.active else self.folder


def open_kit(folder: Path) -> Kit:
    """The kit in a folder."""
    folder = folder.resolve()
    if not (folder / "federation.toml").is_file():
        raise ConfigError(f"{folder} is no kit: it has no federation.toml. Make one by `colonnade federate provision`.")
    kit = Kit(folder, read_federation(folder / "federation.toml"))
    if kit.party not in (kit.federation.active, *kit.federation.passive):
        raise ConfigError(f"{folder} is no kit of {kit.federation.name!r}: a kit's folder has its party's name.")
    return kit


def check_site(kit: Kit, path: Path) -> SiteFile:
    """The site's file, once all that it names was read: a problem is found here, not in the middle of a run."""
    site = read_site(path)
    if site.party != kit.party:
        raise ConfigError(f"{path} is for party {site.party!r}, and the kit {kit.folder} for {kit.party!r}.")
    read_site_table(site)
    return site


def start(kit: Kit, path: Path, log: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a site's process; what it prints goes to `log`, or where ours does."""
    site = check_site(kit, path)
    refuse_second(kit)
    sort = "server" if kit.active else "client"
    who = [] if kit.active else [f"uid={kit.party}"]
    if kit.active:
        _store_inside(kit.workspace)
    command = [
        sys.executable, "-u", "-m", f"nvflare.private.fed.app.{sort}.{sort}_train", "-m", str(kit.workspace), "-s",
        f"fed_{sort}.json", "--set", "secure_train=true", "config_folder=config", *who,
        f"org={kit.party.replace('-', '_')}",
    ]  # fmt: skip
    environment = {
        **os.environ, **settings(site.policy.bytes), KIT: str(kit.folder), "COLONNADE_SITE": str(path.resolve()),
        "COLONNADE_FEDERATION": str(kit.folder / "federation.toml"), "OMP_NUM_THREADS": os.environ.get(
            "OMP_NUM_THREADS", "1"),
    }  # fmt: skip
    _stopped(kit).unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        output = None if log is None else stack.enter_context(log.open("ab"))
        return subprocess.Popen(
            command, env=environment, cwd=kit.workspace, stdout=output, stderr=output, start_new_session=True
        )


def refuse_second(kit: Kit) -> None:
    """Refuse to start a site that runs."""
    if running(kit):
        raise ConfigError(f"party {kit.party!r} runs already from {kit.folder}. Stop it by `colonnade federate stop`.")


def _store_inside(server: Path) -> None:
    """Let the server keep its jobs in its kit; FLARE's default is one folder for all servers of a machine."""
    path = server / "local" / "resources.json"
    resources: dict[str, Any] = json.loads(path.read_text())
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(server / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(server / "jobs")
    path.write_text(json.dumps(resources, indent=2))


def running(kit: Kit) -> list[int]:
    """The processes of a kit's site, of this user."""
    try:
        import psutil
    except ImportError:
        raise MissingDependencyError("`federate` needs FLARE. Run: pip install 'colonnade[federate]'") from None
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(KIT) == str(kit.folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return [pid for pid in found if pid != os.getpid()]


def stop(kit: Kit) -> int:
    """End all processes of a kit's site, by asking first; how many there were."""

    _stopped(kit).touch()
    return _end(kit)


def _stopped(kit: Kit) -> Path:
    """A file that says that the site was stopped, and did not die."""
    return kit.folder / ".stopped"


def _end(kit: Kit) -> int:
    import psutil

    processes = []
    for pid in running(kit):
        with contextlib.suppress(psutil.Error):
            processes.append(psutil.Process(pid))
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=_PATIENCE)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=_PATIENCE)
    return len(processes)


def join(kit: Kit, path: Path) -> int:
    """Run a site until it is stopped, interrupted or terminated; its exit code. One that dies is started again.

    It prints a few lines of its own; what FLARE prints goes to a file in the kit.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)

    def tell(text: str) -> None:
        print(f"{kit.party}: {text}", flush=True)

    check_site(kit, path)
    check_place(kit.folder, "Move the kit.")
    refuse_second(kit)
    if kit.active:
        check_port(kit.federation)
    _stopped(kit).unlink(missing_ok=True)
    log = kit.folder / LOG
    tell(f"starting by {path}; what FLARE prints goes to {log}")
    with Follower(log, tell):
        code = _keep_running(kit, path, log, tell)
    tell("stopped")
    return code


def check_port(federation: FederationFile) -> None:
    """Refuse to start the active party's site where another process listens."""
    host = federation.listen or federation.host
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, federation.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:  # others may be due to the host's name: FLARE knows more sorts
                raise ConfigError(
                    f"port {federation.port} of {host} is in use by another process. Stop that one, or change port in "
                    f"federation.toml and provision again."
                ) from None


def _keep_running(kit: Kit, path: Path, log: Path, tell: Callable[[str], None]) -> int:
    died = 0
    try:
        while True:
            process, since = start(kit, path, log), time.monotonic()
            code = process.wait()
            if code == 0 or _stopped(kit).exists():
                return code
            _end(kit)  # what a dead parent leaves behind
            died = died + 1 if time.monotonic() - since < _QUICK else 1
            if died == _TOO_OFTEN:
                tell(f"died {died} times in a row, with code {code} at last; {log} says why")
                return code
            tell(f"died with code {code}, and is started again")
            time.sleep(_PAUSE)
    except KeyboardInterrupt:
        return 130
    finally:
        stop(kit)


def wait_until(ready: Any, seconds: float, step: float = 0.2) -> bool:
    """Whether `ready()` became true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready():
            return True
        time.sleep(step)
    return False
