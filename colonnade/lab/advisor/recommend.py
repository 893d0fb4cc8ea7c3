"""From a setting, its probes and the record to candidates with expected scores, bytes and seconds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from colonnade.data.metrics import LOWER_IS_BETTER
from colonnade.lab.advisor.costs import bytes_like, seconds_like
from colonnade.lab.advisor.mixed import Seen, predict
from colonnade.lab.advisor.probes import Probe, suits
from colonnade.lab.advisor.record import Record, seen_probes
from colonnade.lab.advisor.setting import Setting
from colonnade.lab.advisor.traits import TRAITS
from colonnade.lab.report.text import bytes_text, seconds_text

HERE = "here"  # the data that advice is asked for
LEAST_DATA = 2  # data sets on which a method must have been run
NORMAL_90 = 1.645  # an interval of 90 %
DRAWS = 4000


@dataclass(frozen=True)
class Limits:
    """What a run may cost."""

    bytes: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A method that could be used, and what to expect of it."""

    method: str
    score: float
    low: float  # nine of ten runs are expected between low and high
    high: float
    bytes: float | None  # None: the record does not say
    seconds: float | None
    chance: float  # that it is the best candidate

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)


@dataclass(frozen=True)
class Choice:
    """Candidates, the best expected score first."""

    within: tuple[Candidate, ...]  # all budgets
    over: tuple[Candidate, ...]  # one of them
    left_out: Mapping[str, str]  # method, and why it is not among those within


def choose(
    setting: Setting, probes: Mapping[str, Probe], record: Record, limits: Limits, failed: Mapping[str, str]
) -> Choice:
    """Every method is a candidate, or left out with the reason; `failed` are those whose probe could not be made."""
    left_out = {**_unknown(record), **failed}
    for name in (name for name in TRAITS if name not in left_out):
        if (why := suits(name, setting)) is not None:
            left_out[name] = why
    found = expected(setting, probes, record, [name for name in TRAITS if name not in left_out])
    exceeded = {one.method: why for one in found if (why := over_budget(one, limits)) is not None}
    within = [one.method for one in found if one.method not in exceeded]
    return Choice(
        tuple(expected(setting, probes, record, within)),  # again, for their chances among themselves
        tuple(one for one in found if one.method in exceeded),
        {**exceeded, **left_out},
    )


def expected(
    setting: Setting,
    probes: Mapping[str, Probe],
    record: Record,
    names: Sequence[str],
    features: Sequence[float] | None = None,
) -> list[Candidate]:
    """What to expect of these methods, best first; `features` asks for other ones than the setting's."""
    if not names:
        return []
    own = tuple(setting.features())
    seen = [*record.seen(), *seen_probes(HERE, HERE, own, setting, probes)]
    asked = [Seen(HERE, HERE, tuple(own if features is None else features), name) for name in names]
    mean, covariance = predict(seen, asked, record.variances)
    spread = np.sqrt(np.diag(covariance).clip(min=0) + record.variances["run noise"])
    draws = np.random.default_rng(0).multivariate_normal(mean, covariance, DRAWS, method="eigh")
    best = np.bincount(draws.argmin(axis=1), minlength=len(names)) / DRAWS
    speed = _speed(setting, probes, record)
    found = []
    for at in np.argsort(mean, kind="stable"):
        name = names[at]
        ends = [setting.score(mean[at] + sign * NORMAL_90 * spread[at]) for sign in (1, -1)]
        found.append(
            Candidate(
                name,
                setting.score(mean[at]),
                min(ends),
                max(ends),
                bytes_like(record.costs(name, "bytes"), setting),
                None if (usual := seconds_like(record.costs(name, "seconds"), setting)) is None else speed * usual,
                float(best[at]),
            )
        )
    return found


def _unknown(record: Record) -> dict[str, str]:
    """Methods of which the record says too little."""
    known = record.methods()
    return {
        name: f"the record has it on fewer than {LEAST_DATA} data sets"
        for name in TRAITS
        if len(known.get(name, ())) < LEAST_DATA
    }


def _speed(setting: Setting, probes: Mapping[str, Probe], record: Record) -> float:
    """How much slower this machine is than that of the record, by the probes on both."""
    ratios = []
    for name, probe in probes.items():
        usual = seconds_like(record.probe_seconds(name), setting)
        ratios += [probe.seconds / usual] if usual and probe.seconds > 0 else []
    return statistics.median(ratios) if ratios else 1.0


def over_budget(one: Candidate, limits: Limits) -> str | None:
    """Which budget a candidate exceeds."""
    for what, most, cost, text in (
        ("send", limits.bytes, one.bytes, bytes_text),
        ("take", limits.seconds, one.seconds, seconds_text),
    ):
        if most is not None and cost is None:
            return f"the record does not say what it would {what}"
        if most is not None and cost is not None and cost > most:
            return f"it would {what} about {text(cost)}, more than the {text(most)} allowed"
    return None


def better(setting: Setting, a: float, b: float) -> bool:
    """Whether one score is better than another."""
    return a < b if setting.metric in LOWER_IS_BETTER else a > b
