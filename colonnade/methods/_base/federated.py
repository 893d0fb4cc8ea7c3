"""Methods whose parties talk: how representations are joined, travel and are protected, and who is waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from colonnade.data.vertical import VerticalData
from colonnade.engines.in_process.engine import InProcess
from colonnade.errors import ConfigError, DataError
from colonnade.methods._base.method import Progress, no_progress
from colonnade.methods._base.network import NetworkMethod
from colonnade.methods._base.options import above, one_of
from colonnade.parties.active import JOINS, ActiveParty
from colonnade.parties.federation import Federation
from colonnade.wire.codec import PRECISIONS
from colonnade.wire.message import KINDS
from colonnade.wire.protection import Noise, Protection
from colonnade.wire.protections import Marvell, build, find_problems
from colonnade.wire.wire import Wire

Sends = Mapping[str, tuple[str, ...]]  # kinds of messages that hold real numbers, and the phases in which they cross
SPLIT: Sends = {"representation": ("train", "validate", "predict"), "gradient": ("train",)}
SEEDED = "the noise follows from the run's seed: whoever knows the seed can take it away"
ONCE: Sends = {"representation": ("train", "predict")}


@dataclass(kw_only=True, eq=False, repr=False)
class FederatedMethod(NetworkMethod):
    """A network method whose parties talk over a wire."""

    join: str = "concat"  # how the head reads the representations: concat, mean or sum
    codec: str = "float32"  # how representations and gradients travel: float32, float16 or int8
    response_limit: float | None = None  # seconds after which a party's answer counts as zero; None waits
    late: str | tuple[str, ...] = ()  # parties whose every answer comes too late, to rehearse their absence
    protect: str | tuple[str, ...] = ()  # what senders do to messages: NAME:KIND:STRENGTH, e.g. iso:gradient:1

    sends: ClassVar[Sends] = SPLIT
    family = "rounds"

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        one_of(problems, "join", self.join, JOINS)
        one_of(problems, "codec", self.codec, PRECISIONS)
        if self.response_limit is not None:
            above(problems, "response_limit", self.response_limit, 0, "Use None to wait for every party.")
        if not isinstance(self.late, str | tuple | list) or not all(isinstance(name, str) for name in self.late):
            problems.append(f"late must name parties. Got {self.late!r}. Use e.g. ['shop'], or [] for none.")
        problems += find_problems(self.protect, self.name, self.sent(), self.mixed(), self.lacks())

    def sent(self) -> Sends:
        """Kinds of messages with real numbers that cross with these options, and when."""
        return self.sends

    def lacks(self) -> dict[str, str]:
        """Kinds that other options would send: what to change, for errors."""
        return {}

    def mixed(self) -> dict[str, str]:
        """Kinds whose rows depend on the other rows of their batch, and why."""
        because = "batch norm mixes the rows of a batch in a {}"
        found = {kind: because.format("projector") for kind in ("target", "projection")}
        own = self.encoders.values() if isinstance(self.encoders, Mapping) else ()
        norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
        if str(self.image_encoder).startswith("resnet") or any(isinstance(m, norms) for e in own for m in e.modules()):
            found["representation"] = because.format("party's encoder")
        return found

    def wire(self) -> Wire:
        """The wire between the parties."""
        protections = build(self.protect, self.seed)
        return Wire(precision=self.codec, protections=[*protections])  # type: ignore[arg-type]

    @property
    def protections_(self) -> list[dict[str, Any]]:
        """What was done to messages: name, kind, strength, guarantee, and whether the seed tells the noise."""
        self._check_fitted()
        here = isinstance(self.federation_.engine, InProcess)
        return [
            {**made.describe(), **({"caution": SEEDED} if here or _is_sent_down(made) else {})}
            for made in self.federation_.wire.protections
        ]

    def build_head(self, active: ActiveParty, received: Mapping[str, int]) -> None:
        """The head over representations of these widths."""
        active.build_head(received, how=self.join, hidden=list(self.head_hidden), seed=self.seed)

    def _assemble(self, data: VerticalData, progress: Progress = no_progress) -> Federation:
        fed = super()._assemble(data, progress)
        if isinstance(fed.engine, InProcess):
            self._wait(fed.engine)
        elif self.response_limit is not None or self.late:
            raise ConfigError(
                "response_limit and late are for one process. Between sites, set timeout in federation.toml."
            )
        show_labels(fed)
        return fed

    def _wait(self, engine: InProcess) -> None:
        """Set how long a party is waited for; a party that may be late answers for itself, not as one of a stack."""
        engine.response_limit, engine.always_late = self.response_limit, frozenset(self._late())
        engine.stack = engine.stack and engine.punctual

    def _late(self) -> tuple[str, ...]:
        """The parties that are always late."""
        return (self.late,) if isinstance(self.late, str) else tuple(self.late)

    def _restore(self, saved: dict[str, Any], tensors: dict[str, dict[str, Tensor]]) -> None:
        super()._restore(saved, tensors)
        assert isinstance(self.federation_.engine, InProcess)
        self._wait(self.federation_.engine)
        for protection in self.federation_.wire.protections:
            if isinstance(protection, Noise):
                protection.purpose += ("loaded",)  # the noise of training, used again, could be subtracted

    def _train(self, data: VerticalData, validation: VerticalData | None, progress: Progress) -> None:
        super()._train(data, validation, progress)
        engine = self.federation_.engine
        # answers of each party that came too late and counted as zero
        self.late_ = dict(engine.late) if isinstance(engine, InProcess) else {}

    def _check_data(self, data: VerticalData, validation: VerticalData | None) -> None:
        super()._check_data(data, validation)
        if not data.passive:
            raise DataError(f"{self.name} needs a passive party beside {data.active!r}. Add a view, or use local.")
        unknown = [name for name in self._late() if name not in data.passive]
        if unknown:
            raise ConfigError(f"late names {unknown}, but the passive parties are {list(data.passive)}.")


def _is_sent_down(protection: Protection) -> bool:
    """Whether the active party sends the messages: between sites, passive parties draw noise from their own secret."""
    return isinstance(protection, Noise) and KINDS[protection.kind].direction == "down"


def show_labels(fed: Federation) -> None:
    """Let the active party's own protections read its labels, where they are shaped by them."""
    active = fed.active
    known = torch.zeros(len(active.y["train"]), dtype=torch.bool)
    known[active.labelled] = True

    def labels(rows: Tensor) -> Tensor:
        at = rows.to(active.device).long()
        return torch.where(known.to(active.device)[at], active.y["train"][at], -1)

    for protection in fed.wire.protections:
        if not isinstance(protection, Marvell):
            continue
        if active.targets.outputs != 2:
            what = "regression" if active.targets.task == "regression" else f"{active.targets.outputs} classes"
            raise ConfigError(
                f"protect 'marvell:gradient:{protection.scale:g}': Marvell hides which of two classes a row has, and "
                f"this is {what}. Use iso:gradient."
            )
        protection.labels = labels
