"""Private set intersection: which rows two parties have in common, and nothing else. See docs/alignment.md."""

from colonnade.sites.alignment.fast import FastPair, Link, intersect
from colonnade.sites.alignment.holder import Holder
from colonnade.sites.alignment.ids import IdSet
from colonnade.sites.alignment.kway import Alignment, Pair, align, aligned, chosen
from colonnade.sites.alignment.rules import MEANING, RULES
from colonnade.sites.alignment.seeker import Seeker

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
