"""Evidence about several means at once: all within a distance of one another, or the best of them in a group."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from colonnade.lab.reproduce.evidence import LEVEL, Evidence, evidence
from colonnade.lab.reproduce.spots import Values, mean


def all_within(groups: Sequence[Values], within: float) -> Evidence:
    """How far the means of several settings are within a distance of one another; positive: they are.

    That they are needs every pair, and no correction for their number. That they are not needs one pair of many:
    its interval and p-value are corrected for their number (Bonferroni).
    """
    pairs = [(b, a) if mean(b) >= mean(a) else (a, b) for a, b in itertools.combinations(groups, 2)]
    rests = [[within - gap for gap in gaps(upper, lower)] for upper, lower in pairs]
    every = [evidence(rest) for rest in rests]
    strict = [evidence(rest, level=LEVEL / len(rests)) for rest in rests]
    least = min(every, key=lambda e: e.difference)
    lows, highs, ps = _ends(every)[0], _ends(strict)[1], _ps(every)
    if len(lows) < len(every):
        return _untested(least, every)
    p = None
    if ps:
        p = max(ps) if least.right else min(1.0, len(every) * min(ps))
    return replace(least, low=min(lows), high=max(min(highs), min(lows)), p=p)


def best_inside(inside: Sequence[Values], outside: Sequence[Values], sign: float) -> Evidence:
    """How far the best mean of a group is above the best of the others.

    The group is chosen on the same runs, so the level is divided by the number of settings that it was chosen from.
    """
    first = max(inside, key=lambda found: sign * mean(found))
    rival = max(outside, key=lambda found: sign * mean(found))
    above = [evidence(gaps(first, other, sign), level=LEVEL / len(inside)) for other in outside]
    below = [evidence(gaps(one, rival, sign), level=LEVEL / len(outside)) for one in inside]
    least = evidence(gaps(first, rival, sign))
    lows, highs = _ends(above)[0], _ends(below)[1]
    if len(lows) < len(above) or len(highs) < len(below):
        return _untested(least, [*above, *below])
    ps, number = (_ps(above), len(inside)) if least.right else (_ps(below), len(outside))
    return replace(least, low=min(lows), high=max(highs), p=min(1.0, number * max(ps)) if ps else None)


def gaps(first: Values, second: Values, sign: float = 1.0) -> list[float]:
    """Differences over the seeds that both have; positive where the first is better."""
    return [sign * (first[seed] - second[seed]) for seed in sorted(set(first) & set(second))]


def _ends(found: Sequence[Evidence]) -> tuple[list[float], list[float]]:
    return [e.low for e in found if e.low is not None], [e.high for e in found if e.high is not None]


def _ps(found: Sequence[Evidence]) -> list[float]:
    return [e.p for e in found if e.p is not None]


def _untested(least: Evidence, found: Sequence[Evidence]) -> Evidence:
    why = next(e.why for e in found if e.low is None)
    return replace(least, low=None, high=None, p=None, why=why)
