"""What follows a round of trees: history, validation, and early stopping on the validation loss."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from colonnade.data.metrics import score
from colonnade.methods._base.parts.monitor import DivergedError
from colonnade.methods.secureboost.trees.derivatives import logits
from colonnade.methods.secureboost.trees.forest import Forest, Sides
from colonnade.parties.federation import Federation

Floats = npt.NDArray[np.float64]


@dataclass
class Watch:
    """Watches the rounds; what `Monitor` is to epochs."""

    fed: Federation
    forest: Forest
    first: Floats  # (C,) scores before the first tree
    metric: str
    history: list[dict[str, Any]]
    progress: Callable[[str, int, int], None]
    rounds: int
    patience: int
    truth: npt.NDArray[Any] | None  # (V,) labels of the validation rows
    best: float = field(default=float("inf"), init=False)
    best_round: int = field(default=0, init=False)
    nodes: int = field(default=0, init=False)  # of the trees of earlier rounds
    started: float = field(default_factory=time.perf_counter, init=False)

    def __post_init__(self) -> None:
        rows = 0 if self.truth is None else len(self.truth)
        self.scores = np.tile(self.first, (rows, 1))  # (V, C)

    def after(self, round_: int, scores: Floats, y: Tensor, sides: Sides) -> bool:
        """Record a round; True when training should stop: no better for long, or no tree found a split.

        Args:
            round_: its number.
            scores: of the training rows, (n, C).
            y: their labels.
            sides: asks the owners which validation rows go left.
        """
        loss = self._loss(scores, y)
        if not np.isfinite(loss):
            raise DivergedError(f"the loss became {loss} in round {round_}. Lower learning_rate, or raise penalty.")
        record: dict[str, Any] = {"phase": "train", "epoch": round_, "loss": loss}
        stop = self.truth is not None and self._validate(round_, record, self.truth, sides)
        stop |= len(self.forest.party) - self.nodes == self.forest.outputs
        self.nodes = len(self.forest.party)
        record["bytes"] = self.fed.wire.traffic.bytes
        record["seconds"] = time.perf_counter() - self.started
        self.history.append(record)
        self.progress("train", self.rounds if stop else round_, self.rounds)
        return stop

    def _validate(self, round_: int, record: dict[str, Any], truth: npt.NDArray[Any], sides: Sides) -> bool:
        active = self.fed.active
        with self.fed.phase("validate"):
            self.scores += self.forest.scores(len(truth), sides, round_ - 1)
        record["validation_loss"] = loss = self._loss(self.scores, active.y["valid"])
        out = active.targets.decode(torch.from_numpy(logits(active.targets.task, self.scores)))
        record["validation"] = score(self.metric, truth, out, active.targets.classes)
        if loss < self.best:
            self.best, self.best_round = loss, round_
        return round_ - self.best_round >= self.patience

    def recall(self) -> None:
        """Keep the trees up to the best round."""
        if self.truth is not None:
            self.forest.cut(self.best_round)

    def _loss(self, scores: Floats, y: Tensor) -> float:
        targets = self.fed.active.targets
        found = torch.from_numpy(logits(targets.task, scores))
        return float(targets.loss(found, y.double() if y.is_floating_point() else y))
