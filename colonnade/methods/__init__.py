"""Methods: one paper, one file."""

from colonnade.methods.base import Method
from colonnade.methods.combined import Combined
from colonnade.methods.lightgbm import LightGBM
from colonnade.methods.linear import Linear
from colonnade.methods.local import Local
from colonnade.methods.splitnn import SplitNN

METHODS: dict[str, type[Method]] = {
    "local": Local,
    "splitnn": SplitNN,
    "combined": Combined,
    "linear": Linear,
    "lightgbm": LightGBM,
}

__all__ = ["METHODS", "Combined", "LightGBM", "Linear", "Local", "Method", "SplitNN"]
