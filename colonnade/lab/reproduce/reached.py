"""How many times the bytes another method needs until it is as good on validation rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from colonnade.lab.report.summary import bytes_to_target, higher_is_better
from colonnade.lab.reproduce.evidence import Evidence, computed, evidence

Record = Mapping[str, Any]


def ratios_of(pairs: Sequence[tuple[Record, Record]]) -> tuple[list[float], bool] | None:
    """The bytes that the second needs over those that the first sent, by seed; None where nothing says so.

    Where the second never gets as good, what it sent in all counts: it needs at least that. Then the second value is
    true.
    """
    found = [ratio for mine, other in pairs if (ratio := _ratio(mine, other)) is not None]
    return ([ratio for ratio, _ in found], any(never for _, never in found)) if found else None


def _ratio(mine: Record, other: Record) -> tuple[float, bool] | None:
    seen = [epoch["validation"] for epoch in mine["history"] if "validation" in epoch]
    sent = mine["traffic"]["bytes"]
    if not seen or not sent or not any("validation" in epoch for epoch in other["history"]):
        return None
    best = max(seen) if higher_is_better(mine["metric"]) else min(seen)
    needed = bytes_to_target(dict(other), best)
    return (other["traffic"]["bytes"] if needed is None else needed) / sent, needed is None


def evidence_of_ratios(
    ratios: Sequence[float], times: float, *, counted: bool = False, at_least: bool = False
) -> Evidence:
    """Test ratios against a number of times, as differences of logarithms.

    Args:
        ratios: one for each seed.
        times: what the claim asks for.
        counted: whether equal ratios need no test.
        at_least: whether a ratio may be more than it says; then nothing bounds them from above.
    """
    if ratios and all(math.isinf(ratio) for ratio in ratios):
        return computed(math.inf, len(ratios), times)
    if not all(0 < ratio < math.inf for ratio in ratios):
        return Evidence(math.nan, len(ratios), times, why="a ratio of bytes is 0 or infinite")
    found = evidence([math.log(ratio) for ratio in ratios], math.log(times), counted=counted)
    low = None if found.low is None else math.exp(found.low)
    high = None if found.high is None else math.inf if at_least else math.exp(found.high)
    return replace(found, difference=math.exp(found.difference), margin=times, low=low, high=high)
