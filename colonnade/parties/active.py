"""The active party: labels, the head, and columns of its own unless it is a party with labels only.

B rows of a batch, D width of a representation, C outputs, K passive parties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from colonnade.data.ids import Ids
from colonnade.data.labels import Labels, Task
from colonnade.data.view import View
from colonnade.errors import ConfigError
from colonnade.nets.optimizer import make_optimizer
from colonnade.nets.tabular import mlp
from colonnade.parties.joined import OwnAndStacked, join
from colonnade.parties.party import Party, agreed_order
from colonnade.seeds import seeded
from colonnade.wire.stacked import Stacked


class Targets:
    """Labels as numbers: class positions, or targets scaled by mean and standard deviation of the training labels."""

    def __init__(self, task: Task, values: npt.NDArray[Any]) -> None:
        self.task = task
        self.classes = np.unique(values) if task != "regression" else np.zeros(0)
        self.mean, self.scale = 0.0, 1.0
        if task == "regression" and len(values):  # none while a saved model is rebuilt
            self.mean = float(np.mean(values))
            self.scale = float(np.std(values)) or 1.0
        self.outputs = 1 if task == "regression" else len(self.classes)

    def encode(self, values: npt.NDArray[Any]) -> Tensor:
        """(N,) labels → (N,) int64 or float32; a class that training did not have becomes -1."""
        if self.task == "regression":
            return torch.from_numpy(((values - self.mean) / self.scale).astype(np.float32))
        at = np.minimum(np.searchsorted(self.classes, values), len(self.classes) - 1)
        return torch.from_numpy(np.where(self.classes[at] == values, at, -1))

    def decode(self, logits: Tensor) -> npt.NDArray[Any]:
        """(N, C) outputs → (N,) targets, or (N, C) class probabilities."""
        if self.task == "regression":
            return (logits[:, 0].double() * self.scale + self.mean).cpu().numpy()
        return torch.softmax(logits.double(), dim=1).cpu().numpy()

    def loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """Mean cross entropy, or mean squared error of the scaled target."""
        if self.task == "regression":
            return F.mse_loss(logits[:, 0], y)
        return F.cross_entropy(logits, y, ignore_index=-1)


class Scaler(nn.Module):
    """Received representations brought to mean 0 and standard deviation 1, per party and dimension.

    Representations that are sent once have whatever scale their objective left them with; a head that reads them
    beside standardised columns would hardly see small ones.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, widths: Mapping[str, int]) -> None:
        super().__init__()
        ends = np.cumsum([0, *widths.values()]).tolist()
        self.places = {name: slice(a, b) for name, a, b in zip(widths, ends[:-1], ends[1:], strict=True)}
        self.register_buffer("mean", torch.zeros(ends[-1]))  # (ΣD,)
        self.register_buffer("scale", torch.ones(ends[-1]))

    def fit(self, received: Mapping[str, Tensor]) -> None:
        """Learn the scales from training rows, (N, D) each."""
        for name, h in received.items():
            self.mean[self.places[name]] = h.mean(dim=0)
            spread = h.std(dim=0, correction=0)
            self.scale[self.places[name]] = torch.where(spread < 1e-6, torch.ones_like(spread), spread)

    def forward(self, name: str, h: Tensor) -> Tensor:
        """(B, D) → (B, D); a row of zeros is one that the party does not hold, and stays zero."""
        held = h.ne(0).any(dim=1, keepdim=True)  # (B, 1)
        return torch.where(held, (h - self.mean[self.places[name]]) / self.scale[self.places[name]], 0.0)


class ActiveParty(Party):
    """The party that runs the method."""

    scaler: Scaler | None = None  # where representations are sent once
    head: nn.Module
    extras: Mapping[str, nn.Module] = {}  # further networks of a method, trained and stored with the head
    optimizer: torch.optim.Optimizer

    def __init__(self, name: str, view: View | None, aligned: Ids, labels: Labels, task: Task, **kwargs: Any) -> None:
        super().__init__(name, view, aligned, **kwargs)
        order = aligned if view is None else view.ids[agreed_order(view.ids, aligned)]
        values, known = labels.of(order)
        self.targets = Targets(task, values[known])
        y = torch.zeros(len(order), dtype=torch.float32 if task == "regression" else torch.int64)
        y[torch.from_numpy(known)] = self.targets.encode(values[known])
        self.y: dict[str, Tensor] = {"train": y.to(self.device)}  # 0 where there is no label: read `labelled` rows only
        self.labelled = torch.from_numpy(np.flatnonzero(known))  # rows of its own table, aligned or not
        self.labelled_aligned = self.labelled[self.labelled < len(aligned)]
        self.join = "concat"
        self.widths: dict[str, int] = {}
        self.frozen = False  # whether the own encoder stays as it is

    def build_head(self, widths: Mapping[str, int], *, how: str, hidden: list[int], seed: int) -> None:
        """A head that reads the own representation, if any, and those of the passive parties in a fixed order."""
        self.join, self.widths = how, dict(widths)
        own = {self.name: self.width} if self.encoder is not None else {}
        every = {**own, **self.widths}
        if how != "concat" and len(set(every.values())) > 1:
            listed = ", ".join(f"{name!r} {width}" for name, width in every.items())
            raise ConfigError(f"join={how!r} needs representations of one width. Got {listed}. Use join='concat'.")
        fan_in = sum(every.values()) if how == "concat" else next(iter(every.values()))
        with seeded(seed, self.name, "head"):
            self.head = mlp([fan_in, *hidden, self.targets.outputs]).to(self.device)

    def modules(self) -> dict[str, nn.Module]:
        """Own encoder, scaler and head, as far as they are built."""
        own = super().modules()
        if self.scaler is not None:
            own["scaler"] = self.scaler
        return {**own, "head": self.head, **self.extras} if hasattr(self, "head") else own

    def begin(self, *, optimizer: str, learning_rate: float, weight_decay: float) -> None:
        """Start training own encoder and head with a fresh optimizer."""
        trained = {k: m for k, m in self.modules().items() if not (self.frozen and k == "encoder")}
        parameters = [p for module in trained.values() for p in module.parameters()]
        self.optimizer = make_optimizer(parameters, optimizer, learning_rate, weight_decay)

    def parts(self, own: Tensor | None, received: Mapping[str, Tensor], rows: int) -> Mapping[str, Tensor]:
        """Representations by party, the own first; a passive party that sent nothing counts as zero."""
        if isinstance(received, Stacked) and self.scaler is None and received.names == tuple(self.widths):
            return OwnAndStacked({} if own is None else {self.name: own}, received)
        parts = {}
        if own is not None:
            scaled = self.scaler is not None and self.name in self.scaler.places
            parts[self.name] = self.scaler(self.name, own) if self.scaler is not None and scaled else own
        for name, width in self.widths.items():
            h = received.get(name)
            if h is None:
                parts[name] = torch.zeros(rows, width, device=self.device)
            else:
                parts[name] = h if self.scaler is None else self.scaler(name, h)
        return parts

    def joint(self, own: Tensor | None, received: Mapping[str, Tensor], rows: int) -> Tensor:
        """What the head reads."""
        return self.joined(self.parts(own, received, rows))

    def joined(self, parts: Mapping[str, Tensor]) -> Tensor:
        """The parties' representations as the head reads them."""
        if isinstance(parts, OwnAndStacked):
            return parts.joined(self.join)
        return join(list(parts.values()), self.join)

    def logits(self, joint: Tensor) -> Tensor:
        """The head's output, (B, C)."""
        with self.autocast():
            out: Tensor = self.head(joint)
        return out.float()

    def step(
        self,
        rows: Tensor,
        received: Mapping[str, Tensor],
        penalty: Callable[[], Tensor] | None = None,
        *,
        answer: bool = True,
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """One supervised update; the loss, and the gradient by each representation unless not `answer`."""

        def supervised(parts: Mapping[str, Tensor]) -> Tensor:
            logits = self.logits(self.joined(parts))
            return self.targets.loss(logits, self.y["train"].index_select(0, rows))

        return self.descend(rows, received, supervised, penalty, answer=answer)

    def descend(
        self,
        rows: Tensor,
        received: Mapping[str, Tensor],
        loss_of: Callable[[Mapping[str, Tensor]], Tensor],
        penalty: Callable[[], Tensor] | None = None,
        *,
        answer: bool = True,
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """One update of own encoder, head and extras by any loss of the parties' representations."""
        own = None
        if self.encoder is not None:
            own = self.encode(self.tables["train"].batch(rows), train=not self.frozen)
        leaves: Mapping[str, Tensor]
        if isinstance(received, Stacked):
            leaves = Stacked(received.names, received.tensor.detach().requires_grad_(answer))
        else:
            leaves = {name: h.detach().requires_grad_(answer) for name, h in received.items()}
        loss = loss_of(self.parts(own, leaves, len(rows)))
        total = loss if penalty is None else loss + penalty()
        self.optimizer.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        if isinstance(leaves, Stacked):
            gradient = leaves.tensor.grad
            return loss.detach(), {} if gradient is None else Stacked(leaves.names, gradient)
        return loss.detach(), {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}

    @torch.no_grad()
    def predict(self, table: str, received: Mapping[str, Tensor], rows: int) -> Tensor:
        """The head's output for all rows of a table, (N, C)."""
        own = None if self.encoder is None else self.encode_table(table)
        self.head.eval()
        out = self.logits(self.joint(own, received, rows))
        self.head.train()
        return out
