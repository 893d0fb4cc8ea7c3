"""A comparison: methods x labels x aligned x seeds, in parallel, resumed where it stopped."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from colonnade.bench.cell import Cell, parse_method, run_cell
from colonnade.bench.files import write_json
from colonnade.errors import ColonnadeError, ConfigError, did_you_mean, raise_all
from colonnade.methods.store import method_named
from colonnade.methods.threads import Rule


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its record, or the error that ended it."""

    cell: Cell
    record: dict[str, Any] | None = None
    error: str | None = None
    reused: bool = False


def grid(
    methods: Sequence[str],
    data: str,
    *,
    labels: Sequence[float | None],
    aligned: Sequence[float],
    seeds: int,
    parties: int | None = None,
    settings: dict[str, Any] | None = None,
    protocol: str = "inductive",
    active: str | None = None,
    rows: int | None = None,
    bias: tuple[float, int] | None = None,
) -> list[Cell]:
    """All cells of a comparison, checked before the first one runs.

    `settings` maps options to values: "epochs" reaches every method that has such an option, "splitnn.epochs" one.
    """
    per_method = _settings_by_method(methods, settings or {})
    repeated = [
        f"{option} names {value!r} twice."
        for option, values in (("--methods", methods), ("--labels", labels), ("--aligned", aligned))
        for value in dict.fromkeys(v for v in values if list(values).count(v) > 1)
    ]
    raise_all(repeated, ConfigError, "compare")
    arrangement: dict[str, Any] = {"active": active, "rows": rows, "bias": bias}
    cells = [
        Cell(method, data, n, fraction, seed, parties, per_method[method], protocol=protocol, **arrangement)
        for n, fraction, seed, method in itertools.product(labels, aligned, range(seeds), methods)
    ]
    for cell in cells[: len(methods)]:
        cell.build()  # an unknown method or a wrong option is an error now, not in an hour
    first = cells[0]
    for n, fraction in itertools.product(labels, aligned):
        replace(first, labels=n, aligned=fraction).split()
    return [replace(c, with_map=c.seed == 0 and (c.labels, c.aligned) == (first.labels, first.aligned)) for c in cells]


def _settings_by_method(methods: Sequence[str], settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    used: set[str] = set()
    for method in methods:
        name, _ = parse_method(method)
        known = {field.name for field in fields(method_named(name))}
        out[method] = {}
        for key, value in settings.items():
            owner, _, option = key.rpartition(".")
            if option in known and owner in ("", name):
                out[method][option] = value
                used.add(key)
    every = {field.name for method in methods for field in fields(method_named(parse_method(method)[0]))}
    wrong = [
        f"{key!r} is an option of none of {', '.join(methods)}. {did_you_mean(key.rpartition('.')[2], every)}"
        for key in settings
        if key not in used
    ]
    raise_all(wrong, ConfigError, "--set")
    return out


def run_grid(
    cells: Sequence[Cell], folder: Path, *, jobs: int, done: Callable[[Outcome], None], target: float | None = None
) -> list[Outcome]:
    """Run the cells that are not on disk yet; each finished one is on disk before `done` hears of it."""
    write_json(folder / "comparison.json", {"cells": [cell.key for cell in cells], "target": target})
    outcomes = []
    todo = []
    for cell in cells:
        record = _read(folder, cell)
        if record is None:
            todo.append(cell)
        else:
            outcomes.append(Outcome(cell, record, reused=True))
            done(outcomes[-1])
    for outcome in _run(todo, folder, jobs):
        outcomes.append(outcome)
        done(outcome)
    order = {cell.key: i for i, cell in enumerate(cells)}
    return sorted(outcomes, key=lambda outcome: order[outcome.cell.key])


def _read(folder: Path, cell: Cell) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(_path(folder, cell).read_text())
    except (OSError, ValueError):
        return None
    return record


def _path(folder: Path, cell: Cell) -> Path:
    return folder / "cells" / f"{cell.key}.json"


def _run(cells: Sequence[Cell], folder: Path, jobs: int) -> Iterator[Outcome]:
    if jobs == 1 or len(cells) <= 1:
        yield from (_one(cell, folder, Rule.here()) for cell in cells)
        return
    from joblib import Parallel, delayed

    rule = Rule.here(jobs)  # now: joblib sets the variables of its workers
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(_one)(c, folder, rule) for c in cells)


def _one(cell: Cell, folder: Path, rule: Rule) -> Outcome:
    try:
        record, _ = run_cell(cell, rule=rule)
    except ColonnadeError as error:
        return Outcome(cell, error=str(error))
    except Exception as error:  # whatever ends one run must not end the others
        return Outcome(cell, error=f"{type(error).__name__}: {error}")
    write_json(_path(folder, cell), record)
    return Outcome(cell, record)
