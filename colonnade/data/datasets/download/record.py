"""downloads.json in the data folder: what was downloaded from where, when, and with which checksum."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from colonnade.data.datasets.download.origin import Remote

NAME = "downloads.json"


def note(root: Path, remote: Remote, sha256: str, size: int) -> str | None:
    """Record one file. Returns the checksum recorded before, if it was another one."""
    path = root / NAME
    content = _read(path)
    before = content.get(remote.urls[0], {}).get("sha256")
    content[remote.urls[0]] = {
        "sha256": sha256,
        "bytes": size,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "checked": "against the known checksum" if remote.sha256 else "by its rows; no checksum of the source is known",
    }
    draft = path.with_name(f".{NAME}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=1) + "\n")
    draft.replace(path)
    return before if before != sha256 else None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
