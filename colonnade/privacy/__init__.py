"""Differential privacy: one ledger of all mechanisms, private training steps, and protected releases."""

from colonnade.privacy.accounting import DIVISIONS, check_budget, epsilon_of, find_noise, sampling_rate, steps_of
from colonnade.privacy.dp_sgd import PrivateSteps
from colonnade.privacy.entry import Entry, Gaussian, PrivacyError, SampledGaussian
from colonnade.privacy.layers import check_layers
from colonnade.privacy.ledger import Budget, Ledger

__all__ = [
    "DIVISIONS",
    "Budget",
    "Entry",
    "Gaussian",
    "Ledger",
    "PrivacyError",
    "PrivateSteps",
    "SampledGaussian",
    "check_budget",
    "check_layers",
    "epsilon_of",
    "find_noise",
    "sampling_rate",
    "steps_of",
]
