"""Which runs are federated, and which are references: the active party alone, or all columns in one place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from colonnade.methods.registry import METHODS

KINDS = {"federated": "federated", "alone": "alone", "pooled": "pooled, not federated"}  # as people read them
FEWEST_SEEDS = 2
FEWEST_EPOCHS = 10
_LENGTHS = ("epochs", "trees")


def kind_of(record: dict[str, Any]) -> str:
    """The kind of a run. Records of earlier versions do not say it; there the method of that name does."""
    if "kind" in record:
        return str(record["kind"])
    name = record["method"].partition(":")[0]
    return METHODS[name].kind if name in METHODS else "federated"


def summary_of(method: str) -> str:
    """Half a line about a method; nothing where it is not one of ours."""
    name = method.partition(":")[0]
    return METHODS[name].summary if name in METHODS else ""


def too_little(records: Iterable[dict[str, Any]]) -> str:
    """Why these runs are too few or too short to say which method is better; nothing when they are not."""
    records = list(records)
    seeds: dict[tuple[Any, ...], int] = {}
    for record in records:
        key = (record["method"], record["config"].get("labels"), record["config"].get("aligned"))
        seeds[key] = seeds.get(key, 0) + 1
    lengths = [value for record in records for name, value in record["config"].items() if is_short(name, value)]
    reasons = []
    if min(seeds.values()) < FEWEST_SEEDS:
        reasons.append("one seed")
    if lengths:
        reasons.append(f"{min(lengths)} epoch{'' if min(lengths) == 1 else 's'}")
    return " and ".join(reasons)


def is_short(option: str, value: Any) -> bool:
    """Whether a value of an option says that training was too short to judge a method by."""
    return option in _LENGTHS and isinstance(value, int) and value < FEWEST_EPOCHS
