"""What a partner's columns give in full training: what an appraisal is held against."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from colonnade.data.splits import Split
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError
from colonnade.lab.advisor.appraise import Appraisal, Tell
from colonnade.lab.advisor.probes import suits
from colonnade.methods.local import Local
from colonnade.methods.registry import method_named
from colonnade.methods.splitnn import SplitNN
from colonnade.methods.ss_vfl import SSVFLC

ALONE = Local.name
FULL = (SplitNN.name, SSVFLC.name)


@dataclass(frozen=True)
class Realised:
    """Gains on test rows of full training with a partner over the active party alone, by method and seed."""

    party: str
    metric: str
    gains: Mapping[str, tuple[float, ...]]
    inside: bool  # whether the mean is within the interval of the appraisal

    @property
    def mean(self) -> float:
        """Over methods and seeds."""
        return statistics.fmean(value for gains in self.gains.values() for value in gains)

    @property
    def text(self) -> str:
        """The mean, and whether it was expected."""
        return f"{self.mean:+.3f}{'' if self.inside else ' (outside)'}"

    @property
    def sentence(self) -> str:
        """In words."""
        each = " and ".join(f"{name} {statistics.fmean(gains):+.3f}" for name, gains in self.gains.items())
        where = "inside" if self.inside else "outside"
        runs = len(next(iter(self.gains.values())))
        return (
            f"Full training with {self.party!r} over {ALONE}, on test rows, {runs} seed{'s' if runs > 1 else ''}: "
            f"{each}; the mean is {where} the interval."
        )

    def to_json(self) -> dict[str, Any]:
        """For files."""
        found = {name: list(values) for name, values in self.gains.items()}
        return {"gains": found, "mean": self.mean, "inside": self.inside}


def realised(split_of: Callable[[int], Split], one: Appraisal, seeds: int, tell: Tell) -> Realised:
    """Train with the partner and without it; `split_of` gives the rows of a seed."""
    if (why := suits(ALONE, one.setting)) is not None:
        raise ConfigError(f"The check trains {ALONE}, and {why}. Leave --check out.")
    metric, gains = one.setting.metric, {name: [0.0] * seeds for name in FULL}
    steps = (1 + len(FULL)) * seeds
    for seed in range(seeds):
        two = between_two(split_of(seed), one.party)
        scores = {}
        for at, name in enumerate((ALONE, *FULL)):
            tell(f"{name} in full", (1 + len(FULL)) * seed + at, steps)
            model = method_named(name)(seed=seed).fit(two.train, two.valid, metric=metric)
            scores[name] = model.score(two.test.views, two.test.labels)
        for name in FULL:
            gains[name][seed] = one.setting.gain(scores[name], scores[ALONE])
    found = {name: tuple(values) for name, values in gains.items()}
    mean = statistics.fmean(value for values in found.values() for value in values)
    return Realised(one.party, metric, found, one.low <= mean <= one.high)


def between_two(parts: Split, party: str) -> Split:
    """The same rows of the active party and one partner."""

    def kept(data: VerticalData) -> VerticalData:
        views = {name: view for name, view in data.views.items() if name in (data.active, party)}
        return VerticalData.of(views, data.labels, data.active, data.task)

    return Split(kept(parts.train), None if parts.valid is None else kept(parts.valid), kept(parts.test))
