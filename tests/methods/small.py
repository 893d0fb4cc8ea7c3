"""Methods at a size that a test can afford."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import colonnade as cn

NETWORK: dict[str, Any] = {"hidden": (24,), "width": 12, "epochs": 30, "batch_size": 32, "learning_rate": 0.01}
PRETRAINED: dict[str, Any] = {"pretrain_epochs": 4, "pretrain_batch_size": 64}
SMALL: dict[str, dict[str, Any]] = {
    "lightgbm": {"trees": 40},
    "secureboost": {"trees": 40, "depth": 3, "learning_rate": 0.2, "encrypt": False},
    "fed-local-ssl": {"projection": 16},
    "fedonce-pca": {"width": 3},
    "fedonce-l1": {"epsilon": 200.0, "learning_rate": 0.3},
    **{name: {"projection": 16} for name in ("fedcssl", "fedgssl", "fedhssl", "fedgssl*", "fedhssl*", "hybrid")},
}


def small(name: str, **options: Any) -> cn.Method:
    """The method with small networks and few epochs."""
    method = cn.METHODS[name]
    known = {field.name for field in fields(method)}
    shared = {**NETWORK, **PRETRAINED} if "epochs" in known else {}
    base = {k: v for k, v in shared.items() if k in known}
    return method(**{**base, **SMALL.get(name, {}), **options})
