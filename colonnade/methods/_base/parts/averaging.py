"""Partial model averaging (He et al. 2022, Alg. 1, l.25-30): the tops of the parties' local encoders become one.

The active party does the server's part. It averages by FedAvg; with `secure` it sees masked contributions only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import torch

from colonnade.errors import ConfigError, raise_all
from colonnade.methods._base.setup import Sends, Skills
from colonnade.objectives.training import Lesson
from colonnade.parties.federation import Federation
from colonnade.parties.skills.aggregation import Masks, average, average_masked, contribution
from colonnade.parties.skills.together import MaskedSharing, Sharing
from colonnade.parties.skills.towers import Towers, build_towers

AVERAGING_SKILLS: Skills = (Sharing, MaskedSharing)


def averaging_problems(method: Any) -> list[str]:
    """What is wrong with the options of `Averages` together."""
    if method.secure_aggregation and not method.aggregate:
        return ["secure_aggregation=True masks what is averaged, but aggregate=False averages nothing."]
    return []


def averaged_sends(method: Any) -> Sends:
    """Kinds of messages with real numbers that averaging sends, and when."""
    if not method.aggregate:
        return {}
    own: Sends = {} if method.secure_aggregation else {"parameters": ("aggregate",)}
    return {**own, "average": ("aggregate",)}


def averaged_lacks(method: Any) -> dict[str, str]:
    """Kinds that other options would send: what to change, for errors."""
    if not method.aggregate:
        return dict.fromkeys(("parameters", "average"), "With aggregate=True it does.")
    masked = "With secure_aggregation=True they cross masked, as whole numbers. Leave one of the two out."
    return {"parameters": masked}


def averaging_skills(method: Any) -> Skills:
    """What averaging asks of the passive parties."""
    if not method.aggregate:
        return ()
    return (MaskedSharing,) if method.secure_aggregation else (Sharing,)


def shared_parts(method: Any) -> tuple[str, ...]:
    """What is averaged over the parties."""
    return tuple(method.averaged) if method.aggregate else ()


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
