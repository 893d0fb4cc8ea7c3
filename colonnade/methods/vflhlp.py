"""VFLHLP (Li et al. 2024): supervised pre-training at the active party, SCARF at the passive ones, constrained VFL.

Symbols: h^k(θ^k) encoder of party k, party 1 the active one; f(θ^0) prediction head, θ_s^0 the slice of its first layer
that reads the active party's representation; Θ the pre-trained weights; β weight of the constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from colonnade.errors import ConfigError
from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Gt, Help
from colonnade.methods._base.options.groups import Crossing, Networks, Pretraining
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.parts.pretraining import lesson_of, record
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup
from colonnade.methods.splitnn import split_training
from colonnade.objectives.supervised import Supervised
from colonnade.objectives.training import Course, Lesson, learn
from colonnade.parties.federation import Federation
from colonnade.parties.skills.pretraining import Pretraining as PretrainingSkill
from colonnade.seeds import seeded

Penalty = Callable[[], Tensor]


@dataclass(kw_only=True, eq=False, repr=False)
class Scarf:
    """Step 2: what the passive parties learn."""

    temperature: Annotated[
        float, Gt(0), Help("Temperature of the contrast (τ of Eq. 6). Lower weighs near rows more.")
    ] = 1.0
    rate: Annotated[float, Gt(0), Help("Share of columns that SCARF corrupts.")] = 0.6


@dataclass(kw_only=True, eq=False, repr=False)
class Constraint:
    """Steps 1 and 3: how near the active party is held to what its own labels taught it."""

    beta: Annotated[
        float,
        Ge(0),
        Help("Weight of the constraint on the active party (β of Eq. 7). The paper does not print its value."),
    ] = 0.1
    warm_start: Annotated[
        bool, Help("Start the active party from the pre-trained weights, and not, as Algorithm 1 does, at random.")
    ] = False


@dataclass(kw_only=True, eq=False, repr=False)
class VFLHLPP(Scarf, Pretraining, Crossing, Networks, Method):
    """VFLHLP-P (§5.4): only the passive parties' pre-trained encoders."""

    name = "vflhlp-p"
    paper = "Li et al. 2024"
    summary = "vflhlp with the passive parties' pre-training only"
    family = "pretrained"
    skills = (*SPLIT_SKILLS, PretrainingSkill)

    def setup(self) -> Setup:
        """Learning alone, then split training."""
        return Setup(skills=self.skills, sends=SPLIT)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Step 2, then Algorithm 1."""
        pretrain_passive(self, fed)  # step 2
        split_training(fed, monitor, Training.of(self))  # step 3


@dataclass(kw_only=True, eq=False, repr=False)
class VFLHLPA(Constraint, Crossing, Networks, Method):
    """VFLHLP-A (§5.4): only the active party's pre-trained model."""

    name = "vflhlp-a"
    paper = "Li et al. 2024"
    summary = "vflhlp with the active party's pre-training only"
    family = "pretrained"
    skills = SPLIT_SKILLS

    def setup(self) -> Setup:
        """Split training, after the active party learnt from its labels."""
        return Setup(skills=self.skills, sends=SPLIT, own_columns=True)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Step 1, then Algorithm 1 with L = L_vfl + β L_cons (Eq. 7)."""
        constraint = pretrain_active(self, fed, monitor)  # step 1
        split_training(fed, monitor, Training.of(self), penalty=constraint)  # step 3


@dataclass(kw_only=True, eq=False, repr=False)
class VFLHLP(Constraint, Scarf, Pretraining, Crossing, Networks, Method):
    """Both techniques: the active party's labels of all its rows, and the passive parties' columns of all theirs."""

    name = "vflhlp"
    paper = "Li et al. 2024"
    summary = "pre-training by own labels and by SCARF, then as in splitnn"
    family = "pretrained"
    skills = (*SPLIT_SKILLS, PretrainingSkill)

    def setup(self) -> Setup:
        """Learning alone at every party, then split training."""
        return Setup(skills=self.skills, sends=SPLIT, own_columns=True)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Pre-train, then Algorithm 1 with L = L_vfl + β L_cons (Eq. 7)."""
        constraint = pretrain_active(self, fed, monitor)  # step 1
        pretrain_passive(self, fed)  # step 2: θ^k_0 = Θ^k for k > 1
        split_training(fed, monitor, Training.of(self), penalty=constraint)  # step 3


def pretrain_passive(method: Any, fed: Federation) -> None:
    """Step 2, Eqs 5-6: SCARF on all rows of each passive party."""
    lesson = lesson_of(method, "scarf", temperature=method.temperature, rate=method.rate)
    with fed.phase("pretrain"):
        fed.tell("pretrain", **lesson.values())


def pretrain_active(method: Any, fed: Federation, monitor: Monitor) -> Penalty:
    """Step 1: h^1, f on all labelled rows of the active party, aligned or not; returns β L_cons (Eq. 8)."""
    active = fed.active
    encoder = active.built()
    start = {k: v.clone() for k, v in encoder.state_dict().items()}
    model = learn_own_labels(fed, monitor, Training.of(method), method.epochs, method.patience)
    big_theta_1 = [p.detach().clone() for p in encoder.parameters()]  # Θ^1
    big_theta_0 = model.head.weight.detach().clone()  # Θ^0, (C, D)
    theta_0s = own_slice(method, active.head, active.width, big_theta_0)
    if method.warm_start:
        with torch.no_grad():
            theta_0s().copy_(big_theta_0)
    else:
        encoder.load_state_dict(start)
    theta_1 = list(encoder.parameters())

    def constraint() -> Tensor:
        apart = torch.stack([(a - b).square().sum() for a, b in zip(theta_1, big_theta_1, strict=True)]).sum()
        return method.beta * 0.5 * (apart + (theta_0s() - big_theta_0).square().sum())  # type: ignore[no-any-return]

    return constraint


def own_slice(method: Any, head: nn.Module, width: int, like: Tensor) -> Callable[[], Tensor]:
    """θ_s^0: the columns of the head's weight that read the active party's representation, which comes first."""
    first = next(layer for layer in head.modules() if isinstance(layer, nn.Linear))
    width = width if method.join == "concat" else first.in_features
    if first.weight[:, :width].shape != like.shape:
        raise ConfigError(f"{method.name} holds a linear head near the active party's own. Use head_hidden=().")
    return lambda: first.weight[:, :width]


def learn_own_labels(fed: Federation, monitor: Monitor, training: Training, epochs: int, patience: int) -> Supervised:
    """Step 1, Eq. 4: the active party's encoder and a head of its own learn from all its labelled rows.

    With the care that `local` gets: as many epochs, early stopping on validation rows.
    """
    active = fed.active
    with seeded(training.seed, active.name, "supervised"):
        model = Supervised(
            active.built(), width=active.width, outputs=active.targets.outputs, targets=active.y["train"]
        ).to(active.device)
    losses: list[float] = []
    best, kept = (float("inf"), 0), {k: v.clone() for k, v in model.state_dict().items()}

    def after(epoch: int, loss: float) -> bool:
        nonlocal best, kept
        losses.append(loss)
        if "valid" not in active.y:
            return False
        with torch.no_grad():
            found = float(active.targets.loss(model.head(active.encode_table("valid")), active.y["valid"]))
        model.train()
        if found < best[0]:
            best, kept = (found, epoch), {k: v.clone() for k, v in model.state_dict().items()}
        return epoch - best[1] >= patience

    lesson = Lesson(
        objective="supervised", epochs=epochs, batch_size=training.batch_size, seed=training.seed, **training.update
    )
    table = active.tables["train"]
    learn(Course(model, table, lesson, active.name, rows=active.labelled, autocast=active.autocast), after)
    if "valid" in active.y:
        model.load_state_dict(kept)
    record(monitor, losses)
    return model
