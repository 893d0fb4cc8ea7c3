"""Run a random tenth of a recorded table again, and say where the scores differ from the record."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from colonnade.data.datasets import DATASETS
from colonnade.errors import ConfigError
from colonnade.lab.compare.compare import Outcome
from colonnade.lab.reproduce.form import Recipe
from colonnade.lab.reproduce.outcome import Result, measured_of
from colonnade.lab.reproduce.plan import Place, Planned, plan
from colonnade.lab.reproduce.reproduce import Asked, Done, Job, failure, how_to_get, outcomes_of
from colonnade.lab.reproduce.spots import of_result, values

EXACT = 1e-6
SHARE = 10  # one cell of so many is run again
MEASURES = ("score", "epsilon", "attack", "bytes")  # what a run gives again; seconds differ


@dataclass(frozen=True)
class Checked:
    """A cell that was run again."""

    what: str
    recorded: dict[str, float]  # by measure
    found: dict[str, float]
    error: str = ""

    @property
    def differences(self) -> list[str]:
        """Where it is not what the record says."""
        if self.error:
            return [f"{self.what}: {self.error}"]
        return [
            f"{self.what}: {measure} is {self.found.get(measure, math.nan):.9g}, recorded {value:.9g}"
            for measure, value in self.recorded.items()
            if not abs(self.found.get(measure, math.nan) - value) <= EXACT * max(1.0, abs(value))
        ]


def check_again(made: Recipe, result: Result, *, jobs: int, done: Done, draw: random.Random) -> list[Checked]:
    """Run a tenth of the cells that are recorded, at least one, as they were asked for then."""
    found = []
    chosen = _drawn(made, result, draw)
    for data in result["data"]:
        mine = [item for item in chosen if item.place.data == data["name"]]
        if mine:
            with tempfile.TemporaryDirectory() as folder:
                asked = Asked(Path(folder), jobs=jobs, commit="check", tune=data.get("tune") or 1)
                (outcomes,) = outcomes_of([Job(made, mine, {}, Path(folder))], asked, done)
            found += [_checked(made, result, item, outcomes) for item in mine]
    return found


def _drawn(made: Recipe, result: Result, draw: random.Random) -> list[Planned]:
    """The cells to run again."""
    known = recorded_cells(made, result)
    here = [item for item in known if made.loss or DATASETS[item.place.data].available()]
    if not known:
        raise ConfigError(f"{made.name} has no recorded cell that its recipe still names. Record the table again.")
    if not here:
        raise ConfigError(f"{made.name} cannot be checked: {known[0].place.data} is {how_to_get(known[0].place.data)}")
    return sorted(draw.sample(here, max(1, round(len(here) / SHARE))), key=here.index)


def recorded_cells(made: Recipe, result: Result) -> list[Planned]:
    """The cells of the recipe that have a recorded value; a setting that was asked for then is asked for again."""
    measured = of_result(result)
    found: list[Planned] = []
    for data in result["data"]:
        seeds = {place: _seeds(measured[place].kept) for place in measured if place.data == data["name"]}
        most = max((max(known, default=-1) for known in seeds.values()), default=-1) + 1
        if most:
            planned = plan(made, seeds=most, settings=data.get("settings"))
            found += [item for item in planned if item.cell.seed in seeds.get(item.place, ())]
    return [replace(item, cell=replace(item.cell, with_map=False)) for item in found]


def _seeds(kept: Mapping[str, Mapping[int, float]]) -> set[int]:
    return {seed for measure in MEASURES for seed in kept.get(measure, {})}


def _checked(made: Recipe, result: Result, item: Planned, outcomes: Mapping[str, Outcome]) -> Checked:
    what = _what(item)
    outcome = outcomes[item.cell.key]
    recorded = _values(of_result(result)[item.place].kept, item.cell.seed)
    if outcome.record is None:
        return Checked(what, recorded, {}, failure(outcome))
    spot = measured_of([item], {item.cell.key: outcome.record})[item.place]
    found = {measure: values(made, spot, measure) for measure in recorded}
    return Checked(what, recorded, _values(found, item.cell.seed))


def _values(kept: Mapping[str, Mapping[int, float]], seed: int) -> dict[str, float]:
    return {m: kept[m][seed] for m in MEASURES if m in kept and seed in kept[m]}


def _what(item: Planned) -> str:
    place: Place = item.place
    setting = "".join(f", {axis} {name}" for axis, name in place.at)
    return f"{place.method} on {place.data}{setting}, seed {item.cell.seed}"


def other_versions(result: Result, today: Mapping[str, Any]) -> list[str]:
    """Versions and hardware of the record that are others here: a reason for differences."""
    found = []
    for data in result["data"]:
        there = {**data.get("versions", {}), "hardware": data["hardware"]}
        found += [
            f"{data['name']}: recorded with {name} {value}, here {today[name]}"
            for name, value in there.items()
            if name in today and today[name] != value
        ]
    return found


def report(checked: Sequence[Checked], others: Sequence[str]) -> str:
    """What was run again and where it differs, as text."""
    lines = [line for one in checked for line in one.differences]
    good = sum(not one.differences for one in checked)
    head = f"{good} of {len(checked)} cells run again give what is recorded, to {EXACT:g}."
    return "\n".join([head, *(f"Differs: {line}" for line in lines), *(f"Note: {text}" for text in others if lines)])
