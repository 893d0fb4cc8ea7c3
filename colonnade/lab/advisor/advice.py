"""An advice: a method, what to expect of it, and what was considered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from colonnade.lab.advisor.probes import Probe
from colonnade.lab.advisor.recommend import Candidate
from colonnade.lab.advisor.setting import Setting
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


def nothing_left(left_out: Mapping[str, str]) -> str:
    """Why there is no advice."""
    return f"No method is left. {'; '.join(f'{name}: {why}' for name, why in left_out.items())}. Raise a budget."
