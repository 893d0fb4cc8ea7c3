"""`federate join` looks before it starts: at its port, and at whether the site runs already."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from colonnade.errors import ConfigError
from colonnade.sites.provisioning import processes
from colonnade.sites.provisioning.description import FederationFile
from colonnade.sites.provisioning.processes import Kit, check_port, join
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
