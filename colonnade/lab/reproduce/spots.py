"""What was measured at each place of a table: the records of its seeds, and any measure of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from colonnade.data.metrics import LOWER_IS_BETTER
from colonnade.lab.report.summary import bytes_to_target
from colonnade.lab.reproduce.form import Data, Recipe, data_named
from colonnade.lab.reproduce.plan import Place

LOWER = ("bytes", "seconds", "bytes-to", "loss", "attack", "epsilon")  # measures of which less is better
Values = dict[int, float]  # by seed


@dataclass(frozen=True)
class Spot:
    """The runs at one place."""

    place: Place
    run: str  # the method as it was run
    records: Mapping[int, Mapping[str, Any]]  # by seed
    kept: Mapping[str, Values] = field(default_factory=dict)  # by measure: of a recorded result, without its runs
    metric: str = ""  # of a recorded result

    def at(self, axis: str) -> str | None:
        """What the paper calls the value of an axis here."""
        return self.place.value(axis)


Measured = dict[Place, Spot]


def of_result(result: Mapping[str, Any]) -> Measured:
    """What a recorded result holds: each measure of each seed, without the runs."""
    found: Measured = {}
    for line in result["numbers"]:
        place = Place(line["data"], line["method"], tuple(line["at"].items()))
        spot = found.setdefault(place, Spot(place, line["run"], {}, {}, line["metric"]))
        seeds = line.get("seeds", range(line["of"]))
        given = {seed: value for seed, value in zip(seeds, line["values"], strict=True) if value is not None}
        metric = line["metric"] if line["measure"] == "score" else spot.metric
        found[place] = replace(spot, kept={**spot.kept, line["measure"]: given}, metric=metric)
    return found


def values(made: Recipe, spot: Spot, measure: str = "score") -> Values:
    """A measure of each seed's run; seeds that have none, as a target never reached, are left out."""
    if spot.kept:
        return dict(spot.kept.get(measure, {}))
    data = data_named(made, spot.place.data)
    target = made.targets.get(spot.at("labels") or "")
    found = {seed: _measure(record, measure, data, target) for seed, record in spot.records.items()}
    return {seed: value for seed, value in found.items() if value is not None and math.isfinite(value)}


def _measure(record: Mapping[str, Any], measure: str, data: Data, target: float | None) -> float | None:
    if measure == "score":
        return float(record["scores"][data.metric or record["metric"]]) * data.factor
    if measure == "bytes":
        return float(record["traffic"]["bytes"])
    if measure == "seconds":
        return float(record["seconds"])
    if measure == "bytes-to":
        return None if target is None else bytes_to_target(dict(record), target)
    if measure == "silhouette":
        found: float | None = record.get("map", {}).get("silhouette")
        return found
    if measure == "loss":  # how far it fell: the last of training over the first
        losses = [e["loss"] for e in record["history"] if e.get("phase") == "train" and "loss" in e]
        return losses[-1] / losses[0] if losses and losses[0] else None
    if measure == "epsilon":
        return float(record["epsilon"])
    finding = _finding(record)
    return None if finding is None else float(finding["score" if measure == "attack" else "baseline"])


def _finding(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the attack found about new rows."""
    attacks = record.get("tradeoff", {}).get("attacks", {}).values()
    every = [finding for attack in attacks for finding in attack["findings"]]
    return next((f for f in every if f["target"].endswith("new rows")), every[0] if every else None)


def lower_is_better(made: Recipe, spot: Spot, measure: str) -> bool:
    """Whether less of a measure is better."""
    if measure != "score":
        return measure in LOWER
    return metric_of(made, spot) in LOWER_IS_BETTER


def metric_of(made: Recipe, spot: Spot) -> str:
    """What the score of a spot is."""
    if spot.kept:
        return spot.metric
    first = next(iter(spot.records.values()))
    return data_named(made, spot.place.data).metric or str(first["metric"])


def mean(found: Values) -> float:
    """Over seeds; not a number where there is none."""
    return statistics.fmean(found.values()) if found else math.nan


def std(found: Values) -> float | None:
    """Over seeds, with n - 1; None for one seed."""
    return statistics.stdev(found.values()) if len(found) > 1 else None


def of_method(measured: Measured, data: str, method: str) -> list[Spot]:
    """The spots of a method on a data set, in the order of the plan."""
    return [spot for place, spot in measured.items() if (place.data, place.method) == (data, method)]


def partners(measured: Measured, spot: Spot, method: str) -> list[Spot]:
    """The spots of another method in the same setting: equal along every axis that both have."""
    mine = dict(spot.place.at)
    return [
        other
        for other in of_method(measured, spot.place.data, method)
        if all(mine.get(axis, name) == name for axis, name in other.place.at)
    ]


def lanes(spots: Iterable[Spot], axis: str) -> list[list[Spot]]:
    """Spots that differ along one axis only, in the order of its values."""
    found: dict[Place, list[Spot]] = {}
    for spot in spots:
        if spot.at(axis) is not None:
            found.setdefault(spot.place.without(axis), []).append(spot)
    return list(found.values())
