"""FedOnce-L1 (Wu et al. 2022, Alg. 1 with its privacy lines): FedOnce whose models may be released.

Symbols: f_θj guest model of party j, C_j its random targets, R_j its representation, f_w the host's model; Ω bound on
the norm of a row's gradient, σ noise multiplier, k parties.

The budget covers the trained models θ_j and w. The host is trusted with the representations (§4.2): what it is sent is
not covered, unless the guests add noise to it (`protect="gaussian:representation:…"`).

Deviation: guests leave their encoders as they were drawn, which spends nothing, unless `pretrain_epochs` asks for lines
4-15: within one budget the host's model gains more from the whole of it than from guests that learn with noise. Where
they learn, targets stay where they are drawn, as exchanging them within a sample lets one row change the gradients of
others, and clipping then bounds nothing; `assignment="batch"` is the paper's version, and the record says that no ε
holds for it. Representations reach the host's model as they are: scales fitted on them would be a release of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from colonnade.methods._base.parts.monitor import Monitor
from colonnade.methods._base.parts.one_round import one_shot_training
from colonnade.methods._base.private import PrivateMethod
from colonnade.methods.fedonce import FedOnce
from colonnade.parties.federation import Federation


@dataclass(kw_only=True, eq=False, repr=False)
class FedOnceL1(PrivateMethod, FedOnce):
    """FedOnce-L1: guests and host learn by DP-SGD."""

    name = "fedonce-l1"
    summary = "fedonce with differential privacy, one budget for all parties"
    extra = "privacy"
    packages = ("dp_accounting", "opacus")
    scales_received: ClassVar[bool] = False

    epsilon: float | None = 8.0  # budget per person over all parties
    assignment: str = "fixed"  # "batch": the paper's, for which no ε holds
    hidden: tuple[int, ...] = (50,)  # few weights: noise grows with their number
    head_hidden: tuple[int, ...] = (10,)
    width: int = 16  # d
    pretrain_epochs: int = 0  # the paper's guests learn for 6 to 10
    pretrain_batch_size: int = 32
    pretrain_learning_rate: float = 0.3
    pretrain_optimizer: str = "plain-sgd"
    epochs: int = 30  # all of them: a stop chosen by looking at rows would be a release
    batch_size: int = 32
    learning_rate: float = 0.3
    optimizer: str = "plain-sgd"
    weight_decay: float = 0.0
    patience: int = 1000

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1."""
        self.prepare(fed)  # l.3
        lesson = self.guest_lesson()
        ledger = self.plan_privacy(fed, len(fed.active.labelled_aligned), lesson=lesson)  # σ of every party
        with fed.phase("pretrain"):
            fed.tell(
                "pretrain", **self.private_lesson(lesson, ledger)
            )  # l.4-15, with l.11-13: clip to Ω, add N(0, σ²Ω²)
        # l.16, 19: R_j sent once; l.20-30, with l.26-28 for w
        one_shot_training(fed, monitor, self.training(), self.private(fed, ledger))
        self.settle(fed, ledger)
