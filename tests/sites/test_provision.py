"""Kits: what is in them, and what was tightened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from colonnade.errors import ConfigError
from colonnade.sites.provisioning.processes import open_kit, running
from colonnade.sites.settings.description import read_federation, read_site

pytest.importorskip("nvflare")
TOML = '[federation]\nname = "two"\nactive = "bank"\npassive = ["shop", "tele-co"]\n'


@pytest.fixture(scope="module")
def kits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from colonnade.sites.provisioning.provision import provision

    folder = tmp_path_factory.mktemp("provision")
    (folder / "federation.toml").write_text(TOML)
    return provision(folder / "federation.toml", folder / "kits")


def test_every_party_has_a_kit_and_its_key_is_its_own(kits: dict[str, Path]) -> None:
    assert list(kits) == ["bank", "shop", "tele-co"]
    keys = [kits["bank"] / "server/startup/server.key", *(kits[n] / "startup/client.key" for n in ("shop", "tele-co"))]
    assert len({key.read_bytes() for key in keys}) == 3
    assert all(key.stat().st_mode & 0o077 == 0 for key in keys)
    assert not list(kits["shop"].rglob("cert.json"))  # the authority's key
    for name, folder in kits.items():
        kit = open_kit(folder)
        assert (kit.party, kit.active) == (name, name == "bank")
        assert not running(kit)


def test_the_server_listens_on_loopback_alone(kits: dict[str, Path]) -> None:
    config = json.loads((kits["bank"] / "server/startup/fed_server.json").read_text())
    assert config["servers"][0]["service"]["target"] == "localhost:8002"
    assert config["servers"][0]["connection_security"] == "mtls"


def test_a_job_may_bring_no_code_and_nobody_reads_a_site_from_afar(kits: dict[str, Path]) -> None:
    for local in (kits["bank"] / "server/local", kits["shop"] / "local", kits["tele-co"] / "local"):
        rights = json.loads((local / "authorization.json").read_text())["permissions"]
        assert all(rights[role].get("byoc", "none") == "none" for role in rights)
        assert all(rights[role].get("shell_commands", "none") == "none" for role in rights)
        resources = json.loads((local / "resources.json").read_text())
        assert [name for name in resources["class_allow_list"] if name.startswith("colonnade")] == [
            "colonnade.sites.running.components.Active", "colonnade.sites.running.components.Passive",
            "colonnade.sites.running.components.Relay",
        ]  # fmt: skip
        assert resources["class_list_enforcement_mode"] == "enforce"
        assert resources["allow_log_streaming"] is False
        assert not [c for c in resources["components"] if "log_streamer" in c["path"]]


def test_kits_are_not_made_over_others(kits: dict[str, Path]) -> None:
    from colonnade.sites.provisioning.provision import provision

    with pytest.raises(ConfigError, match="is not empty"):
        provision(kits["bank"] / "federation.toml", kits["bank"].parent)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('host = "0.0.0.0"', "nobody reaches host"),
        ("port = 70000", "port must be a whole number from 1 to 65535. Got 70000"),
        ('hots = "x"', "unknown key 'hots'. Did you mean 'host'?"),
        ("timeout = 0", "timeout must be a number of seconds above 0"),
    ],
)
def test_what_is_wrong_with_a_federation_is_told(line: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "federation.toml"
    path.write_text(TOML + line)
    with pytest.raises(ConfigError, match=error.replace("?", r"\?")):
        read_federation(path)


def test_what_is_wrong_with_a_site_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('[site]\nparty = "shop"\nnormalise = "mail"\n[policy]\nmethods = ["splitn"]\nrows = 0\n[speed]\n')
    with pytest.raises(ConfigError) as caught:
        read_site(path)
    text = str(caught.value)
    for part in (
        "5 problems",
        "normalise = 'mail' is no rule. Did you mean 'email'?",
        "no [table]",
        "Did you mean 'splitnn'?",
        "rows must be",
        "'speed'",
    ):
        assert part in text


def test_flare_rebuilds_no_array_and_no_model_once_pinned() -> None:
    import subprocess
    import sys

    code = (
        "import numpy as np\n"
        "from nvflare.fuel.utils import fobs\n"
        "from nvflare.app_common.decomposers import numpy_decomposers\n"
        "from colonnade.sites.provisioning.pinned import pin_types\n"
        "numpy_decomposers.register()\n"
        "array, plain = fobs.dumps({'x': np.zeros(3)}), fobs.dumps({'kwargs': {'frame': b'abc'}, 'args': (1,)})\n"
        "assert len(fobs.loads(array)['x']) == 3\n"
        "dropped = pin_types()\n"
        "assert 'numpy.ndarray' in dropped and 'argparse.Namespace' in dropped\n"
        "assert fobs.loads(plain)['kwargs']['frame'] == b'abc'\n"
        "try:\n    fobs.loads(array)\nexcept ValueError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "must be registered" in done.stdout or "is not allowed" in done.stdout, done.stderr
