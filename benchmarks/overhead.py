"""One epoch of SplitNN through parties and wire, against a plain PyTorch loop with the same networks and batches.

(a) 2 parties, 634 + 1000 features, 10 classes, 56,885 rows, batch 512; (b) 50 parties of 20 features, 10,000 rows,
batch 256.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.timing import ratio
from colonnade.methods._base.parts.monitor import batches
from colonnade.parties.federation import Federation


def make(widths: list[int], rows: int, classes: int = 10, seed: int = 0) -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    views = {
        f"p{k}": rng.normal(size=(rows, f)).astype(np.float32) + 0.1 * y[:, None].astype(np.float32)
        for k, f in enumerate(widths)
    }
    return cn.VerticalData(views, y)


class Epoch:
    """An epoch of SplitNN, ready to run again and again."""

    def __init__(self, data: cn.VerticalData, batch_size: int, **options: object) -> None:
        self.method = cn.SplitNN(batch_size=batch_size, **options)
        self.method.task_, self.method.metric_ = data.task, "accuracy"
        self.fed: Federation = self.method._assemble(data)
        self.method.prepare(self.fed)
        settings = {"optimizer": "adam", "learning_rate": 1e-3, "weight_decay": 1e-5}
        self.fed.active.begin(**settings)
        self.fed.tell("begin", **settings)
        self.rows = self.fed.active.labelled_aligned.to(torch.int32)
        self.order = torch.Generator().manual_seed(0)
        self.batch_size = batch_size

    def __call__(self) -> None:
        fed, active = self.fed, self.fed.active
        total = torch.zeros(())
        for batch in batches(self.rows, self.batch_size, self.order):
            h = fed.ask("forward", rows=batch)
            loss, gradients = active.step(batch, h)
            fed.tell("backward", gradient=gradients)
            total += loss * len(batch)
        float(total)


class PlainLoop:
    """The same encoders, head and optimizer in one autograd graph."""

    def __init__(
        self, data: cn.VerticalData, batch_size: int, hidden: int = 128, width: int = 64, bf16: bool = False
    ) -> None:
        self.x = [torch.from_numpy((v.x - v.x.mean(0)) / v.x.std(0)) for v in data.views.values()]
        self.y = torch.from_numpy(np.asarray(data.labels))
        self.encoders = [
            nn.Sequential(nn.Linear(x.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, width)) for x in self.x
        ]
        self.head = nn.Linear(width * len(self.x), len(data.classes))
        parameters = [p for m in [*self.encoders, self.head] for p in m.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=1e-3, weight_decay=1e-5, fused=True)
        self.batch_size, self.bf16 = batch_size, bf16

    def __call__(self) -> None:
        total = torch.zeros(())
        for batch in torch.randperm(len(self.y)).split(self.batch_size):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
                h = [e(x.index_select(0, batch)) for e, x in zip(self.encoders, self.x, strict=True)]
                logits: Tensor = self.head(torch.cat(h, dim=1))
            loss = F.cross_entropy(logits.float(), self.y.index_select(0, batch))
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            total += loss.detach() * len(batch)
        float(total)


def report(title: str, ours: float, plain: float, goal: str) -> None:
    print(f"{title:<44} ours {ours:7.3f} s   plain loop {plain:7.3f} s   ratio {ours / plain:5.2f}   (goal: {goal})")


def main() -> None:
    print(f"{torch.get_num_threads()} threads; seconds per epoch, medians of 7 interleaved repeats")
    large = make([634, 1000], 56_885)
    a, b, _ = ratio(Epoch(large, 512), PlainLoop(large, 512))
    report("(a) 2 parties, 634 + 1000 features", a, b, "at most 1.05")
    c, d, _ = ratio(Epoch(large, 512, precision="bf16"), PlainLoop(large, 512, bf16=True))
    report("(a) with bf16", c, d, "at most 1.05")
    print(f"    bf16 against float32, ours: {a / c:.2f} times as fast")
    many = make([20] * 50, 10_000)
    a, b, _ = ratio(Epoch(many, 256), PlainLoop(many, 256))
    report("(b) 50 parties of 20 features", a, b, "below 1")


if __name__ == "__main__":
    main()
