"""The cells of a recipe whose runs are attacked too (He et al. 2022, Table 6 and Fig. 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from colonnade.lab.compare.compare import Outcome
from colonnade.lab.compare.tradeoff import run_trials
from colonnade.lab.compare.trials import Asked, Trial
from colonnade.lab.reproduce.form import Recipe
from colonnade.lab.run.cell import Cell


def run_attacked(
    made: Recipe, cells: Sequence[Cell], folder: Path, *, jobs: int, done: Callable[[Outcome], None]
) -> list[Outcome]:
    """Train and attack each cell by the recipe's attack; each data set has its own adversary."""
    found = []
    for data in made.data:
        mine = [Trial(cell, cell.method, "") for cell in cells if cell.data == data.name]
        if mine:
            asked = Asked((made.attack["name"],), data.adversary, made.attack.get("auxiliary"))
            found += run_trials(mine, asked, folder / data.name, jobs=jobs, done=done)
    return found
