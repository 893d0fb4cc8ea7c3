"""Protections: what a sender does to a message before it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Generator, Tensor

from colonnade.seeds import generator
from colonnade.wire.message import Message


class Protection(Protocol):
    """Changes messages of some kinds, and leaves the others alone."""

    def apply(self, message: Message) -> Message:
        """The message as it leaves its sender."""


@dataclass
class GaussianNoise:
    """Zero-mean noise of standard deviation `scale` on every number of the messages of one kind.

    Without a bound on the numbers themselves this has no (ε, δ): it is noise, not differential privacy. Each sender
    draws from a generator of its own.
    """

    kind: str
    scale: float
    seed: int
    phases: frozenset[str] | None = None  # only in these; None: in all
    drawn: dict[tuple[str, torch.device], Generator] = field(default_factory=dict)

    def apply(self, message: Message) -> Message:
        """The message with noise, if it is of the kind."""
        elsewhere = self.phases is not None and message.phase not in self.phases
        if message.kind != self.kind or self.scale == 0 or elsewhere:
            return message
        tensors = {name: self._with_noise(t, message.sender) for name, t in message.tensors.items()}
        return Message(message.kind, message.sender, message.receiver, message.phase, tensors, message.values)

    def _with_noise(self, tensor: Tensor, sender: str) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        key = (sender, tensor.device)
        if key not in self.drawn:
            self.drawn[key] = generator(self.seed, sender, "noise", device=tensor.device)
        noise = torch.randn(tensor.shape, generator=self.drawn[key], device=tensor.device)
        return tensor + self.scale * noise
