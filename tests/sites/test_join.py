"""`federate join` looks before it starts: at its port, and at whether the site runs already."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from colonnade.errors import ConfigError
from colonnade.sites.provisioning import processes
from colonnade.sites.provisioning.processes import Kit, check_kit, check_port, join
from colonnade.sites.provisioning.provision import ALLOWED
from colonnade.sites.settings.description import FederationFile
from tests.sites.small import write_sites


def test_a_port_in_use_is_said_with_a_way_out() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        federation = FederationFile(name="two", active="bank", passive=("shop",), port=port)
        with pytest.raises(ConfigError, match=rf"port {port} of localhost is in use.*change port in federation.toml"):
            check_port(federation)
    check_port(federation)


def test_a_second_join_is_refused_and_leaves_the_first_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = Kit(tmp_path / "shop", FederationFile(name="two", active="bank", passive=("shop",)))
    kit.folder.mkdir()
    site = write_sites(tmp_path / "homes")["shop"]
    stopped: list[Any] = []
    monkeypatch.setattr(processes, "running", lambda kit: [1])
    monkeypatch.setattr(processes, "stop", stopped.append)
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)
    with pytest.raises(ConfigError, match="party 'shop' runs already"):
        join(kit, site)
    assert not stopped and not (kit.folder / "flare.log").exists()


def kit_of(folder: Path, version: str) -> Kit:
    """A shop's kit as a version of the package provisioned it."""
    local = folder / "kits" / "shop" / "local"
    local.mkdir(parents=True)
    classes = [name.replace("colonnade.sites.running", version) for name in ALLOWED]
    (local / "resources.json").write_text(json.dumps({"class_allow_list": classes}))
    return Kit(local.parent, FederationFile(name="two", active="bank", passive=("shop",)))


@pytest.mark.parametrize("content", [None, "{", "{}"])
def test_a_kit_of_an_earlier_version_is_to_be_provisioned_again(tmp_path: Path, content: str | None) -> None:
    check_kit(kit_of(tmp_path / "new", "colonnade.sites.running"))
    kit = kit_of(tmp_path / "old", "colonnade.federate")
    if content is not None:
        (kit.folder / "local" / "resources.json").write_text(content)
    with pytest.raises(ConfigError, match=r"shop was provisioned by another version of Colonnade: provision again.$"):
        check_kit(kit)


def test_join_refuses_an_earlier_kit_before_it_starts_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = kit_of(tmp_path, "colonnade.federate")
    started: list[Any] = []
    monkeypatch.setattr(processes, "running", lambda kit: [])
    monkeypatch.setattr(processes, "start", lambda *given: started.append(given))
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)
    with pytest.raises(ConfigError, match="provision again"):
        join(kit, write_sites(tmp_path / "homes")["shop"])
    assert not started and not (kit.folder / "flare.log").exists()


@pytest.mark.parametrize(("policy", "warns"), [("", True), ("rows = 9", True), ('methods = ["splitnn"]', False)])
def test_a_policy_without_methods_is_warned_about_once(
    policy: str, warns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kit = kit_of(tmp_path, "colonnade.sites.running")
    monkeypatch.setattr(processes, "running", lambda kit: [])
    monkeypatch.setattr(processes, "_keep_running", lambda *given: 0)
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)
    join(kit, write_sites(tmp_path / "homes", {"shop": policy})["shop"])
    assert capsys.readouterr().out.count("names no methods, so bank may train any of them here") == warns
