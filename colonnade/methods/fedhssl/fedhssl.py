"""FedHSSL (He et al. 2022): self-supervision between parties, then within each, then averaging of what they share.

Symbols: f_c^i cross-party encoder of party i, h_c^i its predictor; f_l^i = (f_lb^i, f_lt^i) local encoder, bottom and
top, h_l^i its predictor; z projection, p prediction; party 1 is the active one. γ weight of the guidance (Eq. 4).

The print, and what is done here. Eq. 4 pairs p1 with its own z1; it is SimSiam's symmetrised loss. z is the projector's
output; projector and predictor are dropped for fine-tuning. With BYOL and MoCo, what a party sends, and what guides
its local encoder, is the slow copy's projection.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from colonnade.data.vertical import VerticalData
from colonnade.errors import DataError
from colonnade.methods._base.federated import SPLIT, Sends
from colonnade.methods._base.options import at_least, is_number
from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods.fed_local_ssl import SelfSupervised
from colonnade.methods.fedhssl.averaging import AveragedTops, Averaging, enrol
from colonnade.methods.splitnn import split_training
from colonnade.objectives.base import Objective
from colonnade.objectives.training import OwnObjective
from colonnade.parties.federation import Federation
from colonnade.parties.skills.towers import CrossTower, Towers
from colonnade.wire.message import Value


@dataclass(kw_only=True, eq=False, repr=False)
class FedCSSL(SelfSupervised):
    """Step 1 alone: one tower, learnt between the parties from aligned rows."""

    name = "fedcssl"
    paper = "He et al. 2022"
    summary = "parties agree on aligned rows, then train as in splitnn"
    family = "between"

    objective: str | type[Objective] | OwnObjective = "simsiam"  # or byol, moco
    updates: int = 1  # steps with each received projection; the paper tries 1, 4 and 8 (Fig. 7)
    staleness: int = 0  # passes for which a party may go on with the projections it last received

    objectives: ClassVar[tuple[str, ...]] = ("simsiam", "byol", "moco")
    needs_own_columns: ClassVar[bool] = True
    sends: ClassVar[Sends] = {**SPLIT, "target": ("cross",), "projection": ("cross",)}
    towers: ClassVar[str] = "cross"  # that are pre-trained: cross or both
    reads: ClassVar[str] = "cross"  # what fine-tuning reads: cross, local, or the mean of both

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        at_least(problems, "updates", self.updates, 1)
        at_least(problems, "staleness", self.staleness, 0)

    def _check_data(self, data: VerticalData, validation: VerticalData | None) -> None:
        super()._check_data(data, validation)
        aligned = len(data.aligned)
        if aligned < 2:
            raise DataError(
                f"{aligned or 'No'} rows are held by all parties, and {self.name} learns from what parties say of the "
                f"same rows. Check that ids are written alike everywhere, or use fed-local-ssl or vflhlp."
            )
        if aligned < self.pretrain_batch_size:
            warnings.warn(
                f"{self.name}: the {aligned} aligned rows are fewer than pretrain_batch_size="
                f"{self.pretrain_batch_size}; all of them make one batch.",
                stacklevel=3,
            )

    def plan(self) -> dict[str, Value]:
        """The settings from which every party builds its encoder."""
        return {**super().plan(), "tower": self.reads}

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1, then Eq. 1."""
        self.prepare(fed)
        self.pretrain(fed, monitor)
        split_training(fed, monitor, self.training())

    def pretrain(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1, `pretrain_epochs` times."""
        shared = self.shared_parts()
        own = enrol(fed, self.ssl_lesson(), self.towers, shared, updates=self.updates, staleness=self.staleness)
        assert own is not None
        averaging = self.averaging(fed, own)
        for epoch in range(self.pretrain_epochs):
            record = {"phase": "pretrain", "epoch": epoch + 1}
            record |= self.cross_party(fed, own.cross, epoch)  # l.1-13
            record |= self.local(fed, own, epoch)  # l.14-24
            if averaging is not None:
                averaging.run()  # l.25-30
            monitor.history.append({**record, "bytes": fed.wire.traffic.bytes})
            monitor.progress("pretrain", epoch + 1, self.pretrain_epochs)

    def cross_party(self, fed: Federation, tower: CrossTower | None, epoch: int) -> dict[str, float]:
        """Step 1, one pass over the aligned rows.

        Appendix D: with staleness s, every (s + 1)-th pass exchanges and in the others everyone keeps to what it last
        heard; where a response limit is set, every pass exchanges, and who is late counts with what it sent before.
        """
        assert tower is not None
        with fed.phase("cross"):
            if epoch % (self.staleness + 1) and self.response_limit is None:
                fed.tell("cross_again")
                return {"loss": float(tower.agree_again())}
            tower.begin_pass()
            total = torch.zeros((), device=fed.active.device)
            for i, rows in enumerate(tower.batches()):  # l.3
                z = tower.emit(rows)  # l.4: z_c^1, p_c^1
                first = {"first": True} if i == 0 else {}
                received = fed.ask("cross", rows=rows, target=z, **first)  # l.6, l.8: z down, z up; each party updates
                loss = tower.agree(received, fed.passive)  # l.10-11
                total += 0 if loss is None else loss * len(rows)
        return {"loss": float(total) / fed.active.aligned}

    def local(self, fed: Federation, towers: Towers, epoch: int) -> dict[str, float]:
        """Step 2, where it is taken."""
        return {}

    def shared_parts(self) -> tuple[str, ...]:
        """What is averaged over the parties in step 3."""
        return ()

    def averaging(self, fed: Federation, own: Towers) -> Averaging | None:
        """Step 3, where it is taken."""
        return None


@dataclass(kw_only=True, eq=False, repr=False)
class FedGSSL(FedCSSL):
    """Steps 1 and 2; fine-tuning reads the mean of both towers."""

    name = "fedgssl"
    summary = "fedcssl whose agreement guides each party's own learning too"

    gamma: float | tuple[float, ...] = 0.5  # γ, or its values at evenly spaced points of pre-training, e.g. [0, 1]

    towers: ClassVar[str] = "both"
    reads: ClassVar[str] = "both"

    def check(self, problems: list[str]) -> None:
        """Append what is wrong with the options."""
        super().check(problems)
        values = self.gamma if isinstance(self.gamma, tuple | list) else (self.gamma,)
        if not values or any(not is_number(v) or not 0 <= v < float("inf") for v in values):
            problems.append(
                f"gamma must be a number of at least 0, or a few such numbers. Got {self.gamma!r}. "
                f"0 switches guidance off; the paper uses 0.5."
            )

    def local(self, fed: Federation, towers: Towers, epoch: int) -> dict[str, float]:
        """Step 2, one pass over all rows of each party; nothing crosses but the order to do it."""
        gamma = self.gamma_at(epoch)
        with fed.phase("pretrain"):
            fed.tell("study", gamma=gamma)
        return {"local_loss": towers.study(gamma), "gamma": gamma}

    def gamma_at(self, epoch: int) -> float:
        """γ of a pass, counted from 0."""
        if not isinstance(self.gamma, tuple | list):
            return float(self.gamma)
        points = np.linspace(0, max(self.pretrain_epochs - 1, 1), len(self.gamma))
        return float(np.interp(epoch, points, self.gamma))


@dataclass(kw_only=True, eq=False, repr=False)
class FedHSSL(AveragedTops, FedGSSL):
    """All three steps."""

    name = "fedhssl"
    summary = "fedgssl that also averages parts of the local models"

    aggregate: bool = True  # average the local encoders' tops over the parties after each pass

    def averaging(self, fed: Federation, own: Towers) -> Averaging | None:
        """Step 3."""
        return Averaging(fed, own, self.shared_parts(), secure=self.secure_aggregation)


@dataclass(kw_only=True, eq=False, repr=False)
class FedGSSLStar(FedGSSL):
    """FedGSSL* (§4.3): guided as FedGSSL, but fine-tuning reads the local encoder alone."""

    name = "fedgssl*"
    summary = "fedgssl whose fine-tuning reads the local encoder alone"

    reads: ClassVar[str] = "local"


@dataclass(kw_only=True, eq=False, repr=False)
class FedHSSLStar(FedHSSL):
    """FedHSSL* (§4.3): all three steps, but fine-tuning reads the local encoder alone."""

    name = "fedhssl*"
    summary = "fedhssl whose fine-tuning reads the local encoder alone"

    reads: ClassVar[str] = "local"
