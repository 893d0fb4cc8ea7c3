"""The hybrid: every row of every kind, by the parts of three papers that earn their place.

1. Self-supervision between and within the parties, on all rows (He et al. 2022, steps 1 and 2).
2. Where some of its labelled rows are unaligned, the active party learns alone from all of them; its encoder and the
   head's slice that reads it are held near what that gave (Li et al. 2024, Eqs 4 and 8).
3. All train together on aligned rows, labelled or not: the labels' loss, and the agreement of every party's own
   prediction with the joint one where that is confident (after Zhang et al. 2024, Eq. 10). The active party's unaligned
   labelled rows take part, with zero in the place of the representations that do not exist, as in prediction when
   parties are absent.

No part helps on every data set. Step 3 is therefore run with and without step 1, with and without agreement, and
validation rows choose.

B rows of a batch, M labelled ones among them, C outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import torch
from torch import Tensor

from colonnade.data.vertical import VerticalData
from colonnade.methods._base.method import Method
from colonnade.methods._base.options import Ge, Help, Lt, Must
from colonnade.methods._base.options.groups import Crossing, Networks, Pretraining, SelfSupervision
from colonnade.methods._base.parts.mixed import build_classifiers, endless, mixed_training
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.setup import Setup
from colonnade.methods.fedhssl.options import CrossLearning, Guidance, is_weights
from colonnade.methods.fedhssl.pretraining import BOTH_SKILLS, check_aligned, pretrain, setup_of
from colonnade.methods.vflhlp import Constraint, pretrain_active
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.seeds import generator


@dataclass(kw_only=True, eq=False, repr=False)
class Hybrid(Guidance, CrossLearning, SelfSupervision, Pretraining, Constraint, Crossing, Networks, Method):
    """Pre-training of all parties, of the active party by its labels, then training with consistency."""

    name = "hybrid"
    paper = "ours, of He et al. 2022, Li et al. 2024 and Zhang et al. 2024"
    summary = "parts of three papers; validation rows choose among them"
    family = "between"
    skills = BOTH_SKILLS

    unaligned: Annotated[
        float,
        Ge(0),
        Help("Weight of the active party's unaligned labelled rows, multiplied by their share of all labels."),
    ] = 1.0
    consistency: Annotated[
        float | tuple[float, ...],
        Must("a number of at least 0, or a few such numbers", is_weights),
        Help("Weights of the parties' agreement that are tried; validation rows choose.", "Use 0 for no agreement."),
    ] = (0.0, 1.0)
    confidence: Annotated[
        float,
        Ge(0),
        Lt(1),
        Help("Probability above which the joint prediction is a target of agreement. In regression, all of them are."),
    ] = 0.95

    def setup(self) -> Setup:
        """As FedGSSL; and a classifier for each party, which consistency trains."""
        made = setup_of(self, towers="both", reads="both")

        def heads(active: ActiveParty, received: Mapping[str, int]) -> None:
            build_classifiers(active, received, self.seed)

        return replace(made, heads=heads)

    def check_data(self, data: VerticalData) -> None:
        """Parties must share rows."""
        check_aligned(self, data)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """The three steps, from each start and with each weight; the best attempt on validation rows stays."""
        found: list[tuple[float, float]] = []
        for start in self.starts(fed, monitor):
            recall(fed, start)
            constraint = self.hold_near_own_labels(fed, monitor)  # step 2
            fed.active.keep_weights("ready")
            for weight in self.attempts(fed.active):
                recall(fed, start)
                fed.active.recall_weights("ready")
                if found:
                    monitor.again(f"train {len(found) + 1}")
                self.train_together(fed, monitor, weight, constraint)  # step 3
                found.append(monitor.merit)
                if found[-1] == max(found):
                    keep(fed, "chosen")
        recall(fed, "chosen")

    def starts(self, fed: Federation, monitor: Monitor) -> list[str]:
        """Step 1: weights as pre-training left them and, where validation rows can choose, as they were before."""
        keep(fed, "fresh")
        if not self.pretrain_epochs:
            return ["fresh"]
        pretrain(self, fed, monitor, towers="both")
        keep(fed, "pretrained")
        return ["fresh", "pretrained"] if "valid" in fed.active.y else ["pretrained"]

    def train_together(
        self, fed: Federation, monitor: Monitor, weight: float, constraint: Callable[[], Tensor] | None
    ) -> None:
        """Step 3, with one weight of the agreement."""
        loss = partial(self.loss, OwnRows(fed.active, self.batch_size, self.seed), weight)
        mixed_training(fed, monitor, Training.of(self), loss, constraint, unlabelled=weight > 0)

    def weights(self) -> tuple[float, ...]:
        """The weights of the agreement that may be tried."""
        return tuple(self.consistency) if isinstance(self.consistency, tuple | list) else (self.consistency,)

    def attempts(self, active: ActiveParty) -> tuple[float, ...]:
        """The weights that are tried: the last one alone without validation rows; one where nothing is unlabelled."""
        if len(active.labelled_aligned) == active.aligned:
            return (0.0,)
        return self.weights() if "valid" in active.y else self.weights()[-1:]

    def hold_near_own_labels(self, fed: Federation, monitor: Monitor) -> Callable[[], Tensor] | None:
        """Step 2: Eq. 8, weighted by the share of labels that training together does not see on all sides."""
        share = unaligned_share(fed.active)
        if not share or not self.beta:
            return None
        apart = pretrain_active(self, fed, monitor)
        return lambda: share * apart()

    def loss(
        self, own: OwnRows, weight: float, active: ActiveParty, rows: Tensor, labelled: int, parts: Mapping[str, Tensor]
    ) -> Tensor:
        """Step 3; the first `labelled` rows have labels."""
        logits = active.logits(active.joined(parts))  # (B, C)
        y = active.y["train"]
        total = active.targets.loss(logits[:labelled], y.index_select(0, rows[:labelled]))
        if self.unaligned and (alone := own.next()) is not None:
            weight_alone = self.unaligned * unaligned_share(active)
            total = total + weight_alone * active.targets.loss(own.logits(alone), y.index_select(0, alone))
        if weight and labelled < len(rows):
            heads = active.extras.values()
            views = [head(h[labelled:]).float() for head, h in zip(heads, parts.values(), strict=True)]
            total = total + weight * self.disagreement(active, views, logits[labelled:])
        return total

    def disagreement(self, active: ActiveParty, views: list[Tensor], logits: Tensor) -> Tensor:
        """How far each party's prediction is from the joint one, which is the target: K times (B, C), (B, C) → scalar.

        Cross entropy where the joint prediction is confident (Eq. 10 the other way round), squares in regression.
        """
        if active.targets.task == "regression":
            return torch.stack([(view - logits.detach()).square().mean() for view in views]).mean()
        target = torch.softmax(logits.detach(), dim=1)  # (B, C)
        counts = (target.amax(dim=1) > self.confidence).float()  # (B,)
        terms = [-(target * torch.log_softmax(view, dim=1)).sum(dim=1) for view in views]  # (B,) each
        return torch.stack([(counts * term).mean() for term in terms]).mean()


def unaligned_share(active: ActiveParty) -> float:
    """The share of the active party's labelled rows that some other party does not hold."""
    return 1 - len(active.labelled_aligned) / len(active.labelled)


def keep(fed: Federation, name: str) -> None:
    """Every party remembers its present weights under a name."""
    fed.active.keep_weights(name)
    with fed.phase("validate"):
        fed.tell("keep", name=name)


def recall(fed: Federation, name: str) -> None:
    """Every party goes back to the weights of that name."""
    fed.active.recall_weights(name)
    with fed.phase("validate"):
        fed.tell("recall", name=name)


class OwnRows:
    """The active party's labelled rows that other parties do not hold, batch by batch, without end."""

    def __init__(self, active: ActiveParty, size: int, seed: int) -> None:
        self.active = active
        self.rows = active.labelled[len(active.labelled_aligned) :].to(active.device)  # aligned rows come first
        self.batches = endless(self.rows, size, generator(seed, active.name, "own rows"))

    def next(self) -> Tensor | None:
        """The next batch, if there are such rows."""
        return next(self.batches) if len(self.rows) else None

    def logits(self, rows: Tensor) -> Tensor:
        """What the joint head says with the passive parties absent, (B, C)."""
        h = self.active.encode(self.active.tables["train"].rows(rows), train=True)
        return self.active.logits(self.active.joint(h, {}, len(rows)))
