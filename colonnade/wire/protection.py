"""Protections: what a sender does to a message before it leaves.

Noise is called noise. `GaussianNoise` and `Iso` have no (ε, δ): nothing bounds the numbers that they are added to.
`protections/` holds those that know more: of a bound (`clipped`), of the labels (`marvell`).

R rows of a tensor, D their width; a tensor with one axis is one row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import torch
from torch import Generator, Tensor

from colonnade.seeds import generator
from colonnade.wire.kind import Kinds
from colonnade.wire.message import Message

NO_GUARANTEE = "noise, no guarantee"


class Protection(Protocol):
    """Changes messages of some kinds, and leaves the others alone."""

    def apply(self, message: Message) -> Message:
        """The message as it leaves its sender."""

    def describe(self) -> dict[str, Any]:
        """The protection as a run's record names it: name, kind, strength, label, …"""

    def learn(self, kinds: Kinds) -> None:
        """Take in the kinds of the run."""


@dataclass
class Noise:
    """Base of what adds noise to the messages of one kind; each sender draws from a generator of its own.

    The draws follow from the seed, the sender and the purpose: a run can be repeated, and who knows the seed can
    subtract the noise. Between sites, each sender needs a seed that it keeps to itself.
    """

    kind: str
    scale: float  # the strength; 0 leaves messages as they are
    seed: int
    phases: frozenset[str] | None = None  # only in these; None: in all
    purpose: tuple[str, ...] = ("noise",)  # two protections with one purpose would draw the same numbers
    drawn: dict[tuple[str, torch.device], Generator] = field(default_factory=dict, repr=False)
    kinds: Kinds = field(default_factory=dict, repr=False)  # of the run; the wire gives them

    name: ClassVar[str]
    label: ClassVar[str] = NO_GUARANTEE

    def apply(self, message: Message) -> Message:
        """The message with noise, if it is of the kind and sent in one of the phases."""
        if not self.concerns(message):
            return message
        tensors = {name: self._protected(t, message) for name, t in message.tensors.items()}
        return Message(message.kind, message.sender, message.receiver, message.phase, tensors, message.values)

    def learn(self, kinds: Kinds) -> None:
        """Take in the kinds of the run."""
        self.kinds = kinds

    def concerns(self, message: Message) -> bool:
        """Whether the message is changed; the further attempts of a phase ("train 2") are that phase."""
        phase = message.phase.partition(" ")[0]
        return message.kind == self.kind and self.scale != 0 and (self.phases is None or phase in self.phases)

    def _protected(self, tensor: Tensor, message: Message) -> Tensor:
        if not tensor.is_floating_point() or tensor.numel() == 0:
            return tensor
        if self.kinds[self.kind].weighed and tensor.ndim == 1:
            return torch.cat([self.protect(tensor[None, :-1], message)[0], tensor[-1:]])
        if tensor.ndim == 1:
            return self.protect(tensor[None], message)[0]
        return self.protect(tensor, message)

    def protect(self, rows: Tensor, message: Message) -> Tensor:
        """(R, D) → (R, D), never in place."""
        raise TypeError(f"{type(self).__name__} does not define protect")

    def draw(self, shape: tuple[int, ...] | torch.Size, like: Tensor, sender: str) -> Tensor:
        """Standard normal numbers, the next that this sender has."""
        key = (sender, like.device)
        if key not in self.drawn:
            self.drawn[key] = generator(self.seed, sender, *self.purpose, device=like.device)
        return torch.randn(shape, generator=self.drawn[key], device=like.device, dtype=like.dtype)

    def describe(self) -> dict[str, Any]:
        """The protection as a run's record names it."""
        phases = None if self.phases is None else sorted(self.phases)
        return {"name": self.name, "kind": self.kind, "strength": self.scale, "phases": phases, "label": self.label}


@dataclass
class GaussianNoise(Noise):
    """Zero-mean noise of standard deviation `scale` on every number (Zhang et al. 2024, Eq. 20; Wu et al. 2022, §5.8).

    Without a bound on the numbers themselves this has no (ε, δ): it is noise, not differential privacy.
    """

    name: ClassVar[str] = "noise"

    def protect(self, rows: Tensor, message: Message) -> Tensor:
        """(R, D) → (R, D)."""
        return rows + self.scale * self.draw(rows.shape, rows, message.sender)


@dataclass
class Iso(Noise):
    """ISO (Li et al. 2022; He et al. 2022, §4.4): isotropic noise as large as the largest row of the message.

    σ = λ · max_r ‖row_r‖₂ / √D on every number, λ being `scale`: the noise of a row has about λ times the norm of the
    largest row. It adapts to the numbers, and for that very reason bounds nothing.
    """

    name: ClassVar[str] = "iso"

    def protect(self, rows: Tensor, message: Message) -> Tensor:
        """(R, D) → (R, D)."""
        largest = torch.linalg.vector_norm(rows, dim=1).amax()
        sigma: Tensor = self.scale * largest / math.sqrt(rows.shape[1])
        return rows + sigma * self.draw(rows.shape, rows, message.sender)
