"""Advice under a privacy budget: every method that trains within it is tried in full, as the record has no noise.

What a budget does to a score depends on the number of rows, so nothing is thinned and nothing is taken from the record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from colonnade.data.splits import Split
from colonnade.errors import ConfigError
from colonnade.lab.advisor import words
from colonnade.lab.advisor.advice import Advice, nothing_left
from colonnade.lab.advisor.bootstrap import Tried, mean_scores, resampled
from colonnade.lab.advisor.probes import Probe, Tell, redivided, suits, validation
from colonnade.lab.advisor.recommend import Candidate, Limits, over_budget
from colonnade.lab.advisor.setting import Setting
from colonnade.lab.advisor.traits import TRAITS
from colonnade.methods._base.parts.privacy import privacy_of
from colonnade.methods.registry import method_named

REHEARSED = 200  # rows of the rehearsal that says whether a budget covers a method
LOW, HIGH = 5, 95  # percentiles: nine draws of ten


def advise_privately(
    parts: Split, setting: Setting, limits: Limits, epsilon: float, delta: float, seeds: int, tell: Tell | None
) -> Advice:
    """The advice among methods whose whole training the budget covers."""
    left_out = {name: why for name in TRAITS if (why := _unfit(name, setting, parts)) is not None}
    names = [name for name in TRAITS if name not in left_out]
    runs, probes = _try(names, parts, setting, epsilon, delta, seeds, tell)
    found = _candidates(setting, runs, probes) if names else []
    for one in found:
        if (over := over_budget(one, limits)) is not None:
            left_out[one.method] = over
    order = [one for one in found if one.method not in left_out]
    if not order:
        raise ConfigError(nothing_left(left_out))
    reasons = [
        words.about(setting),
        f"Within ε = {epsilon:g}, δ = {delta:g}: {len(names)} methods train so that the budget covers all of it; each "
        f"was trained in full and scored on {next(iter(probes.values())).rows:,} validation rows.",
        *words.chance_words(setting, order),
    ]
    changes = ["Noise weighs less the more labelled rows there are, and the larger ε is."]
    return Advice(setting, probes, tuple(order), left_out, tuple(reasons), tuple(changes), epsilon)


def _unfit(name: str, setting: Setting, parts: Split) -> str | None:
    """Why a method cannot be trained within a budget on these data; None where it can."""
    if (why := suits(name, setting)) is not None:
        return why
    if "epsilon" not in {field.name for field in fields(method_named(name))}:
        return "it cannot be trained within a privacy budget"
    rehearsal = parts.train.only(np.sort(parts.train.labels.ids[:REHEARSED]))
    kind = method_named(name)
    own = kind().get_params()
    short: dict[str, Any] = {key: 1 for key in ("epochs", "pretrain_epochs") if own.get(key)}
    model = kind(**short, epsilon=8.0, delta=1e-5).fit(rehearsal)  # type: ignore[call-arg]
    found = privacy_of(model)
    if found is not None and not found["covered"]:
        gaps = [f"party {row['party']!r}: {row['not covered']}" for row in found["rows"] if row["not covered"]]
        return f"no ε holds: {gaps[0]}" if gaps else "no ε holds"
    return None


def _try(
    names: list[str], parts: Split, setting: Setting, epsilon: float, delta: float, seeds: int, tell: Tell | None
) -> tuple[list[Tried], dict[str, Probe]]:
    """All methods in full, for each seed with other validation rows."""
    runs, costs = [], dict.fromkeys(names, (0, 0.0))
    for seed in range(seeds):
        rows = redivided(parts, seed)
        valid = validation(rows)
        outputs, truth, classes = {}, np.zeros(0), np.zeros(0)
        for at, name in enumerate(names):
            if tell is not None:
                tell(name, len(names) * seed + at, len(names) * seeds)
            model = method_named(name)(seed=seed, epsilon=epsilon, delta=delta)  # type: ignore[call-arg]
            started = time.process_time()
            model.fit(rows.train, valid, metric=setting.metric)
            costs[name] = model.traffic_.bytes, time.process_time() - started
            truth, outputs[name] = model.truth_and_outputs(valid.views, valid.labels)
            classes = model.classes_
        runs.append(Tried(truth, outputs, classes))
    means: Mapping[str, float] = mean_scores(setting.metric, runs) if names else {}
    rows_ = len(runs[0].truth)
    return runs, {name: Probe(name, score, rows_, seeds, *costs[name]) for name, score in means.items()}


def _candidates(setting: Setting, runs: list[Tried], probes: Mapping[str, Probe]) -> list[Candidate]:
    drawn = resampled(setting.metric, runs)
    names = list(drawn)
    errors = np.array([[setting.root_error(v) for v in drawn[name]] for name in names])  # (M, draws)
    best = np.bincount(errors.argmin(axis=0), minlength=len(names)) / errors.shape[1]
    found = [
        Candidate(
            name, probes[name].score, float(np.percentile(drawn[name], LOW)), float(np.percentile(drawn[name], HIGH)),
            probes[name].bytes, probes[name].seconds, float(best[at]),
        )
        for at, name in enumerate(names)
    ]  # fmt: skip
    return sorted(found, key=lambda one: setting.root_error(one.score))
