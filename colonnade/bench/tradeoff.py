"""A trade-off: each trial is trained and then attacked; resumed where it stopped (He et al. 2022, Fig. 4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from colonnade.attacks import Run, judge
from colonnade.bench.cell import run_cell
from colonnade.bench.compare import Outcome
from colonnade.bench.files import write_json
from colonnade.bench.trials import Asked, Trial
from colonnade.errors import ColonnadeError, raise_all
from colonnade.methods.threads import Rule, limited


def run_trials(
    every: Sequence[Trial], asked: Asked, folder: Path, *, jobs: int, done: Callable[[Outcome], None]
) -> list[Outcome]:
    """Train and attack what is not on disk yet; each finished run is on disk before `done` hears of it."""
    write_json(folder / "comparison.json", {"cells": [trial.cell.key for trial in every], "target": None})
    outcomes, todo = [], []
    for trial in every:
        record = _read(folder, trial)
        if _missing(record, asked):
            todo.append(trial)
        else:
            outcomes.append(Outcome(trial.cell, record, reused=True))
            done(outcomes[-1])
    for outcome in _run(todo, asked, folder, jobs):
        outcomes.append(outcome)
        done(outcome)
    order = {trial.cell.key: place for place, trial in enumerate(every)}
    return sorted(outcomes, key=lambda outcome: order[outcome.cell.key])


def _read(folder: Path, trial: Trial) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads((folder / "cells" / f"{trial.cell.key}.json").read_text())
    except (OSError, ValueError):
        return {}
    return record


def _missing(record: dict[str, Any], asked: Asked) -> list[str]:
    """Attacks asked for that the record of a run does not have."""
    known = record.get("tradeoff", {}).get("attacks", {})
    return [a for a in asked.attacks if known.get(a, {}).get("asked") != asked.details]


def _run(todo: Sequence[Trial], asked: Asked, folder: Path, jobs: int) -> Iterator[Outcome]:
    if jobs == 1 or len(todo) <= 1:
        yield from (_one(trial, asked, folder, Rule.here()) for trial in todo)
        return
    from joblib import Parallel, delayed

    rule = Rule.here(jobs)  # now: joblib sets the variables of its workers
    work = (delayed(_one)(trial, asked, folder, rule) for trial in todo)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(work)


def _one(trial: Trial, asked: Asked, folder: Path, rule: Rule) -> Outcome:
    try:
        with limited(rule.of(trial.cell.split()[0].train).number):
            record = train_and_attack(trial, asked, _read(folder, trial))
    except ColonnadeError as error:
        return Outcome(trial.cell, error=str(error))
    except Exception as error:  # whatever ends one run must not end the others
        return Outcome(trial.cell, error=f"{type(error).__name__}: {error}")
    write_json(folder / "cells" / f"{trial.cell.key}.json", record)
    return Outcome(trial.cell, record)


def train_and_attack(trial: Trial, asked: Asked, before: dict[str, Any]) -> dict[str, Any]:
    """The record of a run, with what each attack found; findings of `before`, the same run, are kept."""
    record, model = run_cell(trial.cell)
    run = Run.of(model, trial.cell.split()[0])
    attacks = dict(before.get("tradeoff", {}).get("attacks", {}))
    for attack in _missing(before, asked):
        found = judge(run, attacks=[attack], adversary=asked.adversary, auxiliary=asked.auxiliary)
        raise_all([f"{f['attack']} by {f['adversary']}: {f['reason']}" for f in found.failed], ColonnadeError, "attack")
        attacks[attack] = {"asked": asked.details, "findings": [f.to_json() for f in found.findings]}
    record["tradeoff"] = {"method": trial.method, "protection": trial.protection, "attacks": attacks}
    return record
