"""VFLHLP (Li et al. 2024): supervised pre-training at the active party, SCARF at the passive ones, constrained VFL.

Symbols: h^k(θ^k) encoder of party k, party 1 the active one; f(θ^0) prediction head, θ_s^0 the slice of its first layer
that reads the active party's representation; Θ the pre-trained weights; β weight of the constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from colonnade.errors import ConfigError
from colonnade.methods._base.federated import FederatedMethod
from colonnade.methods._base.options import above, at_least
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.pretrained import PretrainedMethod, record
from colonnade.methods.splitnn import split_training
from colonnade.objectives.supervised import Supervised
from colonnade.objectives.training import Course, Lesson, learn
from colonnade.parties.federation import Federation
from colonnade.seeds import seeded

Penalty = Callable[[], Tensor]


@dataclass(kw_only=True, eq=False, repr=False)
class _HybridPretraining(FederatedMethod):
    """The steps of Fig. 3; a subclass says which of the first two it takes."""

    paper = "Li et al. 2024"
    family = "pretrained"

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Pre-train, then Algorithm 1 with L = L_vfl + β L_cons (Eq. 7)."""
        self.prepare(fed)
        constraint = self.pretrain_active(fed, monitor)  # step 1
        self.pretrain_passive(fed)  # step 2: θ^k_0 = Θ^k for k > 1
        split_training(fed, monitor, self.training(), penalty=constraint)  # step 3

    def pretrain_active(self, fed: Federation, monitor: Monitor) -> Penalty | None:
        """Step 1, where it is taken; returns β L_cons."""
        return None

    def pretrain_passive(self, fed: Federation) -> None:
        """Step 2, where it is taken."""


@dataclass(kw_only=True, eq=False, repr=False)
class VFLHLPP(_HybridPretraining, PretrainedMethod):
    """VFLHLP-P (§5.4): only the passive parties' pre-trained encoders."""

    name = "vflhlp-p"
    summary = "vflhlp with the passive parties' pre-training only"

    temperature: float = 1.0  # τ of Eq. 6
    rate: float = 0.6  # share of columns that SCARF corrupts

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        above(problems, "temperature", self.temperature, 0)
        above(problems, "rate", self.rate, 0)

    def pretrain_passive(self, fed: Federation) -> None:
        """Step 2, Eqs 5-6: SCARF on all rows of each passive party."""
        with fed.phase("pretrain"):
            fed.tell("pretrain", **self.lesson("scarf", temperature=self.temperature, rate=self.rate).values())


@dataclass(kw_only=True, eq=False, repr=False)
class VFLHLPA(_HybridPretraining):
    """VFLHLP-A (§5.4): only the active party's pre-trained model."""

    name = "vflhlp-a"
    summary = "vflhlp with the active party's pre-training only"

    needs_own_columns: ClassVar[bool] = True

    beta: float = 0.1  # β of Eq. 7; the paper does not print its value
    warm_start: bool = False  # start the active party at Θ^1, Θ^0 and not, as Algorithm 1 does, at random

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        at_least(problems, "beta", self.beta, 0, whole=False)

    def pretrain_active(self, fed: Federation, monitor: Monitor) -> Penalty:
        """Step 1: h^1, f on all labelled rows of the active party, aligned or not; returns β L_cons (Eq. 8)."""
        active = fed.active
        assert active.encoder is not None
        start = {k: v.clone() for k, v in active.encoder.state_dict().items()}
        model = learn_own_labels(fed, monitor, self.training(), self.epochs, self.patience)
        big_theta_1 = [p.detach().clone() for p in active.encoder.parameters()]  # Θ^1
        big_theta_0 = model.head.weight.detach().clone()  # Θ^0, (C, D)
        theta_0s = self.own_slice(active.head, active.width, big_theta_0)
        if self.warm_start:
            with torch.no_grad():
                theta_0s().copy_(big_theta_0)
        else:
            active.encoder.load_state_dict(start)
        theta_1 = list(active.encoder.parameters())

        def constraint() -> Tensor:
            apart = torch.stack([(a - b).square().sum() for a, b in zip(theta_1, big_theta_1, strict=True)]).sum()
            return self.beta * 0.5 * (apart + (theta_0s() - big_theta_0).square().sum())

        return constraint

    def own_slice(self, head: nn.Module, width: int, like: Tensor) -> Callable[[], Tensor]:
        """θ_s^0: the columns of the head's weight that read the active party's representation, which comes first."""
        first = next(layer for layer in head.modules() if isinstance(layer, nn.Linear))
        width = width if self.join == "concat" else first.in_features
        if first.weight[:, :width].shape != like.shape:
            raise ConfigError(f"{self.name} holds a linear head near the active party's own. Use head_hidden=().")
        return lambda: first.weight[:, :width]


@dataclass(kw_only=True, eq=False, repr=False)
class VFLHLP(VFLHLPA, VFLHLPP):
    """Both techniques: the active party's labels of all its rows, and the passive parties' columns of all theirs."""

    name = "vflhlp"
    summary = "pre-training by own labels and by SCARF, then as in splitnn"


def learn_own_labels(fed: Federation, monitor: Monitor, training: Training, epochs: int, patience: int) -> Supervised:
    """Step 1, Eq. 4: the active party's encoder and a head of its own learn from all its labelled rows.

    With the care that `local` gets: as many epochs, early stopping on validation rows.
    """
    active = fed.active
    assert active.encoder is not None
    with seeded(training.seed, active.name, "supervised"):
        model = Supervised(
            active.encoder, width=active.width, outputs=active.targets.outputs, targets=active.y["train"]
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
