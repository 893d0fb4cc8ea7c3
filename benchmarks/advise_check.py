"""How good advice is on data that it has not learnt from: leave one data set out.

Every way of choosing chooses, for each setting, among the methods that were run there and on other data too. It hits
when the mean score of its choice is the best or within one standard deviation of it (over seeds, pooled over the
methods of the setting). Its regret is what it lacks of the best, as a share of the error of a guess that looks at no
column. Means are over data sets, each the mean over its settings.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.advise_runs import Place, Run
from colonnade.lab.advisor.mixed import fit
from colonnade.lab.advisor.recommend import expected
from colonnade.lab.advisor.record import Entry, Record, source, without

ADVISE, RECORD, PROBES = "advise", "record alone", "probes alone"


@dataclass(frozen=True)
class Choice:
    """What one way of choosing chose in one setting."""

    way: str
    setting: str
    source: str
    method: str
    score: float
    best: str
    best_score: float
    hit: bool
    regret: float


@dataclass(frozen=True)
class Way:
    """How good one way of choosing is."""

    way: str
    settings: int
    data: int
    best: float  # share of settings in which it is the best
    hits: float
    regret: float
    regret_of_advise: float  # in the same settings


@dataclass(frozen=True)
class Checked:
    """All choices, and how often expected intervals held."""

    choices: tuple[Choice, ...]
    covered: Mapping[str, float]  # share of single runs inside the interval of 90 %, by what it rests on
    runs: int
    error: Mapping[str, float]  # mean absolute error of expected scores, as a share of the guess's error
    bytes_factor: float  # by which expected bytes are off, median
    seconds_factor: float

    def ways(self) -> list[Way]:
        """Every way of choosing, the least regret first among those that choose everywhere, then fixed methods."""
        names = list(dict.fromkeys(choice.way for choice in self.choices))
        found = [self._way(name) for name in names]
        return sorted(found, key=lambda way: (way.way not in (ADVISE, RECORD, PROBES), way.regret))

    def _way(self, name: str) -> Way:
        mine = [choice for choice in self.choices if choice.way == name]
        places = {choice.setting for choice in mine}
        ours = [choice for choice in self.choices if choice.way == ADVISE and choice.setting in places]
        return Way(
            name, len(mine), len({choice.source for choice in mine}),
            _by_source(mine, lambda c: float(c.method == c.best)), _by_source(mine, lambda c: float(c.hit)),
            _by_source(mine, lambda c: c.regret), _by_source(ours, lambda c: c.regret),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "ways": [asdict(way) for way in self.ways()],
            "covered": dict(self.covered),
            "error": dict(self.error),
            "bytes_factor": self.bytes_factor,
            "seconds_factor": self.seconds_factor,
            "runs": self.runs,
            "choices": [asdict(choice) for choice in self.choices],
        }


def _by_source(choices: Sequence[Choice], value: Any) -> float:
    groups: dict[str, list[float]] = {}
    for choice in choices:
        groups.setdefault(choice.source, []).append(value(choice))
    return statistics.fmean(statistics.fmean(group) for group in groups.values())


def leave_one_out(
    entries: Sequence[Entry], runs: Mapping[Place, Mapping[str, Mapping[int, Run]]], most: float | None = None
) -> Checked | None:
    """Advice for each setting by the record of the other data sets; among methods that sent at most so many bytes.

    None where fewer than three data sets have two such methods.
    """
    by_name = {place.name: methods for place, methods in runs.items()}
    choices: list[Choice] = []
    inside: dict[str, list[bool]] = {ADVISE: [], RECORD: []}
    errors: dict[str, list[float]] = {ADVISE: [], RECORD: []}
    off: dict[str, list[float]] = {"bytes": [], "seconds": []}
    for left in dict.fromkeys(source(entry.data) for entry in entries):
        others = without(entries, left)
        variances = fit([one for entry in others for one in entry.seen()])
        known = Record(tuple(others), variances, {})
        for entry in (one for one in entries if source(one.data) == left):
            names = [name for name in entry.methods if name in known.methods() and _within(entry, name, most)]
            if len(names) < 2:
                continue
            for way, probes in ((ADVISE, entry.probes), (RECORD, {})):
                found = expected(entry.setting, probes, known, names)
                choices.append(_choice(way, entry, names, found[0].method))
                for one in found:
                    measured = [run.score for run in by_name[entry.name][one.method].values()]
                    inside[way] += [one.low <= score <= one.high for score in measured]
                    errors[way].append(abs(one.score - statistics.fmean(measured)) / entry.setting.guess)
                    for what, factors in off.items():
                        factors.extend(_factor(getattr(one, what), getattr(entry.methods[one.method], what)))
            choices += _simple(entry, names)
    if len({choice.source for choice in choices}) < 3:
        return None
    return Checked(
        tuple(choices),
        {way: float(np.mean(values)) for way, values in inside.items()},
        len(inside[ADVISE]),
        {way: float(np.mean(values)) for way, values in errors.items()},
        statistics.median(off["bytes"]),
        statistics.median(off["seconds"]),
    )


def _within(entry: Entry, name: str, most: float | None) -> bool:
    sent = entry.methods[name].bytes
    return most is None or (sent is not None and sent <= most)


def _factor(expected: float | None, measured: float | None) -> list[float]:
    """How many times too much or too little, where there is something to compare."""
    if not measured or not expected:
        return []
    return [max(expected / measured, measured / expected)]


def _simple(entry: Entry, names: Sequence[str]) -> list[Choice]:
    """The best probe, and each method as the one that is always chosen."""
    found = [_choice(name, entry, names, name) for name in names]
    tried = [name for name in entry.probes if name in names]
    if tried:
        top = min(tried, key=lambda name: entry.setting.root_error(entry.probes[name].score))
        found.append(_choice(PROBES, entry, names, top))
    return found


def _choice(way: str, entry: Entry, names: Sequence[str], method: str) -> Choice:
    setting, known = entry.setting, {name: entry.methods[name] for name in names}
    best = min(known, key=lambda name: setting.root_error(known[name].score))
    behind = setting.gain(known[best].score, known[method].score)
    stds = [one.std for one in known.values() if one.std is not None]
    pooled = float(np.sqrt(np.mean(np.square(stds)))) if stds else 0.0
    return Choice(
        way, entry.name, source(entry.data), method, known[method].score, best, known[best].score,
        behind <= pooled, behind / setting.guess,
    )  # fmt: skip
