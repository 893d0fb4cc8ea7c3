"""One ledger for a run: every mechanism of every party, what it was planned to do and what it did.

Its ε is per person, over all parties: the most that everything released from the entries' mechanisms lets anyone learn
about whether she took part, for a person whose row is at every party. `accounting` says how entries are added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from colonnade.errors import ConfigError, did_you_mean, raise_all
from colonnade.privacy.accounting import Division, Spent, check_budget, epsilon_of, find_noise
from colonnade.privacy.entry import Entry, Mechanism, PrivacyError, SampledGaussian

OUTSIDE = (
    "Outside of it: representations and gradients on the wire that no entry names, scalers and category lists fitted "
    "on the rows, losses that are shown, settings and stops chosen by looking at rows. Noise follows from the run's "
    "seed, but for that of passive parties at other sites: whoever knows the seed can take the noise away."
)


@dataclass(frozen=True)
class Budget:
    """What was asked for."""

    epsilon: float
    delta: float
    division: Division


@dataclass
class Ledger:
    """The entries of a run, one for each party and phase."""

    entries: list[Entry] = field(default_factory=list)
    budget: Budget | None = None
    streams: set[bytes] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def within(
        cls,
        epsilon: float,
        delta: float,
        planned: Sequence[Entry],
        division: Division = "moments",
        rows: int | None = None,
    ) -> Ledger:
        """A ledger whose planned mechanisms get the least noise that keeps ε at δ; see `find_noise`."""
        check_budget(epsilon, delta, rows)
        noise = find_noise(epsilon, delta, planned, division)
        ledger = cls(budget=Budget(epsilon, delta, division))
        for entry in planned:
            mechanism = entry.mechanism
            if mechanism is not None and mechanism.noise_multiplier is None:
                mechanism = replace(mechanism, noise_multiplier=noise[entry.party])
            ledger.plan(entry.party, entry.phase, mechanism, not_covered=entry.not_covered)
        return ledger

    def plan(self, party: str, phase: str, mechanism: Mechanism | None, *, not_covered: str | None = None) -> Entry:
        """A new entry; nothing has happened yet. `not_covered`: why no ε can hold for it."""
        if any((e.party, e.phase) == (party, phase) for e in self.entries):
            raise ConfigError(f"the ledger already has an entry of party {party!r} in phase {phase!r}. Name the phase.")
        if mechanism is not None and mechanism.noise_multiplier is None:
            raise ConfigError(f"party {party!r}, phase {phase!r}: give a noise_multiplier, or use Ledger.within.")
        self.entries.append(Entry(party, phase, mechanism, not_covered, streams=self.streams))
        return self.entries[-1]

    def entry(self, party: str, phase: str) -> Entry:
        """The entry of a party in a phase."""
        for entry in self.entries:
            if (entry.party, entry.phase) == (party, phase):
                return entry
        known = [f"{e.party}/{e.phase}" for e in self.entries]
        raise ConfigError(f"the ledger has no entry {party}/{phase}. {did_you_mean(f'{party}/{phase}', known)}")

    def count(self, party: str, phase: str, steps: int = 1) -> None:
        """`steps` more of the mechanism of this party and phase happened."""
        self.entry(party, phase).count(steps)

    def merge(self, others: Iterable[Entry]) -> None:
        """Take in entries that other parties kept; one that is already here is replaced."""
        for other in others:
            self.entries = [e for e in self.entries if (e.party, e.phase) != (other.party, other.phase)]
            other.streams = self.streams
            self.entries.append(other)

    def epsilon(
        self, delta: float, division: Division = "moments", *, planned: bool = False, nominal: bool = False
    ) -> float:
        """ε at δ of what happened, per person over all parties; inf when an entry that happened is not covered.

        Args:
            delta: δ of the whole run.
            division: how the parties' mechanisms are added up; see `accounting`.
            planned: of what was planned instead. It is the figure to quote when a party could stop early by looking at
                its rows, as then the number of steps is itself a result.
            nominal: as if the reasons in `not_covered` did not exist; what a paper would print, not a guarantee.
        """
        if not nominal and any(e.done or planned for e in self.uncovered()):
            return math.inf
        spent = [Spent(e.party, e.mechanism, self._times(e, planned)) for e in self.entries if e.mechanism is not None]
        return epsilon_of(spent, delta, division)

    def by_party(self, delta: float) -> dict[str, float]:
        """ε at δ of each party's mechanisms alone."""
        names = dict.fromkeys(e.party for e in self.entries)
        return {p: Ledger([e for e in self.entries if e.party == p]).epsilon(delta) for p in names}

    def uncovered(self) -> list[Entry]:
        """Entries for which no ε holds."""
        return [e for e in self.entries if e.not_covered]

    def check(self) -> None:
        """Raise a PrivacyError when what was counted or measured disagrees with what the ledger says."""
        problems = [problem for entry in self.entries for problem in entry.problems()]
        raise_all(problems, PrivacyError, "the ledger does not tell what happened")
        asked = self.budget
        if asked and (spent := self.epsilon(asked.delta, asked.division, nominal=True)) > asked.epsilon:
            raise PrivacyError(f"the run spent epsilon={spent:.6g} of the {asked.epsilon:g} that were asked for.")

    def rows(self) -> list[dict[str, Any]]:
        """One line for each entry, for a table."""
        return [_row(entry) for entry in self.entries]

    def summary(self, delta: float, division: Division = "moments") -> str:
        """What the ledger means, in plain words."""
        parties = len({e.party for e in self.entries})
        lines = [*_headline(self, delta, division, parties), *(_sentence(e) for e in self.entries)]
        return "\n".join([*lines, OUTSIDE])

    def to_json(self) -> dict[str, Any]:
        """What the record of a run holds; an infinite ε is null."""
        asked = self.budget and {
            "epsilon": self.budget.epsilon if math.isfinite(self.budget.epsilon) else None,
            "delta": self.budget.delta,
            "division": self.budget.division,
        }
        return {"budget": asked, "entries": [entry.to_json() for entry in self.entries]}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Ledger:
        """The inverse of `to_json`."""
        asked = saved["budget"]
        epsilon = math.inf if asked and asked["epsilon"] is None else asked and asked["epsilon"]
        ledger = cls(budget=Budget(epsilon, asked["delta"], asked["division"]) if asked else None)
        ledger.merge(Entry.from_json(entry) for entry in saved["entries"])
        return ledger

    @staticmethod
    def _times(entry: Entry, planned: bool) -> int:
        return entry.mechanism.times if planned and entry.mechanism else entry.done


def _row(entry: Entry) -> dict[str, Any]:
    mechanism = entry.mechanism
    return {
        "party": entry.party,
        "phase": entry.phase,
        "mechanism": type(mechanism).__name__ if mechanism else "none",
        "noise": mechanism.noise_multiplier if mechanism else None,
        "noise measured": entry.observed.noise_multiplier,
        "rate": mechanism.rate if mechanism else None,
        "planned": mechanism.times if mechanism else None,
        "done": entry.done,
        "not covered": entry.not_covered or "",
    }


def _headline(ledger: Ledger, delta: float, division: Division, parties: int) -> list[str]:
    spent = ledger.epsilon(delta, division, nominal=True)
    whom = "one party" if parties == 1 else f"{parties} parties"
    figure = f"ε = {spent:.3g} at δ = {delta:g} ({division} division over {whom})"
    if not math.isfinite(ledger.epsilon(delta, division)):
        why = f"The accountant would say {figure}, but it does not hold." if math.isfinite(spent) else ""
        return [f"No differential privacy guarantee: some entry is not covered or has no noise. {why}".strip()]
    return [
        f"Differential privacy per person: {figure}. Any conclusion about a person from what these mechanisms released "
        f"is at most e^ε = {math.exp(min(spent, 700)):.3g} times as likely as it would be without her rows, but for a "
        f"chance of δ."
    ]


def _sentence(entry: Entry) -> str:
    mechanism, seen = entry.mechanism, entry.observed.noise_multiplier
    text = f"- {entry.party}, {entry.phase}: "
    if mechanism is not None:
        sampled = isinstance(mechanism, SampledGaussian)
        what = f"steps, each on a random {mechanism.rate:.3%} of the rows" if sampled else "releases of every row"
        measured = "not measured" if seen is None else f"measured {seen:.4g}"
        text += (
            f"{entry.done} of {mechanism.times} {what}; noise {entry.sigma:.4g} times the clipping norm ({measured}). "
        )
    return (text + (f"Not covered: {entry.not_covered}" if entry.not_covered else "")).rstrip()
