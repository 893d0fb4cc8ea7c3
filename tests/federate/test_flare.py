"""The real thing: kits, a server and two sites as processes of their own, mutual TLS on loopback, FLARE jobs."""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from colonnade.federate.description import read_site
from colonnade.federate.jobs import TrainingError, connected, train_all
from colonnade.federate.processes import Kit, open_kit, running, start, stop, wait_until
from colonnade.methods.network import NetworkMethod
from colonnade.wire.engines.in_process import InProcess
from tests.federate.small import METHODS, in_process, write_sites

pytest.importorskip("nvflare")
pytestmark = pytest.mark.flare


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[dict[str, Kit], dict[str, Path]]]:
    from colonnade.federate.provision import provision

    policies = {"telco": f"methods = {list(METHODS)}"}
    files = write_sites(tmp_path / "homes", policies)
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
    from colonnade.federate.provision import provision

    kits, files = sites
    foreign = provision(kits["bank"].folder / "federation.toml", tmp_path / "foreign")["telco"]
    connect(kits["bank"], kits["telco"].workspace / "startup" / "client.crt")
    for certificate in (None, foreign / "startup" / "client.crt"):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(kits["bank"], certificate)
    stranger = forged(kits, tmp_path / "forged")
    try:
        start(stranger, files["telco"], tmp_path / "forged.log")
        _train_and_compare(kits, files, tmp_path)
        assert "authenticated as 'shop' but claimed endpoint 'telco'" in (tmp_path / "bank.log").read_text()
    finally:
        stop(stranger)


def _train_and_compare(kits: dict[str, Kit], files: dict[str, Path], tmp_path: Path) -> None:
    bank = read_site(files["bank"])
    refused: dict[str, Any] = {"epochs": 1, "pretrain_epochs": 1}
    *records, error = train_all(kits["bank"], bank, [*METHODS.items(), ("ss-vfl-c", refused)])
    for record, (method, options) in zip(records, METHODS.items(), strict=True):
        assert isinstance(record, dict), record
        alone = in_process(method, **options)
        assert isinstance(alone, NetworkMethod)
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
