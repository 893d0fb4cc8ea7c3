"""All attacks on one run: who could learn what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from colonnade.attacks.finding import ANYONE, Finding, RefusedError
from colonnade.attacks.gradients import gradients
from colonnade.attacks.label_inference import label_inference
from colonnade.attacks.membership import membership, shadow_models
from colonnade.attacks.reconstruction import reconstruction
from colonnade.attacks.run import Run
from colonnade.errors import ColonnadeError, ConfigError, did_you_mean
from colonnade.methods.threads import Rule, limited

Attack = Callable[..., list[Finding]]  # (run, adversary, auxiliary=…, seed=…)
ATTACKS: dict[str, Attack] = {
    "label-inference": label_inference,
    "gradients": gradients,
    "membership": membership,
    "shadow-models": shadow_models,
    "reconstruction": reconstruction,
}
BY_ANYONE = ("membership", "shadow-models")
BY_ACTIVE = ("reconstruction",)
CERTAIN = 2.0  # standard errors from which on an advantage counts as one


@dataclass
class Judgement:
    """What was found, which attacks did not fit, and which ended in an error."""

    findings: list[Finding] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)  # attack, adversary, reason
    failed: list[dict[str, str]] = field(default_factory=list)  # attack, adversary, reason

    def to_json(self) -> dict[str, Any]:
        """All three."""
        found = [finding.to_json() for finding in self.findings]
        return {"findings": found, "refused": self.refused, "failed": self.failed}


def judge(
    run: Run,
    *,
    attacks: Sequence[str] | None = None,
    adversary: str | None = None,
    auxiliary: int | None = None,
    seeds: int = 1,
) -> Judgement:
    """Perform the attacks that fit what the audit log says; name the others with the reason.

    An attack that ends in an error is named in `failed`, and the others go on.

    Args:
        run: a finished run.
        attacks: names in `ATTACKS`; all by default. One that is named and does not fit is an error.
        adversary: a party, or "anyone" who gets the model; everyone who can be one by default.
        auxiliary: rows that the adversary knows more about; 80 by default, or half of the new rows if that is less.
        seeds: draws of auxiliary rows and starting weights, 0, 1, …
    """
    _check(run, attacks, adversary, seeds)
    out = Judgement()
    with limited(Rule.here().of(run.parts.train).number):
        for name in dict.fromkeys(attacks or ATTACKS):
            for who in [adversary] if adversary is not None else _adversaries(run, name):
                _perform(out, run, name, who, auxiliary, range(seeds), named=bool(attacks))
    return out


def _perform(
    out: Judgement, run: Run, name: str, who: str, auxiliary: int | None, seeds: Iterable[int], *, named: bool
) -> None:
    """One attack by one adversary; an attack that was asked for by name must fit."""
    try:
        for seed in seeds:
            run.tell(f"{name} by {who}, seed {seed}")
            out.findings += ATTACKS[name](run, who, auxiliary=auxiliary, seed=seed)
    except RefusedError as error:
        if named:
            raise ConfigError(f"attack {name} by {who!r}: {error}") from None
        out.refused.append({"attack": name, "adversary": who, "reason": str(error)})
    except Exception as error:  # whatever ends one attack must not end the others
        if named and isinstance(error, ConfigError):  # with options that it cannot have
            raise
        out.failed.append({"attack": name, "adversary": who, "reason": _reason(error)})


def _reason(error: Exception) -> str:
    """An error in one line; the type is said of those that are not raised on purpose."""
    first = next(iter(str(error).splitlines()), "")
    return first if isinstance(error, ColonnadeError) else f"{type(error).__name__}: {first}"


def _check(run: Run, attacks: Sequence[str] | None, adversary: str | None, seeds: int) -> None:
    for name in attacks or ():
        if name not in ATTACKS:
            raise ConfigError(f"there is no attack {name!r}. {did_you_mean(name, ATTACKS)}")
    if adversary is not None and adversary != ANYONE:
        run.check_adversary(adversary)
    if seeds < 1:
        raise ConfigError(f"seeds must be a whole number of at least 1. Got {seeds!r}.")


def _adversaries(run: Run, name: str) -> list[str]:
    """Who performs an attack when nobody is named."""
    if name in BY_ANYONE:
        return [ANYONE]
    others = [party for party in run.parts.train.views if party != run.active]
    return [run.active] if name in BY_ACTIVE or not others else others


@dataclass(frozen=True)
class Line:
    """One attack by one adversary on one target: means over the seeds."""

    finding: Finding  # of the first seed
    seeds: int
    score: float
    spread: float  # standard deviation of the score; 0 for one seed
    baseline: float
    prior: float
    advantage: float
    error: float  # of the advantage, over rows; seeds attack the same run, so they do not lower it

    def sentence(self) -> str:
        """Who could learn what, in plain words."""
        anyone = self.finding.adversary == ANYONE
        who = "Anyone with the model" if anyone else f"Party {self.finding.adversary!r}"
        does = "could learn" if self.advantage > CERTAIN * self.error else "was not shown to learn"
        without = f"guessing gives {self.prior:.3f}" if anyone else f"it had {max(self.baseline, self.prior):.3f} alone"
        score = f"{self.finding.metric} {self.score:.3f} where {without}"
        advantage = f"advantage {self.advantage:+.3f} (standard error {self.error:.3f})"
        return f"{who} {does} {self.finding.target}: {score}, {advantage}."


def lines(findings: list[Finding]) -> list[Line]:
    """Findings of all seeds together."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.attack, finding.adversary, finding.target), []).append(finding)
    out = []
    for group in groups.values():
        scores = [f.score for f in group]
        others = [mean(getattr(f, name) for f in group) for name in ("baseline", "prior", "advantage", "error")]
        out.append(Line(group[0], len(group), mean(scores), stdev(scores) if len(scores) > 1 else 0.0, *others))
    return out
