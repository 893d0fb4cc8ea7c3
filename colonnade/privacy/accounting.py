"""From mechanisms to (ε, δ) and back, by dp-accounting.

k parties, σ noise multiplier, q sampling rate.

A person's row is at every party, so what the parties release is released about the same person: the mechanisms of all k
parties compose, one after another, and never in parallel (Wu et al. 2022, Lemma 4). Three ways to add them up:

- "moments": Rényi divergences of all mechanisms are summed, then turned into ε once (moments division, Theorem 4).
- "simple": each party's own ε, by the same accountant at δ/k, summed (simple division, the Priv-Baseline; Theorem 2
  adds up the δ as well as the ε). The paper prints ε/k and is silent on δ; its authors' code uses δ/k.
- "pld": privacy loss distributions of all mechanisms are convolved. Tighter than both; not in the paper.

All are for neighbouring federations that differ by one person, added or removed with her rows at all parties. Samples
must be drawn by each party on its own and be kept secret: parties that train on one announced batch gain nothing from
sampling, and a batch that k parties share costs more than k independent ones.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from colonnade.errors import ConfigError, MissingDependencyError, did_you_mean, raise_all
from colonnade.privacy.entry import Entry, Gaussian, Mechanism

Division = Literal["moments", "simple", "pld"]
DIVISIONS: tuple[str, ...] = get_args(Division)
LARGEST_NOISE = 1e6
SMALLEST_NOISE = 1e-2
WIDEN = 1.15  # factor between two tries at a bracket
TOLERANCE = 1e-4  # relative, of a noise multiplier that is found


class Spent(NamedTuple):
    """A mechanism, and how often a party used it."""

    party: str
    mechanism: Mechanism
    times: int


def epsilon_of(spent: Sequence[Spent], delta: float, division: Division = "moments") -> float:
    """ε of all mechanisms together at δ, for one person."""
    check_division(division)
    raise_all(_delta_problems(delta), ConfigError, "privacy budget")
    used = [s for s in spent if s.times]
    if any(not s.mechanism.noise_multiplier for s in used):
        return math.inf
    if not used:
        return 0.0
    if division != "simple":
        return _composed(_uses(used), delta, division)
    parties = sorted({s.party for s in used})
    return sum(_composed(_uses(s for s in used if s.party == p), delta / len(parties), "moments") for p in parties)


def find_noise(
    epsilon: float, delta: float, planned: Sequence[Entry], division: Division = "moments"
) -> dict[str, float]:
    """The least σ of each party whose planned mechanisms, all used, spend at most ε at δ; to 1e-4 of σ.

    Mechanisms that have a σ keep it and are paid first. Under "moments" and "pld" all parties get the same σ; under
    "simple" each party gets what makes its own mechanisms spend ε/k at δ/k.
    """
    check_division(division)
    check_budget(epsilon, delta)
    spent = [Spent(e.party, e.mechanism, e.mechanism.times) for e in planned if e.mechanism is not None]
    open_ = sorted({s.party for s in spent if s.mechanism.noise_multiplier is None})
    if division != "simple":
        return dict.fromkeys(open_, _least_noise(spent, epsilon, delta, division)) if open_ else {}
    k = len({s.party for s in spent})
    own = {p: [s for s in spent if s.party == p] for p in open_}
    return {p: _least_noise(own[p], epsilon / k, delta / k, "moments") for p in open_}


def check_budget(epsilon: float, delta: float, rows: int | None = None) -> None:
    """Refuse an ε or δ that means nothing; warn of a δ that allows one person's row to be published."""
    problems = _delta_problems(delta)
    if not epsilon > 0:
        problems.insert(0, f"epsilon must be above 0. Got {epsilon!r}. 1 is strong, 8 is weak, inf adds no noise.")
    raise_all(problems, ConfigError, "privacy budget")
    if rows is not None and delta * rows >= 1:
        warnings.warn(
            f"delta={delta:g} is at least 1/{rows}, one over the number of rows: publishing a person's row at random "
            f"would pass as private. Use a delta far below {1 / rows:.1g}.",
            stacklevel=2,
        )


def check_division(division: str) -> None:
    """Refuse a division that does not exist."""
    if division not in DIVISIONS:
        raise ConfigError(
            f"division must be one of {', '.join(DIVISIONS)}. Got {division!r}. {did_you_mean(division, DIVISIONS)}"
        )


def sampling_rate(batch_size: int, rows: int) -> float:
    """q = batch size / rows: Poisson samples then have that size on average; 1 where the rows are fewer."""
    if batch_size < 1 or rows < 1:
        raise ConfigError(f"private training needs batch size and rows of at least 1. Got {batch_size!r}, {rows!r}.")
    return min(1.0, batch_size / rows)


def steps_of(epochs: int, batch_size: int, rows: int) -> int:
    """Steps in which each row takes part `epochs` times on average, rounded up."""
    return math.ceil(epochs / sampling_rate(batch_size, rows))


def _delta_problems(delta: float) -> list[str]:
    if 0 < delta < 1:
        return []
    return [f"delta must be in (0, 1). Got {delta!r}. Use a value far below one over the number of rows, e.g. 1e-5."]


def _uses(spent: Iterable[Spent]) -> tuple[tuple[Mechanism, int], ...]:
    return tuple((s.mechanism, s.times) for s in spent)


@lru_cache(maxsize=1024)
def _composed(uses: tuple[tuple[Mechanism, int], ...], delta: float, division: Division) -> float:
    accountant = _fresh(division)
    log = logging.getLogger("absl")
    before = log.level
    log.setLevel(logging.ERROR)  # it tells of each order that it leaves out, which only makes ε larger
    try:
        accountant.compose(_event(uses))
        return float(accountant.get_epsilon(delta))
    finally:
        log.setLevel(before)


def _fresh(division: Division) -> Any:
    rdp, pld = _library("rdp"), _library("pld")
    return pld.PLDAccountant() if division == "pld" else rdp.RdpAccountant()


def _event(uses: Iterable[tuple[Mechanism, int]]) -> Any:
    """All mechanisms as one event; equal ones of several parties are counted together, which is faster."""
    dp = _library()
    times: Counter[tuple[bool, float, float]] = Counter()
    for mechanism, count in uses:
        times[isinstance(mechanism, Gaussian), mechanism.rate, mechanism.noise_multiplier or 0.0] += count
    events = []
    for (released, rate, sigma), count in times.items():
        noise = dp.GaussianDpEvent(sigma)
        events.append(dp.SelfComposedDpEvent(noise if released else dp.PoissonSampledDpEvent(rate, noise), count))
    return dp.ComposedDpEvent(events)


def _least_noise(spent: Sequence[Spent], epsilon: float, delta: float, division: Division) -> float:
    if epsilon == math.inf:
        return 0.0

    def spent_at(sigma: float) -> float:
        return _composed(tuple((_with(m, sigma), times) for m, times in _uses(spent)), delta, division)

    guess = _least_noise(spent, epsilon, delta, "moments") if division == "pld" else 1.0
    low, high = _bracket(lambda sigma: spent_at(sigma) <= epsilon, guess, epsilon, delta)
    if low == high:
        return high
    from scipy.optimize import brentq  # deferred: scipy.optimize is slow to load

    def over(log_sigma: float) -> float:  # log ε is nearly linear in log σ, so a few tries suffice
        return math.log(min(max(spent_at(math.exp(log_sigma)), 1e-12), 1e12) / epsilon)

    step = TOLERANCE / 5
    found = math.exp(brentq(over, math.log(low), math.log(high), xtol=step) + step)
    while spent_at(found) > epsilon:
        found *= 1 + step
    return found


def _bracket(enough: Callable[[float], bool], guess: float, epsilon: float, delta: float) -> tuple[float, float]:
    """(low, high): `high` is noise enough and `low` is not; both the smallest noise where that is enough."""
    high = guess
    if not enough(high) and not enough(LARGEST_NOISE):
        raise ConfigError(
            f"no noise keeps epsilon={epsilon:g} at delta={delta:g}, for a party if the budget is divided: "
            "mechanisms whose noise is given spend it, or it is below what Rényi divergences can show. "
            "Raise epsilon, or use division='pld'."
        )
    while not enough(high):
        high *= WIDEN
    low = high / WIDEN
    while enough(low):
        low, high = low / WIDEN, low
        if high < SMALLEST_NOISE:
            return high, high
    return low, high


def _with(mechanism: Mechanism, sigma: float) -> Mechanism:
    return replace(mechanism, noise_multiplier=sigma) if mechanism.noise_multiplier is None else mechanism


def _library(part: str = "") -> Any:
    import importlib

    try:
        return importlib.import_module(f"dp_accounting.{part}" if part else "dp_accounting")
    except ImportError as error:
        raise MissingDependencyError(
            'computing ε needs the package dp-accounting. Install it: pip install "colonnade[privacy]"'
        ) from error
