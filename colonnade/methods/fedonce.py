"""FedOnce (Wu et al. 2022): one round. Guests learn by noise as targets and send representations once; the host learns.

Symbols: f_θj guest model of party j, C_j its random targets, P^(t) the assignment in epoch t, R_j its representation;
f_w the host's aggregation model, which reads the host's raw columns x^1 and all R_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import nn

from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Help, OneOf
from colonnade.methods._base.options.groups import (
    Crossing,
    HeadHidden,
    Hidden,
    Networks,
    PretrainBatchSize,
    Pretraining,
    Width,
)
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.parts.one_round import one_round_training
from colonnade.methods._base.parts.pretraining import lesson_of
from colonnade.methods._base.setup import ONCE, ONCE_SKILLS, SPLIT_SKILLS, Sends, Setup
from colonnade.methods.splitnn import split_training
from colonnade.nets.tabular import Columns
from colonnade.objectives.pca import LinearEncoder
from colonnade.objectives.training import Lesson
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.parties.party import Party
from colonnade.parties.skills.pretraining import Pretraining as PretrainingSkill
from colonnade.seeds import seeded
from colonnade.wire.message import Value

MULTI: Sends = {"representation": ("train", "tune", "validate", "predict"), "gradient": ("tune",)}
Frequency = Annotated[
    int, Ge(1), Help("Epochs between two assignments of targets to rows (f). More costs less time and fits less.")
]
Assignment = Annotated[
    str,
    OneOf(("batch", "fixed")),
    Help("Whether targets are exchanged within a batch, or stay where they were drawn (fixed)."),
]
HostModel = HeadHidden  # host model; FC(30) for phishing in Table 2


@dataclass(kw_only=True, eq=False, repr=False)
class NoiseAsTargets:
    """The guests' objective (Eq. 1)."""

    head_hidden: HostModel = (64,)
    hidden: Hidden = (64, 64)  # guest model; FC(30x30) for phishing in Table 2
    width: Width = 16  # d, dimension of targets and representations (3 for most tables of the paper, 16 for images)
    pretrain_batch_size: PretrainBatchSize = (
        128  # targets are assigned within a batch, at a cost that grows with its cube
    )
    frequency: Frequency = 1
    assignment: Assignment = "batch"


@dataclass(kw_only=True, eq=False, repr=False)
class FedOnce(NoiseAsTargets, Pretraining, Crossing, Networks, Method):
    """FedOnce-L0: the guests learn by noise as targets (Eq. 1)."""

    name = "fedonce"
    paper = "Wu et al. 2022"
    summary = "parties learn with noise as targets, send representations once"
    family = "once"
    skills = (*ONCE_SKILLS, PretrainingSkill)

    def setup(self) -> Setup:
        """Representations are sent once, beside the host's own columns."""
        return one_round_setup(self, ONCE)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1 without the privacy lines."""
        learn_in_one_round(self, fed, monitor, noise_as_targets(self))


@dataclass(kw_only=True, eq=False, repr=False)
class FedOncePCA(Crossing, Networks, Method):
    """FedOnce-PCA (§5.6): principal components instead of NAT."""

    name = "fedonce-pca"
    paper = "Wu et al. 2022"
    summary = "principal components, sent once"
    family = "once"
    skills = (*ONCE_SKILLS, PretrainingSkill)

    head_hidden: HostModel = (64,)
    width: Annotated[int, Ge(1), Help("Number of principal components that each party sends (d).")] = 3

    def setup(self) -> Setup:
        """As FedOnce; a guest's encoder becomes linear."""
        return one_round_setup(self, ONCE, blank=self.components)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1; nothing is trained at the guests, the components are computed."""
        lesson = Lesson(
            objective="pca", epochs=0, batch_size=1, learning_rate=0.0, weight_decay=0.0, optimizer="adam",
            seed=self.seed,
        )  # fmt: skip
        learn_in_one_round(self, fed, monitor, lesson)

    def components(self, party: Party) -> nn.Module:
        """A guest's encoder before its weights are loaded."""
        made = party.fitted_preprocessor()
        columns = made.blank()[0][0].numel() + sum(made.sizes)
        return LinearEncoder(torch.zeros(columns), torch.zeros(columns, party.width), made.sizes).to(party.device)


@dataclass(kw_only=True, eq=False, repr=False)
class FedOnceMulti(NoiseAsTargets, Pretraining, Crossing, Networks, Method):
    """Multi-round FedOnce-L0 (§3.2): its models are the start of SplitNN."""

    name = "fedonce-multi"
    paper = "Wu et al. 2022"
    summary = "fedonce, then training as in splitnn"
    family = "pretrained"
    skills = (*SPLIT_SKILLS, PretrainingSkill)

    def setup(self) -> Setup:
        """As FedOnce, then split training."""
        return one_round_setup(self, MULTI)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """FedOnce, then SplitNN from its models."""
        learn_in_one_round(self, fed, monitor, noise_as_targets(self))
        tuning = Monitor(
            fed, monitor.metric, monitor.history, monitor.progress, self.epochs, self.patience, monitor.truth,
            name="tune",
        )  # fmt: skip
        tuning.before()  # the one-round model is the first candidate
        split_training(fed, tuning, Training.of(self))


def learn_in_one_round(method: Any, fed: Federation, monitor: Monitor, lesson: Lesson) -> None:
    """Algorithm 1; l.3 is the preparation: f_θj, whose targets C_j are drawn by the guest."""
    with fed.phase("pretrain"):
        fed.tell("pretrain", **lesson.values())  # l.4-15: f_θj(x^j) → P^(t) C_j, at each guest
    # l.16, 19: R_j sent once, of the rows the host can use; l.20-30: f_w(x^1, R_2:k)
    one_round_training(fed, monitor, Training.of(method))


def noise_as_targets(method: Any) -> Lesson:
    """Eq. 1."""
    return lesson_of(method, "nat", frequency=method.frequency, assignment=method.assignment)


def one_round_setup(method: Any, sends: Sends, *, scales: bool = True, blank: Any = None) -> Setup:
    """The host model reads the host's columns themselves, and representations that were sent once."""

    def columns(active: ActiveParty) -> nn.Module | None:
        made = active.fitted_preprocessor()
        if made.shape:
            return None
        with seeded(method.seed, active.name, "encoder"):
            return Columns(made.blank()[0].shape[1], made.sizes, embedding=method.embedding)

    def wide(active: ActiveParty) -> dict[str, Value]:  # a host of images: 128, what CNN0 has before its last layer
        return {"width": max(method.width, 128)} if active.fitted_preprocessor().shape else {}

    return Setup(
        skills=method.skills, sends=sends, scales_received=scales, own_encoder=columns, own_plan=wide, blank=blank
    )  # fmt: skip
