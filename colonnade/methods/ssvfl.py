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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from colonnade.data.labels import Task
from colonnade.errors import DataError
from colonnade.methods._base.federated import FederatedMethod
from colonnade.methods._base.options import at_least, one_of
from colonnade.methods._base.parts.monitor import Monitor, Training, batches
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.seeds import generator, seeded
from colonnade.wire.protection import GaussianNoise
from colonnade.wire.wire import Wire


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFL(FederatedMethod):
    """Algorithm 1. Ablations: contrast=0, consistency=0, or both; loss="mse"."""

    name = "ssvfl"
    paper = "Zhang et al. 2024"
    summary = "splitnn on all aligned rows, with contrast and consistency"
    tasks: ClassVar[tuple[Task, ...]] = ("binary", "multiclass")

    hidden: tuple[int, ...] = (200, 100)  # encoder d-200-100-64 (§4.3)
    join: str = "mean"  # Eq. 7
    loss: str = "ce"  # of the labelled rows: ce (Eq. 8), or mse between probabilities and labels
    contrast: float = 0.01  # λ
    consistency: float = 0.03  # β

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        one_of(problems, "loss", self.loss, ("ce", "mse"))
        at_least(problems, "contrast", self.contrast, 0, whole=False)
        at_least(problems, "consistency", self.consistency, 0, whole=False)

    def mixed(self) -> dict[str, str]:
        """Kinds whose rows depend on the other rows of their batch, and why."""
        because = f"contrast={self.contrast} compares the rows of a batch, and a row's label acts on others' gradients"
        return {**super().mixed(), **({"gradient": because} if self.contrast else {})}

    def build_head(self, active: ActiveParty, received: Mapping[str, int]) -> None:
        """The global classifier, and one for each party that has a representation."""
        super().build_head(active, received)
        build_classifiers(active, received, self.seed)

    def _check_labels(self, active: ActiveParty) -> None:
        super()._check_labels(active)
        if not self.contrast:
            return
        seen, counts = torch.unique(active.y["train"][active.labelled_aligned.to(active.device)], return_counts=True)
        alone = [active.targets.classes[i] for i in seen[counts == 1].tolist()]
        if len(alone) == len(seen):
            raise DataError(
                f"every class of party {active.name!r} has one labelled row, and contrast={self.contrast:g} compares "
                f"rows of one class. Label more rows, or use contrast=0."
            )
        if alone:
            warnings.warn(
                f"{self.name}: class {', '.join(map(str, alone))} of party {active.name!r} has one labelled row, which "
                f"the contrast leaves out, as it has no other to compare it with. Label another, or use contrast=0.",
                stacklevel=2,
            )

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1."""
        self.prepare(fed)
        mixed_training(fed, monitor, self.training(), self.objective)

    def objective(self, active: ActiveParty, rows: Tensor, labelled: int, parts: Mapping[str, Tensor]) -> Tensor:
        """L = L_CE + λ L_con + β L_lgc (Eq. 11); the first `labelled` rows have labels."""
        joint = active.joined(parts)  # l.11: H (B, D)
        logits = active.logits(joint)  # (B, C)
        y = active.y["train"].index_select(0, rows[:labelled])  # (M,)
        loss = supervised_loss(logits[:labelled], y, self.loss)  # l.12
        if self.contrast:
            loss = loss + self.contrast * supervised_contrast(joint[:labelled], y)  # l.13
        if self.consistency:
            views = [cls(h) for cls, h in zip(active.extras.values(), parts.values(), strict=True)]
            loss = loss + self.consistency * consistency(views, logits)  # l.14
        return loss


def build_classifiers(active: ActiveParty, received: Mapping[str, int], seed: int) -> None:
    """A linear classifier for each party that has a representation, θ^(v), at the active party."""
    own = [active.width] if active.encoder is not None else []
    with seeded(seed, active.name, "classifiers"):
        active.extras = {
            f"classifier-{i}": nn.Linear(width, active.targets.outputs).to(active.device)
            for i, width in enumerate([*own, *received.values()])
        }


@dataclass(kw_only=True, eq=False, repr=False)
class SSVFLDP(SSVFL):
    """SSVFL-DP (Eq. 20; Alg. 1, l.2-5): in training, representations leave their party with Gaussian noise.

    As in the paper, those sent for predictions carry none: a model that answers differently each time is no model.
    """

    name = "ssvfl-dp"
    summary = "ssvfl with Gaussian noise on representations in training"

    noise: float = 1.0  # c, standard deviation (§4.3: 1; Fig. 7: 1 to 4); noise, no (ε, δ)

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        at_least(problems, "noise", self.noise, 0, whole=False)

    def wire(self) -> Wire:
        """The wire between the parties."""
        wire = super().wire()
        if self.noise:
            phases = frozenset({"train", "validate"})
            wire.protections.append(GaussianNoise("representation", self.noise, self.seed, phases))
        return wire


def mixed_training(
    fed: Federation,
    monitor: Monitor,
    training: Training,
    objective: Callable[[ActiveParty, Tensor, int, dict[str, Tensor]], Tensor],
    penalty: Callable[[], Tensor] | None = None,
    *,
    unlabelled: bool = True,
) -> None:
    """Train all encoders and the head on aligned rows, `unlabelled` ones too: Algorithm 1, from line 7 on."""
    active = fed.active
    order = generator(training.seed, active.name, monitor.name)
    active.begin(**training.update)
    with fed.phase(monitor.name):
        fed.tell("begin", **training.update)
        for epoch in range(1, monitor.epochs + 1):
            total, steps = torch.zeros((), device=active.device), 0
            for rows, labelled in mixed_batches(active, training.batch_size, order, unlabelled):  # l.7
                h = fed.ask("forward", rows=rows)  # l.8-10: H^(v)
                loss_of = partial(objective, active, rows, labelled)  # l.11-15
                loss, gradients = active.descend(rows, h, loss_of, penalty)  # l.16-17: θ, θ^(v)
                fed.tell("backward", gradient=gradients)  # l.18-21: ∂L/∂H^(v), and each client's w_v
                total, steps = total + loss, steps + 1
            if monitor.after(epoch, total / steps):
                break
        monitor.recall()


def mixed_batches(
    active: ActiveParty, size: int, order: torch.Generator, unlabelled: bool = True
) -> Iterator[tuple[Tensor, int]]:
    """Labelled rows first, then unlabelled ones: every row at least once, both kinds in each batch."""
    labelled = active.labelled_aligned
    mask = torch.ones(active.aligned, dtype=torch.bool)
    mask[labelled] = False
    others = torch.nonzero(mask).squeeze(1)
    if len(others) == 0 or not unlabelled:
        yield from ((b.to(active.device, torch.int32), len(b)) for b in batches(labelled, size, order))
        return
    steps = max(-(-len(others) // size), -(-len(labelled) // size))
    unknown, known = endless(others, size, order), endless(labelled, size, order)
    for _ in range(steps):
        second, first = next(unknown), next(known)
        yield torch.cat([first, second]).to(active.device, torch.int32), len(first)


def endless(rows: Tensor, size: int, order: torch.Generator) -> Iterator[Tensor]:
    """Batches of rows, in a new order after each pass over them."""
    while True:
        yield from batches(rows, size, order)


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
