"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Any) -> None:
    """Write JSON beside its place and move it there, so that a crash leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=1, default=_plain, allow_nan=False) + "\n")
    draft.replace(path)


def _plain(value: Any) -> Any:
    """numpy numbers as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
