"""What one party did with noise: the mechanism that was planned, what happened, and what was measured of it.

σ noise multiplier (standard deviation of the noise ÷ bound on the norm), q sampling rate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from colonnade.errors import ColonnadeError, ConfigError, raise_all

CHANCE = 1e-9  # how unlikely a measurement must be, under what the ledger says, before it is called a lie
PRETRAINING = "pretrain"  # the phase in which parties learn alone, as records name it
ROUNDING = 1e-3  # relative error of a measured variance that float32 may cause


class PrivacyError(ColonnadeError):
    """What happened is not what the ledger says, so its ε would be a lie."""


@dataclass(frozen=True, kw_only=True)
class SampledGaussian:
    """Sums of clipped rows of a Poisson sample, with noise σ · clip: the steps of DP-SGD (Abadi et al. 2016)."""

    noise_multiplier: float | None  # σ; None: to be found
    rate: float  # q: each row takes part in a step with this chance, independently
    steps: int

    def __post_init__(self) -> None:
        problems = _problems(self.noise_multiplier, "steps", self.steps)
        if not 0 < self.rate <= 1:
            problems.append(f"rate must be in (0, 1]. Got {self.rate!r}. Use batch size / rows.")
        raise_all(problems, ConfigError, "SampledGaussian")

    @property
    def times(self) -> int:
        """Uses that were planned."""
        return self.steps


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """A released vector per row, clipped, with noise σ · clip."""

    noise_multiplier: float | None  # σ; None: to be found
    count: int  # releases of the same row

    def __post_init__(self) -> None:
        raise_all(_problems(self.noise_multiplier, "count", self.count), ConfigError, "Gaussian")

    @property
    def rate(self) -> float:
        """Every row takes part."""
        return 1.0

    @property
    def times(self) -> int:
        """Uses that were planned."""
        return self.count


Mechanism = SampledGaussian | Gaussian


@dataclass(kw_only=True)
class Observed:
    """Measurements of what was added and drawn, in units of the clipping norm."""

    squares: float = 0.0  # Σ noise²
    numbers: int = 0
    uses: int = 0  # uses in which noise was measured
    unlikely: float = 1.0  # least tail probability of one use's noise
    drawn: int = 0  # rows that took part
    offered: int = 0  # rows that could have

    @property
    def noise_multiplier(self) -> float | None:
        """σ as measured."""
        return math.sqrt(self.squares / self.numbers) if self.numbers else None


@dataclass
class Entry:
    """One mechanism of one party in one phase.

    `done` is fed by what happens, one use at a time; ε is computed from it. `not_covered` is the reason why no ε holds
    for this entry, e.g. noise without clipping; its mechanism, if any, is then what the accountant would be told.
    """

    party: str
    phase: str
    mechanism: Mechanism | None
    not_covered: str | None = None
    done: int = 0
    observed: Observed = field(default_factory=Observed)
    streams: set[bytes] = field(default_factory=set, repr=False, compare=False)  # generators in use, one set a ledger

    def __post_init__(self) -> None:
        if self.mechanism is None and not self.not_covered:
            raise ConfigError(f"{self}: an entry without a mechanism must say in not_covered why it has none.")

    def __str__(self) -> str:
        return f"party {self.party!r}, phase {self.phase!r}"

    @property
    def sigma(self) -> float:
        """σ, or 0 when no noise is claimed."""
        return (self.mechanism and self.mechanism.noise_multiplier) or 0.0

    def count(self, uses: int = 1) -> None:
        """`uses` more of the mechanism happened."""
        if uses < 0:
            raise ConfigError(f"{self}: uses that happened cannot be taken back. Got {uses!r}.")
        self.done += uses

    def observe(self, squares: float, numbers: int, uses: int = 1) -> None:
        """Noise with Σ (noise / clip)² = `squares` was added to so many numbers, in one use or a further part of it."""
        if not math.isfinite(squares):
            raise PrivacyError(
                f"{self}: what is to be released is not finite, so nothing bounds it. Lower the learning rate."
            )
        seen = self.observed
        seen.squares, seen.numbers, seen.uses = seen.squares + squares, seen.numbers + numbers, seen.uses + uses
        seen.unlikely = min(seen.unlikely, tail(squares, numbers, self.sigma))

    def claim(self, generator: torch.Generator) -> None:
        """Refuse a stream of random numbers that this ledger has already seen: noise used twice can be subtracted."""
        mark = hashlib.blake2b(generator.get_state().numpy().tobytes(), digest_size=16).digest()
        if mark in self.streams:
            raise PrivacyError(
                f"{self}: its generator is at a point where another one began, so noise or samples would be repeated. "
                "Keep one generator for all epochs, and derive the seed from the party, the phase and the purpose."
            )
        self.streams.add(mark)

    def problems(self) -> list[str]:
        """Where what happened and what was measured disagree with what the ledger says."""
        if self.mechanism is None:
            return []
        return [f"{self}: {text}" for text in (self._overrun(), self._noise_lies(), self._sample_lies()) if text]

    def _overrun(self) -> str | None:
        planned = self.mechanism.times if self.mechanism else 0
        if self.done <= planned:
            return None
        return f"{self.done} uses happened and {planned} were planned, so more was spent than was asked for."

    def _noise_lies(self) -> str | None:
        seen, claimed = self.observed, self.sigma
        if not claimed or (not self.done and not seen.uses):
            return None
        if seen.uses != self.done:
            return f"noise was measured in {seen.uses} uses and {self.done} were counted."
        likely = min(tail(seen.squares, seen.numbers, claimed), seen.unlikely * self.done)
        if likely >= CHANCE:
            return None
        return (
            f"the ledger says noise {claimed:.6g} times the clipping norm, measured was {seen.noise_multiplier:.6g} "
            f"over {seen.numbers} numbers, and in some use less or more (chance {likely:.1g})."
        )

    def _sample_lies(self) -> str | None:
        seen, rate = self.observed, self.mechanism.rate if self.mechanism else 1.0
        if not seen.offered:
            return None
        error = math.sqrt(seen.offered * rate * (1 - rate))
        if abs(seen.drawn - rate * seen.offered) <= 6 * error + 6:  # 6: the binomial tail of small counts is long
            return None
        return f"the ledger says sampling rate {rate:.6g}, measured was {seen.drawn / seen.offered:.6g}."

    def to_json(self) -> dict[str, Any]:
        """What the record of a run holds."""
        mechanism = asdict(self.mechanism) | {"kind": type(self.mechanism).__name__} if self.mechanism else None
        return {
            "party": self.party,
            "phase": self.phase,
            "mechanism": mechanism,
            "not_covered": self.not_covered,
            "done": self.done,
            "observed": asdict(self.observed) | {"noise_multiplier": self.observed.noise_multiplier},
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Entry:
        """The inverse of `to_json`."""
        values = dict(saved["mechanism"] or {})
        kinds: dict[str | None, type[Mechanism]] = {"SampledGaussian": SampledGaussian, "Gaussian": Gaussian}
        made = kinds.get(values.pop("kind", None))
        seen = {key: value for key, value in saved["observed"].items() if key != "noise_multiplier"}
        return cls(
            party=saved["party"],
            phase=saved["phase"],
            mechanism=made(**values) if made else None,
            not_covered=saved["not_covered"],
            done=saved["done"],
            observed=Observed(**seen),
        )


def tail(squares: float, numbers: int, sigma: float) -> float:
    """How likely `numbers` draws of N(0, σ²) are to be as far from Σ noise² = numbers · σ², on the side of `squares`.

    Σ noise² / σ² has the χ² distribution with `numbers` degrees of freedom.
    """
    if not numbers or not sigma or abs(squares / (numbers * sigma**2) - 1) < ROUNDING:
        return 1.0
    half, x = torch.tensor([numbers / 2, squares / (2 * sigma**2)], dtype=torch.float64)
    below = float(torch.special.gammainc(half, x))
    return min(below, float(torch.special.gammaincc(half, x)))


def _problems(noise_multiplier: float | None, name: str, times: int) -> list[str]:
    problems = []
    if noise_multiplier is not None and not 0 <= noise_multiplier < math.inf:
        problems.append(f"noise_multiplier must be at least 0. Got {noise_multiplier!r}. find_noise finds it for an ε.")
    if not isinstance(times, int) or times < 1:
        problems.append(f"{name} must be a whole number of at least 1. Got {times!r}.")
    return problems
