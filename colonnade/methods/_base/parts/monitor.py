"""What follows an epoch: history, validation, and early stopping on the validation loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from colonnade.data.metrics import LOWER_IS_BETTER, score
from colonnade.errors import ColonnadeError
from colonnade.parties.federation import Federation


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a supervised phase updates: what `split_training` and `one_shot_training` need of a method's options."""

    batch_size: int
    optimizer: str
    learning_rate: float
    weight_decay: float
    seed: int
    max_bytes: int | None = None  # of the whole run; None sets no limit

    @classmethod
    def of(cls, method: Any) -> Training:
        """As the options of a method say."""
        names = ("batch_size", "optimizer", "learning_rate", "weight_decay", "seed")
        return cls(**{name: getattr(method, name) for name in names}, max_bytes=getattr(method, "max_bytes", None))

    @property
    def update(self) -> dict[str, Any]:
        """What a party starts its optimizer with."""
        return {"optimizer": self.optimizer, "learning_rate": self.learning_rate, "weight_decay": self.weight_decay}


class DivergedError(ColonnadeError):
    """Training left the realm of finite numbers."""


@dataclass
class Monitor:
    """Watches one training phase.

    With validation rows, the weights of the best epoch are kept at every party, and training stops after `patience`
    epochs without a lower validation loss.
    """

    fed: Federation
    metric: str
    history: list[dict[str, Any]]
    progress: Callable[[str, int, int], None]
    epochs: int
    patience: int
    truth: Any = None  # (V,) labels of the validation rows
    name: str = "train"
    best: float = field(default=float("inf"), init=False)
    best_epoch: int = field(default=0, init=False)
    best_score: float = field(default=float("nan"), init=False)  # the metric at the best epoch
    kept: bool = field(default=False, init=False)
    started: float = field(default_factory=time.perf_counter, init=False)
    received: dict[str, Tensor] | None = None  # representations of validation rows, where they do not change

    def after(self, epoch: int, loss: Tensor) -> bool:
        """Record an epoch; True when training should stop."""
        value = float(loss)
        if not np.isfinite(value):
            raise DivergedError(f"the loss became {value} in epoch {epoch} of {self.name!r}. Lower learning_rate.")
        record: dict[str, Any] = {"phase": self.name, "epoch": epoch, "loss": value}
        stop = self._validate(epoch, record) if "valid" in self.fed.active.y else False
        record["bytes"] = self.fed.wire.traffic.bytes
        record["seconds"] = time.perf_counter() - self.started
        self.history.append(record)
        self.progress(self.name, self.epochs if stop else epoch, self.epochs)
        return stop

    def _validate(self, epoch: int, record: dict[str, Any]) -> bool:
        active = self.fed.active
        y = active.y["valid"]
        with self.fed.phase("validate"):
            received = self.received if self.received is not None else self.fed.ask("represent", table="valid")
            logits = active.predict("valid", received, len(y))
            loss = float(active.targets.loss(logits, y))
            record["validation_loss"] = loss
            record["validation"] = score(self.metric, self.truth, active.targets.decode(logits), active.targets.classes)
            if loss < self.best:
                self.best, self.best_epoch, self.kept = loss, epoch, True
                self.best_score = float(record["validation"])
                active.keep_weights()
                if self.received is None:
                    self.fed.tell("keep")
        return epoch - self.best_epoch >= self.patience

    def before(self) -> None:
        """Look at the validation rows before the first epoch, so that training cannot end worse than it began."""
        if "valid" in self.fed.active.y:
            self._validate(0, {})

    def again(self, name: str) -> None:
        """Watch a further attempt under another name, from nothing."""
        self.name, self.best, self.best_epoch, self.kept = name, float("inf"), 0, False

    @property
    def merit(self) -> tuple[float, float]:
        """How good the best epoch is: by the metric, then by the loss; more is better."""
        sign = -1.0 if self.metric in LOWER_IS_BETTER else 1.0
        return sign * self.best_score, -self.best

    def recall(self) -> None:
        """Go back to the best epoch's weights at every party."""
        if self.kept:
            with self.fed.phase("validate"):
                self.fed.active.recall_weights()
                if self.received is None:
                    self.fed.tell("recall")


def batches(rows: Tensor, size: int, generator: torch.Generator) -> list[Tensor]:
    """Rows in a fresh random order, cut into batches."""
    order = torch.randperm(len(rows), generator=generator)
    return list(torch.split(rows[order.to(rows.device)], size))
