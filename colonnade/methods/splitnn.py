"""SplitNN: ordinary vertical federated learning (Vepakomma et al. 2019).

Also "supervised VFL" (Castiglia et al. 2022, App. A) and "FedVanilla" / "FedSplitNN" (He et al. 2022, Eq. 1): each
party has an encoder, the active party a head; they learn from the rows that are aligned and labelled, and no others.

Symbols of Castiglia et al. 2022: h_m(θ_m) encoder of party m, θ_0 head, 𝓑^t batch at step t, F loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from colonnade.methods._base.federated import FederatedMethod
from colonnade.methods._base.options import at_least
from colonnade.methods._base.parts.byte_budget import ByteBudget
from colonnade.methods._base.parts.monitor import Monitor, Training, batches
from colonnade.methods._base.parts.private_head import Private, private_exchanges
from colonnade.methods._base.private import PrivateMethod
from colonnade.parties.federation import Federation
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class SplitNN(PrivateMethod, FederatedMethod):
    """Encoder at every party, head at the active one, trained on aligned labelled rows."""

    name = "splitnn"
    paper = "Vepakomma et al. 2019"
    summary = "ordinary VFL: representations up, gradients down, every batch"

    max_bytes: int | None = None  # training stops before all traffic would exceed this (SplitNN-Comm); none: no limit

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        if self.max_bytes is None:
            return
        at_least(problems, "max_bytes", self.max_bytes, 1, hint="Use none for no limit.")
        if self.epsilon is not None:
            problems.append(
                f"max_bytes={self.max_bytes!r} cannot be combined with epsilon={self.epsilon!r}: the noise is planned "
                f"for a number of steps, whose samples differ in size. Lower epochs instead."
            )

    def training(self) -> Training:
        """How the supervised phase updates, and when it stops."""
        return replace(super().training(), max_bytes=self.max_bytes)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Train from scratch."""
        self.prepare(fed)
        train_together(self, fed, monitor)


FROM_GRADIENTS = "its encoder learns from gradients of single rows, which carry no noise"


def train_together(method: PrivateMethod, fed: Federation, monitor: Monitor) -> None:
    """`split_training` with a method's options; with its budget, the active party learns by DP-SGD."""
    ledger = method.plan_privacy(fed, len(fed.active.labelled_aligned), uncovered=FROM_GRADIENTS)
    split_training(fed, monitor, method.training(), private=method.private(fed, ledger))
    method.settle(fed, ledger)


def split_training(
    fed: Federation,
    monitor: Monitor,
    training: Training,
    penalty: Callable[[], Tensor] | None = None,
    private: Private | None = None,
) -> None:
    """Train all encoders and the head together; the last phase of every method that fine-tunes.

    Line numbers are those of Castiglia et al. 2022, Alg. 2, from line 5 on. With `training.max_bytes`, training stops
    before the batch that would exceed them, and the last entry of the history says so.
    """
    active = fed.active
    rows = active.labelled_aligned.to(active.device, torch.int32)
    active.begin(**training.update)
    with fed.phase(monitor.name):
        fed.tell("begin", **training.update)
        budget = None if training.max_bytes is None else ByteBudget(fed, monitor.name, training.max_bytes)
        first = min(training.batch_size, len(rows))
        if budget is not None:
            budget.need(first)
        with _epochs(fed, rows, training, monitor.name, penalty, private, budget) as epoch_of:
            for epoch in range(1, monitor.epochs + 1):
                stop = monitor.after(epoch, epoch_of() / len(rows))
                ends = stop or epoch == monitor.epochs
                if budget is not None and (budget.reached or not (ends or budget.pays_for(first))):
                    monitor.history[-1]["stopped"] = "max_bytes"
                    stop = True
                if stop:
                    break
        monitor.recall()


@contextmanager
def _epochs(
    fed: Federation,
    rows: Tensor,
    training: Training,
    name: str,
    penalty: Callable[[], Tensor] | None,
    private: Private | None,
    budget: ByteBudget | None,
) -> Iterator[Callable[[], Tensor]]:
    """What makes one epoch over the rows (n,); the sum of their losses, or n times the mean where it was cut short."""
    if private is not None:
        with private_exchanges(fed, rows, private) as epoch:
            yield epoch
        return
    active, steps = fed.active, fed.steps()
    order = generator(training.seed, active.name, name)

    def step(batch: Tensor) -> Tensor:
        h = fed.ask("forward", rows=batch)  # l.7-9: h_m(θ_m; X_m), one message up per party
        loss, gradients = active.step(batch, h, penalty)  # l.10-11: θ_0, and the active party's own encoder
        fed.tell("backward", gradient=gradients)  # l.12-16: ∇_{h_m} F, one message down; each party updates θ_m
        return loss * len(batch)

    def plain_epoch() -> Tensor:
        total, seen = torch.zeros((), device=active.device), 0
        every = batches(rows, training.batch_size, order)
        for batch in every if budget is None else budget.within(every):  # l.6: 𝓑^t
            total += steps.run(step, batch)
            seen += len(batch)
        return total if seen == len(rows) else total * (len(rows) / seen)

    yield plain_epoch
