"""CPU time of an epoch of `SplitNN.fit`, against a plain PyTorch loop with the same networks, batches and optimizer.

Beside it a split loop without a framework: each party has a graph and an optimizer of its own, as the wire demands.
One thread, CPU time (`process_time`), interleaved rounds; the machine may be shared. Median of the rounds' ratios, and
the interval that holds their median with a confidence of 95 %.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.timing import median_with_interval

ROUNDS = 15
HIDDEN, WIDTH, RATE, DECAY = 128, 64, 1e-3, 1e-5  # SplitNN's defaults


@dataclass(frozen=True)
class Shape:
    """Columns of each party, the active one first."""

    title: str
    widths: tuple[int, ...]
    rows: int
    batch: int
    epochs: int  # in one round
    bar: float


SHAPES = (
    Shape("634 + 1,000 columns", (634, 1000), 8_192, 512, 4, 1.05),
    Shape("four parties of 16 columns", (16, 16, 16, 16), 1_280, 128, 40, 1.10),
    Shape("15/16/15/15 columns", (15, 16, 15, 15), 1_280, 128, 40, 1.25),
)


def make(widths: tuple[int, ...] | list[int], rows: int, classes: int = 10, seed: int = 0) -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    views = {
        f"p{k}": rng.normal(size=(rows, f)).astype(np.float32) + 0.1 * y[:, None].astype(np.float32)
        for k, f in enumerate(widths)
    }
    return cn.VerticalData(views, y)


def encoder(columns: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(columns, HIDDEN), nn.ReLU(inplace=True), nn.Linear(HIDDEN, WIDTH))


def adam(modules: list[nn.Module]) -> torch.optim.Optimizer:
    parameters = [p for module in modules for p in module.parameters()]
    return torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY, fused=True)


class Loop:
    """Networks and rows of all parties, without a framework."""

    def __init__(self, data: cn.VerticalData, batch: int) -> None:
        self.x = [torch.from_numpy((v.x - v.x.mean(0)) / v.x.std(0)) for v in data.views.values()]
        self.y = torch.from_numpy(np.asarray(data.labels.values))
        self.encoders = [encoder(x.shape[1]) for x in self.x]
        self.head = nn.Linear(WIDTH * len(self.x), 10)
        self.batch = batch

    def batches(self) -> Iterator[Tensor]:
        yield from torch.randperm(len(self.y)).split(self.batch)

    def loss(self, representations: list[Tensor], batch: Tensor) -> Tensor:
        logits = self.head(torch.cat(representations, dim=1))
        return F.cross_entropy(logits, self.y.index_select(0, batch))


class PlainLoop(Loop):
    """One autograd graph and one optimizer over all networks."""

    def __init__(self, data: cn.VerticalData, batch: int) -> None:
        super().__init__(data, batch)
        self.optimizer = adam([*self.encoders, self.head])

    def __call__(self) -> None:
        total = torch.zeros(())
        for batch in self.batches():
            h = [encode(x.index_select(0, batch)) for encode, x in zip(self.encoders, self.x, strict=True)]
            loss = self.loss(h, batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(batch)
        float(total)


class SplitLoop(Loop):
    """A graph and an optimizer at each party; representations go up and gradients down, and nothing looks at them."""

    def __init__(self, data: cn.VerticalData, batch: int) -> None:
        super().__init__(data, batch)
        self.optimizer = adam([self.encoders[0], self.head])
        self.passive = [adam([module]) for module in self.encoders[1:]]

    def __call__(self) -> None:
        total = torch.zeros(())
        for batch in self.batches():
            h = [encode(x.index_select(0, batch)) for encode, x in zip(self.encoders, self.x, strict=True)]
            leaves = [part.detach().requires_grad_() for part in h[1:]]
            loss = self.loss([h[0], *leaves], batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for part, leaf, optimizer in zip(h[1:], leaves, self.passive, strict=True):
                optimizer.zero_grad()
                part.backward(leaf.grad)
                optimizer.step()
            total += loss.detach() * len(batch)
        float(total)


def seconds_of_fit(data: cn.VerticalData, batch: int, epochs: int) -> float:
    """CPU seconds of an epoch of `fit`, without what comes before the first has ended."""
    ends: list[float] = []
    method = cn.SplitNN(batch_size=batch, epochs=epochs + 1)
    method.fit(data, progress=lambda phase, done, total: ends.append(time.process_time()))
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def seconds_of(loop: Callable[[], None], epochs: int) -> float:
    """CPU seconds of an epoch of a loop."""
    loop()
    started = time.process_time()
    for _ in range(epochs):
        loop()
    return (time.process_time() - started) / epochs


def measure(shape: Shape, rounds: int = ROUNDS) -> None:
    data = make(shape.widths, shape.rows)
    plain, split = PlainLoop(data, shape.batch), SplitLoop(data, shape.batch)
    seconds_of_fit(data, shape.batch, 1)
    ours, bare, base = [], [], []
    for _ in range(rounds):
        base.append(seconds_of(plain, shape.epochs))
        ours.append(seconds_of_fit(data, shape.batch, shape.epochs))
        bare.append(seconds_of(split, shape.epochs))
    fit = median_with_interval([a / b for a, b in zip(ours, base, strict=True)])
    loop = median_with_interval([a / b for a, b in zip(bare, base, strict=True)])
    plain_ms = 1000 * np.median(base)
    print(f"{shape.title:<28} plain {plain_ms:7.2f} ms   fit {fit} (bar {shape.bar})   split loop {loop}")


def main() -> None:
    torch.set_num_threads(1)
    print(f"CPU time of an epoch ÷ that of a plain loop, one thread, {ROUNDS} interleaved rounds")
    for shape in SHAPES:
        measure(shape)


if __name__ == "__main__":
    main()
