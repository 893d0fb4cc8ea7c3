"""Advice before training: which method to use (`advise`), and what a partner's columns would add (`appraise`)."""

from colonnade.lab.advisor.advice import Advice
from colonnade.lab.advisor.advise import advise
from colonnade.lab.advisor.appraise import Appraisal, appraise

__all__ = ["Advice", "Appraisal", "advise", "appraise"]
