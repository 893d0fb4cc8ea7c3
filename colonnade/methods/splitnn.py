"""SplitNN: ordinary vertical federated learning (Vepakomma et al. 2019).

Also "supervised VFL" (Castiglia et al. 2022, App. A) and "FedVanilla" / "FedSplitNN" (He et al. 2022, Eq. 1): each
party has an encoder, the active party a head; they learn from the rows that are aligned and labelled, and no others.

Symbols of Castiglia et al. 2022: h_m(θ_m) encoder of party m, θ_0 head, 𝓑^t batch at step t, F loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from colonnade.federation import Federation
from colonnade.methods.federated import FederatedMethod
from colonnade.methods.monitor import Monitor, Training, batches
from colonnade.methods.private import PrivateMethod
from colonnade.methods.private_head import Private, private_exchanges
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class SplitNN(PrivateMethod, FederatedMethod):
    """Encoder at every party, head at the active one, trained on aligned labelled rows."""

    name = "splitnn"
    paper = "Vepakomma et al. 2019"
    summary = "ordinary VFL: representations up, gradients down, for every batch of aligned labelled rows"

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

    Line numbers are those of Castiglia et al. 2022, Alg. 2, from line 5 on.
    """
    active = fed.active
    rows = active.labelled_aligned.to(active.device, torch.int32)
    active.begin(**training.update)
    with fed.phase(monitor.name):
        fed.tell("begin", **training.update)
        with _epochs(fed, rows, training, monitor.name, penalty, private) as epoch_of:
            for epoch in range(1, monitor.epochs + 1):
                if monitor.after(epoch, epoch_of() / len(rows)):
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
) -> Iterator[Callable[[], Tensor]]:
    """What makes one epoch over the rows (n,); the sum of their losses."""
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
        total = torch.zeros((), device=active.device)
        for batch in batches(rows, training.batch_size, order):  # l.6: 𝓑^t
            total += steps.run(step, batch)
        return total

    yield plain_epoch
