"""Round trips per second between sites: our engine against a bare Collab loop, in one FLARE job, 512x128 float32."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = 30
SHAPE = (512, 128)
GOAL = 0.9


def main() -> None:
    try:
        import nvflare  # noqa: F401
    except ImportError:
        print("nvflare is not installed: pip install 'colonnade[federate]'")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the sites are stopped then too
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    bare, ours = (statistics.median(found[name]) for name in ("bare", "ours"))
    print(f"bare Collab (arrays): {bare:.1f} round trips/s; {', '.join(f'{r:.1f}' for r in found['bare'])}")
    print(f"our engine:           {ours:.1f} round trips/s; {', '.join(f'{r:.1f}' for r in found['ours'])}")
    pairs = [b / a for a, b in zip(found["bare"], found["ours"], strict=True)]  # blocks that ran one after the other
    print(f"ratio {ours / bare:.2f} of medians, {statistics.median(pairs):.2f} median of neighbours (goal {GOAL})")


def measure(folder: Path) -> dict[str, list[float]]:
    """Start a server and two sites, run both loops in one job, block by block in turn, and read their rates."""
    from colonnade.sites.provisioning.jobs import connected, session
    from colonnade.sites.provisioning.processes import open_kit, start, stop, wait_until
    from colonnade.sites.provisioning.provision import provision

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    toml = folder / "federation.toml"
    toml.write_text(f'[federation]\nname = "bench"\nactive = "bank"\npassive = ["shop", "telco"]\nport = {port}\n')
    kits = {name: open_kit(kit) for name, kit in provision(toml, folder / "kits").items()}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).resolve().parent.parent), *sys.path])
    os.environ["COLONNADE_BENCH"] = str(folder / "rates.json")
    try:
        for name, kit in kits.items():
            _allow(kit.workspace)
            start(kit, _site(folder / name, name), folder / f"{name}.log")
        if not wait_until(lambda: _try(connected, kits["bank"]) == ["shop", "telco"], 90):
            sys.exit("the sites did not connect")
        with session(kits["bank"]) as opened:
            opened.submit_job(str(_job(folder / "job")))
            if not wait_until((folder / "rates.json").exists, 240):
                sys.exit((folder / "bank.log").read_text()[-3000:])
        found: dict[str, list[float]] = json.loads((folder / "rates.json").read_text())
        return found
    finally:
        for kit in kits.values():
            stop(kit)


def _try(function: Any, *arguments: Any) -> Any:
    from colonnade.errors import ConfigError

    try:
        return function(*arguments)
    except ConfigError:
        return None


def _allow(workspace: Path) -> None:
    """Let this job's own objects be built; the kits of users allow ours alone."""
    path = workspace / "local" / "resources.json"
    resources = json.loads(path.read_text())
    resources["class_allow_list"] += ["benchmarks.flare_objects.Asker", "benchmarks.flare_objects.Answerer"]
    path.write_text(json.dumps(resources))


def _site(home: Path, name: str) -> Path:
    home.mkdir()
    (home / "table.csv").write_text("id,x,y\n" + "".join(f"{i},{i % 7},{i % 2}\n" for i in range(600)))
    (home / "aligned.txt").write_text("\n".join(map(str, range(600))))
    label = '\nlabel = "y"' if name == "bank" else '\ncolumns = ["x"]'
    path = home / "site.toml"
    path.write_text(
        f'[site]\nparty = "{name}"\naligned = "aligned.txt"\n[table]\ndata = "table.csv"\nid = "id"{label}\n'
    )
    return path


def _job(folder: Path) -> Path:
    config = folder / "app" / "config"
    config.mkdir(parents=True)
    ours, theirs = "benchmarks.flare_objects", "nvflare.collab.runtime"
    (folder / "meta.json").write_text(
        json.dumps({"name": "bench", "resource_spec": {}, "min_clients": 2, "deploy_map": {"app": ["@ALL"]}})
    )
    controller = {"id": "c", "path": f"{theirs}.controller.CollabController", "args": {"server_obj_id": "_server"}}
    executor = {"path": f"{theirs}.executor.CollabExecutor", "args": {"client_obj_id": "_client"}}
    server = {
        "format_version": 2,
        "workflows": [controller],
        "components": [{"id": "_server", "path": f"{ours}.Asker"}],
    }
    client = {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": executor}],
        "components": [{"id": "_client", "path": f"{ours}.Answerer"}],
    }
    (config / "config_fed_server.json").write_text(json.dumps(server))
    (config / "config_fed_client.json").write_text(json.dumps(client))
    return folder


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:.0f} s")
