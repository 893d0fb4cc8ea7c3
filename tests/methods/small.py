"""Methods at a size that a test can afford."""

from __future__ import annotations

from typing import Any

import colonnade as cn
from colonnade.methods.network import NetworkMethod

NETWORK: dict[str, Any] = {"hidden": (24,), "width": 12, "epochs": 30, "batch_size": 32, "learning_rate": 0.01}
SMALL: dict[str, dict[str, Any]] = {"lightgbm": {"trees": 40}}


def small(name: str, **options: Any) -> cn.Method:
    """The method with small networks and few epochs."""
    method = cn.METHODS[name]
    base = NETWORK if issubclass(method, NetworkMethod) else {}
    return method(**{**base, **SMALL.get(name, {}), **options})
