"""On a GPU: three shapes of the papers, each against a plain PyTorch loop over the parties in the same run.

1. Local SSL: 4 parties, ResNet-18, SimSiam, images of 64 x 64, batch 512, augmentation on the device.
2. Noise as targets: 4 parties, CNN0, quadrants of 14 x 14, 60,000 rows, batch 128, a new assignment in every epoch.
3. Split training: 200 parties of 25 columns, 6,000 rows, batch 100.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn import functional as F

import colonnade as cn
from benchmarks.ready import ready
from benchmarks.timing import ratio
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods.splitnn import split_training
from colonnade.nets.image import image_encoder
from colonnade.objectives import SimSiam
from colonnade.objectives.image_augment import ImageAugmentation
from colonnade.objectives.training import Lesson

CUDA = torch.device("cuda")


def synchronised(program: Callable[[], None]) -> Callable[[], None]:
    """Wait for the device, so that all of its work is timed."""

    def run() -> None:
        program()
        torch.cuda.synchronize()

    return run


def compare(title: str, ours: Callable[[], None], plain: Callable[[], None], epochs: int, goal: str) -> None:
    """Seconds per epoch. Ours runs `epochs` of them, at whose beginning a graph is recorded once; the loop runs one."""
    first, second, _ = ratio(synchronised(ours), synchronised(plain), 2)
    first /= epochs
    print(f"{title:48s} ours {first:8.3f} s   loop {second:8.3f} s   {second / first:6.1f} times as fast; goal: {goal}")


def images(parties: int, rows: int, channels: int, side: int) -> cn.VerticalData:
    draw = np.random.default_rng(0)
    views = {f"p{k}": draw.integers(0, 256, (rows, channels, side, side), dtype=np.uint8) for k in range(parties)}
    return cn.VerticalData(views, draw.integers(0, 10, rows))


def lesson_of(objective: str, batch: int, **settings: object) -> Lesson:
    return Lesson(
        objective=objective, epochs=1, batch_size=batch, learning_rate=1e-3, weight_decay=1e-5, optimizer="adam",
        seed=0, **settings,  # type: ignore[arg-type]
    )  # fmt: skip


class Parties:
    """One epoch of pre-training at all passive parties; the federation has one party more, which only asks."""

    def __init__(self, method: cn.Method, data: cn.VerticalData, lesson: Lesson) -> None:
        self.fed, self.lesson = ready(method, data), lesson

    def __call__(self) -> None:
        self.fed.tell("pretrain", **self.lesson.values())


def local_ssl(precision: str, epochs: int = 16) -> None:
    rows, batch = 8192, 512
    data = images(5, rows, 3, 64)
    method = cn.FedLocalSSL(device="cuda", image_encoder="resnet18", width=512, precision=precision)
    lesson = lesson_of("simsiam", batch, projection=512)
    ours = Parties(method, data, Lesson(**{**lesson.__dict__, "epochs": epochs}))
    tables = [p.tables["train"] for p in ours.fed.engine.parties.values()]  # type: ignore[attr-defined]
    objectives = [
        SimSiam(image_encoder("resnet18", 3, 64, 64, width=512), width=512, augment=ImageAugmentation()).to(CUDA)
        for _ in tables
    ]
    draws = torch.Generator(CUDA).manual_seed(0)

    def plain() -> None:
        for table, objective in zip(tables, objectives, strict=True):
            optimizer = torch.optim.Adam(objective.parameters(), lr=1e-3, weight_decay=1e-5, fused=True)
            for part in torch.randperm(rows, device=CUDA).split(batch):
                drawn = objective.draw(table, part, draws)
                with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
                    loss = objective(*drawn)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    compare(f"fed-local-ssl, ResNet-18, 4 parties, {precision}", ours, plain, epochs, "2")


def noise_as_targets(epochs: int = 20) -> None:
    rows, batch, width = 60_000, 128, 16
    data = images(5, rows, 1, 14)
    method = cn.FedOnce(device="cuda", width=width)
    lesson = lesson_of("nat", batch, frequency=1, assignment="batch")
    ours = Parties(method, data, Lesson(**{**lesson.__dict__, "epochs": epochs}))
    tables = [p.tables["train"].x for p in ours.fed.engine.parties.values()]  # type: ignore[attr-defined]
    nets = [image_encoder("cnn0", 1, 14, 14, width=width).to(CUDA) for _ in tables]

    def plain() -> None:
        for x, net in zip(tables, nets, strict=True):
            targets = F.normalize(torch.randn(rows, width, device=CUDA), dim=1)
            optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-5, fused=True)
            for part in torch.randperm(rows, device=CUDA).split(batch):
                nat_step(net, optimizer, x, targets, part)

    compare("fedonce, NAT, 4 parties, 60,000 quadrants", ours, plain, epochs, "10")


def nat_step(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, targets: Tensor, part: Tensor) -> None:
    out = net(x.index_select(0, part))
    c = targets.index_select(0, part)
    order = linear_sum_assignment((-out.detach() @ c.T).cpu().numpy())[1]
    c = c[torch.from_numpy(np.asarray(order)).to(CUDA)]
    targets[part] = c
    loss = (out - c).square().sum() / (2 * len(part))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def split(parties: int = 200, columns: int = 25, rows: int = 6000, batch: int = 100) -> None:
    draw = np.random.default_rng(0)
    views = {f"p{k:03d}": draw.normal(size=(rows, columns)).astype(np.float32) for k in range(parties)}
    data = cn.VerticalData(views, draw.integers(0, 2, rows))
    method = cn.SplitNN(device="cuda", epochs=20, batch_size=batch)
    fed = ready(method, data)

    def ours() -> None:
        monitor = Monitor(fed, "accuracy", [], lambda *_: None, method.epochs, method.patience)
        split_training(fed, monitor, Training.of(method))

    x = [torch.from_numpy(view).to(CUDA) for view in views.values()]
    y = fed.active.y["train"]
    nets = [nn.Sequential(nn.Linear(columns, 128), nn.ReLU(), nn.Linear(128, 64)).to(CUDA) for _ in x]
    head = nn.Linear(64 * parties, 2).to(CUDA)
    optimizers = [torch.optim.Adam(net.parameters(), lr=1e-3, fused=True) for net in (*nets, head)]

    def plain() -> None:
        for part in torch.randperm(rows, device=CUDA).split(batch)[:10]:
            h = [net(table.index_select(0, part)) for net, table in zip(nets, x, strict=True)]
            loss = F.cross_entropy(head(torch.cat(h, dim=1)), y.index_select(0, part))
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()

    first, second, _ = ratio(synchronised(ours), synchronised(plain), 3)
    first, second = first / (method.epochs * rows / batch), second / 10
    title = f"splitnn, {parties} parties, per step"
    print(
        f"{title:48s} ours {first * 1e3:7.3f} ms   loop {second * 1e3:7.3f} ms   {second / first:6.1f} times; goal: 300"
    )


def main() -> None:
    if not torch.cuda.is_available():
        print("no CUDA device is here: nothing was measured")
        return
    print(torch.cuda.get_device_name())
    split()
    noise_as_targets()
    local_ssl("float32")
    local_ssl("bf16")


if __name__ == "__main__":
    main()
