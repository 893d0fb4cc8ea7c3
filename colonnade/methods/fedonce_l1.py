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

from colonnade.methods._base.method import Method
from colonnade.methods._base.options.groups import (
    BatchSize,
    Crossing,
    Epochs,
    Epsilon,
    HeadHidden,
    Hidden,
    LearningRate,
    Networks,
    Optimizer,
    Patience,
    PretrainBatchSize,
    PretrainEpochs,
    Pretraining,
    PretrainLearningRate,
    PretrainOptimizer,
    Privacy,
    WeightDecay,
    Width,
)
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods._base.parts.one_round import one_round_training
from colonnade.methods._base.parts.privacy import plan_privacy, private_lesson, private_of, settle
from colonnade.methods._base.setup import ONCE, ONCE_SKILLS, Setup
from colonnade.methods.fedonce import Assignment, NoiseAsTargets, noise_as_targets, one_round_setup
from colonnade.parties.federation import Federation
from colonnade.parties.skills.pretraining import Pretraining as PretrainingSkill
from colonnade.parties.skills.pretraining import PrivateAccount


@dataclass(kw_only=True, eq=False, repr=False)
class FedOnceL1(Privacy, NoiseAsTargets, Pretraining, Crossing, Networks, Method):
    """FedOnce-L1: guests and host learn by DP-SGD."""

    name = "fedonce-l1"
    paper = "Wu et al. 2022"
    summary = "fedonce with differential privacy, one budget for all parties"
    family = "once"
    skills = (*ONCE_SKILLS, PretrainingSkill, PrivateAccount)
    packages = ("dp_accounting", "opacus")
    extra = "privacy"

    epsilon: Epsilon = 8.0
    assignment: Assignment = "fixed"  # "batch": the paper's, for which no ε holds
    hidden: Hidden = (50,)  # few weights: noise grows with their number
    head_hidden: HeadHidden = (10,)
    width: Width = 16  # d
    pretrain_epochs: PretrainEpochs = 0  # the paper's guests learn for 6 to 10
    pretrain_batch_size: PretrainBatchSize = 32
    pretrain_learning_rate: PretrainLearningRate = 0.3
    pretrain_optimizer: PretrainOptimizer = "plain-sgd"
    epochs: Epochs = 30  # all of them: a stop chosen by looking at rows would be a release
    batch_size: BatchSize = 32
    learning_rate: LearningRate = 0.3
    optimizer: Optimizer = "plain-sgd"
    weight_decay: WeightDecay = 0.0
    patience: Patience = 1000

    def setup(self) -> Setup:
        """As FedOnce, without scales fitted on what arrives, and with an account of private learning."""
        return one_round_setup(self, ONCE, scales=False)

    def run(self, fed: Federation, monitor: Monitor) -> None:
        """Algorithm 1; l.3 is the preparation."""
        lesson = noise_as_targets(self)
        ledger = plan_privacy(self, fed, len(fed.active.labelled_aligned), lesson=lesson)  # σ of every party
        with fed.phase("pretrain"):  # l.4-15, with l.11-13: clip to Ω, add N(0, σ²Ω²)
            fed.tell("pretrain", **private_lesson(self, lesson, ledger))
        # l.16, 19: R_j sent once; l.20-30, with l.26-28 for w
        one_round_training(fed, monitor, Training.of(self), private_of(self, fed, ledger))
        settle(self, fed, ledger)
