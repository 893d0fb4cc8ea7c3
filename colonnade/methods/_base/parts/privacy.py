"""Differential privacy as an option of methods: the budget, the plan, and the ledger.

ε is per person: her rows are at every party, so what all parties' mechanisms release adds up (Wu et al. 2022, §4.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from colonnade.methods._base.options.groups import Privacy
from colonnade.methods._base.parts.private import Private
from colonnade.objectives.training import Lesson
from colonnade.parties.federation import Federation
from colonnade.privacy.accounting import Division, sampling_rate, steps_of
from colonnade.privacy.course import not_covered
from colonnade.privacy.entry import PRETRAINING, Entry, Gaussian, Observed, SampledGaussian
from colonnade.privacy.ledger import Ledger
from colonnade.wire.protections import ClippedGaussian

GIVEN_NETWORKS = "it holds given the networks, which learnt from the same rows without noise"


def plan_privacy(
    method: Any, fed: Federation, rows: int, *, lesson: Lesson | None = None, uncovered: str | None = None
) -> Ledger | None:
    """Find the noise of every party for its part of the budget; None where no budget was given.

    Args:
        method: with the options of `Privacy`.
        fed: the federation.
        rows: that the active party trains on.
        lesson: what the passive parties learn privately.
        uncovered: why what the passive parties learn instead has no ε.
    """
    if method.epsilon is None:
        return None
    planned = [Entry(name, "encoder", None, uncovered) for name in fed.passive if uncovered]
    if lesson is not None and lesson.epochs:  # encoders that stay as they were drawn spend nothing
        with fed.phase("setup"):
            plans = fed.ask_values("plan_private", **lesson.values())
        why = not_covered(lesson)
        for name, plan in plans.items():
            rate, steps = cast(float, plan["rate"]), cast(int, plan["steps"])
            mechanism = SampledGaussian(noise_multiplier=None, rate=rate, steps=steps)
            planned.append(Entry(name, PRETRAINING, mechanism, why))
    rate, steps = sampling_rate(method.batch_size, rows), steps_of(method.epochs, method.batch_size, rows)
    own = SampledGaussian(noise_multiplier=None, rate=rate, steps=steps)
    planned.append(Entry(fed.active.name, "train", own))
    return Ledger.within(method.epsilon, method.delta, planned, cast(Division, method.division), rows)


def private_of(method: Any, fed: Federation, ledger: Ledger | None) -> Private | None:
    """How the active party trains under the ledger."""
    if ledger is None:
        return None
    return Private(ledger.entry(fed.active.name, "train"), method.clip, method.epochs, method.seed)


def private_lesson(method: Any, lesson: Lesson, ledger: Ledger | None) -> dict[str, Any]:
    """The lesson as it is told to the passive parties, each with its own noise."""
    if ledger is None or not lesson.epochs:
        return dict(lesson.values())
    noise = {entry.party: entry.sigma for entry in ledger.entries if entry.phase == PRETRAINING}
    return {**replace(lesson, clip=method.clip).values(), "noise": noise}


def settle(method: Any, fed: Federation, ledger: Ledger | None) -> None:
    """Take in what the passive parties say happened, and compare it with the plan; a run that lied leaves nothing."""
    if ledger is not None and any(entry.phase == PRETRAINING for entry in ledger.entries):
        with fed.phase("setup"):
            told = fed.ask_values("tell_account")
        ledger.merge(_entry(ledger.entry(name, PRETRAINING), values) for name, values in told.items())
    for entry in ledger.entries if ledger is not None else ():
        entry.done = entry.done if entry.mechanism is not None else 1  # it did happen
    if ledger is not None:
        ledger.check()
    method.ledger_ = ledger


def privacy_of(method: Any) -> dict[str, Any] | None:
    """What a trained method promised and what it spent, for its record; None where nothing was private."""
    ledger = with_releases(getattr(method, "ledger_", None), method)
    if ledger is None:
        return None
    delta = getattr(method, "delta", Privacy.delta)
    division = cast(Division, getattr(method, "division", Privacy.division))
    spent = ledger.epsilon(delta, division)
    return {
        "epsilon": getattr(method, "epsilon", None), "delta": delta, "division": division,
        "spent": spent if math.isfinite(spent) else None, "covered": math.isfinite(spent),
        "nominal": ledger.epsilon(delta, division, nominal=True),
        "rows": ledger.rows(), "summary": ledger.summary(delta, division), "ledger": ledger.to_json(),
    }  # fmt: skip


def with_releases(ledger: Ledger | None, method: Any) -> Ledger | None:
    """The ledger with what clipped and noisy messages released beside it.

    A release says how much of a row a message gives away, given the network that made it; where that learnt from the
    same rows without noise, no ε holds.
    """
    fed = None if method.fitted_ is None else method.fitted_.federation
    found = [p for p in (fed.wire.protections if fed is not None else []) if isinstance(p, ClippedGaussian)]
    if not found:
        return ledger
    whole = Ledger()
    whole.merge(ledger.entries if ledger is not None else [])
    private = {entry.party for entry in whole.entries if entry.phase == PRETRAINING and not entry.not_covered}
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
