"""Local self-supervised learning at every party, then split training: a baseline of two papers.

FedSimSiam of He et al. 2022 (§4.1), with partial model averaging FedSimSiam + PMA (Table 4); FedLocalSimSiam,
FedLocalBYOL and FedLocalMoCo of Li et al. 2024 (§5.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Help
from colonnade.methods._base.options.groups import (
    Averages,
    Crossing,
    Networks,
    Pretraining,
    Privacy,
    SelfSupervision,
)
from colonnade.methods._base.parts.averaging import (
    AVERAGING_SKILLS,
    Averaging,
    averaged_lacks,
    averaged_sends,
    averaging_problems,
    averaging_skills,
    enrol,
    shared_parts,
)
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.parts.pretraining import pretrain_all
from colonnade.methods._base.parts.self_supervised import ANY_OBJECTIVE, own_objectives, ssl_lesson
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup, Skills
from colonnade.methods.splitnn import train_together
from colonnade.objectives.base import Objective
from colonnade.objectives.training import OwnObjective
from colonnade.parties.federation import Federation
from colonnade.parties.skills.pretraining import Pretraining as PretrainingSkill
from colonnade.parties.skills.together import Enrolment, Studying


@dataclass(kw_only=True, eq=False, repr=False)
class FedLocalSSL(Privacy, Averages, SelfSupervision, Pretraining, Crossing, Networks, Method):
    """Local self-supervised pre-training at every party with columns, then fine-tuning together."""

    name = "fed-local-ssl"
    paper = "He et al. 2022; Li et al. 2024"
    summary = "SimSiam, BYOL, MoCo, … at every party, then as in splitnn"
    family = "pretrained"
    skills = (*SPLIT_SKILLS, PretrainingSkill, Enrolment, Studying, *AVERAGING_SKILLS)

    objective: Annotated[
        str | type[Objective] | OwnObjective,
        ANY_OBJECTIVE,
        Help("What parties learn alone: simsiam, byol, moco, contrastive, scarf, nat, or a class of your own."),
    ] = "simsiam"

    def check(self) -> list[str]:
        """Masks are for what is averaged."""
        return averaging_problems(self)

    def setup(self) -> Setup:
        """Learning alone, all at once or pass by pass with averaging between; then split training."""
        alone: Skills = (Enrolment, Studying, *averaging_skills(self)) if self.aggregate else (PretrainingSkill,)
        return Setup(
            skills=(*SPLIT_SKILLS, *alone), sends={**SPLIT, **averaged_sends(self)}, lacks=averaged_lacks(self),
            objectives=own_objectives(self),
        )  # fmt: skip

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Pre-train alone, or pass by pass with averaging between; then fine-tune together."""
        if self.aggregate:
            self.pretrain_averaged(fed, monitor)
        else:
            pretrain_all(fed, monitor, ssl_lesson(self))
        train_together(self, fed, monitor)

    def pretrain_averaged(self, fed: Federation, monitor: Monitor) -> None:
        """FedSimSiam + PMA: He et al. 2022, Alg. 1, steps 2 and 3 with γ = 0."""
        own = enrol(fed, ssl_lesson(self), "local", shared_parts(self))
        averaging = Averaging(fed, own, shared_parts(self), secure=self.secure_aggregation)
        for epoch in range(1, self.pretrain_epochs + 1):
            with fed.phase("pretrain"):
                fed.tell("study", gamma=0.0)
            entry: dict[str, Any] = {"phase": "pretrain", "epoch": epoch}
            if own is not None:
                entry["loss"] = own.study(0.0)
            averaging.run()
            monitor.history.append({**entry, "bytes": fed.wire.traffic.bytes})
            monitor.progress("pretrain", epoch, self.pretrain_epochs)
