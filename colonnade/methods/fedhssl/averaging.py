"""Partial model averaging (He et al. 2022, Alg. 1, l.25-30): the tops of the parties' local encoders become one.

The active party does the server's part. It averages by FedAvg; with `secure` it sees masked contributions only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import torch

from colonnade.errors import ConfigError, raise_all
from colonnade.methods._base.federated import Sends
from colonnade.methods._base.pretrained import PretrainedMethod
from colonnade.objectives.training import Lesson
from colonnade.parties.federation import Federation
from colonnade.parties.skills.aggregation import Masks, average, average_masked, contribution
from colonnade.parties.skills.towers import SHARED, Towers, build_towers


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedTops(PretrainedMethod):
    """A method that may average the tops of the parties' local encoders after each pass (PMA)."""

    aggregate: bool = False  # average the local encoders' tops over the parties after each pass
    averaged: tuple[str, ...] = SHARED  # what aggregate averages: some of top, projector, predictor
    secure_aggregation: bool = False  # mask what is averaged, so that only the sum over the parties can be read

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        listed = isinstance(self.averaged, tuple | list) and bool(self.averaged) and set(self.averaged) <= set(SHARED)
        if not listed:
            problems.append(f"averaged must list some of {', '.join(SHARED)}. Got {self.averaged!r}. Use e.g. ['top'].")
        if self.secure_aggregation and not self.aggregate:
            problems.append("secure_aggregation=True masks what is averaged, but aggregate=False averages nothing.")

    def sent(self) -> Sends:
        """Kinds of messages with real numbers that cross with these options, and when."""
        own: Sends = {} if self.secure_aggregation else {"parameters": ("aggregate",)}
        return {**super().sent(), **own, "average": ("aggregate",)} if self.aggregate else super().sent()

    def lacks(self) -> dict[str, str]:
        """Kinds that other options would send: what to change, for errors."""
        if not self.aggregate:
            return dict.fromkeys(("parameters", "average"), "With aggregate=True it does.")
        masked = "With secure_aggregation=True they cross masked, as whole numbers. Leave one of the two out."
        return {"parameters": masked}

    def shared_parts(self) -> tuple[str, ...]:
        """What is averaged over the parties."""
        return tuple(self.averaged) if self.aggregate else ()


def enrol(
    fed: Federation, lesson: Lesson, which: str, shared: tuple[str, ...], *, updates: int = 1, staleness: int = 0
) -> Towers | None:
    """Build the towers of every party with columns; the active party's are returned. Shapes are compared."""
    with fed.phase("setup"):
        answers = fed.ask_values(
            "enrol", **lesson.values(), towers=which, shared=" ".join(shared), updates=updates, staleness=staleness
        )
    own, said = None, dict(answers)
    if fed.active.encoder is not None:
        own = build_towers(fed.active, lesson, which, updates, staleness)
        said[fed.active.name] = own.describe(shared)
    problems = []
    if len({said[name]["projection"] for name in said}) > 1:
        listed = ", ".join(f"{name!r} {said[name]['projection']}" for name in said)
        problems.append(
            f"projections are compared number by number, but their widths are {listed}. Use one projection."
        )
    if shared and not any(said[name][part] for name in said for part in shared):
        problems.append(f"{lesson.objective} has no {' or '.join(shared)} to average. Add 'top' to averaged.")
    for part in shared:
        problems += differing(part, {name: str(said[name][part]) for name in said})
    raise_all(problems, ConfigError, "Pre-training between the parties")
    return own


def differing(part: str, shapes: dict[str, str]) -> list[str]:
    """What is wrong with a part that shall be averaged: some party lacks it, or its shapes differ."""
    if part == "predictor" and not any(shapes.values()):
        return []  # MoCo has none
    lacking = [name for name, shape in shapes.items() if not shape]
    if lacking:
        return [
            f"party {', '.join(map(repr, lacking))}: its network has no {part!r} to average. Give it a part of that "
            f"name, or leave {part!r} out of averaged."
        ]
    if len(set(shapes.values())) > 1:
        listed = "; ".join(f"{name!r} {shape}" for name, shape in shapes.items())
        return [
            f"{part!r} is averaged over the parties, but its shapes differ: {listed}. Use equal widths, leave {part!r} "
            f"out of averaged, or use aggregate=False."
        ]
    return []


@dataclass
class Averaging:
    """The averaging of one training."""

    fed: Federation
    towers: Towers | None  # the active party's own, if it has columns
    shared: tuple[str, ...]  # nothing is averaged where it is empty
    secure: bool = False
    turn: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not self.secure or not self.shared:
            return
        if len(self.fed.passive) < 2:
            warnings.warn(
                "secure_aggregation=True: with one passive party, the average and the own part give its part away. "
                "Masks protect from three parties on.",
                stacklevel=3,
            )
        self.masks = Masks(self.fed.active.secret_for("masks"))
        with self.fed.phase("setup"):
            keys = self.fed.ask("introduce")
        own = [] if self.towers is None else [self.masks.public]
        self.keys = torch.stack([*own, *keys.values()])  # (K, 32)

    def run(self) -> None:
        """l.25-30, once."""
        if not self.shared:
            return
        active = self.fed.active
        own = []
        if self.towers is not None:
            own = [contribution(self.towers.part(self.shared), len(active.tables["train"]))]  # (L + 1,)
        with self.fed.phase("aggregate"):
            if self.secure:
                masked = self.fed.ask("share_masked", keys=self.keys, turn=self.turn)  # l.27
                own = [self.masks.mask(part, self.keys, self.turn) for part in own]
                result = average_masked([*own, *masked.values()])  # l.29
            else:
                result = average([*own, *self.fed.ask("share").values()])  # l.27, l.29
            if self.towers is not None:
                self.towers.adopt(self.shared, result)
            self.fed.tell("adopt", average=result)  # l.30
        self.turn += 1
