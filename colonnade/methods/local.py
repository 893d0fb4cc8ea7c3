"""Local: the active party alone (Solo, Local-A). What federation has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from colonnade.methods._base.method import Kind, Method
from colonnade.methods._base.options.groups import Networks, Privacy
from colonnade.methods._base.parts.monitor import Monitor, Training, batches
from colonnade.methods._base.parts.privacy import plan_privacy, private_of, settle
from colonnade.methods._base.parts.private import private_epochs
from colonnade.methods._base.setup import Setup
from colonnade.parties.federation import Federation
from colonnade.privacy.ledger import Ledger
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class Local(Privacy, Networks, Method):
    """Encoder and head of the active party, trained on all its labelled rows, aligned or not."""

    name = "local"
    paper = "baseline"
    summary = "the active party alone, on its labelled rows; nothing is sent"
    family = "alone"
    kind: ClassVar[Kind] = "alone"

    def setup(self) -> Setup:
        """Nobody else takes part."""
        return Setup(aligned_labels=False, own_columns=True)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Ordinary supervised training."""
        learn_alone(self, fed, monitor, fed.active.labelled)


def learn_alone(method: Any, fed: Federation, monitor: Monitor, labelled: Tensor) -> None:
    """Train the active party's networks on its labelled rows; with a budget, by DP-SGD."""
    active = fed.active
    rows = labelled.to(active.device)
    active.begin(**Training.of(method).update)
    ledger = plan_privacy(method, fed, len(rows))
    if ledger is not None:
        _learn_privately(method, fed, monitor, rows, ledger)
        return
    order = generator(method.seed, active.name, "train")
    for epoch in range(1, method.epochs + 1):
        total = torch.zeros((), device=active.device)
        for batch in batches(rows, method.batch_size, order):
            loss, _ = active.step(batch, {})
            total += loss * len(batch)
        if monitor.after(epoch, total / len(rows)):
            break
    monitor.recall()


def _learn_privately(method: Any, fed: Federation, monitor: Monitor, rows: Tensor, ledger: Ledger) -> None:
    private = private_of(method, fed, ledger)
    if private is None:
        raise TypeError("a ledger always gives a private training")
    with private_epochs(fed.active, rows, {}, private) as epoch_of:
        for epoch in range(1, method.epochs + 1):
            if monitor.after(epoch, epoch_of() / len(rows)):
                break
    monitor.recall()
    settle(method, fed, ledger)
