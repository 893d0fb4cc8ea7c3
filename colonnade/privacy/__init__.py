"""Differential privacy: one ledger of all mechanisms, private training steps, and protected releases."""

from colonnade.privacy.accounting import DIVISIONS, check_budget, epsilon_of, find_noise, sampling_rate, steps_of
from colonnade.privacy.dp_sgd import PrivateSteps
from colonnade.privacy.entry import Entry, Gaussian, PrivacyError, SampledGaussian
from colonnade.privacy.layers import check_layers
from colonnade.privacy.ledger import Budget, Ledger
from colonnade.privacy.releases import Releases, clip_rows, release

__all__ = [
    "DIVISIONS",
    "Budget",
    "Entry",
    "Gaussian",
    "Ledger",
    "PrivacyError",
    "PrivateSteps",
    "Releases",
    "SampledGaussian",
    "check_budget",
    "check_layers",
    "clip_rows",
    "epsilon_of",
    "find_noise",
    "release",
    "sampling_rate",
    "steps_of",
]
