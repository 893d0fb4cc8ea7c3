"""What is kept of a case: digests of tensors and arrays, numbers as they are, and nothing that a clock gives."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch

TIMES = {"seconds", "core_seconds", "date"}  # what a clock gives
ORIGIN = {"versions", "colonnade", "commit"}  # what says which tree it was
# fields that later trees add, as the changelog says
ANNOUNCED = {"declarations", "allowed", "skills", "skills2", "skills3", "skills4"}
IGNORED = frozenset(TIMES | ORIGIN | ANNOUNCED)


def of_bytes(content: bytes) -> str:
    """A short digest."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def of_array(array: Any) -> str:
    """Type, shape and a digest of every bit of an array or tensor."""
    if isinstance(array, torch.Tensor):
        array = array.detach().cpu().contiguous()
        content = array.reshape(-1).view(torch.uint8).numpy().tobytes() if array.numel() else b""
        return f"{str(array.dtype).removeprefix('torch.')} {tuple(array.shape)} {of_bytes(content)}"
    array = np.ascontiguousarray(array)
    content = repr(array.tolist()).encode() if array.dtype.kind in "OU" else array.tobytes()
    return f"{array.dtype} {array.shape} {of_bytes(content)}"


def of_json(content: Any, ignored: Collection[str] = IGNORED) -> Any:
    """JSON without the fields that are ignored; floats stay exact, as they are written by `repr`."""
    if isinstance(content, dict):
        return {str(key): of_json(value, ignored) for key, value in content.items() if key not in ignored}
    if isinstance(content, list | tuple):
        return [of_json(value, ignored) for value in content]
    if isinstance(content, float | np.floating):
        number = float(content)
        return number if math.isfinite(number) else repr(number)
    if isinstance(content, np.ndarray | torch.Tensor):
        return of_array(content)
    return content.item() if isinstance(content, np.generic) else content


def of_folder(folder: Path) -> dict[str, Any]:
    """Every safetensors file of a folder, tensor by tensor, and every JSON file, by name."""
    from safetensors.torch import load_file

    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".safetensors":
            found[name] = {key: of_array(tensor) for key, tensor in sorted(load_file(path).items())}
        elif path.suffix == ".json":
            found[name] = of_json(json.loads(path.read_text()))
    return found
