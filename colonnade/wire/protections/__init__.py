"""Protections by name: `noise`, `iso`, `gaussian`, `marvell`."""

from colonnade.wire.protection import GaussianNoise, Iso, Noise, Protection
from colonnade.wire.protections.clipped import ClippedGaussian, Release
from colonnade.wire.protections.marvell import Marvell
from colonnade.wire.protections.text import PROTECTIONS, build, find_problems, listed

__all__ = [
    "PROTECTIONS",
    "ClippedGaussian",
    "GaussianNoise",
    "Iso",
    "Marvell",
    "Noise",
    "Protection",
    "Release",
    "build",
    "find_problems",
    "listed",
]
