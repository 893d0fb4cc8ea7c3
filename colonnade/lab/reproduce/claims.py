"""Whether a claim holds: each check takes a claim apart into comparisons of means, paired by seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from colonnade.errors import ConfigError
from colonnade.lab.report.summary import bytes_to_target, higher_is_better
from colonnade.lab.reproduce.form import Claim, Recipe
from colonnade.lab.reproduce.spots import (
    Measured,
    Spot,
    Values,
    lanes,
    lower_is_better,
    mean,
    of_method,
    partners,
    values,
)

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Pair:
    """One comparison that a claim makes."""

    what: str
    difference: float  # positive speaks for the claim; of `reach`, how many times the bytes
    holds: bool
    n: int  # seeds that both have
    p: float | None = None  # two-sided, paired t-test over seeds; None where there are fewer than two


@dataclass(frozen=True)
class Verdict:
    """What became of a claim on one data set."""

    says: str
    check: str
    data: str
    measure: str
    pairs: tuple[Pair, ...]

    @property
    def held(self) -> int:
        """Comparisons in which the claim holds."""
        return sum(pair.holds for pair in self.pairs)

    @property
    def holds(self) -> str:
        """yes, no, "in 3 of 5", or not run."""
        if not self.pairs:
            return "not run"
        if self.held in (0, len(self.pairs)):
            return "yes" if self.held else "no"
        return f"in {self.held} of {len(self.pairs)}"

    @property
    def certain(self) -> tuple[int, int]:
        """Comparisons that are beyond chance: for the claim, and against it."""
        sure = [pair for pair in self.pairs if pair.p is not None and pair.p < SIGNIFICANT]
        return sum(pair.difference > 0 for pair in sure), sum(pair.difference < 0 for pair in sure)

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "says": self.says, "check": self.check, "data": self.data, "measure": self.measure, "holds": self.holds,
            "certain": list(self.certain), "pairs": [asdict(pair) for pair in self.pairs],
        }  # fmt: skip


def judge_claims(made: Recipe, measured: Measured) -> list[Verdict]:
    """Every claim on every data set that it is about and that was run."""
    ran = [data.name for data in made.data if any(place.data == data.name for place in measured)]
    return [
        Verdict(claim.says, claim.check, data, claim.measure, tuple(_CHECKS[claim.check](made, claim, measured, data)))
        for claim in made.claim
        for data in ran
        if not claim.data or data in claim.data
    ]


def paired(first: Values, second: Values, sign: float = 1.0) -> tuple[float, int, float | None]:
    """Difference of the means, seeds in common, and p of the paired t-test over them (Student 1908)."""
    seeds = sorted(set(first) & set(second))
    if not seeds:
        return math.nan, 0, None
    apart = [sign * (first[s] - second[s]) for s in seeds]
    difference = math.fsum(apart) / len(apart)
    if len(seeds) < 2 or max(apart) - min(apart) <= 1e-12:
        return difference, len(seeds), None
    from scipy.stats import ttest_1samp

    return difference, len(seeds), float(ttest_1samp(apart, 0.0).pvalue)


Pairs = Iterator[Pair]


def _spots(made: Recipe, claim: Claim, measured: Measured, data: str) -> list[Spot]:
    """Where the claim looks: its methods, at the values that it names."""
    return [s for method in claim.of for s in of_method(measured, data, method) if _meant(claim, s)]


def _meant(claim: Claim, spot: Spot) -> bool:
    """Whether a spot lies at the values that the claim names."""
    return all(spot.at(axis) in (None, *names) for axis, names in claim.at.items())


def _others(claim: Claim, measured: Measured, spot: Spot, method: str) -> list[Spot]:
    return [other for other in partners(measured, spot, method) if _meant(claim, other)]


def _sign(made: Recipe, claim: Claim, spot: Spot) -> float:
    return -1.0 if lower_is_better(made, spot, claim.measure) else 1.0


def _against(
    made: Recipe, claim: Claim, measured: Measured, data: str, rule: Callable[[float, float, float], bool]
) -> Pairs:
    for spot in _spots(made, claim, measured, data):
        mine = values(made, spot, claim.measure)
        for method in claim.than:
            for other in _others(claim, measured, spot, method):
                theirs = values(made, other, claim.measure)
                sign = _sign(made, claim, spot)
                gap, n, p = paired(mine, theirs, sign)
                if claim.measure == "bytes-to" and len(mine) != len(theirs):  # who reaches the target in more seeds
                    ahead = len(mine) > len(theirs)
                    yield Pair(_what(spot, other), math.inf if ahead else -math.inf, ahead, max(len(mine), len(theirs)))
                elif n:
                    yield Pair(_what(spot, other), gap, rule(gap, mean(mine), mean(theirs)), n, p)


def _above(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """Better than each of the others, by more than `by`, or at least `times` as good."""

    def rule(gap: float, mine: float, theirs: float) -> bool:
        if claim.times != 1.0:
            low, high = sorted((abs(mine), abs(theirs)))
            return gap > 0 and high >= claim.times * low
        return gap > claim.by

    yield from _against(made, claim, measured, data, rule)


def _near(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """At most `within` worse than each of the others."""
    yield from _against(made, claim, measured, data, lambda gap, mine, theirs: gap >= -claim.within)


def _axis(claim: Claim) -> str:
    """The axis that a claim is about."""
    if claim.along is None:
        raise ConfigError(
            f"claim {claim.says!r}: the check {claim.check!r} goes along an axis. Give its name as along."
        )
    return claim.along


def _trend(made: Recipe, claim: Claim, measured: Measured, data: str, sign: float) -> Pairs:
    """From the first to the last value of the axis."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        if len(lane) > 1:
            first, last = (values(made, spot, claim.measure) for spot in (lane[0], lane[-1]))
            gap, n, p = paired(last, first, sign * _sign(made, claim, lane[0]))
            if n:
                yield Pair(_lane(lane, along), gap, gap > claim.by, n, p)


def _improves(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """The last value of the axis is better than the first."""
    yield from _trend(made, claim, measured, data, 1.0)


def _worsens(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """The last value of the axis is worse than the first."""
    yield from _trend(made, claim, measured, data, -1.0)


def _steady(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """Means along the axis lie within `within` of one another."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        means = [mean(values(made, spot, claim.measure)) for spot in lane]
        if len(means) > 1:
            spread = max(means) - min(means)
            yield Pair(_lane(lane, along), claim.within - spread, spread <= claim.within, len(lane[0].records))


def _best_at(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """The best mean along the axis is at one of `value`."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        ranked = sorted(lane, key=lambda s: -_sign(made, claim, s) * mean(values(made, s, claim.measure)))
        inside = [spot for spot in ranked if spot.at(along) in claim.value]
        outside = [spot for spot in ranked if spot not in inside]
        if inside and outside:
            best, rest = (values(made, group[0], claim.measure) for group in (inside, outside))
            gap, n, p = paired(best, rest, _sign(made, claim, lane[0]))
            what = f"{_lane(lane, along)}: best at {ranked[0].at(along)}"
            yield Pair(what, gap, ranked[0] in inside, n, p)


def _shrinks(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """What a method has over another is less at the last value of the axis than at the first."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        for method in claim.than:
            ends = [_others(claim, measured, spot, method)[:1] for spot in (lane[0], lane[-1])]
            if len(lane) > 1 and all(ends):
                sign = _sign(made, claim, lane[0])
                gains = [
                    _gain(values(made, spot, claim.measure), values(made, end[0], claim.measure), sign)
                    for spot, end in zip((lane[0], lane[-1]), ends, strict=True)
                ]
                gap, n, p = paired(gains[0], gains[1])
                if n:
                    yield Pair(f"{_lane(lane, along)}: gain over {method}", gap, gap > claim.by, n, p)


def _gain(mine: Values, theirs: Values, sign: float) -> Values:
    return {seed: sign * (mine[seed] - theirs[seed]) for seed in set(mine) & set(theirs)}


def _reach(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """To reach the validation score of `of`, the others send at least `times` the bytes that it sends."""
    for spot in _spots(made, claim, measured, data):
        for method in claim.than:
            for other in _others(claim, measured, spot, method):
                ratios = [
                    _times(dict(spot.records[seed]), dict(other.records[seed]))
                    for seed in sorted(set(spot.records) & set(other.records))
                ]
                known = [ratio for ratio in ratios if ratio is not None]
                if known:
                    middle = sorted(known)[len(known) // 2]  # some never reach it: no mean
                    yield Pair(_what(spot, other), middle, middle >= claim.times, len(known))


def _times(mine: dict[str, Any], other: dict[str, Any]) -> float | None:
    """How many times the bytes of `mine` the other sends until it is as good on validation rows; ∞: never is."""
    seen = [epoch["validation"] for epoch in mine["history"] if "validation" in epoch]
    sent = mine["traffic"]["bytes"]
    if not seen or not sent or not any("validation" in epoch for epoch in other["history"]):
        return None
    best = max(seen) if higher_is_better(mine["metric"]) else min(seen)
    needed = bytes_to_target(other, best)
    return math.inf if needed is None else needed / sent


def _harmless(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """The attack is at most `within` above the same attacker without the run."""
    for spot in _spots(made, claim, measured, data):
        gap, n, p = paired(values(made, spot, "attack-baseline"), values(made, spot, "attack"))
        if n:
            yield Pair(f"{_where(spot)} {spot.place.method}", gap, gap >= -claim.within, n, p)


def _what(spot: Spot, other: Spot) -> str:
    return f"{_where(spot)} {spot.place.method} / {_named(other, spot)}".strip()


def _where(spot: Spot) -> str:
    return ", ".join(f"{axis} {name}" for axis, name in spot.place.at)


def _named(other: Spot, spot: Spot) -> str:
    more = [f"{axis} {name}" for axis, name in other.place.at if spot.at(axis) is None]
    return " ".join([other.place.method, *more])


def _lane(lane: list[Spot], axis: str) -> str:
    rest = ", ".join(f"{a} {name}" for a, name in lane[0].place.at if a != axis)
    ends = f"{axis} {lane[0].at(axis)} to {lane[-1].at(axis)}"
    return " ".join(part for part in (lane[0].place.method, rest, ends) if part)


_CHECKS: dict[str, Callable[[Recipe, Claim, Measured, str], Pairs]] = {
    "above": _above,
    "near": _near,
    "improves": _improves,
    "worsens": _worsens,
    "steady": _steady,
    "best-at": _best_at,
    "shrinks": _shrinks,
    "reach": _reach,
    "harmless": _harmless,
}
