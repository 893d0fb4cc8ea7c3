"""`appraise`: what a partner's columns would add, from one round with it, before anyone signs a contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.datasets.dataset import joined
from colonnade.data.ids import locate
from colonnade.data.labels import Labels
from colonnade.data.metrics import check_metric, default_metric
from colonnade.data.splits import Split
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View
from colonnade.errors import ConfigError, DataError, above, at_least, did_you_mean, raise_all
from colonnade.lab.advisor.advise import divided
from colonnade.lab.advisor.bootstrap import Tried, mean_scores, resampled
from colonnade.lab.advisor.folds import held_out
from colonnade.lab.advisor.one_round import Received, receive
from colonnade.lab.advisor.probes import LABELLED, few_threads, validation
from colonnade.lab.advisor.recommend import NORMAL_90
from colonnade.lab.advisor.record import packaged
from colonnade.lab.advisor.setting import Setting, setting_of
from colonnade.lab.report.text import bytes_text, score_text

ALONE, JOINT = "alone", "joint"
LEAST_ROWS = 20  # labelled rows that both parties hold
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Appraisal:
    """What one round says of a partner's columns."""

    party: str
    setting: Setting
    alone: float  # score of the active party's columns, on rows that were not learnt from
    joint: float  # score with what the partner sent
    gain: float  # expected of full training
    low: float  # nine of ten gains are expected between low and high
    high: float
    sampling: float  # standard deviation of the gain over draws of rows and seeds
    rows: int  # labelled rows that both hold
    seeds: int
    bytes: int
    epsilon: float | None = None
    delta: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the columns help, as far as can be told."""
        return "helps" if self.low > 0 else "hurts" if self.high < 0 else "not shown"

    @property
    def sentence(self) -> str:
        """The appraisal in words."""
        what = {
            "helps": f"The columns of {self.party!r} are worth having",
            "hurts": f"The columns of {self.party!r} are expected to harm",
            "not shown": f"It is not shown that the columns of {self.party!r} help",
        }[self.verdict]
        budget = ""
        if self.epsilon is not None:
            budget = f", within ε = {self.epsilon:g} for each of its rows, whose noise hides part of the gain"
        return (
            f"{what}: {self.setting.metric} changes by {self.gain:+.3f} ({self.low:+.3f} to {self.high:+.3f} in nine "
            f"cases of ten) from {score_text(self.alone)} with the active party's columns alone. Learnt from one round "
            f"of {bytes_text(self.bytes)} about {self.rows:,} labelled rows{budget}."
        )

    def __str__(self) -> str:
        return self.sentence

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return {
            "party": self.party, "sentence": self.sentence, "verdict": self.verdict, "metric": self.setting.metric,
            "alone": self.alone, "joint": self.joint, "gain": self.gain, "low": self.low, "high": self.high,
            "sampling": self.sampling, "rows": self.rows, "seeds": self.seeds, "bytes": self.bytes,
            "epsilon": self.epsilon, "delta": self.delta, "setting": self.setting.to_json(),
        }  # fmt: skip


def appraise(
    data: VerticalData | Split,
    party: str,
    *,
    metric: str | None = None,
    labels: float | None = None,
    aligned: float = 1.0,
    epsilon: float | None = None,
    delta: float = 1e-5,
    seed: int = 0,
    seeds: int = 3,
    progress: Tell | None = None,
) -> Appraisal:
    """What the columns of a party would add to those of the active party alone.

    The partner learns from its own rows and sends its representations of the labelled ones, once. The active party
    then compares a network of its own columns with one that reads the representations too, on labelled rows that
    neither has learnt from.

    Args:
        data: all rows, which are split as `colonnade.split` does it, or rows that are split; test rows are not read.
        party: the partner.
        metric: of the gain; accuracy or R² by default.
        labels: labelled training rows, as in `split`.
        aligned: fraction of the training rows that stay aligned, as in `split`.
        epsilon: privacy budget for each of the partner's rows; what it sends is then clipped and noisy.
        delta: of that budget.
        seed: of the split, and of the partner's encoder.
        seeds: times that the rows are dealt out to folds anew.
        progress: called with what is done, how many of it, and how many there are.
    """
    problems: list[str] = []
    at_least(problems, "seeds", seeds, 1)
    if epsilon is not None:
        above(problems, "epsilon", epsilon, 0, "Leave it out for no noise.")
    raise_all(problems, ConfigError, "appraise")
    tell = progress or _nobody
    parts = divided(data, labels, aligned, seed)
    pair = between(parts, party)
    setting = setting_of(parts.train, check_metric(metric or default_metric(pair.task), pair.task))
    tell("one round", 0, 2 * seeds + 1)
    with few_threads(setting):
        got = receive(pair, party, epsilon=epsilon, delta=delta, seed=seed)
    if len(got.ids) < LEAST_ROWS:
        raise DataError(
            f"party {party!r} holds {len(got.ids)} of the labelled rows. At least {LEAST_ROWS} are needed to see what "
            f"its columns add."
        )
    with few_threads(setting):
        runs = compare_columns(pair, got, party, setting.metric, seeds, tell)
    return _judged(party, setting, got, runs, epsilon, delta)


def _nobody(what: str, done: int, total: int) -> None:
    """Nobody listens."""


def between(parts: Split, party: str) -> VerticalData:
    """Training and validation rows of the active party and of one other."""
    known = [name for name in parts.train.views if name != parts.train.active]
    if party not in known:
        raise ConfigError(
            f"party names {party!r}, which is no partner of the active party. {did_you_mean(party, known)}"
        )
    whole = joined(parts.train, validation(parts))
    kept = [name for name in (whole.active, party) if name in whole.views]
    both = VerticalData.of({name: whole.views[name] for name in kept}, whole.labels, whole.active, whole.task)
    return _at_most(both, LABELLED * 2)


def _at_most(data: VerticalData, labelled: int) -> VerticalData:
    """The same rows, with so many labels at most."""
    if len(data.labels) <= labelled:
        return data
    chosen = np.sort(np.random.default_rng(0xA99).permutation(len(data.labels))[:labelled])
    return VerticalData.of(data.views, data.labels.take(chosen), data.active, data.task)


def compare_columns(pair: VerticalData, got: Received, party: str, metric: str, seeds: int, tell: Tell) -> list[Tried]:
    """Predictions with and without what the partner sent, of the labelled rows that both hold; once for each seed."""
    labels = pair.labels
    own = own_columns(pair, got)
    joint = with_received(own, got, party)
    shared = Labels(got.ids, labels.of(got.ids)[0])
    truth = shared.values
    runs = []
    for seed in range(seeds):
        tell("folds", 2 * seed + 1, 2 * seeds + 1)
        alone = held_out(own, labels, got.ids, pair.classes, pair.task, metric, seed)
        tell("folds", 2 * seed + 2, 2 * seeds + 1)
        both = held_out(joint, shared, got.ids, pair.classes, pair.task, metric, seed)
        runs.append(Tried(truth, {ALONE: alone, JOINT: both}, pair.classes))
    return runs


def own_columns(pair: VerticalData, got: Received) -> View | None:
    """The active party's columns of its labelled rows; of images, their representations; None where it has none."""
    view = pair.views.get(pair.active)
    if view is None:
        return None
    if got.own is not None:
        return _numbers(got.labelled, got.own, pair.active)
    return view.take(locate(view.ids, pair.labels.ids))


def with_received(own: View | None, got: Received, party: str) -> View:
    """The same rows with the representations as further columns; rows that the partner holds."""
    sent = _numbers(got.ids, got.representations, party)
    if own is None:
        return sent
    mine = own.take(locate(own.ids, got.ids))
    return replace(mine, x=np.concatenate([mine.x, sent.x], axis=1), columns=(*mine.columns, *sent.columns))


def _numbers(ids: npt.NDArray[Any], x: npt.NDArray[np.float32], name: str) -> View:
    columns = tuple(f"{name} {i}" for i in range(x.shape[1]))
    return View(ids, x, columns, np.zeros((len(ids), 0), np.int32))


def _judged(
    party: str, setting: Setting, got: Received, runs: Sequence[Tried], epsilon: float | None, delta: float
) -> Appraisal:
    """The gain with its interval: drawn rows and seeds, and what full training gave in the record besides."""
    means = mean_scores(setting.metric, runs)
    drawn = resampled(setting.metric, runs)
    gains = np.array([setting.gain(j, a) for a, j in zip(drawn[ALONE], drawn[JOINT], strict=True)])
    sampling = float(gains.std(ddof=1))
    gap = packaged().gap
    if epsilon is not None:  # the record has no noise: what it says of full training does not apply
        gap = {**gap, "factor": 1.0, "constant": 0.0}
    gain, spread = full_gain(setting.gain(means[JOINT], means[ALONE]), sampling, setting, gap)
    return Appraisal(
        party, setting, means[ALONE], means[JOINT], gain, gain - NORMAL_90 * spread, gain + NORMAL_90 * spread,
        sampling, len(got.ids), len(runs), got.bytes, epsilon, None if epsilon is None else delta,
    )  # fmt: skip


def full_gain(gain: float, sampling: float, setting: Setting, gap: Mapping[str, float]) -> tuple[float, float]:
    """The gain of full training, and its standard deviation, by the gain that one round shows.

    `gap` is what the record says: a factor, a constant and a standard deviation, as shares of the guess's error.
    """
    expected = gap["factor"] * gain + gap["constant"] * setting.guess
    return expected, float(np.hypot(gap["factor"] * sampling, gap["spread"] * setting.guess))
