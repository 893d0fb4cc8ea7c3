"""DP-SGD at the active party: its head and own encoder (Wu et al. 2022, Alg. 1, lines 20-30).

Representations come from the passive parties, sent once or asked for each sample. n rows, B of a sample, D width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.privacy.course import per_epoch
from colonnade.privacy.dp_sgd import PrivateSteps
from colonnade.privacy.entry import Entry
from colonnade.seeds import generator


@dataclass(frozen=True)
class Private:
    """How the active party trains privately."""

    entry: Entry
    clip: float  # Ω
    epochs: int
    seed: int


Epoch = Callable[[], Tensor]  # one epoch's share of the planned steps; the sum of the losses of its rows


class Host:
    """What a private step of the active party reads and minimises."""

    def __init__(self, active: ActiveParty, rows: Tensor, names: list[str]) -> None:
        self.active, self.rows, self.names = active, rows, names
        table = active.tables.get("train")
        self.table = table if active.encoder is not None else None
        self.own_inputs = 0 if self.table is None else len(self.table.all())
        trained = {k: m for k, m in active.modules().items() if not (active.frozen and k == "encoder")}
        self.module = nn.ModuleDict(trained)

    def draw(self, at: Tensor, received: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """Own inputs, representations (B, D) and labels of the rows at these positions (B,)."""
        chosen = self.rows[at]
        own = self.table.rows(chosen) if self.table is not None else ()
        return (*own, *(received[name] for name in self.names), self.active.y["train"][chosen])

    def loss(self, *drawn: Tensor) -> Tensor:
        """The mean loss of what was drawn."""
        active = self.active
        *inputs, y = drawn
        train = torch.is_grad_enabled() and not active.frozen
        own = active.encode(tuple(inputs[: self.own_inputs]), train=train) if self.own_inputs else None
        received = dict(zip(self.names, inputs[self.own_inputs :], strict=True))
        return active.targets.loss(active.logits(active.joint(own, received, len(y))), y)

    def steps(self, private: Private, part: int | None = None) -> PrivateSteps:
        """Private steps over the rows."""
        active = self.active
        order = generator(private.seed, active.name, "sample")
        noise = generator(private.seed, active.name, "privacy noise", device=active.device)
        return PrivateSteps(
            self.module, active.optimizer, private.entry,
            clip=private.clip, rows=len(self.rows), order=order, noise=noise, part=part,
        )  # fmt: skip


@contextmanager
def private_epochs(active: ActiveParty, rows: Tensor, sent: Mapping[str, Tensor], private: Private) -> Iterator[Epoch]:
    """Learn from the rows (n,) and the representations (n, D) that were sent for them."""
    host = Host(active, rows, list(sent))

    def draw(at: Tensor) -> tuple[Tensor, ...]:
        return host.draw(at, {name: h[at] for name, h in sent.items()})

    with host.steps(private) as steps:
        yield _epoch(private, len(rows), lambda: steps.step(draw, host.loss))


@contextmanager
def private_exchanges(fed: Federation, rows: Tensor, private: Private) -> Iterator[Epoch]:
    """As `private_epochs`, but representations are asked for each sample, and gradients by them sent back.

    These gradients are those of single rows, without noise: what the passive parties learn from them is not covered.
    """
    host = Host(fed.active, rows, list(fed.passive))
    leaves: dict[str, Tensor] = {}

    def draw(at: Tensor) -> tuple[Tensor, ...]:
        received = fed.ask("forward", rows=rows[at].to(torch.int32))
        leaves.update({name: h.detach().requires_grad_() for name, h in received.items()})
        return host.draw(at, leaves)

    def exchange() -> Tensor:
        leaves.clear()
        loss = steps.step(draw, host.loss)
        if leaves:  # else nobody was drawn
            fed.tell("backward", gradient={name: h.grad for name, h in leaves.items() if h.grad is not None})
        return loss

    with host.steps(private, part=len(rows)) as steps:
        yield _epoch(private, len(rows), exchange)


def _epoch(private: Private, rows: int, step: Callable[[], Tensor]) -> Epoch:
    counts = per_epoch(private.entry, private.epochs)

    def epoch() -> Tensor:
        losses = [step() for _ in range(next(counts))]
        return torch.stack(losses).mean() * rows if losses else torch.zeros(())

    return epoch
