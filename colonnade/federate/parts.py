"""What a party keeps of a trained model: its own part, at its own site. Files appear complete or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from colonnade.party import Party


def write_part(folder: Path, party: Party, run: str) -> Path:
    """Write a party's weights, and what its preprocessing learnt."""
    from safetensors.torch import save

    weights = {k: v.detach().cpu().contiguous().clone() for k, v in party.state().items()}
    made = party.preprocessor
    write_json(folder / f"{run}-{party.name}.json", {
        "party": party.name, "width": party.width, "preprocessing": None if made is None else made.to_json(),
    })  # fmt: skip
    return _write(folder / f"{run}-{party.name}.safetensors", save(weights))


def write_json(path: Path, content: Any) -> Path:
    """Write JSON."""
    return _write(path, json.dumps(content, indent=1).encode())


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return path
