"""A party learns alone: one objective, on its own table, before or instead of talking.

B batch, K parties, D width of the representation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from colonnade.data.table import Table
from colonnade.errors import ConfigError, DataError, did_you_mean
from colonnade.nets.dropout import generators_of
from colonnade.nets.graphs import StepGraph
from colonnade.nets.optimizer import make_optimizer
from colonnade.objectives import OBJECTIVES
from colonnade.objectives.augment import replace
from colonnade.objectives.base import Objective
from colonnade.objectives.image_augment import ImageAugmentation
from colonnade.seeds import generator, seeded
from colonnade.wire.message import Value

OwnObjective = Callable[..., Objective]  # (encoder, width=…) → objective


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What to learn alone, and how long. Options that are None keep the objective's own default."""

    objective: str
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    optimizer: str
    seed: int
    cosine: bool = False  # learning rate falls to 0 along a cosine, except that of a predictor (SimSiam, BYOL)
    rate: float | None = None  # share of columns that an augmentation distorts
    temperature: float | None = None
    projection: int | None = None
    predictor: int | None = None
    momentum: float | None = None
    queue: int | None = None
    frequency: int | None = None
    assignment: str | None = None  # "batch" or "fixed", for NAT
    flip: bool | None = None  # whether views of images may be mirrored
    clip: float | None = None  # Ω: learn by DP-SGD, each row's gradient clipped to this norm
    noise: float | None = None  # σ of it

    def values(self) -> dict[str, Value]:
        """The lesson as a message carries it."""
        return {k: v for k, v in asdict(self).items() if v is not None}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Lesson:
        """The inverse of `values`."""
        known = {field.name for field in fields(cls)}
        return cls(**{k: v for k, v in values.items() if k in known})


def sort_of(lesson: Lesson) -> Any:
    """The class of a lesson's objective, which says by flags what it needs; the base class for one of the user's."""
    return OBJECTIVES.get(lesson.objective, Objective)


def build_objective(
    lesson: Lesson, encoder: nn.Module, width: int, table: Table, party: str, own: Mapping[str, OwnObjective]
) -> Objective:
    """The objective around the party's encoder, the same for the same seed and party."""
    sort: Any = Objective if lesson.objective in own else OBJECTIVES.get(lesson.objective)
    made: Any = own.get(lesson.objective, sort)
    if sort is None or sort.computed:
        raise ConfigError(
            f"there is no objective {lesson.objective!r} to train. {did_you_mean(lesson.objective, OBJECTIVES)}"
        )
    settings: dict[str, Any] = {}
    names = {"temperature": "temperature", "projection": "projection", "momentum": "momentum", "queue": "queue"}
    for option, argument in {**names, "predictor": "hidden", "frequency": "frequency"}.items():
        if getattr(lesson, option) is not None:
            settings[argument] = getattr(lesson, option)
    if table.is_image and sort.compares_views:
        settings["augment"] = ImageAugmentation(flip=lesson.flip is not False)
    elif lesson.rate is not None:
        settings |= {"rate": lesson.rate} if sort.takes_rate else {"augment": partial(replace, rate=lesson.rate)}
    if sort.keeps_targets:
        targets = generator(lesson.seed, party, "targets", device=table.x.device)
        settings |= {"rows": len(table), "generator": targets, "fixed": lesson.assignment == "fixed"}
    with seeded(lesson.seed, party, "objective"):
        try:
            objective: Objective = made(encoder, width=width, **settings)
        except TypeError as error:
            raise ConfigError(f"the objective {lesson.objective!r} does not take these options: {error}.") from None
    return objective.to(table.x.device)


class Course:
    """One party's training of one objective on rows of its own table, all by default, an epoch at a time."""

    def __init__(
        self,
        objective: Objective,
        table: Table,
        lesson: Lesson,
        party: str,
        *,
        rows: Tensor | None = None,
        autocast: Callable[[], Any],
    ) -> None:
        device = table.x.device
        self.objective, self.table, self.lesson, self.autocast = objective, table, lesson, autocast
        self.rows = torch.arange(len(table), device=device) if rows is None else rows.to(device)
        if len(self.rows) < objective.min_batch:
            raise DataError(
                f"party {party!r} has {len(self.rows)} rows, and {lesson.objective} needs {objective.min_batch} in a "
                f"batch. Give it more rows, or use an objective without batch norm (moco, nat)."
            )
        self.order = generator(lesson.seed, party, "order")
        self.draws = generator(lesson.seed, party, "draws", device=device)
        self.optimizer = objective_optimizer(objective, lesson)
        self.generators = [self.draws, *generators_of(objective)]
        self.graph = StepGraph(self.generators, possible=objective.same_steps)
        self.done = 0  # epochs
        objective.train()

    def begin_epoch(self) -> tuple[list[Tensor], list[Callable[[], None]]]:
        """The next epoch's batches, and what other threads can do for them, to be started."""
        set_rate(self.optimizer, self.lesson, self.done)
        parts = cut(self.rows, self.lesson.batch_size, self.order, self.objective.min_batch)
        self.done += 1
        return parts, self.objective.begin_epoch(self.done - 1, self.table, parts)

    def epoch(self, loss_of: Callable[..., Tensor] | None = None, key: Hashable = None) -> float:
        """One pass over the rows; the mean loss.

        `loss_of` reads what the objective draws, and is the objective by default; under one `key` it stays the same.
        """
        parts, starts = self.begin_epoch()
        for start in starts:
            start()
        total = torch.zeros((), device=self.table.x.device)
        step = partial(self.step, loss_of=loss_of)
        for number, part in enumerate(parts):
            self.objective.before_batch(number)
            total += self.graph.run(step, part, key) * len(part)
        return float(total) / len(self.rows)

    def step(self, part: Tensor, loss_of: Callable[..., Tensor] | None = None) -> Tensor:
        """One update with these rows (B,); the loss."""
        drawn = self.objective.draw(self.table, part, self.draws)
        with self.autocast():
            loss: Tensor = (loss_of or self.objective)(*drawn)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.objective.after_step()
        return loss.detach()

    def state(self) -> dict[str, Tensor]:
        """All that the epochs to come depend on, by name."""
        moments = self.optimizer.state_dict()["state"]
        return {
            **{f"objective.{k}": v for k, v in self.objective.state_dict().items()},
            **{f"optimizer.{i}.{k}": torch.as_tensor(v) for i, entry in moments.items() for k, v in entry.items()},
            **{f"generator.{i}": g.get_state() for i, g in enumerate((self.order, *self.generators))},
        }

    def load_state(self, state: Mapping[str, Tensor], done: int) -> None:
        """Go on after `done` epochs, as the course did from which the state is."""
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in state.items():
            if name.startswith("optimizer."):
                _, place, key = name.split(".", 2)
                moments.setdefault(int(place), {})[key] = tensor
        prefix = "objective."
        self.objective.load_state_dict({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        for i, g in enumerate((self.order, *self.generators)):
            g.set_state(state[f"generator.{i}"].cpu())
        self.done = done


class Keeper(Protocol):
    """Where a party keeps its courses while they last, so that a crash loses no finished epoch."""

    def save(self, course: Course, losses: list[float]) -> None:
        """Keep a course as it is after an epoch."""

    def load(self, course: Course) -> list[float]:
        """Put a course where it was kept last; the losses of its epochs until then."""


def learn(course: Course, after: Callable[[int, float], bool], keeper: Keeper | None = None) -> None:
    """All epochs of a course; `after` hears of each and says whether to stop."""
    losses = [] if keeper is None else keeper.load(course)
    for epoch, loss in enumerate(losses, 1):
        after(epoch, loss)
    for epoch in range(len(losses) + 1, course.lesson.epochs + 1):
        losses.append(course.epoch())
        if keeper is not None:
            keeper.save(course, losses)
        if after(epoch, losses[-1]):
            break


def objective_optimizer(objective: nn.Module, lesson: Lesson) -> torch.optim.Optimizer:
    """An optimizer whose first group follows the schedule and whose second, a predictor's, does not."""
    predictor = getattr(objective, "predictor", None)
    constant = {id(p) for p in predictor.parameters()} if predictor is not None else set()
    trained = [p for p in objective.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if id(p) not in constant]}]
    if constant:
        groups.append({"params": [p for p in trained if id(p) in constant]})
    return make_optimizer(groups, lesson.optimizer, lesson.learning_rate, lesson.weight_decay)


def set_rate(optimizer: torch.optim.Optimizer, lesson: Lesson, epoch: int) -> None:
    """The learning rate of an epoch, counted from 0."""
    if not lesson.cosine:
        return
    rate = lesson.learning_rate * (1 + math.cos(math.pi * epoch / lesson.epochs)) / 2
    group = optimizer.param_groups[0]
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)  # in place: a recorded step reads it from there
    else:
        group["lr"] = rate


def cut(rows: Tensor, size: int, order: torch.Generator, least: int) -> list[Tensor]:
    """Rows in a fresh random order, cut into batches; a last one below `least` rows joins the one before."""
    shuffled = rows[torch.randperm(len(rows), generator=order).to(rows.device)]
    parts = list(torch.split(shuffled, max(size, least)))
    if len(parts) > 1 and len(parts[-1]) < least:
        parts[-2:] = [torch.cat(parts[-2:])]
    return parts
