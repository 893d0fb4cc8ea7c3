"""SS-VFL-I and SS-VFL-C (Castiglia et al. 2022): local contrastive pre-training, then supervised training.

Symbols: h_m(θ_m) representation network of party m; U_m its unlabelled rows, X_m its labelled ones; θ_0 the server's
prediction model; T_un, T_sup iterations of both phases.

In the paper the server has labels and no columns, as a party with labels only has here. An active party that has
columns is, besides, one of the M parties: it pre-trains its own encoder like the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from colonnade.methods._base.federated import ONCE, Sends
from colonnade.methods._base.options import above, at_least, one_of
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.parts.one_round import one_shot_training
from colonnade.methods._base.pretrained import PretrainedMethod, pretrain_all
from colonnade.methods._base.private import PrivateMethod
from colonnade.methods.splitnn import train_together
from colonnade.objectives.training import Lesson
from colonnade.parties.federation import Federation


@dataclass(kw_only=True, eq=False, repr=False)
class _SSVFL(PrivateMethod, PretrainedMethod):
    """What both algorithms share: LocalCL."""

    objective: str = "contrastive"  # Eq. 2; the authors' code has MoCo instead
    temperature: float = 0.2  # τ of Eq. 1 and 2
    projection: int = 128  # width of the projector that pre-training puts on the encoder, and drops afterwards
    rate: float = 0.6  # share of columns in which a positive pair differs

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        one_of(problems, "objective", self.objective, ("contrastive", "moco"))
        above(problems, "temperature", self.temperature, 0)
        at_least(problems, "projection", self.projection, 1)
        above(problems, "rate", self.rate, 0)

    def local_cl(self) -> Lesson:
        """LOCALCL(θ_m, U_m, T_un)."""
        return self.lesson(self.objective, temperature=self.temperature, projection=self.projection, rate=self.rate)


PRETRAINED = "its encoder was pre-trained by contrast, without noise"


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFLI(_SSVFL):
    """SS-VFL-I, Algorithm 1: frozen representations, sent once."""

    name = "ss-vfl-i"
    paper = "Castiglia et al. 2022"
    summary = "contrastive pre-training; representations are sent once"
    family = "once"
    freezes_own: ClassVar[bool] = True  # an active party with columns is one of the M parties
    scales_received: ClassVar[bool] = True
    sends: ClassVar[Sends] = ONCE

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1."""
        self.prepare(fed)  # l.1
        pretrain_all(fed, monitor, self.local_cl())  # l.2-3: θ_m ← LOCALCL(θ_m, U_m, T_un), in parallel
        # l.4: each sends h_m(X_m) once; l.6-10: θ_0 learns from them
        ledger = self.plan_privacy(fed, len(fed.active.labelled_aligned), uncovered=PRETRAINED)
        one_shot_training(fed, monitor, self.training(), self.private(fed, ledger))
        self.settle(fed, ledger)


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFLC(_SSVFL):
    """SS-VFL-C, Algorithm 2: the pre-trained encoders go on learning with the head."""

    name = "ss-vfl-c"
    paper = "Castiglia et al. 2022"
    summary = "contrastive pre-training, then training as in splitnn"

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 2."""
        self.prepare(fed)  # l.1
        pretrain_all(fed, monitor, self.local_cl())  # l.2-4
        train_together(self, fed, monitor)  # l.5-17
