"""Differential privacy as an option of methods: the budget, the plan, and the ledger.

ε is per person: her rows are at every party, so what all parties' mechanisms release adds up (Wu et al. 2022, §4.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from colonnade.methods._base.network import NetworkMethod
from colonnade.methods._base.options import above, one_of
from colonnade.methods._base.parts.private_head import Private
from colonnade.objectives.training import Lesson
from colonnade.parties.federation import Federation
from colonnade.privacy.accounting import Division, sampling_rate, steps_of
from colonnade.privacy.course import not_covered
from colonnade.privacy.entry import Entry, Gaussian, Observed, SampledGaussian
from colonnade.privacy.ledger import Ledger
from colonnade.wire.protections import ClippedGaussian

DIVISIONS = ("moments", "simple", "pld")
GIVEN_NETWORKS = "it holds given the networks, which learnt from the same rows without noise"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMethod(NetworkMethod):
    """A method that can be trained within a privacy budget."""

    epsilon: float | None = None  # budget per person over all parties, spent by noise in training; None adds no noise
    delta: float = 1e-5  # chance with which ε may not hold; far below one over the number of rows
    clip: float = 1.0  # Ω, bound on the norm of each row's gradient
    division: str = "moments"  # how parties share the budget: moments, simple (ε/k each) or pld (tightest)

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        if self.epsilon is not None:
            above(problems, "epsilon", self.epsilon, 0, "2 to 8 are usual; None trains without noise.")
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            problems.append(f"delta must be between 0 and 1. Got {self.delta!r}. 1e-5 suits some ten thousand rows.")
        above(problems, "clip", self.clip, 0)
        one_of(problems, "division", self.division, DIVISIONS)

    def plan_privacy(
        self, fed: Federation, rows: int, *, lesson: Lesson | None = None, uncovered: str | None = None
    ) -> Ledger | None:
        """Find the noise of every party for its part of the budget; None where no budget was given.

        Args:
            fed: the federation.
            rows: that the active party trains on.
            lesson: what the passive parties learn privately.
            uncovered: why what the passive parties learn instead has no ε.
        """
        if self.epsilon is None:
            return None
        planned = [Entry(name, "encoder", None, uncovered) for name in fed.passive if uncovered]
        if lesson is not None and lesson.epochs:  # encoders that stay as they were drawn spend nothing
            with fed.phase("setup"):
                plans = fed.ask_values("plan_private", **lesson.values())
            why = not_covered(lesson)
            for name, plan in plans.items():
                rate, steps = cast(float, plan["rate"]), cast(int, plan["steps"])
                mechanism = SampledGaussian(noise_multiplier=None, rate=rate, steps=steps)
                planned.append(Entry(name, "pretrain", mechanism, why))
        rate, steps = sampling_rate(self.batch_size, rows), steps_of(self.epochs, self.batch_size, rows)
        own = SampledGaussian(noise_multiplier=None, rate=rate, steps=steps)
        planned.append(Entry(fed.active.name, "train", own))
        return Ledger.within(self.epsilon, self.delta, planned, cast(Division, self.division), rows)

    def private(self, fed: Federation, ledger: Ledger | None) -> Private | None:
        """How the active party trains under the ledger."""
        if ledger is None:
            return None
        return Private(ledger.entry(fed.active.name, "train"), self.clip, self.epochs, self.seed)

    def private_lesson(self, lesson: Lesson, ledger: Ledger | None) -> dict[str, Any]:
        """The lesson as it is told to the guests, each with its own noise."""
        if ledger is None or not lesson.epochs:
            return dict(lesson.values())
        noise = {entry.party: entry.sigma for entry in ledger.entries if entry.phase == "pretrain"}
        return {**replace(lesson, clip=self.clip).values(), "noise": noise}

    def settle(self, fed: Federation, ledger: Ledger | None) -> None:
        """Take in what the guests say happened, and compare it with the plan; nothing is kept of a run that lied."""
        if ledger is not None and any(entry.phase == "pretrain" for entry in ledger.entries):
            with fed.phase("setup"):
                told = fed.ask_values("tell_account")
            ledger.merge(_entry(ledger.entry(name, "pretrain"), values) for name, values in told.items())
        for entry in ledger.entries if ledger is not None else ():
            entry.done = entry.done if entry.mechanism is not None else 1  # it did happen
        if ledger is not None:
            ledger.check()
        self.ledger_ = ledger


def privacy_of(method: NetworkMethod) -> dict[str, Any] | None:
    """What a trained method promised and what it spent, for its record; None where nothing was private."""
    ledger = with_releases(getattr(method, "ledger_", None), method)
    if ledger is None:
        return None
    delta = getattr(method, "delta", PrivateMethod.delta)
    division = cast(Division, getattr(method, "division", PrivateMethod.division))
    spent = ledger.epsilon(delta, division)
    return {
        "epsilon": getattr(method, "epsilon", None), "delta": delta, "division": division,
        "spent": spent if math.isfinite(spent) else None, "covered": math.isfinite(spent),
        "nominal": ledger.epsilon(delta, division, nominal=True),
        "rows": ledger.rows(), "summary": ledger.summary(delta, division), "ledger": ledger.to_json(),
    }  # fmt: skip


def with_releases(ledger: Ledger | None, method: NetworkMethod) -> Ledger | None:
    """The ledger with what clipped and noisy messages released beside it.

    A release says how much of a row a message gives away, given the network that made it; where that learnt from the
    same rows without noise, no ε holds.
    """
    fed = getattr(method, "federation_", None)
    found = [p for p in (fed.wire.protections if fed is not None else []) if isinstance(p, ClippedGaussian)]
    if not found:
        return ledger
    whole = Ledger()
    whole.merge(ledger.entries if ledger is not None else [])
    private = {entry.party for entry in whole.entries if entry.phase == "pretrain" and not entry.not_covered}
    for protection in found:
        for party, phase, noise, count in protection.spent():
            why = None if protection.kind == "representation" and party in private else GIVEN_NETWORKS
            entry = Entry(party, f"{phase}: {protection.kind}", Gaussian(noise_multiplier=noise, count=count), why)
            entry.done = count
            whole.merge([entry])
    return whole


def _entry(planned: Entry, told: Mapping[str, Any]) -> Entry:
    """A guest's account of its steps beside what it was asked to do."""
    seen = {key: told[key] for key in ("squares", "numbers", "uses", "unlikely", "drawn", "offered")}
    return Entry(
        planned.party, planned.phase, planned.mechanism, planned.not_covered,
        done=int(told["done"]), observed=Observed(**seen),
    )  # fmt: skip
