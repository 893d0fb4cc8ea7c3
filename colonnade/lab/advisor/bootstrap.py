"""How far scores on a few rows can be off: rows and runs drawn again and again, the same for all that is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.metrics import score

DRAWS = 400
_SEED = 0xB007


@dataclass(frozen=True)
class Tried:
    """One run of all that is compared, on the same rows."""

    truth: npt.NDArray[Any]  # (N,)
    outputs: Mapping[str, npt.NDArray[Any]]  # by name: (N,) targets or (N, C) probabilities
    classes: npt.NDArray[Any]  # (C,)

    def scores(self, metric: str, rows: npt.NDArray[np.int64] | slice = slice(None)) -> dict[str, float]:
        """The score of each on some rows."""
        return {name: score(metric, self.truth[rows], out[rows], self.classes) for name, out in self.outputs.items()}


def mean_scores(metric: str, runs: Sequence[Tried]) -> dict[str, float]:
    """The score of each, mean over runs."""
    every = [run.scores(metric) for run in runs]
    return {name: float(np.mean([one[name] for one in every])) for name in every[0]}


def resampled(metric: str, runs: Sequence[Tried], draws: int = DRAWS) -> dict[str, npt.NDArray[np.float64]]:
    """The score of each in every draw, (draws,); draws in which a score is not defined are left out."""
    rng = np.random.default_rng(_SEED)
    found: dict[str, list[float]] = {name: [] for name in runs[0].outputs}
    for _ in range(draws):
        places = rng.random(len(runs[0].truth))  # the same rows of all runs
        drawn = [runs[i] for i in rng.integers(len(runs), size=len(runs))]
        every = [run.scores(metric, (places * len(run.truth)).astype(np.int64)) for run in drawn]
        means = {name: float(np.mean([one[name] for one in every])) for name in found}
        if all(np.isfinite(list(means.values()))):
            for name, value in means.items():
                found[name].append(value)
    return {name: np.array(values) for name, values in found.items()}
