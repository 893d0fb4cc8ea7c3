"""Private set intersection: which rows two parties have in common, and nothing else. See docs/alignment.md."""

from colonnade.align.fast import FastPair, Link, intersect
from colonnade.align.holder import Holder
from colonnade.align.ids import IdSet
from colonnade.align.kway import Alignment, Pair, align, aligned, chosen
from colonnade.align.rules import MEANING, RULES
from colonnade.align.seeker import Seeker

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
