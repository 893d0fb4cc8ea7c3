"""The model of a folder that `run --out` or `Method.save` wrote."""

from __future__ import annotations

from pathlib import Path

from colonnade.errors import ConfigError
from colonnade.methods._base.method import Method
from colonnade.methods.registry import load


def stored_model(folder: Path) -> Method:
    """The saved model; of a run, the one in its `model` folder."""
    for place in (folder / "model", folder):
        if (place / "model.json").is_file():
            return load(place)
    raise ConfigError(f"{folder} holds no trained model. Give the folder of `run … --out`, or of model.save.")
