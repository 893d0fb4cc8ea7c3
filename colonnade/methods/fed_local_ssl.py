"""Local self-supervised learning at every party, then split training: a baseline of two papers.

FedSimSiam of He et al. 2022 (§4.1), with partial model averaging FedSimSiam + PMA (Table 4); FedLocalSimSiam,
FedLocalBYOL and FedLocalMoCo of Li et al. 2024 (§5.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from colonnade.methods._base.options import above, at_least
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.pretrained import (
    TRAINABLE,
    PretrainedMethod,
    check_objective,
    objective_name,
    pretrain_all,
)
from colonnade.methods._base.private import PrivateMethod
from colonnade.methods.fedhssl.averaging import AveragedTops, Averaging, enrol
from colonnade.methods.splitnn import train_together
from colonnade.objectives.base import Objective
from colonnade.objectives.training import Lesson, OwnObjective
from colonnade.parties.federation import Federation

AUGMENTED = ("simsiam", "byol", "moco", "contrastive", "scarf")  # objectives with views and a projector


@dataclass(kw_only=True, eq=False, repr=False)
class SelfSupervised(PretrainedMethod):
    """A method whose parties pre-train by self-supervision; what it teaches each of them."""

    objective: str | type[Objective] | OwnObjective = "simsiam"  # or byol, moco, contrastive, scarf, nat, or your own
    projection: int = 128  # width of the projector; 512 in the authors' code, whose encoders are as wide
    rate: float | None = None  # share of columns distorted in a view; none: the objective's own, 0.3 (scarf: 0.6)
    cosine: bool = True  # the learning rate falls to 0 along a cosine, except the predictor's

    objectives: ClassVar[tuple[str, ...]] = TRAINABLE

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        check_objective(problems, self.objective, self.objectives)
        at_least(problems, "projection", self.projection, 1)
        if self.rate is not None:
            above(problems, "rate", self.rate, 0)

    def own_objectives(self) -> dict[str, OwnObjective]:
        """The user's objective, where one was passed."""
        return {} if isinstance(self.objective, str) else {objective_name(self.objective): self.objective}

    def ssl_lesson(self) -> Lesson:
        """What each party learns."""
        name = objective_name(self.objective)
        settings = {"projection": self.projection, "rate": self.rate} if name in AUGMENTED else {}
        return self.lesson(name, cosine=self.cosine, **settings)


@dataclass(kw_only=True, eq=False, repr=False)
class FedLocalSSL(PrivateMethod, AveragedTops, SelfSupervised):
    """Local self-supervised pre-training at every party with columns, then fine-tuning together."""

    name = "fed-local-ssl"
    paper = "He et al. 2022; Li et al. 2024"
    summary = "SimSiam, BYOL, MoCo, … at every party, then as in splitnn"

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Pre-train alone, or pass by pass with averaging between; then fine-tune together."""
        self.prepare(fed)
        if self.aggregate:
            self.pretrain_averaged(fed, monitor)
        else:
            pretrain_all(fed, monitor, self.ssl_lesson())
        train_together(self, fed, monitor)

    def pretrain_averaged(self, fed: Federation, monitor: Monitor) -> None:
        """FedSimSiam + PMA: He et al. 2022, Alg. 1, steps 2 and 3 with γ = 0."""
        own = enrol(fed, self.ssl_lesson(), "local", self.shared_parts())
        averaging = Averaging(fed, own, self.shared_parts(), secure=self.secure_aggregation)
        for epoch in range(1, self.pretrain_epochs + 1):
            with fed.phase("pretrain"):
                fed.tell("study", gamma=0.0)
            entry: dict[str, Any] = {"phase": "pretrain", "epoch": epoch}
            if own is not None:
                entry["loss"] = own.study(0.0)
            averaging.run()
            monitor.history.append({**entry, "bytes": fed.wire.traffic.bytes})
            monitor.progress("pretrain", epoch, self.pretrain_epochs)
