"""Training runs as FLARE jobs: the active party submits one, waits for it, and reads the record from its own site."""

from __future__ import annotations

import contextlib
import json
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colonnade.errors import ColonnadeError, ConfigError
from colonnade.sites.provisioning.processes import Kit
from colonnade.sites.provisioning.provision import admin_of
from colonnade.sites.settings.description import SiteFile

Progress = Callable[[str, int, int], None]
_CONTROLLER = "nvflare.collab.runtime.controller.CollabController"
_EXECUTOR = "nvflare.collab.runtime.executor.CollabExecutor"
_OURS = "colonnade.sites.running.components"
_SERVER = "server"  # FLARE's name of the active party's site


@dataclass(frozen=True)
class Run:
    """One training: its name, which stays the same when it goes on after a crash, the method and its options."""

    name: str  # see names.py
    method: str
    options: dict[str, Any]


class TrainingError(ColonnadeError):
    """A run between sites did not end well."""


class CutError(ColonnadeError):
    """A run between sites was cut, and can go on.

    Attributes:
        sites: the passive sites that did not answer; none where the job ended by itself.
    """

    def __init__(self, message: str, sites: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.sites = sites


def write_job(folder: Path, kit: Kit, runs: list[Run], absent: tuple[str, ...] = ()) -> Path:
    """A job that names our two objects, and brings no code."""
    config = folder / "app" / "config"
    config.mkdir(parents=True)
    passive = [name for name in kit.federation.passive if name not in absent]
    to = [_SERVER, *passive] if absent else ["@ALL"]
    name = ", ".join(run.name for run in runs) or kit.federation.name
    meta = {"name": name, "resource_spec": {}, "min_clients": len(passive), "mandatory_clients": passive,
            "deploy_map": {"app": to}}  # fmt: skip
    threads = {"max_call_threads": 4}
    wanted = [{"run": run.name, "method": run.method, "options": run.options} for run in runs]
    active = {"runs": wanted, "absent": list(absent)}
    server = {
        "format_version": 2,
        "workflows": [{"id": "controller", "path": _CONTROLLER, "args": {"server_obj_id": "_server", **threads}}],
        "components": [{"id": "_server", "path": f"{_OURS}.Active", "args": active}],
    }
    executor = {"path": _EXECUTOR, "args": {"client_obj_id": "_client", **threads}}
    client = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": executor}],
        "components": [{"id": "_client", "path": f"{_OURS}.Passive", "args": {"runs": [run.name for run in runs]}}],
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    (config / "config_fed_server.json").write_text(json.dumps(server))
    (config / "config_fed_client.json").write_text(json.dumps(client))
    return folder


@contextlib.contextmanager
def session(kit: Kit, seconds: float = 15.0) -> Iterator[Any]:
    """FLARE's session of the active party's user."""
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    if not kit.active:
        raise ConfigError(f"{kit.folder} is the kit of a passive party. Use that of {kit.federation.active!r}.")
    user = admin_of(kit.federation)
    logging.getLogger("nvflare").setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(None):
            opened = new_secure_session(user, str(kit.folder / "admin"), timeout=seconds)
    except Exception as error:
        raise ConfigError(
            f"the server at {kit.federation.host}:{kit.federation.port} does not answer ({type(error).__name__}). "
            f"Start it by `colonnade federate join`."
        ) from None
    try:
        yield opened
    finally:
        opened.close()


def connected(kit: Kit) -> list[str]:
    """The passive sites that are connected."""
    with session(kit) as opened:
        return sorted(client.name for client in opened.get_connected_client_list())


def attempt(
    kit: Kit, site: SiteFile, runs: list[Run], progress: Progress | None = None, absent: tuple[str, ...] = ()
) -> list[dict[str, Any] | TrainingError | CutError]:
    """Submit runs as one job and wait for its end; a record of each, or what went wrong."""
    with session(kit) as opened:
        here = {client.name for client in opened.get_connected_client_list()}
        missing = [name for name in kit.federation.passive if name not in here and name not in absent]
        if missing:
            raise ConfigError(f"{', '.join(missing)} have not joined. Each starts by `colonnade federate join`.")
        for run in runs:
            (site.out / f"{run.name}-lost.json").unlink(missing_ok=True)
        with tempfile.TemporaryDirectory() as draft:
            job = opened.submit_job(str(write_job(Path(draft) / "train", kit, runs, absent)))
        return [_outcome(site.out, run.name, _wait(opened, job, site.out, run.name, progress)) for run in runs]


def _wait(opened: Any, job: str, out: Path, run: str, progress: Progress | None) -> str:
    """Until a run has a record or an error; every site has written its part by then."""
    ends = (".json", "-failed.json", "-lost.json")
    while True:
        try:
            status = str(opened.get_job_status(job))
        except Exception as error:  # FLARE raises many sorts; all mean that the server cannot be asked
            return f"unknown: the server does not answer ({type(error).__name__})"
        if status.startswith("FINISHED") or any((out / f"{run}{end}").exists() for end in ends):
            return status
        with contextlib.suppress(OSError, ValueError, KeyError):
            told = json.loads((out / f"{run}-progress.json").read_text())
            if progress is not None:
                progress(told["phase"], told["done"], told["total"])
        time.sleep(0.3)


def _outcome(out: Path, run: str, status: str) -> dict[str, Any] | TrainingError | CutError:
    record, failed, lost = (out / f"{run}{end}" for end in (".json", "-failed.json", "-lost.json"))
    (out / f"{run}-progress.json").unlink(missing_ok=True)
    if record.exists():
        found: dict[str, Any] = json.loads(record.read_text())
        return found
    if failed.exists():
        return TrainingError(str(json.loads(failed.read_text())["error"]))
    if lost.exists():
        told = json.loads(lost.read_text())
        return CutError(str(told["error"]), tuple(told["sites"]))
    return CutError(f"the job ended as {status}. The logs of the server's kit say why.")
