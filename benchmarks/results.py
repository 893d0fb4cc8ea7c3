"""Read the runs kept in `results/` for the headline table: one `Score` per data set, labels and method."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
FEW_LABELS = RESULTS / "few-labels.json"


@dataclass(frozen=True)
class Score:
    """A method's mean score over seeds, its standard deviation, and the mean of the bytes it sent."""

    mean: float
    std: float
    bytes: float
    seeds: int


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def of_runs(runs: Sequence[dict[str, Any]], **wanted: Any) -> Score:
    """The runs whose entries are `wanted`, e.g. `data="digits", method="splitnn"`."""
    found = [run for run in runs if all(run.get(name) == value for name, value in wanted.items())]
    if len(found) < 2:
        raise LookupError(f"{len(found)} runs with {wanted}; a mean and a standard deviation need two.")
    scores = [run["score"] for run in found]
    sent = statistics.fmean(run["bytes"] for run in found)
    return Score(statistics.fmean(scores), statistics.stdev(scores), sent, len(found))


def of_numbers(path: Path, data: str, method: str, at: dict[str, str] | None = None) -> Score:
    """A number in the record of a paper's table."""
    for number in read(path)["numbers"]:
        if (number["data"], number["run"], number["at"], number["ours"]) == (data, method, at or {}, False):
            return Score(number["mean"], number["std"], number["bytes"], number["n"])
    raise LookupError(f"{path.name} has no number of {method} on {data} at {at}.")
