"""Saved models: safetensors and JSON, never pickle. `colonnade.methods.registry.load` reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade.methods._base.fitted import Fitted
from colonnade.methods._base.folder import new_folder

if TYPE_CHECKING:
    from colonnade.methods._base.method import Method

FORMAT = 1
MARKER = "model.json"


def save_model(method: Method, fitted: Fitted, folder: Path) -> Path:
    """Write a trained method into a new or empty folder, or in the place of an earlier saved model."""
    from safetensors.torch import save_file

    own, tensors = fitted.state()
    names = {name: f"{name}.safetensors" for name in tensors}
    shared = {
        "format": FORMAT, "method": method.name, "files": [MARKER, *names.values()],
        "options": method.options_json(), "task": method.task_, "metric": method.metric_, "active": method.active_,
        "history": method.history_, "traffic": method.traffic_.to_json(),
    }  # fmt: skip
    with new_folder(folder, MARKER) as draft:
        (draft / MARKER).write_text(json.dumps({**shared, **own}, indent=1))
        for name, content in tensors.items():
            save_file({k: v.detach().cpu().contiguous().clone() for k, v in content.items()}, draft / names[name])
    return folder
