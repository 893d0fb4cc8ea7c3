"""SS-VFL-I and SS-VFL-C (Castiglia et al. 2022): local contrastive pre-training, then supervised training.

Symbols: h_m(θ_m) representation network of party m; U_m its unlabelled rows, X_m its labelled ones; θ_0 the server's
prediction model; T_un, T_sup iterations of both phases.

In the paper the server has labels and no columns, as a party with labels only has here. An active party that has
columns is, besides, one of the M parties: it pre-trains its own encoder like the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Gt, Help, OneOf
from colonnade.methods._base.options.groups import Crossing, Networks, Pretraining, Privacy
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.parts.one_round import one_round_training
from colonnade.methods._base.parts.pretraining import lesson_of, pretrain_all
from colonnade.methods._base.parts.privacy import plan_privacy, private_of, settle
from colonnade.methods._base.setup import ONCE, ONCE_SKILLS, SPLIT, SPLIT_SKILLS, Setup
from colonnade.methods.splitnn import train_together
from colonnade.objectives.training import Lesson
from colonnade.parties.federation import Federation
from colonnade.parties.skills.pretraining import Pretraining as PretrainingSkill

PRETRAINED = "its encoder was pre-trained by contrast, without noise"


@dataclass(kw_only=True, eq=False, repr=False)
class LocalContrast:
    """Options of LocalCL."""

    objective: Annotated[
        str,
        OneOf(("contrastive", "moco")),
        Help("What parties learn alone: contrastive (Eq. 2), or moco, as the authors' code."),
    ] = "contrastive"
    temperature: Annotated[
        float, Gt(0), Help("Temperature of the contrast (τ, Eqs 1-2). Lower weighs near rows more.")
    ] = 0.2
    projection: Annotated[
        int, Ge(1), Help("Width of the projector that pre-training puts on the encoder, and drops afterwards.")
    ] = 128
    rate: Annotated[float, Gt(0), Help("Share of columns in which a positive pair differs.")] = 0.6


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFLI(LocalContrast, Privacy, Pretraining, Crossing, Networks, Method):
    """SS-VFL-I, Algorithm 1: frozen representations, sent once."""

    name = "ss-vfl-i"
    paper = "Castiglia et al. 2022"
    summary = "contrastive pre-training; representations are sent once"
    family = "once"
    skills = (*ONCE_SKILLS, PretrainingSkill)

    def setup(self) -> Setup:
        """An active party with columns is one of the M parties: its encoder stays frozen, too."""
        return Setup(skills=self.skills, sends=ONCE, freezes_own=True, scales_received=True)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1; l.1 is the preparation."""
        pretrain_all(fed, monitor, local_cl(self))  # l.2-3: θ_m ← LOCALCL(θ_m, U_m, T_un), in parallel
        # l.4: each sends h_m(X_m) once; l.6-10: θ_0 learns from them
        ledger = plan_privacy(self, fed, len(fed.active.labelled_aligned), uncovered=PRETRAINED)
        one_round_training(fed, monitor, Training.of(self), private_of(self, fed, ledger))
        settle(self, fed, ledger)


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFLC(LocalContrast, Privacy, Pretraining, Crossing, Networks, Method):
    """SS-VFL-C, Algorithm 2: the pre-trained encoders go on learning with the head."""

    name = "ss-vfl-c"
    paper = "Castiglia et al. 2022"
    summary = "contrastive pre-training, then training as in splitnn"
    family = "pretrained"
    skills = (*SPLIT_SKILLS, PretrainingSkill)

    def setup(self) -> Setup:
        """Learning alone, then split training."""
        return Setup(skills=self.skills, sends=SPLIT)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 2; l.1 is the preparation."""
        pretrain_all(fed, monitor, local_cl(self))  # l.2-4
        train_together(self, fed, monitor)  # l.5-17


def local_cl(method: Any) -> Lesson:
    """LOCALCL(θ_m, U_m, T_un)."""
    return lesson_of(
        method, method.objective, temperature=method.temperature, projection=method.projection, rate=method.rate
    )
