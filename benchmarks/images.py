"""Image parties on a CPU, against a plain PyTorch loop over the parties in the same run.

1. Split training: CNN0 at four parties, quadrants of 14 x 14.
2. Local SSL: SimSiam with ResNet-18, 32 x 32 in colour, with the augmentation of a batch at once; the loop has the
   same, and once more one that distorts image by image, as research code does.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.gpu import images, lesson_of
from benchmarks.ready import ready
from benchmarks.timing import ratio
from colonnade.data.table import Table
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods.splitnn import split_training
from colonnade.nets.image import CNN0, image_encoder
from colonnade.objectives import SimSiam
from colonnade.objectives.image_augment import ImageAugmentation


def split(rows: int = 4096, batch: int = 128) -> None:
    data = images(4, rows, 1, 14)
    method = cn.SplitNN(epochs=1, batch_size=batch)
    fed = ready(method, data)

    def ours() -> None:
        monitor = Monitor(fed, "accuracy", [], lambda *_: None, 1, 1)
        split_training(fed, monitor, Training.of(method))

    x = [torch.from_numpy(np.asarray(view.x)).float().div_(255) for view in data.views.values()]
    y = fed.active.y["train"]
    nets = [CNN0(1, 14, 14, width=64) for _ in x]
    head = nn.Linear(64 * len(x), 10)

    def plain() -> None:
        parameters = [p for module in (*nets, head) for p in module.parameters()]
        optimizer = torch.optim.Adam(parameters, lr=1e-3, weight_decay=1e-5, fused=True)
        for part in torch.randperm(rows).split(batch):
            h = [net(table.index_select(0, part)) for net, table in zip(nets, x, strict=True)]
            loss = F.cross_entropy(head(torch.cat(h, dim=1)), y.index_select(0, part))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    show("splitnn, CNN0, 4 parties", *ratio(ours, plain, 5), "1.05")


def local_ssl(rows: int = 256, batch: int = 64) -> None:
    data = images(2, rows, 3, 32)
    method = cn.FedLocalSSL(image_encoder="resnet18", width=512)
    fed = ready(method, data)
    lesson = lesson_of("simsiam", batch, projection=512)
    table = fed.active.tables["train"]

    def program(augment: object) -> None:
        encoder = image_encoder("resnet18", 3, 32, 32, width=512)
        objective = SimSiam(encoder, width=512, projection=512, augment=augment)  # type: ignore[arg-type]
        optimizer = torch.optim.Adam(objective.parameters(), lr=1e-3, weight_decay=1e-5, fused=True)
        draws = torch.Generator().manual_seed(0)
        for part in torch.randperm(rows).split(batch):
            loss = objective(*objective.draw(table, part, draws))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    show("fed-local-ssl, ResNet-18", *ratio(lambda: alone(fed, lesson), lambda: program(at_once), 3), "1.05")
    show("  against image by image", *ratio(lambda: alone(fed, lesson), lambda: program(one_by_one), 3), "none")


def alone(fed: object, lesson: object) -> None:
    fed.active.learn(lesson)  # type: ignore[attr-defined]


at_once = ImageAugmentation()


def one_by_one(table: Table, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
    """The same distortions, for one image after the other."""
    return (torch.cat([at_once(table, rows[i : i + 1], generator)[0] for i in range(len(rows))]),)


def show(title: str, ours: float, plain: float, share: float, goal: str) -> None:
    print(f"{title:32s} ours {ours:7.3f} s   loop {plain:7.3f} s   ratio {share:5.2f}; goal: {goal}")


def main() -> None:
    split()
    local_ssl()


if __name__ == "__main__":
    main()
