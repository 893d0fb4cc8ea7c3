"""What a party keeps of a trained model: its own part, at its own site. Files appear complete or not at all.

`RUN-PARTY.safetensors` has the weights; `RUN-PARTY.json` what the networks are rebuilt from, what the preprocessing
learnt and, at the active party, the method and its classes. `loading.py` reads them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from colonnade.methods._base.fitted import classes_json
from colonnade.methods._base.method import Method
from colonnade.objectives.pca import LinearEncoder
from colonnade.parties.party import Party

FORMAT = 1


def write_part(folder: Path, party: Party, run: str, kept: Mapping[str, Any] | None = None) -> Path:
    """Write a party's weights, what its networks are built from, what its preprocessing learnt, and `kept`."""
    from safetensors.torch import save

    weights = {k: v.detach().cpu().contiguous().clone() for k, v in party.state().items()}
    made = party.preprocessor
    write_json(folder / f"{run}-{party.name}.json", {
        "format": FORMAT, "run": run, "party": party.name, "width": party.width, "precision": party.precision,
        "encoder": _encoder_json(party), "preprocessing": None if made is None else made.to_json(), **(kept or {}),
    })  # fmt: skip
    return write_bytes(folder / f"{run}-{party.name}.safetensors", save(weights))


def _encoder_json(party: Party) -> dict[str, Any] | None:
    """What `Party.build_encoder` takes, and whether learning put a linear encoder in its place."""
    if not party.layers:
        return None
    return {
        **party.layers, "image": party.image, "seed": party.encoder_seed, "tower": party.encoder_tower,
        "linear": isinstance(party.encoder, LinearEncoder),
    }  # fmt: skip


def kept_of(method: Method, absent: Sequence[str] = ()) -> dict[str, Any]:
    """What the active party keeps beside its networks: method, options, classes, who took part, and who left it."""
    fed = method.federation_
    targets = fed.active.targets
    return {
        "method": method.name, "options": method.options_json(), "task": method.task_, "metric": method.metric_,
        "history": method.history_, "traffic": method.traffic_.to_json(), "classes": classes_json(targets.classes),
        "mean": targets.mean, "scale": targets.scale, "passive": list(fed.passive), "widths": fed.active.widths,
        "absent": list(absent),
    }  # fmt: skip


def write_json(path: Path, content: Any) -> Path:
    """Write JSON."""
    return write_bytes(path, json.dumps(content, indent=1).encode())


def write_bytes(path: Path, content: bytes) -> Path:
    """Write a file that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return path
