"""FedLocalSSL: every party pre-trains by self-supervision on its own rows, then all fine-tune as in SplitNN.

FedSimSiam of He et al. 2022 (§4.1); FedLocalSimSiam, FedLocalBYOL and FedLocalMoCo of Li et al. 2024 (§5.3).
"""

from __future__ import annotations

from dataclasses import dataclass

from colonnade.federation import Federation
from colonnade.methods.monitor import Monitor
from colonnade.methods.options import above, at_least
from colonnade.methods.pretrained import TRAINABLE, PretrainedMethod, check_objective, objective_name, pretrain_all
from colonnade.methods.splitnn import split_training
from colonnade.objectives.base import Objective
from colonnade.pretrain import OwnObjective


@dataclass(kw_only=True, eq=False, repr=False)
class FedLocalSSL(PretrainedMethod):
    """Local self-supervised pre-training at every party with columns, then fine-tuning together."""

    name = "fed-local-ssl"
    paper = "He et al. 2022; Li et al. 2024"
    summary = "each party pre-trains by self-supervision (simsiam, byol, moco, …), then all train as in splitnn"

    objective: str | type[Objective] | OwnObjective = "simsiam"  # or byol, moco, contrastive, scarf, nat, or your own
    projection: int = 128  # width of the projector; 512 in the authors' code, whose encoders are as wide
    rate: float | None = None  # share of columns distorted in a view; none: the objective's own, 0.3 (scarf: 0.6)
    cosine: bool = True  # the learning rate falls to 0 along a cosine, except the predictor's

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        check_objective(problems, self.objective, TRAINABLE)
        at_least(problems, "projection", self.projection, 1)
        if self.rate is not None:
            above(problems, "rate", self.rate, 0)

    def own_objectives(self) -> dict[str, OwnObjective]:
        """The user's objective, where one was passed."""
        return {} if isinstance(self.objective, str) else {objective_name(self.objective): self.objective}

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Pre-train alone, fine-tune together."""
        self.prepare(fed)
        name = objective_name(self.objective)
        projected = (
            {"projection": self.projection} if name in ("simsiam", "byol", "moco", "contrastive", "scarf") else {}
        )
        augmented = {"rate": self.rate} if name in ("simsiam", "byol", "moco", "contrastive", "scarf") else {}
        pretrain_all(fed, monitor, self.lesson(name, cosine=self.cosine, **projected, **augmented))
        split_training(fed, monitor, self.training())
