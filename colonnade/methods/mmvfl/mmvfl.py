"""MMVFL (Feng & Yu 2020): the label owner shares its labels as pseudo-labels, and each party learns a linear model.

Symbols: X_k columns of party k, W_k (M, C) its model, Z_k (n, C) its pseudo-labels; Z those of all parties; Y the
labels, one column per class; party 1 owns them. The objective, of which each update below is the minimum in one block:

    Σ_k ( ‖X_k W_k - Z_k‖² + β ‖W_k‖_{2,1} + ζ ‖Z_k - Z‖² ) + η ‖Z_1 - Y‖²

The algorithm, in the steps that the code names; 2 and 3 are in `colonnade/methods/mmvfl/view.py`:
  1  Z is drawn at random, and Z_k = Z;
  2  every party: A_k from W_k, then W_k = (X_kᵀ X_k + β A_k)⁻¹ X_kᵀ Z_k;
  3  every party: Z_k = (X_k W_k + ζ Z) / (1 + ζ); party 1: Z_1 = (X_1 W_1 + ζ Z + η Y) / (1 + ζ + η);
  4  party 1: Z = mean of all Z_k; again from 2, until Z stays.

A row without a label has no Y. Left to the objective, its Z is the mean of the parties' predictions X_k W_k: this is
the joint prediction. n labelled aligned rows, M columns, C classes, K parties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from colonnade.data.labels import Task
from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Gt, Help
from colonnade.methods._base.options.groups import Device, Epochs, Patience, Travel
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.setup import Sends, Setup
from colonnade.methods.mmvfl.view import LinearFit, LinearView, blank_prediction, pulled
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.parties.party import Party
from colonnade.parties.skills.encoder import Encoding, Keeping
from colonnade.seeds import generator
from colonnade.wire.message import Value

LEAST_SHARE = 1e-3  # what a class without a positive score counts as
SENDS: Sends = {"consensus": ("train",), "representation": ("train", "validate", "predict")}


@dataclass(kw_only=True, eq=False, repr=False)
class Iterations:
    """How long the parties iterate, and where."""

    epochs: Epochs = 200
    patience: Patience = 20
    device: Device = "cpu"


@dataclass(kw_only=True, eq=False, repr=False)
class MMVFL(Travel, Iterations, Method):
    """A linear model at every party, taught by pseudo-labels that all agree on."""

    name = "mmvfl"
    paper = "Feng & Yu 2020"
    summary = "linear models taught by pseudo-labels, which tell the labels"
    family = "rounds"
    skills = (Encoding, LinearFit, Keeping)
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass")

    beta: Annotated[
        float, Gt(0), Help("Weight of ‖W_k‖_{2,1} (β). More of it selects fewer columns; the paper tries 1e-5 to 10.")
    ] = 3.0
    zeta: Annotated[float, Gt(0), Help("How near the parties' pseudo-labels are held to each other's (ζ).")] = 1000.0
    eta: Annotated[float, Gt(0), Help("How near the label owner's pseudo-labels are held to the labels (η).")] = 1000.0
    tolerance: Annotated[float, Gt(0), Help("Largest change of a pseudo-label at which training stops.")] = 1e-4

    def setup(self) -> Setup:
        """Every party's encoder becomes linear, and a representation is its own prediction."""
        return Setup(
            skills=self.skills, sends=SENDS, plan=self.plan, head=average_shares,
            blank=self.blank, blank_own=True,
        )  # fmt: skip

    def plan(self, active: ActiveParty) -> dict[str, Value]:
        """A representation has one number for each class."""
        return {"hidden": [], "width": active.targets.outputs, "embedding": 1, "image": "cnn0"}

    def blank(self, party: Party) -> nn.Module:
        """A party's model before its weights are loaded."""
        return blank_prediction(party, party.width)  # as wide as there are classes

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Steps 1-4."""
        active = fed.active
        owner = LabelOwner(active, self.beta, self.zeta, self.eta, self.seed)  # step 1
        with fed.phase(monitor.name):
            for epoch in range(1, monitor.epochs + 1):
                own = fed.ask(  # steps 2-3 at every passive party: Z down, X_k W_k up
                    "fit_linear", rows=owner.rows, consensus=owner.consensus, beta=self.beta, zeta=self.zeta
                )
                change = owner.learn(own)  # steps 2-3 of party 1, step 4
                if monitor.after(epoch, owner.objective / len(owner.rows)) or change < self.tolerance:
                    break
            monitor.recall()


def average_shares(active: ActiveParty, received: Mapping[str, int]) -> None:
    """A head with nothing to be learnt: the mean of all predictions, as shares."""
    active.join, active.widths, active.head = "mean", dict(received), Shares()


class LabelOwner:
    """Party 1: its own view, if it has columns, the labels Y, and Z."""

    def __init__(self, active: ActiveParty, beta: float, zeta: float, eta: float, seed: int) -> None:
        self.active, self.beta, self.zeta, self.eta = active, beta, zeta, eta
        self.rows = active.labelled_aligned.to(active.device, torch.int32)  # (n,)
        self.y = F.one_hot(active.y["train"].index_select(0, self.rows), active.targets.outputs).double()  # (n, C)
        drawn = torch.rand(self.y.shape, generator=generator(seed, active.name, "consensus"))
        self.consensus = drawn.to(active.device)  # Z (n, C), as it is sent
        self.view = None if active.encoder is None else LinearView(active, self.rows, self.consensus)
        self.pseudo: dict[str, Tensor] = {}  # Z_k by party
        self.objective = torch.zeros(())  # without the norms of W_k, which stay with the parties

    def learn(self, own: Mapping[str, Tensor]) -> float:
        """Steps 2-4, given what the others predict, (n, C) each; by how much Z changed.

        Z_k is not sent: it follows from X_k W_k and from Z, which both sides know. Who is late counts as before.
        """
        z = self.consensus.double()
        predicted = {name: p.double() for name, p in own.items()}
        self.pseudo |= {name: pulled(p, z, self.zeta) for name, p in predicted.items()}
        if self.view is None:
            self.pseudo[self.active.name] = (self.zeta * z + self.eta * self.y) / (self.zeta + self.eta)
        else:
            p = predicted[self.active.name] = self.view.fit(self.beta)
            self.view.z = (p + self.zeta * z + self.eta * self.y) / (1 + self.zeta + self.eta)
            self.pseudo[self.active.name] = self.view.z
        self.consensus = torch.stack(list(self.pseudo.values())).mean(dim=0).float()  # step 4
        self.objective = self._objective(predicted)
        return float((self.consensus - z).abs().max())

    def _objective(self, predicted: Mapping[str, Tensor]) -> Tensor:
        fit = sum(((p - self.pseudo[name]).square().sum() for name, p in predicted.items()), torch.zeros(()))
        apart = torch.stack([(z - self.consensus).square().sum() for z in self.pseudo.values()]).sum()
        return fit + self.zeta * apart + self.eta * (self.pseudo[self.active.name] - self.y).square().sum()


class Shares(nn.Module):
    """Scores that estimate probabilities, (B, C) → logits whose softmax they are, negative ones counting as none."""

    def forward(self, scores: Tensor) -> Tensor:
        """The logarithm of each score; where parties are absent all scores shrink alike, and shares stay."""
        return scores.clamp(min=LEAST_SHARE).log()
