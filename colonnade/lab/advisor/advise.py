"""`advise`: which method to use on these data, what to expect of it, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from colonnade.data.metrics import check_metric, default_metric
from colonnade.data.splits import Split, split
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError, above, at_least, raise_all
from colonnade.lab.advisor import words
from colonnade.lab.advisor.probes import Probe, Tell, few_threads, run_probes, validation
from colonnade.lab.advisor.recommend import Candidate, Limits, choose
from colonnade.lab.advisor.record import Record, packaged
from colonnade.lab.advisor.setting import Setting, setting_of
from colonnade.lab.report.text import bytes_text, score_text, seconds_text


@dataclass(frozen=True)
class Advice:
    """A method, what to expect of it, and what was considered."""

    setting: Setting
    probes: Mapping[str, Probe]
    candidates: tuple[Candidate, ...]  # best first
    left_out: Mapping[str, str]  # method, and why
    why: tuple[str, ...]
    changes: tuple[str, ...]  # what would change the advice
    epsilon: float | None = None

    @property
    def method(self) -> str:
        """The method to use."""
        return self.candidates[0].method

    @property
    def sentence(self) -> str:
        """The advice in one sentence."""
        one = self.candidates[0]
        time = f", about {seconds_text(one.seconds)}" if one.seconds else ""
        sent = "nothing sent" if one.bytes == 0 else f"about {bytes_text(one.bytes)} sent" if one.bytes else ""
        best = f", the best of {len(self.candidates)} candidates" if len(self.candidates) > 1 else ""
        return (
            f"Use {one.method}: {self.setting.metric} of about {score_text(one.score)} expected{best} "
            f"({score_text(one.low)} to {score_text(one.high)} in nine runs of ten){', ' * bool(sent)}{sent}{time}."
        )

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self.why, *self.changes])

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return {
            "advice": self.method, "sentence": self.sentence, "why": list(self.why), "changes": list(self.changes),
            "epsilon": self.epsilon, "candidates": [one.to_json() for one in self.candidates],
            "left_out": dict(self.left_out), "setting": self.setting.to_json(),
            "probes": {name: probe.to_json() for name, probe in self.probes.items()},
        }  # fmt: skip


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
            from colonnade.lab.advisor.private import advise_privately

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


def nothing_left(left_out: Mapping[str, str]) -> str:
    """Why there is no advice."""
    return f"No method is left. {'; '.join(f'{name}: {why}' for name, why in left_out.items())}. Raise a budget."
