"""Startup kits: one folder per party with its certificate, made by FLARE's provisioning from federation.toml.

FLARE's defaults are tightened in each kit: the server listens on one address; no code comes with a job; a job may name
our two objects and nothing else; nobody reads files of a site or stops it from afar; no log leaves a site.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from colonnade.errors import ConfigError, MissingDependencyError
from colonnade.sites.settings.description import FederationFile, read_federation

ALLOWED = [
    "nvflare.collab.runtime.controller.CollabController", "nvflare.collab.runtime.executor.CollabExecutor",
    "colonnade.sites.running.components.Active", "colonnade.sites.running.components.Passive",
    "colonnade.sites.running.components.Relay",
]  # fmt: skip
DROPPED = ("site_log_streamer", "log_receiver")  # FLARE's components that send error logs to the server
RIGHTS = {
    "submit_job": "any", "clone_job": "none", "manage_job": "n:submitter", "download_job": "none", "view": "any",
    "operate": "o:site", "shell_commands": "none", "byoc": "none", "server-predeployed-flwr": "none",
}  # fmt: skip
_BUILDERS = [
    ("workspace.WorkspaceBuilder", {"template_file": ["master_template.yml"]}),
    ("static_file.StaticFileBuilder", {"config_folder": "config", "scheme": "grpc"}),
    ("cert.CertBuilder", {}),
    ("signature.SignatureBuilder", {}),
]


def admin_of(federation: FederationFile) -> str:
    """Who submits jobs: a user of the active party's."""
    return f"admin@{federation.active.replace('_', '-')}.local"


def provision(path: Path, out: Path) -> dict[str, Path]:
    """Write a kit for each party of a federation.toml; folders by party. The authority's key stays in `out`."""
    federation = read_federation(path)
    if out.exists() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty. New kits would not fit certificates that are in use; choose another.")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".draft-") as draft:
        made = _provision(federation, Path(draft))
        active = out / federation.active
        active.mkdir()
        shutil.move(made / federation.host, active / "server")
        shutil.move(made / admin_of(federation), active / "admin")
        for name in federation.passive:
            shutil.move(made / name, out / name)
        shutil.move(Path(draft) / federation.name / "state", out / "authority")
    (out / "authority").chmod(0o700)
    _tighten(active / "server", federation, server=True)
    kits = {federation.active: active, **{name: out / name for name in federation.passive}}
    for name, kit in kits.items():
        kit.chmod(0o700)
        shutil.copyfile(path, kit / "federation.toml")
        if name != federation.active:
            _tighten(kit, federation, server=False)
    return kits


def _provision(federation: FederationFile, folder: Path) -> Path:
    try:
        from nvflare.lighter.provision import prepare_builders, prepare_project
        from nvflare.lighter.provisioner import Provisioner
    except ImportError:
        raise MissingDependencyError("`federate` needs FLARE. Run: pip install 'colonnade[federate]'") from None
    project = _project(federation)
    quiet = _Quiet()
    context = Provisioner(str(folder), prepare_builders(project)).provision(prepare_project(project), logger=quiet)
    if context.get("build_error"):
        raise ConfigError(f"FLARE could not make the kits: {'; '.join(quiet.errors)}")
    return Path(str(context["current_prod_dir"]))


def _project(federation: FederationFile) -> dict[str, Any]:
    """The federation as FLARE's project file says it; each party is an organisation of its own."""
    server = {
        "name": federation.host, "type": "server", "org": _org(federation.active), "fed_learn_port": federation.port,
        "admin_port": federation.port,
    }  # fmt: skip
    clients = [
        {"name": name, "type": "client", "org": _org(name), "allow_log_streaming": False} for name in federation.passive
    ]
    admin = {"name": admin_of(federation), "type": "admin", "org": _org(federation.active), "role": "lead"}
    return {
        "api_version": 3, "name": federation.name, "description": "made by Colonnade",
        "participants": [server, *clients, admin],
        "builders": [{"path": f"nvflare.lighter.impl.{name}", "args": args} for name, args in _BUILDERS],
    }  # fmt: skip


def _org(party: str) -> str:
    return party.replace("-", "_")


def _tighten(kit: Path, federation: FederationFile, *, server: bool) -> None:
    """Replace FLARE's defaults in a kit's `local`."""
    local = kit / "local"
    resources = json.loads((local / "resources.json.default").read_text())
    resources |= {"class_allow_list": ALLOWED, "class_list_enforcement_mode": "enforce", "allow_log_streaming": False}
    resources["components"] = [c for c in resources["components"] if c["id"] not in DROPPED]
    if server:
        _listen(kit / "startup" / "fed_server.json", federation)
    _write(local / "resources.json", resources)
    roles: dict[str, Any] = dict.fromkeys(("project_admin", "org_admin", "lead"), RIGHTS)
    _write(
        local / "authorization.json", {"format_version": "1.0", "permissions": {**roles, "member": {"view": "none"}}}
    )
    logs = json.loads((local / "log_config.json.default").read_text())
    logs["loggers"]["nvflare.collab"] = {"level": "WARNING"}  # two lines for each call otherwise
    _write(local / "log_config.json", logs)


def _listen(path: Path, federation: FederationFile) -> None:
    """The address that the server binds; FLARE's own template leaves none but the host's."""
    content = json.loads(path.read_text())
    service = content["servers"][0]["service"]
    service["target"] = f"{federation.listen or federation.host}:{federation.port}"
    _write(path, content)


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2))


class _Quiet:
    """Collects what FLARE's provisioning says."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def debug(self, message: str) -> None:
        """Not shown."""

    info = debug

    def warning(self, message: str) -> None:
        """Kept for an error."""
        self.errors.append(message)

    error = warning
