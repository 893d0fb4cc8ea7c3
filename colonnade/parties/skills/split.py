"""Training an encoder by gradients of its representations: the skill of all split training.

B rows of a batch, D width of a representation.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from colonnade.errors import WireError
from colonnade.nets.optimizer import OPTIMIZERS, make_optimizer
from colonnade.parties.skills.bounds import number, one_of
from colonnade.parties.skills.kinds import GRADIENT, ORDER, REPRESENTATION, ROWS
from colonnade.parties.skills.skill import Reply, Skill, operation
from colonnade.parties.skills.stacked_encoder import EncoderStack, StackedSplit
from colonnade.wire.message import Message

UPDATE = {"optimizer": one_of(*OPTIMIZERS), "learning_rate": number(0), "weight_decay": number(0)}


class Split(Skill):
    """Representations with a graph, and updates from the gradients that come back."""

    beside_stack = True  # by its stacked form
    output: Tensor | None = None  # of the last forward, with its graph
    optimizer: torch.optim.Optimizer | None = None

    @operation(asks=ORDER, takes=UPDATE)
    def begin(self, message: Message) -> None:
        """Start training with a fresh optimizer; what served pre-training alone is dropped."""
        settings: dict[str, Any] = dict(message.values)
        self.party.rest()
        self.optimizer = make_optimizer(
            self.party.built().parameters(),
            settings["optimizer"],
            settings["learning_rate"],
            settings["weight_decay"],
        )

    @operation(asks=ROWS, answers=REPRESENTATION, may_be_late=True)
    def forward(self, message: Message) -> Reply:
        """Representations of the asked rows; the graph stays here, for `backward`."""
        party = self.party
        self.output = party.encode(party.table("train").batch(message.tensors["rows"]), train=True)  # (B, D)
        return Reply({"representation": self.output.detach()})

    @operation(asks=GRADIENT)
    def backward(self, message: Message) -> None:
        """One update from the gradient by the last representation."""
        gradient = message.tensors["gradient"]
        if self.output is None or self.optimizer is None:
            raise WireError(f"party {self.party.name!r} received a gradient before it was asked for a representation.")
        if gradient.shape != self.output.shape:
            raise WireError(
                f"party {self.party.name!r} sent a representation of shape {tuple(self.output.shape)} "
                f"and received a gradient of shape {tuple(gradient.shape)}."
            )
        self.optimizer.zero_grad()
        self.output.backward(gradient)  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.output = None

    @classmethod
    def stacked(cls, stack: EncoderStack) -> StackedSplit:
        """The same for all parties of a stack at once."""
        return StackedSplit(stack)
