"""What differences between paired runs show: an interval, a p-value, and one of six verdicts.

A comparison has one difference for each seed. Its interval is the 95 % interval of Student's t over the seeds. The
margin is what a claim asks for: more than 0, more than .025, or not below -.02 for "at most .02 worse".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

LEVEL = 0.05
EQUAL = 0.01  # a score within this of another is no different
FEWEST = 2  # one seed has no spread

HOLDS, DIRECTION, SAME = "holds", "direction only", "no difference"
REFUTED, UNDECIDED, NOT_TESTABLE = "refuted", "undecided", "not testable here"
VERDICTS = (HOLDS, DIRECTION, SAME, REFUTED, UNDECIDED, NOT_TESTABLE)


@dataclass(frozen=True)
class Evidence:
    """What one comparison shows."""

    difference: float  # mean over seeds; positive speaks for the claim
    n: int  # seeds that both have
    margin: float = 0.0
    low: float | None = None  # 95 % interval; None: there is none
    high: float | None = None
    p: float | None = None  # two-sided, against the margin; None: nothing that is random, or nothing to test
    why: str = ""  # nothing can be tested

    @property
    def right(self) -> bool:
        """Whether the mean lies on the side of the claim."""
        return self.difference > self.margin

    def verdict(self, equal: float | None = None) -> str:
        """One of six values.

        Args:
            equal: an interval within ± this is no difference; None where the measure has no such scale.
        """
        if self.low is None or self.high is None:
            if self.p is None:
                return NOT_TESTABLE
            sure, likely = (HOLDS, DIRECTION) if self.right else (REFUTED, UNDECIDED)
            return sure if self.p < LEVEL else likely
        if self.low > self.margin:
            return HOLDS
        if self.high < self.margin:
            return REFUTED
        if equal is not None and -equal < self.low and self.high < equal:
            return SAME
        return DIRECTION if self.right else UNDECIDED


def evidence(apart: Sequence[float], margin: float = 0.0, *, counted: bool = False, level: float = LEVEL) -> Evidence:
    """Test the differences of several seeds against a margin (Student 1908).

    Args:
        apart: one difference for each seed.
        margin: what the claim asks for.
        counted: whether the measure is counted or computed, so that equal differences need no test.
        level: 1 - the level of the interval.
    """
    n = len(apart)
    mean = math.fsum(apart) / n if n else math.nan
    plain = Evidence(mean, n, margin)
    if n < FEWEST:
        return replace(plain, why="one seed" if n else "no seed in common")
    if not all(map(math.isfinite, apart)) or max(apart) - min(apart) <= 1e-12:
        if counted:
            return replace(plain, low=mean, high=mean)
        return replace(plain, why="the difference is the same with every seed, so that it has no spread")
    from scipy.special import stdtr, stdtrit  # Student's distribution and its inverse

    error = math.sqrt(math.fsum((d - mean) ** 2 for d in apart) / (n - 1) / n)
    half = float(stdtrit(n - 1, 1 - level / 2)) * error
    p = 2 * float(stdtr(n - 1, -abs(mean - margin) / error))
    return replace(plain, low=mean - half, high=mean + half, p=p)


def computed(difference: float, n: int, margin: float = 0.0) -> Evidence:
    """Evidence from a number that follows from a formula: nothing about it is random."""
    return Evidence(difference, n, margin, low=difference, high=difference)


def either(only_mine: int, only_theirs: int) -> float:
    """p of what happened in some seeds to one method alone, in others to the other alone (McNemar 1947, exact)."""
    from scipy.stats import binomtest

    number = only_mine + only_theirs
    return float(binomtest(only_mine, number).pvalue) if number else 1.0


def holm(ps: Sequence[float]) -> list[float]:
    """p-values corrected for the number of comparisons of one claim (Holm 1979).

    statsmodels gives the same, and collects all garbage at each call: .2 s for each of 200 claims.
    """
    found, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        found[place] = least
    return found


def false_discovery(ps: Sequence[float]) -> list[float]:
    """p-values corrected for the number of claims of one paper (Benjamini, Hochberg 1995)."""
    if not ps:
        return []
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(ps, method="fdr_bh")[1]]
