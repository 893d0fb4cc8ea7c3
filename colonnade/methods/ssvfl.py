"""SSVFL (Zhang et al. 2024): few labels, all aligned rows. Supervised contrast and pseudo-label-guided consistency.

Symbols: H^(v) = f_v(X^(v); w_v) representation of client v, H their mean (Eq. 7); cls(·; θ) global classifier,
cls(·; θ^(v)) that of client v, both at the server; λ, β weights of L_con and L_lgc (Eq. 11).

The print, and what is done here. Eq. 4 lacks the -log: minimised as printed it would push positives apart. Eq. 10 does
not say where gradients flow: through the global prediction the consistency term collapses, so that prediction is the
target. Eq. 13 has the wrong sign; Algorithm 1, line 6 has the right one. `ss-vfl-i` and -c are another paper.

B rows of a batch, M labelled ones among them, D width of a representation, C classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from colonnade.data.labels import Task
from colonnade.errors import DataError
from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Help, OneOf
from colonnade.methods._base.options.groups import Crossing, Hidden, Join, Networks
from colonnade.methods._base.parts.mixed import build_classifiers, mixed_training
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.setup import SPLIT, SPLIT_SKILLS, Setup
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.wire.protection import GaussianNoise


@dataclass(kw_only=True, eq=False, repr=False)
class Losses:
    """The terms of Eq. 11."""

    hidden: Hidden = (200, 100)  # encoder d-200-100-64 (§4.3)
    join: Join = "mean"  # Eq. 7
    loss: Annotated[
        str,
        OneOf(("ce", "mse")),
        Help("Loss of the labelled rows: ce (cross entropy, Eq. 8), or mse between probabilities and labels."),
    ] = "ce"
    contrast: Annotated[
        float, Ge(0), Help("Weight of the contrast between labelled rows (λ). 0 switches it off, for an ablation.")
    ] = 0.01
    consistency: Annotated[
        float,
        Ge(0),
        Help("Weight of the agreement of each party's prediction with the joint one (β). 0 switches it off."),
    ] = 0.03


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFL(Losses, Crossing, Networks, Method):
    """Algorithm 1. Ablations: contrast=0, consistency=0, or both; loss="mse"."""

    name = "ssvfl"
    paper = "Zhang et al. 2024"
    summary = "splitnn on all aligned rows, with contrast and consistency"
    family = "rounds"
    skills = SPLIT_SKILLS
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass")

    def setup(self) -> Setup:
        """A global classifier, and one for each party."""
        return setup_of(self, noise=0.0)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1."""
        train(self, fed, monitor)


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFLDP(Losses, Crossing, Networks, Method):
    """SSVFL-DP (Eq. 20; Alg. 1, l.2-5): in training, representations leave their party with Gaussian noise.

    As in the paper, those sent for predictions carry none: a model that answers differently each time is no model.
    """

    name = "ssvfl-dp"
    paper = "Zhang et al. 2024"
    summary = "ssvfl with Gaussian noise on representations in training"
    family = "rounds"
    skills = SPLIT_SKILLS
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass")

    noise: Annotated[
        float,
        Ge(0),
        Help(
            "Standard deviation of the noise on representations in training (c). It has no (ε, δ); "
            "the paper tries 1 to 4."
        ),
    ] = 1.0

    def setup(self) -> Setup:
        """As SSVFL, with noise on what leaves a party."""
        return setup_of(self, noise=self.noise)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1."""
        train(self, fed, monitor)


def setup_of(method: SSVFL | SSVFLDP, noise: float) -> Setup:
    """Split training with a classifier for each party that has a representation."""

    def heads(active: ActiveParty, received: Mapping[str, int]) -> None:
        build_classifiers(active, received, method.seed)

    because = f"contrast={method.contrast} compares the rows of a batch, and a row's label acts on others' gradients"
    phases = frozenset({"train", "validate"})
    return Setup(
        skills=method.skills, sends=SPLIT, heads=heads,
        mixes={"gradient": because} if method.contrast else {},
        noise=(GaussianNoise("representation", noise, method.seed, phases),) if noise else (),
    )  # fmt: skip


def train(method: SSVFL | SSVFLDP, fed: Federation, monitor: Monitor) -> None:
    """Algorithm 1."""
    if method.contrast:
        check_pairs(method, fed.active)
    mixed_training(fed, monitor, Training.of(method), partial(objective, method))


def objective(method: Any, active: ActiveParty, rows: Tensor, labelled: int, parts: Mapping[str, Tensor]) -> Tensor:
    """L = L_CE + λ L_con + β L_lgc (Eq. 11); the first `labelled` rows have labels."""
    joint = active.joined(parts)  # l.11: H (B, D)
    logits = active.logits(joint)  # (B, C)
    y = active.y["train"].index_select(0, rows[:labelled])  # (M,)
    loss = supervised_loss(logits[:labelled], y, method.loss)  # l.12
    if method.contrast:
        loss = loss + method.contrast * supervised_contrast(joint[:labelled], y)  # l.13
    if method.consistency:
        views = [cls(h) for cls, h in zip(active.extras.values(), parts.values(), strict=True)]
        loss = loss + method.consistency * consistency(views, logits)  # l.14
    return loss


def check_pairs(method: SSVFL | SSVFLDP, active: ActiveParty) -> None:
    """Refuse labels without two rows of a class, which the contrast compares; warn of a class with one row."""
    seen, counts = torch.unique(active.y["train"][active.labelled_aligned.to(active.device)], return_counts=True)
    alone = [active.targets.classes[i] for i in seen[counts == 1].tolist()]
    if len(alone) == len(seen):
        raise DataError(
            f"every class of party {active.name!r} has one labelled row, and contrast={method.contrast:g} compares "
            f"rows of one class. Label more rows, or use contrast=0."
        )
    if alone:
        warnings.warn(
            f"{method.name}: class {', '.join(map(str, alone))} of party {active.name!r} has one labelled row, which "
            f"the contrast leaves out, as it has no other to compare it with. Label another, or use contrast=0.",
            stacklevel=2,
        )


def supervised_loss(logits: Tensor, y: Tensor, kind: str) -> Tensor:
    """Eq. 8, or the mean squared error between probabilities and labels: (M, C), (M,) → scalar."""
    if kind == "ce":
        return F.cross_entropy(logits, y)
    return F.mse_loss(torch.softmax(logits, dim=1), F.one_hot(y, logits.shape[1]).to(logits.dtype))


def supervised_contrast(h: Tensor, y: Tensor) -> Tensor:
    """Eqs 4-5 with the missing -log: 1/M Σ_i Σ_{j∈P_i} -log( exp g_ij / Σ_{k∈N_i} exp g_ik ), g the cosine.

    Args: h (M, D), y (M,). A row without a row of its own class, or of another, adds nothing.
    """
    g = F.normalize(h, dim=1) @ F.normalize(h, dim=1).T  # (M, M)
    same = y.unsqueeze(0) == y.unsqueeze(1)
    positives = same & ~torch.eye(len(y), dtype=torch.bool, device=y.device)
    negatives = torch.logsumexp(g.masked_fill(same, float("-inf")), dim=1, keepdim=True)  # (M, 1)
    terms = torch.where(positives & torch.isfinite(negatives), negatives.nan_to_num(neginf=0.0) - g, 0.0)
    return terms.sum() / len(y)


def consistency(views: list[Tensor], logits: Tensor) -> Tensor:
    """Eq. 10: Σ_v D_KL( cls(H^(v); θ^(v)) ‖ cls(H; θ) ), mean over rows; the global prediction is the target.

    Args: views: V times (B, C); logits (B, C), into which no gradient flows.
    """
    target = torch.log_softmax(logits.detach(), dim=1)
    total = torch.zeros((), device=logits.device)
    for view in views:
        log_p = torch.log_softmax(view, dim=1)
        total = total + (log_p.exp() * (log_p - target)).sum(dim=1).mean()
    return total
