"""Learning alone before the parties talk: the lesson that a method's options ask for, and giving it."""

from __future__ import annotations

from typing import Any

from colonnade.methods._base.parts.monitor import Monitor
from colonnade.objectives.base import Objective
from colonnade.objectives.training import Lesson, OwnObjective
from colonnade.parties.federation import Federation

TRAINABLE = ("simsiam", "byol", "moco", "contrastive", "scarf", "nat")  # without labels, by gradients


def lesson_of(method: Any, objective: str, **settings: Any) -> Lesson:
    """The lesson of a run, as the options of `Pretraining` say."""
    return Lesson(
        objective=objective, epochs=method.pretrain_epochs, batch_size=method.pretrain_batch_size,
        learning_rate=method.pretrain_learning_rate, weight_decay=method.weight_decay,
        optimizer=method.pretrain_optimizer, seed=method.seed, flip=None if method.flip else False, **settings,
    )  # fmt: skip


def pretrain_all(fed: Federation, monitor: Monitor, lesson: Lesson) -> None:
    """Every party that has columns learns alone: one order down to each passive party, nothing up."""
    with fed.phase("pretrain"):
        fed.tell("pretrain", **lesson.values())
    if fed.active.encoder is not None:
        record(monitor, fed.active.learn(lesson))


def record(monitor: Monitor, losses: list[float]) -> None:
    """Put the active party's own pre-training into the history; the passive parties' losses stay with them."""
    sent = monitor.fed.wire.traffic.bytes
    monitor.history += [{"phase": "pretrain", "epoch": i, "loss": v, "bytes": sent} for i, v in enumerate(losses, 1)]


def objective_name(objective: str | type[Objective] | OwnObjective) -> str:
    """A name of ours, or that of the user's own objective."""
    return objective if isinstance(objective, str) else getattr(objective, "__name__", "own")
