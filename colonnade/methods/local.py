"""Local: the active party alone (Solo, Local-A). What federation has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from colonnade.data.vertical import VerticalData
from colonnade.methods._base.method import Kind
from colonnade.methods._base.parts.monitor import Monitor, batches
from colonnade.methods._base.parts.private_head import private_epochs
from colonnade.methods._base.private import PrivateMethod
from colonnade.parties.federation import Federation
from colonnade.privacy.ledger import Ledger
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class Local(PrivateMethod):
    """Encoder and head of the active party, trained on all its labelled rows, aligned or not."""

    name = "local"
    paper = "baseline"
    summary = "the active party alone, on its labelled rows; nothing is sent"
    family = "alone"
    kind: ClassVar[Kind] = "alone"
    needs_aligned_labels: ClassVar[bool] = False
    needs_own_columns: ClassVar[bool] = True

    def participants(self, data: VerticalData) -> tuple[str, ...]:
        """Nobody else."""
        return ()

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Ordinary supervised training."""
        self.prepare(fed)
        active = fed.active
        rows = active.labelled.to(active.device)
        active.begin(**self.training().update)
        ledger = self.plan_privacy(fed, len(rows))
        if ledger is not None:
            self._learn_privately(fed, monitor, rows, ledger)
            return
        order = generator(self.seed, active.name, "train")
        for epoch in range(1, self.epochs + 1):
            total = torch.zeros((), device=active.device)
            for batch in batches(rows, self.batch_size, order):
                loss, _ = active.step(batch, {})
                total += loss * len(batch)
            if monitor.after(epoch, total / len(rows)):
                break
        monitor.recall()

    def _learn_privately(self, fed: Federation, monitor: Monitor, rows: Tensor, ledger: Ledger) -> None:
        private = self.private(fed, ledger)
        assert private is not None
        with private_epochs(fed.active, rows, {}, private) as epoch_of:
            for epoch in range(1, self.epochs + 1):
                if monitor.after(epoch, epoch_of() / len(rows)):
                    break
        monitor.recall()
        self.settle(fed, ledger)
