"""Local: the active party alone (Solo, Local-A). What federation has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from colonnade.data.vertical import VerticalData
from colonnade.federation import Federation
from colonnade.methods.monitor import Monitor, batches
from colonnade.methods.network import NetworkMethod
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class Local(NetworkMethod):
    """Encoder and head of the active party, trained on all its labelled rows, aligned or not."""

    name = "local"
    paper = "baseline"
    summary = "the active party alone, on all its labelled rows; nothing is sent"
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
        order = generator(self.seed, active.name, "train")
        active.begin(**self.training().update)
        for epoch in range(1, self.epochs + 1):
            total = torch.zeros((), device=active.device)
            for batch in batches(rows, self.batch_size, order):
                loss, _ = active.step(batch, {})
                total += loss * len(batch)
            if monitor.after(epoch, total / len(rows)):
                break
        monitor.recall()
