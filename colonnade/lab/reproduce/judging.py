"""Why a result cannot be judged: a quick run, or few epochs. One seed is the business of each comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.lab.report.kinds import is_short


def too_little_of(result: Mapping[str, Any], data: str) -> str:
    """Why nothing on a data set of a result can be judged; nothing when it can be."""
    entry = next((d for d in result["data"] if d["name"] == data), None)
    if entry is None:
        return "no run"
    if entry["quick"]:
        return "a quick run"
    for name, value in entry.get("settings", {}).items():
        if is_short(name.rpartition(".")[2], value):
            return f"{name}={value}"
    return ""
