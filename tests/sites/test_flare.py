"""The real thing: kits, a server and two sites as processes of their own, mutual TLS on loopback, FLARE jobs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from colonnade.engines.in_process.engine import InProcess
from colonnade.sites.provisioning.jobs import Run, TrainingError, attempt, connected
from colonnade.sites.provisioning.processes import Kit, open_kit, running, start, stop, wait_until
from colonnade.sites.settings.description import read_site
from tests.sites.small import METHODS, in_process, make_tables, write_sites

pytest.importorskip("nvflare")
pytestmark = pytest.mark.flare


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[dict[str, Kit], dict[str, Path]]]:
    from colonnade.sites.provisioning.provision import provision

    policies = {"telco": f"methods = {list(METHODS)}"}
    files = write_sites(tmp_path / "homes", policies, listed=False)
    toml = tmp_path / "federation.toml"
    toml.write_text(
        f'[federation]\nname = "small"\nactive = "bank"\npassive = ["shop", "telco"]\nport = {free_port()}\n'
        f"timeout = 60\n"
    )
    kits = {name: open_kit(folder) for name, folder in provision(toml, tmp_path / "kits").items()}
    try:
        for name, kit in kits.items():
            start(kit, files[name], tmp_path / f"{name}.log")
        assert wait_until(lambda: _connected(kits["bank"]) == ["shop", "telco"], 120)
        yield kits, files
    finally:
        for kit in kits.values():
            stop(kit)
    assert not any(running(kit) for kit in kits.values())


def _connected(kit: Kit) -> list[str]:
    from colonnade.errors import ConfigError

    try:
        return connected(kit)
    except ConfigError:
        return []


def test_the_demo_ends_well_with_the_model_of_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    environment = {**os.environ, "COLUMNS": "40", "NO_COLOR": "1"}
    with socket.socket() as other:  # the port that the demo would take
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # somebody else has it already
            other.bind(("127.0.0.1", 8002))
            other.listen()
        done = subprocess.run(
            _command("demo", "--out", folder), capture_output=True, text=True, timeout=300, env=environment
        )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert "Port 8002 is in use" in said and "\x1b" not in said + done.stderr
    assert "The same model as in one process: all 2,146 weights and all 59 predictions are equal, bit by bit." in said
    for party in ("bank", "shop"):
        mine = [line for line in said.splitlines() if line.startswith(f"{party}: ")]
        assert f"{party}: ready" in mine and len(mine) < 15, mine
        log = folder / "kits" / party / "flare.log"
        assert said.count(f"what FLARE prints goes to {log}") == 1 and len(log.read_text().splitlines()) > 100
        assert not running(open_kit(folder / "kits" / party))
    record = json.loads((folder / "bank" / "out" / "record.json").read_text())
    assert record["references"]["guess"] < record["references"]["alone"] < record["score"]
    assert re.fullmatch(r"splitnn-\d{4}-\d\d-\d\d-\d{6}", record["run"])
    assert f"splitnn on {record['data']}" in (folder / "bank" / "out" / "report.html").read_text()


def connect(kit: Kit, certificate: Path | None) -> None:
    """A TLS connection to the server that trusts it, and shows the given certificate or none."""
    context = ssl.create_default_context(cafile=str(kit.workspace / "startup" / "rootCA.pem"))
    context.set_alpn_protocols(["h2"])
    if certificate is not None:
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    with (
        socket.create_connection(("localhost", kit.federation.port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        secure.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        if not secure.recv(1):
            raise ConnectionError("closed")


def forged(kits: dict[str, Kit], folder: Path) -> Kit:
    """A kit that says it is telco's, with the certificate of shop."""
    shutil.copytree(kits["shop"].folder, folder / "telco", ignore=shutil.ignore_patterns("*.txt", "log*"))
    shutil.copytree(kits["shop"].workspace / "local", folder / "telco" / "local", dirs_exist_ok=True)
    return open_kit(folder / "telco")


def test_training_between_sites_is_training_in_one_process(sites: Any, tmp_path: Path) -> None:
    from colonnade.sites.provisioning.provision import provision

    kits, files = sites
    foreign = provision(kits["bank"].folder / "federation.toml", tmp_path / "foreign")["telco"]
    connect(kits["bank"], kits["telco"].workspace / "startup" / "client.crt")
    for certificate in (None, foreign / "startup" / "client.crt"):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(kits["bank"], certificate)
    stranger = forged(kits, tmp_path / "forged")
    try:
        start(stranger, files["telco"], tmp_path / "forged.log")
        _align(kits, files)
        _train_and_compare(kits, files, tmp_path)
        _predict_and_compare(kits, files, tmp_path)
        assert "authenticated as 'shop' but claimed endpoint 'telco'" in (tmp_path / "bank.log").read_text()
    finally:
        stop(stranger)


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from colonnade.cli import main; main()", "federate", *map(str, arguments)]


def _colonnade(*arguments: object) -> str:
    """A command of its own process, as a user types it; what it printed."""
    done = subprocess.run(_command(*arguments), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _align(kits: dict[str, Kit], files: dict[str, Path]) -> None:
    said = _colonnade("align", kits["bank"].folder, "--site", files["bank"])
    assert "shop: 162 ids, 150 in common" in said and "150 rows are held by all parties" in said


def _predict_and_compare(kits: dict[str, Kit], files: dict[str, Path], tmp_path: Path) -> None:
    """With all sites, then without the shop, by the newest run, which is that of the last method."""
    *_, (method, options) = METHODS.items()
    alone, views, ids = in_process(method, **options), make_tables(), list(range(100, 250))
    views["bank"].pop("churn")
    views = {name: frame.loc[ids] for name, frame in views.items()}
    every = alone.predict_proba(views)
    pd.DataFrame({"id": ids}).to_csv(tmp_path / "ids.csv", index=False)
    asked = ["predict", kits["bank"].folder, "--site", files["bank"], "--ids", tmp_path / "ids.csv"]
    said = _colonnade(*asked, "--out", tmp_path / "all.parquet")
    assert "150 ids: 150 predicted, 150 of them with all parties" in said
    written = pd.read_parquet(tmp_path / "all.parquet")
    assert written["id"].tolist() == list(map(str, ids)) and set(written["absent"]) == {""}
    np.testing.assert_array_equal(written[["probability no", "probability yes"]], every)
    stop(kits["shop"])
    said = _colonnade(*asked, "--out", tmp_path / "without.csv", "--wait", "10")
    assert "without shop: 150 rows" in said and "no answer from shop" in said
    written = pd.read_csv(tmp_path / "without.csv")
    assert set(written["absent"]) == {"shop"}
    without = alone.predict_proba({k: v for k, v in views.items() if k != "shop"}, absent="zero")
    np.testing.assert_allclose(written[["probability no", "probability yes"]], without, rtol=1e-12)
    _serve_and_compare(kits, files, tmp_path, ids, every, without)


def _serve_and_compare(
    kits: dict[str, Kit], files: dict[str, Path], tmp_path: Path, ids: list[int], every: Any, without: Any
) -> None:
    """The service begins without the shop, and asks it once it is there."""
    port = free_port()
    command = _command("serve", kits["bank"].folder, "--site", files["bank"], "--port", port, "--cache-rows", 0)
    with (tmp_path / "serve.log").open("wb") as log:
        service = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        assert wait_until(lambda: _answer(port, ids) is not None, 180)
        said = _answer(port, ids)
        assert said is not None and said["unreachable"] == ["shop"] and said["absent"] == {"shop": 150}
        np.testing.assert_allclose(said["probabilities"], without, rtol=1e-6)
        start(kits["shop"], files["shop"], tmp_path / "shop.log")
        assert wait_until(lambda: (_answer(port, ids) or {}).get("unreachable") == [], 240, step=1)
        said = _answer(port, ids)
        assert said is not None and said["absent"] == {}
        np.testing.assert_allclose(said["probabilities"], every, rtol=1e-6)
    finally:
        service.send_signal(signal.SIGINT)
        assert service.wait(30) == 0


def _answer(port: int, ids: list[int]) -> dict[str, Any] | None:
    question = urllib.request.Request(
        f"http://127.0.0.1:{port}/predict", json.dumps({"ids": ids}).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(question, timeout=30) as reply:
            return dict(json.load(reply))
    except urllib.error.URLError:
        return None


def _train_and_compare(kits: dict[str, Kit], files: dict[str, Path], tmp_path: Path) -> None:
    bank = read_site(files["bank"])
    refused: dict[str, Any] = {"epochs": 1, "pretrain_epochs": 1}
    wanted = [*METHODS.items(), ("ss-vfl-c", refused)]
    runs = [Run(secrets.token_hex(16), method, options) for method, options in wanted]
    *records, error = attempt(kits["bank"], bank, runs)
    for record, (method, options) in zip(records, METHODS.items(), strict=True):
        assert isinstance(record, dict), record
        alone = in_process(method, **options)
        assert record["traffic"] == alone.traffic_.to_json()
        engine = alone.federation_.engine
        assert isinstance(engine, InProcess)
        for party in (alone.federation_.active, *engine.parties.values()):
            there = load_file(files[party.name].parent / "out" / f"{record['run']}-{party.name}.safetensors")
            here = party.state()
            assert there.keys() == here.keys()
            assert all(torch.equal(there[k], here[k]) for k in here), (method, party.name)
    assert isinstance(error, TrainingError) and "site 'telco': the policy refuses 'ss-vfl-c': methods = " in str(error)
    assert "the policy refuses 'ss-vfl-c'" in (tmp_path / "telco.log").read_text()
