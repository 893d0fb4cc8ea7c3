"""One tuning budget for every method: as many tries each, chosen by the validation rows of the same seed.

Every cell of a comparison becomes N cells that differ in options. The first has those that were given; the others are
drawn from a small grid, the same for all methods as far as they have the options. The one that was best on validation
rows stands for the cell; test rows take no part in the choice, and no other seed's rows do.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from colonnade.errors import ConfigError
from colonnade.lab.compare.compare import Outcome
from colonnade.lab.report.summary import higher_is_better
from colonnade.lab.run.cell import Cell, parse_method
from colonnade.lab.run.files import write_json
from colonnade.methods.registry import method_named

GRID: dict[str, tuple[Any, ...]] = {
    "learning_rate": (3e-4, 1e-3, 3e-3),
    "weight_decay": (0.0, 1e-5, 1e-3),
    "batch_size": (32, 128),
    "pretrain_epochs": (10, 30, 60),  # how long parties learn alone
    "rate": (0.3, 0.6),  # share of columns distorted in a view
    "temperature": (0.1, 0.5, 1.0),
    "gamma": (0.25, 0.5, 1.0),  # FedHSSL's guidance; for boosted trees the default stays, see OTHER
    "contrast": (0.001, 0.01, 0.1),  # λ of SSVFL, the paper's grid
    "consistency": (0.001, 0.003, 0.03),  # β of SSVFL, the paper's grid
    "beta": (0.01, 0.1, 1.0),  # β of VFLHLP, of MMVFL
}
OTHER: dict[str, dict[str, tuple[Any, ...]]] = {  # methods whose options of these names mean something else
    "lightgbm": {"learning_rate": (0.02, 0.05, 0.1), "leaves": (7, 31), "min_leaf": (5, 20)},
    "secureboost": {"learning_rate": (0.05, 0.1, 0.3), "depth": (3, 5), "penalty": (0.1, 1.0, 10.0)},
    "linear": {},  # tries its strengths on validation rows itself
}
_DRAW = 0x7C3E


def tries_of(cells: Sequence[Cell], tries: int) -> dict[str, list[Cell]]:
    """Keys of cells, and their tries; with one try each, the cells themselves."""
    return {cell.key: variants(cell, tries) for cell in cells}


def variants(cell: Cell, tries: int) -> list[Cell]:
    """The cell with its own options, and with others drawn for it: at most `tries`, each method as many of its own."""
    if tries == 1:
        return [cell]
    if cell.protocol == "transductive":
        raise ConfigError("--tune chooses on validation rows, and the transductive protocol has none. Leave it out.")
    name, own = parse_method(cell.method)
    known = {field.name for field in fields(method_named(name))}
    grid = OTHER.get(name, GRID)
    free = {option: values for option, values in grid.items() if option in known - set(own) - set(cell.options)}
    every = [dict(zip(free, values, strict=True)) for values in itertools.product(*free.values())]
    order = np.random.default_rng([_DRAW, cell.seed]).permutation(len(every))
    default = cell.build().get_params()
    drawn = [every[i] for i in order if any(default[option] != value for option, value in every[i].items())]
    return [cell, *(replace(cell, options={**cell.options, **options}) for options in drawn[: tries - 1])]


def best_of_tries(groups: Mapping[str, Sequence[Cell]], outcomes: Sequence[Outcome], folder: Path) -> list[Outcome]:
    """For each cell the try that was best on validation rows; the folder's comparison then lists these alone.

    Args:
        groups: keys of cells, and their tries.
        outcomes: of all tries.
        folder: of the comparison.
    """
    by_key = {outcome.cell.key: outcome for outcome in outcomes}
    chosen = []
    for tries in groups.values():
        ran = [by_key[cell.key] for cell in tries]
        if len(ran) == 1:
            chosen += ran
            continue
        done = [(outcome, outcome.record) for outcome in ran if outcome.record is not None]
        if not done:
            chosen.append(ran[0])
            continue
        best, record = max(done, key=lambda one: merit(one[1]))
        changed = {k: v for k, v in best.cell.options.items() if k not in tries[0].options}
        chosen.append(replace(best, record={**record, "tuned": {"tries": len(tries), "chosen": changed}}))
    listed = json.loads((folder / "comparison.json").read_text())
    write_json(folder / "comparison.json", {**listed, "cells": [outcome.cell.key for outcome in chosen]})
    return chosen


def merit(record: Mapping[str, Any]) -> float:
    """How good a run was on validation rows: by its metric, or by the loss where a method reports no more."""
    history = record.get("history") or []
    scores = [epoch["validation"] for epoch in history if "validation" in epoch]
    if scores:
        return float(max(scores)) if higher_is_better(record["metric"]) else -float(min(scores))
    losses = [epoch["validation_loss"] for epoch in history if "validation_loss" in epoch]
    return -float(min(losses)) if losses else -float("inf")
