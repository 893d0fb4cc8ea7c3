"""SplitNN: ordinary vertical federated learning (Vepakomma et al. 2019).

Also "supervised VFL" (Castiglia et al. 2022, App. A) and "FedVanilla" / "FedSplitNN" (He et al. 2022, Eq. 1): each
party has an encoder, the active party a head; they learn from the rows that are aligned and labelled, and no others.

Symbols of Castiglia et al. 2022: h_m(θ_m) encoder of party m, θ_0 head, 𝓑^t batch at step t, F loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from colonnade.federation import Federation
from colonnade.methods.federated import FederatedMethod
from colonnade.methods.monitor import Monitor, Training, batches
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class SplitNN(FederatedMethod):
    """Encoder at every party, head at the active one, trained on aligned labelled rows."""

    name = "splitnn"
    paper = "Vepakomma et al. 2019"
    summary = "ordinary VFL: representations up, gradients down, for every batch of aligned labelled rows"

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Train from scratch."""
        self.prepare(fed)
        split_training(fed, monitor, self.training())


def split_training(
    fed: Federation, monitor: Monitor, training: Training, penalty: Callable[[], Tensor] | None = None
) -> None:
    """Train all encoders and the head together; the last phase of every method that fine-tunes.

    Line numbers are those of Castiglia et al. 2022, Alg. 2, from line 5 on.
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
        steps = fed.steps()
        for epoch in range(1, monitor.epochs + 1):
            total = torch.zeros((), device=active.device)
            for batch in batches(rows, training.batch_size, order):  # l.6: 𝓑^t
                total += steps.run(step, batch)
            if monitor.after(epoch, total / len(rows)):
                break
        monitor.recall()
