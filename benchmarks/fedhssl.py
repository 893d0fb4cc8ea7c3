"""One pre-training epoch of FedHSSL at two parties, against a plain PyTorch loop doing the same work.

634 + 1000 features, 56,885 rows at each party, 20 % of them aligned; SimSiam, encoders of two layers of 512, projector
512, predictor 128, batch 512. An epoch is the cross-party pass over the aligned rows, the guided local pass over all
rows, and the averaging of tops, projectors and predictors. A tenth of the rows by default; COLONNADE_BENCH_FULL=1
takes all.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.overhead import make
from benchmarks.ready import passive_of, ready
from benchmarks.timing import report, seconds
from colonnade.data.table import Table
from colonnade.methods._base.parts.averaging import Averaging, enrol, shared_parts
from colonnade.methods._base.parts.self_supervised import ssl_lesson
from colonnade.methods.fedhssl.pretraining import cross_party, gamma_at
from colonnade.objectives.augment import replace
from colonnade.parties.skills.together import towers_of
from colonnade.parties.skills.towers import Towers
from colonnade.seeds import generator

FEATURES, ROWS, ALIGNED, BATCH = (634, 1000), 56_885, 0.2, 512
WIDTH, PREDICTOR, GAMMA, SEED = 512, 128, 0.5, 0
TOLERANCE = 1e-4  # between the losses and weights of the two programs, in float32


@dataclass(frozen=True)
class Settings:
    """How both programs learn."""

    batch: int = BATCH
    optimizer: str = "adam"
    rate: float = 1e-3
    decay: float = 1e-5
    bf16: bool = False

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        if self.optimizer == "adam":
            return torch.optim.Adam(parameters, lr=self.rate, weight_decay=self.decay, fused=True)
        return torch.optim.SGD(parameters, lr=self.rate, momentum=0.9, weight_decay=self.decay, fused=True)


class Parties:
    """FedHSSL's pre-training through parties and wire; one epoch a call."""

    def __init__(self, data: cn.VerticalData, settings: Settings) -> None:
        self.method = cn.FedHSSL(
            hidden=(WIDTH,), width=WIDTH, projection=WIDTH, gamma=GAMMA, cosine=False, seed=SEED,
            pretrain_batch_size=settings.batch, pretrain_optimizer=settings.optimizer,
            pretrain_learning_rate=settings.rate, weight_decay=settings.decay,
            precision="bf16" if settings.bf16 else "float32",
        )  # fmt: skip
        self.fed = ready(self.method, data)
        own = enrol(self.fed, ssl_lesson(self.method), "both", shared_parts(self.method))
        assert own is not None
        self.own, self.averaging = own, Averaging(self.fed, own, shared_parts(self.method), secure=False)
        self.losses: list[tuple[float, float]] = []  # of each epoch at the active party: cross-party, local

    def __call__(self) -> None:
        epoch = len(self.losses)
        assert self.own.cross is not None
        cross, gamma = cross_party(self.method, self.fed, self.own.cross, epoch), gamma_at(self.method, epoch)
        with self.fed.phase("pretrain"):
            self.fed.tell("study", gamma=gamma)
        local = self.own.study(gamma)
        self.averaging.run()
        self.losses.append((cross, local))

    def towers(self) -> list[Towers]:
        return [self.own, *(towers_of(party) for party in passive_of(self.fed))]

    def weights(self) -> list[list[Tensor]]:
        """Of every tower: the cross-party ones, then the local ones."""
        towers = self.towers()
        cross = [t.cross.objective for t in towers if t.cross is not None]
        local = [t.local.objective for t in towers if t.local is not None]
        return [[p.detach().clone() for p in objective.parameters()] for objective in (*cross, *local)]

    def bytes_per_epoch(self, phase: str) -> float:
        return self.fed.wire.traffic.by_phase[phase]["bytes"] / len(self.losses)


class Tower(nn.Module):
    """Encoder, projector and predictor as one would write them down."""

    def __init__(self, features: int) -> None:
        super().__init__()

        def norm(width: int) -> nn.Module:
            return nn.BatchNorm1d(width, track_running_stats=False)

        w = WIDTH
        self.bottom = nn.Sequential(nn.Linear(features, w), nn.ReLU(inplace=True))
        self.top = nn.Sequential(
            nn.Linear(w, w),
            nn.Linear(w, w, bias=False), norm(w), nn.ReLU(),
            nn.Linear(w, w, bias=False), norm(w), nn.ReLU(),
            nn.Linear(w, w, bias=False), norm(w),
        )  # fmt: skip
        self.predictor = nn.Sequential(
            nn.Linear(w, PREDICTOR, bias=False), norm(PREDICTOR), nn.ReLU(), nn.Linear(PREDICTOR, w)
        )

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.top(self.bottom(x))
        return z

    def shared(self) -> list[nn.Parameter]:
        return [*self.top.parameters(), *self.predictor.parameters()]


class PlainLoop:
    """The same networks, batches and views in one loop: no parties, no wire. It starts from the weights given."""

    def __init__(self, x: list[Tensor], aligned: int, weights: list[list[Tensor]], settings: Settings) -> None:
        self.tables, self.aligned, self.settings = [Table(part) for part in x], aligned, settings
        towers = [Tower(part.shape[1]) for part in [*x, *x]]
        with torch.no_grad():
            for tower, given in zip(towers, weights, strict=True):
                for parameter, value in zip(tower.parameters(), given, strict=True):
                    parameter.copy_(value)
        self.cross, self.local = towers[: len(x)], towers[len(x) :]
        self.cross_optimizer = settings.over(p for tower in self.cross for p in tower.parameters())
        self.local_optimizers = [settings.over(tower.parameters()) for tower in self.local]
        names = [f"p{k}" for k in range(len(x))]
        self.cross_order = generator(SEED, names[0], "cross")
        self.orders = [generator(SEED, name, "order") for name in names]
        self.draws = [generator(SEED, name, "draws") for name in names]
        self.losses: list[tuple[float, float]] = []

    def __call__(self) -> None:
        cross = self.cross_pass()
        local = [self.local_pass(k) for k in range(len(self.tables))]
        self.average()
        self.losses.append((cross, local[0]))

    def cross_pass(self) -> float:
        total = torch.zeros(())
        (first, second), (a, b) = self.cross, self.tables
        for rows in self.batches(self.aligned, self.cross_order):
            with self.autocast():
                z1, z2 = first(a.x.index_select(0, rows)), second(b.x.index_select(0, rows))
                loss1, loss2 = distance(first.predictor(z1), z2), distance(second.predictor(z2), z1)
            self.cross_optimizer.zero_grad()
            (loss1 + loss2).backward()  # type: ignore[no-untyped-call]
            self.cross_optimizer.step()
            total += loss1.detach() * len(rows)
        return float(total) / self.aligned

    def local_pass(self, k: int) -> float:
        total = torch.zeros(())
        table, draws, guide, tower, optimizer = (
            self.tables[k], self.draws[k], self.cross[k], self.local[k], self.local_optimizers[k],
        )  # fmt: skip
        for rows in self.batches(len(table), self.orders[k]):
            (x1,), (x2,) = replace(table, rows, draws), replace(table, rows, draws)
            with self.autocast():
                with torch.no_grad():
                    g1, g2 = guide(x1), guide(x2)
                z1, z2 = tower(x1), tower(x2)
                p1, p2 = tower.predictor(z1), tower.predictor(z2)
                loss = (distance(p1, z2) + distance(p2, z1)) / 2 + GAMMA * (distance(p1, g1) + distance(p2, g2)) / 2
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.detach() * len(rows)
        return float(total) / len(table)

    @torch.no_grad()
    def average(self) -> None:
        """The parties have as many rows, so FedAvg is the mean."""
        for same in zip(*(tower.shared() for tower in self.local), strict=True):
            mean = torch.stack(same).mean(dim=0)
            for parameter in same:
                parameter.copy_(mean)

    def batches(self, rows: int, order: torch.Generator) -> Iterable[Tensor]:
        return torch.split(torch.randperm(rows, generator=order), self.settings.batch)

    def autocast(self) -> AbstractContextManager[None]:
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.settings.bf16)

    def weights(self) -> list[list[Tensor]]:
        return [[p.detach().clone() for p in tower.parameters()] for tower in [*self.cross, *self.local]]


def distance(p: Tensor, z: Tensor) -> Tensor:
    return -F.cosine_similarity(p, z.detach(), dim=1).mean()


def partly_aligned(rows: int) -> tuple[cn.VerticalData, int]:
    """Two parties of as many rows, of which the first 20 % are the same people's."""
    whole, aligned = make(list(FEATURES), rows), round(ALIGNED * rows)
    ids = np.arange(rows)
    own = np.where(ids < aligned, ids, ids + rows)
    views = {"p0": (whole.views["p0"].x, ids), "p1": (whole.views["p1"].x, own)}
    return cn.VerticalData(views, whole.labels.values), aligned


def standardised(data: cn.VerticalData) -> list[Tensor]:
    """Statistics in float64, as the parties': from inputs one rounding apart, a ReLU flips now and then."""
    out = []
    for x in (view.x for view in data.views.values()):
        mean, scale = (f(x, axis=0, dtype=np.float64).astype(np.float32) for f in (np.mean, np.std))
        out.append(torch.from_numpy((x - mean) / scale))
    return out


def pair(data: cn.VerticalData, x: list[Tensor], aligned: int, settings: Settings) -> tuple[Parties, PlainLoop]:
    """Both programs, from the same weights."""
    ours = Parties(data, settings)
    return ours, PlainLoop(x, aligned, ours.weights(), settings)


def furthest(a: list[list[Tensor]], b: list[list[Tensor]]) -> float:
    """The largest difference between two sets of weights."""
    pairs = [(v, w) for t, u in zip(a, b, strict=True) for v, w in zip(t, u, strict=True)]
    return max(float((v - w).abs().max()) for v, w in pairs)


def check_same_work(rows: int = 1_000, epochs: int = 2) -> None:
    """Both programs, with SGD in float32, come to the same losses and weights; else there is nothing to compare."""
    data, aligned = partly_aligned(rows)
    ours, plain = pair(data, standardised(data), aligned, Settings(batch=128, optimizer="sgd", rate=0.05))
    start = ours.weights()
    for _ in range(epochs):
        ours()
        plain()
    end, apart = ours.weights(), furthest(ours.weights(), plain.weights())
    moved = min(furthest([a], [b]) for a, b in zip(start, end, strict=True))
    losses = float(np.abs(np.subtract(ours.losses, plain.losses)).max())
    print(
        f"same work? {epochs} epochs of {rows:,} rows with SGD move every tower by {moved:.1e} or more; the two "
        f"programs' weights differ by {apart:.1e}, their losses by {losses:.1e} (goal: at most {TOLERANCE:.0e})"
    )
    if not max(apart, losses) <= TOLERANCE:
        sys.exit("The two programs do not do the same work: their times cannot be compared.")


def medians(programs: list[Callable[[], None]], repeats: int) -> list[float]:
    """Median seconds of each; the repeats go round, so that a busy moment hits all."""
    for program in programs:
        program()  # warm up
    rounds = [[seconds(program) for program in programs] for _ in range(repeats)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def report_bytes(ours: Parties, aligned: int) -> None:
    sent, least = ours.bytes_per_epoch("cross"), aligned * WIDTH * 4 * 2
    print(
        f"    cross-party bytes per epoch: {sent:,.0f}, {100 * (sent / least - 1):.2f} % above rows x {WIDTH} x 4 x 2 "
        f"= {least:,} (goal: below 1 %); the averaging adds {ours.bytes_per_epoch('aggregate'):,.0f}, however many rows"
    )


def compare(rows: int, repeats: int) -> None:
    """Times of both programs in both precisions, and the bytes of ours."""
    data, aligned = partly_aligned(rows)
    x = standardised(data)
    ours, plain = pair(data, x, aligned, Settings())
    half, plain_half = pair(data, x, aligned, Settings(bf16=True))
    a, b, c, d = medians([ours, plain, half, plain_half], repeats)
    report("fedhssl: SimSiam, 634 + 1000 features", a, b, "at most 1.05")
    report("fedhssl with bf16", c, d, "at most 1.05")
    print(f"    bf16 against float32, ours: {c / a:.2f} of the time (goal: at most 0.50)")
    report_bytes(ours, aligned)


def main() -> None:
    full = os.environ.get("COLONNADE_BENCH_FULL") == "1"
    rows, repeats = (ROWS, 3) if full else (ROWS // 10, 5)
    part = "all rows" if full else f"a tenth of {ROWS:,}; COLONNADE_BENCH_FULL=1 takes all"
    check_same_work()
    print(
        f"{torch.get_num_threads()} threads; {rows:,} rows at each party ({part}), {ALIGNED:.0%} aligned, "
        f"batch {BATCH}; seconds per epoch, medians of {repeats} interleaved repeats"
    )
    compare(rows, repeats)


if __name__ == "__main__":
    main()
