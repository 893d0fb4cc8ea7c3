"""`advise`: which method to use on these data, what to expect of it, and why."""

from __future__ import annotations

from collections.abc import Mapping

from colonnade.data.metrics import check_metric, default_metric
from colonnade.data.splits import Split, split
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, above, at_least, raise_all
from colonnade.lab.advisor import words
from colonnade.lab.advisor.advice import Advice, nothing_left
from colonnade.lab.advisor.private import advise_privately
from colonnade.lab.advisor.probes import Probe, Tell, few_threads, run_probes, validation
from colonnade.lab.advisor.recommend import Limits, choose
from colonnade.lab.advisor.record import Record, packaged
from colonnade.lab.advisor.setting import Setting, setting_of


def advise(
    data: VerticalData | Split,
    *,
    metric: str | None = None,
    labels: float | None = None,
    aligned: float = 1.0,
    max_bytes: float | None = None,
    max_seconds: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    seed: int = 0,
    seeds: int = 1,
    progress: Tell | None = None,
) -> Advice:
    """Which method to use.

    Args:
        data: all rows, which are split as `colonnade.split` does it, or rows that are split; test rows are not read.
        metric: what a method is chosen by; accuracy or R² by default.
        labels: labelled training rows, as in `split`.
        aligned: fraction of the training rows that stay aligned, as in `split`.
        max_bytes: bytes that a training may send, at most.
        max_seconds: seconds that it may take, at most, on this machine.
        epsilon: privacy budget; only methods whose whole training it covers are then candidates.
        delta: of that budget.
        seed: of the split.
        seeds: times that the probes are repeated, each with other validation rows.
        progress: called with the probe, how many are done, and how many there are.
    """
    problems: list[str] = []
    at_least(problems, "seeds", seeds, 1)
    for name, value in (("max_bytes", max_bytes), ("max_seconds", max_seconds), ("epsilon", epsilon)):
        if value is not None:
            above(problems, name, value, 0, "Leave it out for no limit.")
    raise_all(problems, ConfigError, "advise")
    parts = divided(data, labels, aligned, seed)
    setting = setting_of(parts.train, check_metric(metric or default_metric(parts.train.task), parts.train.task))
    validation(parts)
    limits = Limits(max_bytes, max_seconds)
    with few_threads(setting):
        if epsilon is not None:
            return advise_privately(parts, setting, limits, epsilon, delta, seeds, progress)
        probes, failed = run_probes(parts, setting, seeds=seeds, tell=progress)
    return advice(setting, probes, packaged(), limits, failed)


def divided(data: VerticalData | Split, labels: float | None, aligned: float, seed: int) -> Split:
    """Training, validation and test rows."""
    if isinstance(data, VerticalData):
        return split(data, labels=labels, aligned=aligned, seed=seed)
    if not isinstance(data, Split):
        raise ConfigError(f"data must be VerticalData or a Split. Got {type(data).__name__}.")
    if labels is not None or aligned != 1.0:
        raise ConfigError("labels and aligned say how to split. Give them where the rows are split, not to a Split.")
    return data


def advice(
    setting: Setting, probes: Mapping[str, Probe], record: Record, limits: Limits, failed: Mapping[str, str]
) -> Advice:
    """The advice that probes and record give."""
    choice = choose(setting, probes, record, limits, failed)
    order = choice.within
    if not order:
        raise ConfigError(nothing_left(choice.left_out))
    first = order[0].method
    why = [
        words.about(setting),
        *words.probe_words(setting, probes),
        *words.record_words(record, setting, first),
        *words.chance_words(setting, order),
    ]
    changes = words.change_words(setting, probes, record, order, choice.over)
    return Advice(setting, probes, order, choice.left_out, tuple(why), tuple(changes))
