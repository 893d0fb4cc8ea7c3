"""FedOnce (Wu et al. 2022): one round. Guests learn by noise as targets and send representations once; the host learns.

Symbols: f_θj guest model of party j, C_j its random targets, P^(t) the assignment in epoch t, R_j its representation;
f_w the host's aggregation model, which reads the host's raw columns x^1 and all R_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from colonnade.methods._base.federated import ONCE, FederatedMethod, Sends
from colonnade.methods._base.options import at_least, one_of
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.parts.one_round import one_shot_training
from colonnade.methods._base.pretrained import PretrainedMethod
from colonnade.methods.splitnn import split_training
from colonnade.nets.tabular import Columns
from colonnade.objectives.pca import LinearEncoder
from colonnade.objectives.training import Lesson
from colonnade.parties.active import ActiveParty
from colonnade.parties.federation import Federation
from colonnade.parties.passive import PassiveParty
from colonnade.seeds import seeded


@dataclass(kw_only=True, eq=False, repr=False)
class _OneRound(FederatedMethod):
    """Algorithm 1 without the privacy lines; a subclass says what the guests learn."""

    paper = "Wu et al. 2022"
    family = "once"
    scales_received: ClassVar[bool] = True
    sends: ClassVar[Sends] = ONCE

    head_hidden: tuple[int, ...] = (64,)  # host model; FC(30) for phishing in Table 2

    def guest_lesson(self) -> Lesson:
        """What a guest learns."""
        raise TypeError(f"{type(self).__name__} does not define guest_lesson")

    def build_own_encoder(self, active: ActiveParty) -> None:
        """The host model reads the host's columns themselves."""
        assert active.preprocessor is not None
        if active.own_encoder is None and not active.preprocessor.shape:
            features = active.preprocessor.blank()[0].shape[1]
            with seeded(self.seed, active.name, "encoder"):
                active.own_encoder = Columns(features, active.preprocessor.sizes, embedding=self.embedding)
        if active.preprocessor.shape:  # a host of images: 128 wide, what CNN0 has before its last layer
            active.build_encoder(**{**self.plan(), "width": max(self.width, 128)})  # type: ignore[arg-type]
        else:
            super().build_own_encoder(active)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1."""
        self.prepare(fed)  # l.3: f_θj; the targets C_j are drawn by the guest
        with fed.phase("pretrain"):
            fed.tell("pretrain", **self.guest_lesson().values())  # l.4-15: f_θj(x^j) → P^(t) C_j, at each guest
        # l.16, 19: R_j sent once, of the rows the host can use; l.20-30: f_w(x^1, R_2:k)
        one_shot_training(fed, monitor, self.training())


@dataclass(kw_only=True, eq=False, repr=False)
class FedOnce(_OneRound, PretrainedMethod):
    """FedOnce-L0: the guests learn by noise as targets (Eq. 1)."""

    name = "fedonce"
    summary = "parties learn with noise as targets, send representations once"

    hidden: tuple[int, ...] = (64, 64)  # guest model; FC(30×30) for phishing in Table 2
    width: int = 16  # d, dimension of targets and representations (3 for most tables of the paper, 16 for images)
    pretrain_batch_size: int = 128  # targets are assigned within a batch, at a cost that grows with its cube
    frequency: int = 1  # f, epochs between two assignments
    assignment: str = "batch"  # "fixed": targets stay where they are

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        at_least(problems, "frequency", self.frequency, 1)
        one_of(problems, "assignment", self.assignment, ("batch", "fixed"))

    def guest_lesson(self) -> Lesson:
        """Eq. 1."""
        return self.lesson("nat", frequency=self.frequency, assignment=self.assignment)


@dataclass(kw_only=True, eq=False, repr=False)
class FedOncePCA(_OneRound):
    """FedOnce-PCA (§5.6): principal components instead of NAT."""

    name = "fedonce-pca"
    summary = "principal components, sent once"

    width: int = 3  # d, number of components

    def guest_lesson(self) -> Lesson:
        """Nothing is trained: the components are computed."""
        return Lesson(
            objective="pca",
            epochs=0,
            batch_size=1,
            learning_rate=0.0,
            weight_decay=0.0,
            optimizer="adam",
            seed=self.seed,
        )

    def reshape(self, passive: list[PassiveParty]) -> None:
        """A guest's encoder is linear."""
        for party in passive:
            assert party.preprocessor is not None
            sizes = party.preprocessor.sizes
            columns = party.preprocessor.blank()[0][0].numel() + sum(sizes)
            blank = LinearEncoder(torch.zeros(columns), torch.zeros(columns, self.width), sizes)
            party.encoder = blank.to(party.device)


@dataclass(kw_only=True, eq=False, repr=False)
class FedOnceMulti(FedOnce):
    """Multi-round FedOnce-L0 (§3.2): its models are the start of SplitNN."""

    name = "fedonce-multi"
    summary = "fedonce, then training as in splitnn"
    family = "pretrained"
    sends: ClassVar[Sends] = {"representation": ("train", "tune", "validate", "predict"), "gradient": ("tune",)}

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """FedOnce, then SplitNN from its models."""
        super().run(fed, monitor)
        tuning = Monitor(
            fed,
            monitor.metric,
            monitor.history,
            monitor.progress,
            self.epochs,
            self.patience,
            monitor.truth,
            name="tune",
        )
        tuning.before()  # the one-round model is the first candidate
        split_training(fed, tuning, self.training())
