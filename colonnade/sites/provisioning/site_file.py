"""Which site file a command means when `--site` is left out: the only one of the kit's party around here."""

from __future__ import annotations

import tomllib
from pathlib import Path

from colonnade.errors import ConfigError
from colonnade.sites.provisioning.processes import Kit

FILE = "site.toml"


def site_path(kit: Kit, given: Path | None, folder: Path = Path()) -> Path:
    """The file that was given, or the only `site.toml` of the kit's party in `folder` or one level below it."""
    if given is not None:
        return given
    found = [path for path in sorted([*folder.glob(FILE), *folder.glob(f"*/{FILE}")]) if _may_be_of(kit.party, path)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(
            f"no {FILE} of party {kit.party!r} is in {folder.resolve()} or one level below it. Name it by --site."
        )
    names = ", ".join(map(str, found))
    raise ConfigError(f"{len(found)} files are for party {kit.party!r}: {names}. Name one by --site.")


def _may_be_of(party: str, path: Path) -> bool:
    """Whether a file is for the party; one that cannot be read may be, so that its own error is shown."""
    try:
        return bool(tomllib.loads(path.read_text(encoding="utf-8"))["site"]["party"] == party)
    except (OSError, ValueError, KeyError, TypeError):
        return True
