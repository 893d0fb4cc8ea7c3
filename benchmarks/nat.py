"""One epoch of noise as targets at nine guests, against a plain PyTorch loop over the guests doing the same work.

The shape of phishing with ten parties in FedOnce: 11,055 rows, 7 columns each, hidden 30-30, dimension 3, batch 100,
a new assignment in every epoch.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.overhead import make
from benchmarks.ready import ready
from benchmarks.timing import ratio, report
from colonnade.methods.fedonce import noise_as_targets

ROWS, GUESTS, COLUMNS, HIDDEN, WIDTH, BATCH = 11_055, 9, 7, (30, 30), 3, 100


class Guests:
    """The guests' pre-training through the parties; one epoch a call."""

    def __init__(self, data: cn.VerticalData) -> None:
        self.method = cn.FedOnce(
            hidden=HIDDEN, width=WIDTH, pretrain_epochs=1, pretrain_batch_size=BATCH, pretrain_learning_rate=1e-4
        )
        self.fed = ready(self.method, data)

    def __call__(self) -> None:
        self.fed.tell("pretrain", **noise_as_targets(self.method).values())


class PlainLoop:
    """The same networks, batches, targets and assignments, guest by guest."""

    def __init__(self, data: cn.VerticalData) -> None:
        views = [view.x for name, view in data.views.items() if name != data.active]
        self.x = [torch.from_numpy((x - x.mean(0)) / x.std(0)) for x in views]
        widths = (COLUMNS, *HIDDEN)
        self.nets = [
            nn.Sequential(
                *(layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())),
                nn.Linear(widths[-1], WIDTH),
            )
            for _ in self.x
        ]

    def __call__(self) -> None:
        for net, x in zip(self.nets, self.x, strict=True):
            targets = F.normalize(torch.randn(len(x), WIDTH), dim=1)
            optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, weight_decay=1e-5, fused=True)
            total = torch.zeros(())
            for rows in torch.randperm(len(x)).split(BATCH):
                out = net(x.index_select(0, rows))
                c = targets.index_select(0, rows)
                order = linear_sum_assignment((-out.detach() @ c.T).numpy())[1]
                c = c[torch.from_numpy(np.asarray(order))]
                targets[rows] = c
                loss = (out - c).square().sum() / (2 * len(rows))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
            float(total)


def main() -> None:
    data = make([COLUMNS] * (GUESTS + 1), ROWS)
    ours, plain, _ = ratio(Guests(data), PlainLoop(data), repeats=5)
    report(f"nat: {GUESTS} guests, {ROWS:,} rows", ours, plain, "at most 0.40, i.e. 2.5 times as fast")


if __name__ == "__main__":
    main()
