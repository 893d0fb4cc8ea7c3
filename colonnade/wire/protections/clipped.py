"""Clipping and Gaussian noise: the protection with an (ε, δ), and the count of what it has released.

What is bounded. Neighbouring tables differ by one person, whose row is there or blank, as in DP-SGD. Her row leaves
with norm C at most and a blank one as 0, so noise of deviation σC is a Gaussian mechanism with noise multiplier σ. To
hide what a row holds among all that it could hold, the distance is 2C: halve σ. The one vector of a model's part may
be another one altogether without her, so that 2C is its distance in any case.

What is not. A row acts on the networks of its party, too, and through them on other rows' numbers. For the whole run
to be covered, the networks before the clipping must be trained with differential privacy, or without these rows.

R rows of a tensor, D their width.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from colonnade.wire.kind import Kinds
from colonnade.wire.message import Message
from colonnade.wire.protection import Noise
from colonnade.wire.protections.asked import Asked

SHAVE = 1 - 1e-6  # clipped rows stay below the norm in spite of rounding
UNKNOWN = ""  # the table of messages whose rows cannot be known
RELEASE = ("party", "phase", "noise_multiplier", "count")  # count: of one row, at most
Release = tuple[str, str, float, int]


@dataclass
class Tally:
    """Releases of the rows of one table."""

    whole: int = 0  # of all of them
    rows: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.int64))  # of each one besides

    def add(self, rows: Tensor) -> None:
        """Count these rows, each as often as it is there."""
        more = torch.bincount(rows.cpu().long(), minlength=len(self.rows))
        more[: len(self.rows)] += self.rows
        self.rows = more

    @property
    def most(self) -> int:
        """Releases of the row that was released most often."""
        return self.whole + (int(self.rows.max()) if len(self.rows) else 0)


@dataclass
class ClippedGaussian(Noise):
    """Each row clipped to norm `clip`, then zero-mean noise of deviation `scale` · `clip` on every number."""

    clip: float = field(default=1.0, kw_only=True)
    asked: Asked = field(default_factory=Asked, repr=False)
    tallies: dict[tuple[str, str], dict[str, Tally]] = field(default_factory=dict, repr=False)

    name: ClassVar[str] = "gaussian"

    def learn(self, kinds: Kinds) -> None:
        """Take in the kinds of the run."""
        super().learn(kinds)
        self.asked.kinds = kinds

    def apply(self, message: Message) -> Message:
        """The message as it leaves, and counted, if it is of the kind."""
        self.asked.note(message)
        if self.concerns(message):
            self._count(message)
        return super().apply(message)

    def protect(self, rows: Tensor, message: Message) -> Tensor:
        """(R, D) → (R, D)."""
        norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)  # (R, 1)
        clipped = torch.where(norms > self.clip, rows * (self.clip * SHAVE / norms), rows)
        return clipped + self.scale * self.clip * self.draw(rows.shape, rows, message.sender)

    def _count(self, message: Message) -> None:
        tables = self.tallies.setdefault((message.sender, message.phase), defaultdict(Tally))
        question = self.asked.about(message)
        if question is None:
            tables[UNKNOWN].whole += 1
            return
        if question.rows is None:
            tables[question.table].whole += 1
        else:
            tables[question.table].add(question.rows)
        if question.also is not None:
            tables[question.also].whole += 1

    def spent(self) -> list[Release]:
        """Party, phase, noise multiplier and count; those of one party's phases add up: they may be of the same rows.

        A row is counted as often as it left, whoever received it; a message whose rows are unknown counts for all.
        """
        found: list[Release] = []
        for (party, phase), tables in self.tallies.items():
            unknown = tables.get(UNKNOWN, Tally()).most
            most = max((tally.most for table, tally in tables.items() if table != UNKNOWN), default=0)
            found.append((party, phase, self.noise_multiplier, unknown + most))
        return found

    @property
    def noise_multiplier(self) -> float:
        """Deviation of the noise, divided by what one person can change."""
        return self.scale / 2 if self._one_vector else self.scale

    @property
    def _one_vector(self) -> bool:
        return self.kinds[self.kind].one_vector

    @property
    def promise(self) -> str:
        """What the (ε, δ) is about."""
        if self._one_vector:
            return "(ε, δ) per release, of every row in it"
        return "(ε, δ) per released row, there or blank, given the networks"

    def describe(self) -> dict[str, Any]:
        """The protection as a run's record names it, with what it has released so far."""
        releases = [dict(zip(RELEASE, release, strict=True)) for release in self.spent()]
        return {**super().describe(), "clip": self.clip, "label": self.promise, "releases": releases}
