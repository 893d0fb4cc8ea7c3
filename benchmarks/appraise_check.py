"""What `appraise` predicts from one round, against what full training gives: `splitnn` and `ss-vfl-c` over `local`.

The predicted gain is on training and validation rows of seed 0; the realised one on test rows, mean over seeds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import spearmanr

import colonnade as cn
from benchmarks.advise_runs import Place
from colonnade.data.splits import Split
from colonnade.data.vertical import VerticalData
from colonnade.lab.advisor.appraise import appraise, full_gain
from colonnade.lab.advisor.realised import realised
from colonnade.lab.advisor.recommend import NORMAL_90
from colonnade.lab.advisor.record import source
from colonnade.lab.advisor.setting import Setting

SEEDS = 2  # of full training
PLACES = (
    Place("digits", 100, 1.0),
    Place("mfeat", 100, 1.0),
    Place("landuse21", 300, 1.0),
    Place("phishing", 100, 1.0, rows=1200),
    Place("superconduct", 200, 1.0, rows=1200),
    Place("covtype20k", 200, 1.0, rows=1200),
    Place("breast_cancer", 60, 1.0),
    Place("diabetes", 100, 1.0),
    Place("credit_default", 200, 1.0, rows=1200),
    Place("wine", 40, 1.0),
)
PARTNERS = 2  # of each place, at most
USELESS = (
    "digits",
    "landuse21",
    "superconduct",
    "breast_cancer",
    "diabetes",
    "credit_default",
)  # with one more partner
SHUFFLED = " shuffled"  # the first partner, whose rows are in another order, so that they tell nothing


@dataclass(frozen=True)
class Pair:
    """One partner in one setting."""

    setting: str
    source: str
    party: str
    metric: str
    guess: float
    predicted: float  # by one round, as it is
    sampling: float  # its standard deviation over draws of rows and seeds
    realised: dict[str, list[float]]  # by full training of a method: gain on test rows, by seed
    bytes: int
    seconds: float

    @property
    def gain(self) -> float:
        """What full training gave: the mean of both methods."""
        return statistics.fmean(value for gains in self.realised.values() for value in gains)

    @property
    def text(self) -> str:
        one = f"{self.predicted:+.3f} ± {self.sampling:.3f}"
        return f"{self.setting}, {self.party}: predicted {one}, realised {self.gain:+.3f}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Gains:
    """Predicted against realised gains."""

    pairs: tuple[Pair, ...]
    expected: tuple[tuple[float, float], ...]  # gain of full training and standard deviation, by the other data sets
    correlation: float
    rank_correlation: float
    raw_covered: float  # share of realised gains inside the interval of 90 % of rows and seeds alone
    covered: float  # with what the other data sets say of full training
    sign: float  # share of pairs whose sign was right, among those whose interval excludes 0
    shown: int  # pairs whose interval excludes 0
    error: float  # mean absolute difference of expected and realised, as a share of the guess's error
    zero_error: float  # the same for an expected gain of 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def pairs(known: Sequence[Pair]) -> Iterator[Pair]:
    """Every pair that is not known yet and whose data are at hand."""
    have = {(pair.setting, pair.party) for pair in known}
    for place in PLACES:
        try:
            parts = place.cell().split()[0]
        except cn.ColonnadeError as error:
            print(f"{place.name}: {str(error).partition(chr(10))[0]}")
            continue
        partners = [*parts.train.passive[:PARTNERS]]
        if place.data in USELESS:
            partners.append(partners[0] + SHUFFLED)
        for party in partners:
            if (place.name, party) not in have:
                yield _pair(place, party)


def _split(place: Place, party: str, seed: int) -> Split:
    """The rows; where the partner is to be useless, its rows are shuffled within each part."""
    parts = place.cell(seed).split()[0]
    if not party.endswith(SHUFFLED):
        return parts
    assert parts.valid is not None
    name = party.removesuffix(SHUFFLED)
    return Split(*(_shuffled(data, name) for data in (parts.train, parts.valid, parts.test)))


def _shuffled(data: VerticalData, name: str) -> VerticalData:
    view = data.views[name]
    other = view.take(np.random.default_rng(0).permutation(len(view))).with_ids(view.ids)
    return VerticalData.of({**data.views, name: other}, data.labels, data.active, data.task)


def _pair(place: Place, party: str) -> Pair:
    parts, metric = _split(place, party, 0), place.cell().split()[1]
    name = party.removesuffix(SHUFFLED)
    started = time.process_time()
    found = appraise(parts, name, metric=metric, seeds=2)
    seconds = time.process_time() - started
    full = realised(lambda seed: _split(place, party, seed), found, SEEDS, lambda what, done, total: None)
    return Pair(
        place.name, source(place.data), party, metric, round(found.setting.guess, 5),
        round(found.setting.gain(found.joint, found.alone), 5), round(found.sampling, 5),
        {name: [round(value, 5) for value in values] for name, values in full.gains.items()}, found.bytes,
        round(seconds, 1),
    )  # fmt: skip


def gap(known: Sequence[Pair]) -> dict[str, float]:
    """How full training differs from one round: realised = factor · predicted + constant + normal noise.

    By maximum likelihood; the variance of the noise is spread² beside what rows and folds explain. All as shares of the
    guess's error.
    """
    x, y, sampling = np.array([[p.predicted / p.guess, p.gain / p.guess, p.sampling / p.guess] for p in known]).T

    def unlikely(values: npt.NDArray[np.float64]) -> float:
        factor, constant, log_spread = values
        variance = (factor * sampling) ** 2 + np.exp(2 * log_spread)
        return float(0.5 * np.sum((y - factor * x - constant) ** 2 / variance + np.log(variance)))

    found = minimize(unlikely, [1.0, 0.0, np.log(0.03)], method="Nelder-Mead", options={"maxiter": 4000})
    factor, constant, log_spread = found.x
    return {"factor": round(factor, 3), "constant": round(constant, 4), "spread": round(float(np.exp(log_spread)), 4)}


def leave_one_out(known: Sequence[Pair]) -> Gains:
    """Gains as `appraise` expects them by what full training gave on the other data sets."""
    expected = []
    for pair in known:
        others = [one for one in known if one.source != pair.source]
        setting = _setting(pair)
        expected.append(full_gain(pair.predicted, pair.sampling, setting, gap(others)))
    gains = np.array([pair.gain for pair in known])
    guess = np.array([pair.guess for pair in known])
    means, spreads = np.array(expected).T
    raw = np.array([pair.predicted for pair in known])
    sampling = np.array([pair.sampling for pair in known])
    shown = np.abs(means) > NORMAL_90 * spreads
    return Gains(
        tuple(known),
        tuple((float(m), float(s)) for m, s in expected),
        float(np.corrcoef(raw / guess, gains / guess)[0, 1]),
        float(spearmanr(raw / guess, gains / guess).statistic),
        float(np.mean(np.abs(gains - raw) <= NORMAL_90 * sampling)),
        float(np.mean(np.abs(gains - means) <= NORMAL_90 * spreads)),
        float(np.mean(np.sign(means[shown]) == np.sign(gains[shown]))) if shown.any() else float("nan"),
        int(shown.sum()),
        float(np.mean(np.abs(gains - means) / guess)),
        float(np.mean(np.abs(gains) / guess)),
    )


def _setting(pair: Pair) -> Setting:
    """As much of the setting as `full_gain` reads."""
    return Setting("", pair.metric, 0, 0, 0, 0, 0, 0, 0, 0, False, pair.guess)
