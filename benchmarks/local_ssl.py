"""One epoch of SimSiam at two parties (634 + 1000 features), against a plain PyTorch loop doing the same work."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.overhead import make
from benchmarks.ready import ready
from benchmarks.timing import ratio, report
from colonnade.methods._base.parts.self_supervised import ssl_lesson

ROWS, BATCH, PROJECTION, PREDICTOR, RATE = 20_000, 512, 512, 128, 0.3


class Parties:
    """Local pre-training at both parties; one epoch a call."""

    def __init__(self, data: cn.VerticalData, precision: str) -> None:
        self.method = cn.FedLocalSSL(
            pretrain_epochs=1, pretrain_batch_size=BATCH, projection=PROJECTION, rate=RATE, precision=precision
        )
        self.fed = ready(self.method, data)
        self.lesson = ssl_lesson(self.method)

    def __call__(self) -> None:
        self.fed.tell("pretrain", **self.lesson.values())
        self.fed.active.learn(self.lesson)


class PlainLoop:
    """The same encoders, projectors, predictors and augmentation in one loop per party."""

    def __init__(self, data: cn.VerticalData, bf16: bool) -> None:
        self.x = [torch.from_numpy((v.x - v.x.mean(0)) / v.x.std(0)) for v in data.views.values()]
        self.bf16 = bf16
        self.models = [self.model(x.shape[1]) for x in self.x]

    def model(self, features: int) -> tuple[nn.Module, nn.Module]:
        def norm(width: int) -> nn.Module:
            return nn.BatchNorm1d(width, track_running_stats=False)

        p = PROJECTION
        online = nn.Sequential(
            nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, 64),
            nn.Linear(64, p), norm(p), nn.ReLU(), nn.Linear(p, p), norm(p), nn.ReLU(), nn.Linear(p, p), norm(p),
        )  # fmt: skip
        return online, nn.Sequential(nn.Linear(p, PREDICTOR), norm(PREDICTOR), nn.ReLU(), nn.Linear(PREDICTOR, p))

    def __call__(self) -> None:
        for x, (online, predictor) in zip(self.x, self.models, strict=True):
            parameters = [*online.parameters(), *predictor.parameters()]
            optimizer = torch.optim.Adam(parameters, lr=1e-3, weight_decay=1e-5, fused=True)
            total = torch.zeros(())
            for rows in torch.randperm(len(x)).split(BATCH):
                first, second = distort(x, rows), distort(x, rows)
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
                    z1, z2 = online(first), online(second)
                    p1, p2 = predictor(z1), predictor(z2)
                    loss = -(cosine(p1, z2.detach()) + cosine(p2, z1.detach())) / 2
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
            float(total)


def cosine(p: Tensor, z: Tensor) -> Tensor:
    return F.cosine_similarity(p, z, dim=1).mean()


def distort(x: Tensor, rows: Tensor) -> Tensor:
    """30 % of each row's columns replaced by values of other rows."""
    clean = x.index_select(0, rows)
    keys = torch.rand(clean.shape)
    chosen = keys.topk(int(RATE * x.shape[1]), dim=1, sorted=False).indices
    mask = torch.zeros(clean.shape, dtype=torch.bool).scatter_(1, chosen, True)
    return torch.where(mask, x.gather(0, torch.randint(len(x), clean.shape)), clean)


def main() -> None:
    data = make([634, 1000], ROWS)
    ours, plain, _ = ratio(Parties(data, "float32"), PlainLoop(data, False), repeats=3)
    report("local-ssl: SimSiam, 634 + 1000 features", ours, plain, "at most 1.05")
    half, plain_half, _ = ratio(Parties(data, "bf16"), PlainLoop(data, True), repeats=3)
    report("local-ssl with bf16", half, plain_half, "at most 1.05")
    print(f"    bf16 against float32, ours: {ours / half:.2f} times as fast")


if __name__ == "__main__":
    main()
