"""Attacks: each judges a finished run, with what the audit log says that the adversary received."""

from colonnade.attacks.finding import ANYONE, Finding, RefusedError
from colonnade.attacks.gradients import gradients
from colonnade.attacks.judge import ATTACKS, Judgement, judge, lines
from colonnade.attacks.label_inference import label_inference
from colonnade.attacks.membership import membership, shadow_models
from colonnade.attacks.reconstruction import reconstruction
from colonnade.attacks.run import Run, load_run
from colonnade.attacks.witness import Witness, watching

__all__ = [
    "ANYONE",
    "ATTACKS",
    "Finding",
    "Judgement",
    "RefusedError",
    "Run",
    "Witness",
    "gradients",
    "judge",
    "label_inference",
    "lines",
    "load_run",
    "membership",
    "reconstruction",
    "shadow_models",
    "watching",
]
