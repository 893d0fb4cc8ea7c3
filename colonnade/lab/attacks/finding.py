"""What an attack found, in the same words for every attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.errors import ConfigError

RESAMPLES = 60
ANYONE = "anyone"  # the adversary who gets the released model, and no message


class RefusedError(ConfigError):
    """An attack that does not fit the run."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One attack by one adversary, with one seed."""

    attack: str
    adversary: str  # a party, or "anyone"
    target: str  # what it is after, in words
    metric: str
    score: float  # of the attack, on rows that it knew nothing about
    baseline: float  # of the same attacker without the run
    prior: float  # of a guess that looks at no row
    advantage: float  # what the run gave: score - max(baseline, prior), or TPR - FPR for membership
    error: float  # standard error of the advantage, over the rows attacked
    used: str  # what the adversary had, as a sentence
    n: int  # rows attacked
    seed: int = 0

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def beyond(score: float, baseline: float, prior: float) -> float:
    """What the attack has over the better of the two that do without the run."""
    return score - max(baseline, prior)


def standard_error(advantage: Callable[[npt.NDArray[np.int64]], float], n: int) -> float:
    """Standard deviation of the advantage over resamples of the n attacked rows (bootstrap)."""
    rng = np.random.default_rng(0)
    return float(np.nanstd([advantage(rng.integers(n, size=n)) for _ in range(RESAMPLES)]))
