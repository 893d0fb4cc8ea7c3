"""SplitNN: ordinary vertical federated learning (Vepakomma et al. 2019).

Also "supervised VFL" (Castiglia et al. 2022, App. A) and "FedVanilla" / "FedSplitNN" (He et al. 2022, Eq. 1): each
party has an encoder, the active party a head; they learn from the rows that are aligned and labelled, and no others.

Symbols of Castiglia et al. 2022: h_m(θ_m) encoder of party m, θ_0 head, 𝓑^t batch at step t, F loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Help
from colonnade.methods._base.options.groups import Crossing, Networks, Privacy
from colonnade.methods._base.parts.byte_budget import ByteBudget
from colonnade.methods._base.parts.monitor import Monitor, Training, batches
from colonnade.methods._base.parts.privacy import plan_privacy, private_of, settle
from colonnade.methods._base.parts.private import Private, private_exchanges
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup
from colonnade.parties.federation import Federation
from colonnade.seeds import generator

FROM_GRADIENTS = "its encoder learns from gradients of single rows, which carry no noise"


@dataclass(kw_only=True, eq=False, repr=False)
class SplitNN(Privacy, Crossing, Networks, Method):
    """Encoder at every party, head at the active one, trained on aligned labelled rows."""

    name = "splitnn"
    paper = "Vepakomma et al. 2019"
    summary = "ordinary VFL: representations up, gradients down, every batch"
    family = "rounds"
    skills = SPLIT_SKILLS

    max_bytes: Annotated[
        int | None,
        Ge(1),
        Help(
            "Bytes of all traffic before which training stops (SplitNN-Comm). None sets no limit.",
            "Use none for no limit.",
        ),
    ] = None

    def check(self) -> list[str]:
        """A byte budget and a privacy budget exclude each other."""
        if self.max_bytes is None or self.epsilon is None:
            return []
        return [
            f"max_bytes={self.max_bytes!r} cannot be combined with epsilon={self.epsilon!r}: the noise is planned "
            f"for a number of steps, whose samples differ in size. Lower epochs instead."
        ]

    def setup(self) -> Setup:
        """Ordinary split training."""
        return Setup(skills=self.skills, sends=SPLIT)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Train from scratch."""
        if self.epsilon is None:
            split_training(fed, monitor, Training.of(self))
        else:
            train_privately(self, fed, monitor)


def train_together(method: Any, fed: Federation, monitor: Monitor) -> None:
    """`split_training` with a method's options; with a budget, the active party learns by DP-SGD."""
    if method.epsilon is None:
        split_training(fed, monitor, Training.of(method))
    else:
        train_privately(method, fed, monitor)


def train_privately(method: Any, fed: Federation, monitor: Monitor) -> None:
    """Split training within a budget, which covers the active party's networks."""
    ledger = plan_privacy(method, fed, len(fed.active.labelled_aligned), uncovered=FROM_GRADIENTS)
    private = private_of(method, fed, ledger)
    if private is None:
        raise TypeError("a method without epsilon trains by split_training")
    private_split_training(fed, monitor, Training.of(method), private)
    settle(method, fed, ledger)


def split_training(
    fed: Federation, monitor: Monitor, training: Training, penalty: Callable[[], Tensor] | None = None
) -> None:
    """Train all encoders and the head together; the last phase of every method that fine-tunes.

    Line numbers are those of Castiglia et al. 2022, Alg. 2, from line 5 on. With `training.max_bytes`, training stops
    before the batch that would exceed them, and the last entry of the history says so.
    """
    active = fed.active
    rows = active.labelled_aligned.to(active.device, torch.int32)
    order = generator(training.seed, active.name, monitor.name)
    active.begin(**training.update)

    def step(batch: Tensor) -> Tensor:
        h = fed.ask("forward", rows=batch)  # l.7-9: h_m(θ_m; X_m), one message up per party
        loss, gradients = active.step(batch, h, penalty)  # l.10-11: θ_0, and the active party's own encoder
        fed.tell("backward", gradient=gradients)  # l.12-16: ∇_{h_m} F, one message down; each party updates θ_m
        return loss * len(batch)

    with fed.phase(monitor.name):
        fed.tell("begin", **training.update)
        budget = ByteBudget(fed, monitor.name, training.max_bytes, min(training.batch_size, len(rows)))
        take = fed.steps().over(step, active.device)
        for epoch in range(1, monitor.epochs + 1):
            total, seen = torch.zeros((), device=active.device), 0
            for batch in budget.within(batches(rows, training.batch_size, order)):  # l.6: 𝓑^t
                total += take(batch)
                seen += len(batch)
            loss = total if seen == len(rows) else total * (len(rows) / seen)
            stop = monitor.after(epoch, loss / len(rows))
            if budget.ends(stop or epoch == monitor.epochs):
                monitor.history[-1]["stopped"] = "max_bytes"
                break
            if stop:
                break
        monitor.recall()


def private_split_training(fed: Federation, monitor: Monitor, training: Training, private: Private) -> None:
    """The same, with DP-SGD at the active party."""
    active = fed.active
    rows = active.labelled_aligned.to(active.device, torch.int32)
    active.begin(**training.update)
    with fed.phase(monitor.name):
        fed.tell("begin", **training.update)
        with private_exchanges(fed, rows, private) as epoch_of:
            for epoch in range(1, monitor.epochs + 1):
                if monitor.after(epoch, epoch_of() / len(rows)):
                    break
        monitor.recall()
