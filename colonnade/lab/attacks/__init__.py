"""Attacks: each judges a finished run, with what the audit log says that the adversary received."""

from colonnade.lab.attacks.finding import ANYONE, Finding, RefusedError
from colonnade.lab.attacks.gradients import gradients
from colonnade.lab.attacks.judge import ATTACKS, Judgement, judge, lines
from colonnade.lab.attacks.label_inference import label_inference
from colonnade.lab.attacks.membership import membership, shadow_models
from colonnade.lab.attacks.reconstruction import reconstruction
from colonnade.lab.attacks.run import Run, load_run
from colonnade.lab.attacks.witness import Witness, watching

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
