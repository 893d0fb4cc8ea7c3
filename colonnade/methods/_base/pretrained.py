"""What methods share whose parties first learn alone: the lesson's options, and giving the lesson."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colonnade.methods._base.federated import FederatedMethod
from colonnade.methods._base.options import above, at_least, one_of
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.nets.optimizer import OPTIMIZERS
from colonnade.objectives.base import Objective
from colonnade.objectives.training import Lesson, OwnObjective
from colonnade.parties.federation import Federation

TRAINABLE = ("simsiam", "byol", "moco", "contrastive", "scarf", "nat")  # without labels, by gradients


@dataclass(kw_only=True, eq=False, repr=False)
class PretrainedMethod(FederatedMethod):
    """A method whose parties learn from all their own rows, labelled or not, aligned or not, before they talk."""

    family = "pretrained"

    pretrain_epochs: int = 30
    pretrain_batch_size: int = 256
    pretrain_learning_rate: float = 1e-3
    pretrain_optimizer: str = "adam"
    flip: bool = True  # whether views of images may be mirrored; false where left and right matter, as for digits

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        at_least(problems, "pretrain_epochs", self.pretrain_epochs, 0)
        at_least(problems, "pretrain_batch_size", self.pretrain_batch_size, 1)
        above(problems, "pretrain_learning_rate", self.pretrain_learning_rate, 0)
        one_of(problems, "pretrain_optimizer", self.pretrain_optimizer, OPTIMIZERS)

    def lesson(self, objective: str, **settings: Any) -> Lesson:
        """The lesson of this run."""
        return Lesson(
            objective=objective, epochs=self.pretrain_epochs, batch_size=self.pretrain_batch_size,
            learning_rate=self.pretrain_learning_rate, weight_decay=self.weight_decay,
            optimizer=self.pretrain_optimizer, seed=self.seed, flip=None if self.flip else False, **settings,
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


def check_objective(problems: list[str], objective: object, allowed: tuple[str, ...]) -> None:
    """A known name, or a class or function that makes an objective."""
    if isinstance(objective, str):
        one_of(problems, "objective", objective, allowed)
    elif not callable(objective):
        problems.append(f"objective must be a name or a subclass of Objective. Got {objective!r}.")
