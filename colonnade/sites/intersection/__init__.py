"""Private set intersection: which rows two parties have in common, and nothing else. See docs/alignment.md."""

from colonnade.sites.intersection.fast import FastPair, Link, intersect
from colonnade.sites.intersection.holder import Holder
from colonnade.sites.intersection.ids import IdSet
from colonnade.sites.intersection.kway import Alignment, Pair, align, aligned, chosen
from colonnade.sites.intersection.rules import MEANING, RULES
from colonnade.sites.intersection.seeker import Seeker

__all__ = [
    "MEANING",
    "RULES",
    "Alignment",
    "FastPair",
    "Holder",
    "IdSet",
    "Link",
    "Pair",
    "Seeker",
    "align",
    "aligned",
    "chosen",
    "intersect",
]
