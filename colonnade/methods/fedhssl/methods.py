"""FedHSSL (He et al. 2022): self-supervision between parties, then within each, then averaging of what they share.

Symbols: f_c^i cross-party encoder of party i, h_c^i its predictor; f_l^i = (f_lb^i, f_lt^i) local encoder, bottom and
top, h_l^i its predictor; z projection, p prediction; party 1 is the active one. γ weight of the guidance (Eq. 4).

Deviations from the paper. Eq. 4 pairs p1 with its own z1; it is SimSiam's symmetrised loss. z is the projector's
output; projector and predictor are dropped for fine-tuning. With BYOL and MoCo, what a party sends, and what guides
its local encoder, is the slow copy's projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from colonnade.data.vertical import VerticalData
from colonnade.methods._base.method import Method
from colonnade.methods._base.options.groups import (
    Aggregate,
    Averages,
    Crossing,
    Networks,
    Pretraining,
    SelfSupervision,
)
from colonnade.methods._base.parts.averaging import AVERAGING_SKILLS, averaging_problems
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.setup import Setup
from colonnade.methods.fedhssl.options import CrossLearning, Guidance
from colonnade.methods.fedhssl.pretraining import BOTH_SKILLS, CROSS_SKILLS, check_aligned, pretrain, setup_of
from colonnade.methods.splitnn import split_training
from colonnade.parties.federation import Federation


@dataclass(kw_only=True, eq=False, repr=False)
class FedCSSL(CrossLearning, SelfSupervision, Pretraining, Crossing, Networks, Method):
    """Step 1 alone: one tower, learnt between the parties from aligned rows."""

    name = "fedcssl"
    paper = "He et al. 2022"
    summary = "parties agree on aligned rows, then train as in splitnn"
    family = "between"
    skills = CROSS_SKILLS

    def setup(self) -> Setup:
        """The cross-party tower is learnt, and read in fine-tuning."""
        return setup_of(self, towers="cross", reads="cross")

    def check_data(self, data: VerticalData) -> None:
        """Parties must share rows."""
        check_aligned(self, data)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1, then Eq. 1."""
        pretrain(self, fed, monitor, towers="cross")
        split_training(fed, monitor, Training.of(self))


@dataclass(kw_only=True, eq=False, repr=False)
class FedGSSL(Guidance, CrossLearning, SelfSupervision, Pretraining, Crossing, Networks, Method):
    """Steps 1 and 2; fine-tuning reads the mean of both towers."""

    name = "fedgssl"
    paper = "He et al. 2022"
    summary = "fedcssl whose agreement guides each party's own learning too"
    family = "between"
    skills = BOTH_SKILLS
    reads: ClassVar[str] = "both"  # the towers that fine-tuning reads: local, or the mean of both

    def setup(self) -> Setup:
        """Both towers are learnt."""
        return setup_of(self, towers="both", reads=self.reads)

    def check_data(self, data: VerticalData) -> None:
        """Parties must share rows."""
        check_aligned(self, data)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1, then Eq. 1."""
        pretrain(self, fed, monitor, towers="both")
        split_training(fed, monitor, Training.of(self))


@dataclass(kw_only=True, eq=False, repr=False)
class FedHSSL(Averages, Guidance, CrossLearning, SelfSupervision, Pretraining, Crossing, Networks, Method):
    """All three steps."""

    name = "fedhssl"
    paper = "He et al. 2022"
    summary = "fedgssl that also averages parts of the local models"
    family = "between"
    skills = (*BOTH_SKILLS, *AVERAGING_SKILLS)
    reads: ClassVar[str] = "both"  # the towers that fine-tuning reads: local, or the mean of both

    aggregate: Aggregate = True

    def check(self) -> list[str]:
        """Masks are for what is averaged."""
        return averaging_problems(self)

    def setup(self) -> Setup:
        """Both towers are learnt, and the local ones' tops averaged."""
        return setup_of(self, towers="both", reads=self.reads)

    def check_data(self, data: VerticalData) -> None:
        """Parties must share rows."""
        check_aligned(self, data)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1, then Eq. 1."""
        pretrain(self, fed, monitor, towers="both")
        split_training(fed, monitor, Training.of(self))


@dataclass(kw_only=True, eq=False, repr=False)
class FedGSSLStar(FedGSSL):
    """FedGSSL* (§4.3): guided as FedGSSL, but fine-tuning reads the local encoder alone."""

    name = "fedgssl*"
    summary = "fedgssl whose fine-tuning reads the local encoder alone"
    family = "between"
    reads: ClassVar[str] = "local"


@dataclass(kw_only=True, eq=False, repr=False)
class FedHSSLStar(FedHSSL):
    """FedHSSL* (§4.3): all three steps, but fine-tuning reads the local encoder alone."""

    name = "fedhssl*"
    summary = "fedhssl whose fine-tuning reads the local encoder alone"
    family = "between"
    reads: ClassVar[str] = "local"
