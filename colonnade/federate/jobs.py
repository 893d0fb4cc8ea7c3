"""Training runs as FLARE jobs: the active party submits one, waits for it, and reads the record from its own site."""

from __future__ import annotations

import contextlib
import json
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from colonnade.errors import ColonnadeError, ConfigError
from colonnade.federate.description import SiteFile
from colonnade.federate.processes import Kit
from colonnade.federate.provision import admin_of
from colonnade.wire.engines.envelope import run_of

Progress = Callable[[str, int, int], None]
Run = tuple[str, dict[str, Any]]  # a method and its options
_CONTROLLER = "nvflare.collab.runtime.controller.CollabController"
_EXECUTOR = "nvflare.collab.runtime.executor.CollabExecutor"
_OURS = "colonnade.federate.components"


class TrainingError(ColonnadeError):
    """A run between sites did not end well."""


def write_job(folder: Path, kit: Kit, runs: list[Run]) -> Path:
    """A job that names our two objects, and brings no code."""
    config = folder / "app" / "config"
    config.mkdir(parents=True)
    passive = len(kit.federation.passive)
    meta = {"name": kit.federation.name, "resource_spec": {}, "min_clients": passive,
            "mandatory_clients": list(kit.federation.passive), "deploy_map": {"app": ["@ALL"]}}  # fmt: skip
    threads = {"max_call_threads": 4}
    wanted = [{"method": method, "options": options} for method, options in runs]
    server = {
        "format_version": 2,
        "workflows": [{"id": "controller", "path": _CONTROLLER, "args": {"server_obj_id": "_server", **threads}}],
        "components": [{"id": "_server", "path": f"{_OURS}.Active", "args": {"runs": wanted}}],
    }
    executor = {"path": _EXECUTOR, "args": {"client_obj_id": "_client", **threads}}
    client = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": executor}],
        "components": [{"id": "_client", "path": f"{_OURS}.Passive", "args": {}}],
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


def train(
    kit: Kit, site: SiteFile, method: str, options: dict[str, Any], progress: Progress | None = None
) -> dict[str, Any]:
    """Submit a training run and wait for its end; the record."""
    outcome = train_all(kit, site, [(method, options)], progress)[0]
    if isinstance(outcome, TrainingError):
        raise outcome
    return outcome


def train_all(
    kit: Kit, site: SiteFile, runs: list[Run], progress: Progress | None = None
) -> list[dict[str, Any] | TrainingError]:
    """Submit several training runs as one job and wait for their end; a record of each, or what went wrong."""
    with session(kit) as opened:
        here = {client.name for client in opened.get_connected_client_list()}
        absent = [name for name in kit.federation.passive if name not in here]
        if absent:
            raise ConfigError(f"{', '.join(absent)} have not joined. Each starts by `colonnade federate join`.")
        with tempfile.TemporaryDirectory() as draft:
            job = opened.submit_job(str(write_job(Path(draft) / "train", kit, runs)))
        names = [run_of(f"{job}/{number}").hex() for number in range(1, len(runs) + 1)]
        return [_outcome(site.out, name, _wait(opened, job, site.out, name, progress)) for name in names]


def _wait(opened: Any, job: str, out: Path, run: str, progress: Progress | None) -> str:
    """Until a run has a record or an error; every site has written its part by then."""
    while True:
        status = str(opened.get_job_status(job))
        if status.startswith("FINISHED") or any((out / f"{run}{end}").exists() for end in (".json", "-failed.json")):
            return status
        with contextlib.suppress(OSError, ValueError, KeyError):
            told = json.loads((out / f"{run}-progress.json").read_text())
            if progress is not None:
                progress(told["phase"], told["done"], told["total"])
        time.sleep(0.3)


def _outcome(out: Path, run: str, status: str) -> dict[str, Any] | TrainingError:
    failed, record = out / f"{run}-failed.json", out / f"{run}.json"
    (out / f"{run}-progress.json").unlink(missing_ok=True)
    if record.exists():
        found: dict[str, Any] = json.loads(record.read_text())
        return found
    if failed.exists():
        return TrainingError(str(json.loads(failed.read_text())["error"]))
    return TrainingError(f"the run ended as {status}, without a record. The logs of the server's kit say why.")
