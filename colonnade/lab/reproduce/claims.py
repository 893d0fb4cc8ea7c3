"""The comparisons that a claim makes, paired by seed: each check takes a claim apart into them.

What becomes of them is in `evidence` (one comparison) and `verdicts` (a claim, and the claims of a paper).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from colonnade.data.metrics import LOWER_IS_BETTER
from colonnade.errors import ConfigError
from colonnade.lab.reproduce.evidence import EQUAL, Evidence, computed, either, evidence
from colonnade.lab.reproduce.form import Claim, Recipe
from colonnade.lab.reproduce.reached import evidence_of_ratios, ratios_of
from colonnade.lab.reproduce.several import all_within, best_inside, gaps
from colonnade.lab.reproduce.spots import (
    Measured,
    Spot,
    Values,
    lanes,
    lower_is_better,
    mean,
    metric_of,
    of_method,
    partners,
    values,
)
from colonnade.lab.reproduce.verdicts import Pair

COMPUTED, COUNTED = ("epsilon",), ("epsilon", "bytes", "bytes-to")
OUT_OF_ONE = ("score", "silhouette", "attack")  # measures of which .01 is little
Pairs = Iterator[Pair]


def claims_of(made: Recipe, measured: Measured) -> list[dict[str, Any]]:
    """Every claim, with its comparisons, on every data set that it is about and that was run."""
    ran = [data.name for data in made.data if any(place.data == data.name for place in measured)]
    return [
        {
            "says": claim.says, "check": claim.check, "data": data, "measure": claim.measure,
            "pairs": [pair.to_json() for pair in _CHECKS[claim.check](made, claim, measured, data)],
        }
        for claim in made.claim
        for data in ran
        if not claim.data or data in claim.data
    ]  # fmt: skip


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


def _equal(made: Recipe, claim: Claim, spot: Spot) -> float | None:
    """Within how much two values of the measure are no different."""
    if claim.measure not in OUT_OF_ONE:
        return None
    return None if claim.measure == "score" and metric_of(made, spot) in LOWER_IS_BETTER else EQUAL


def _tested(claim: Claim, first: Values, second: Values, sign: float, margin: float) -> Evidence:
    """The paired differences of two settings, against a margin."""
    apart = gaps(first, second, sign)
    if claim.measure in COMPUTED and apart:
        return computed(math.fsum(apart) / len(apart), len(apart), margin)
    return evidence(apart, margin, counted=claim.measure in COUNTED)


def _against(made: Recipe, claim: Claim, measured: Measured, data: str, margin: float) -> Pairs:
    for spot in _spots(made, claim, measured, data):
        mine = values(made, spot, claim.measure)
        sign, equal = _sign(made, claim, spot), _equal(made, claim, spot)
        for method in claim.than:
            for other in _others(claim, measured, spot, method):
                theirs = values(made, other, claim.measure)
                if claim.measure == "bytes-to" and set(mine) != set(theirs):
                    yield Pair(_what(spot, other), _who_reaches(mine, theirs))
                elif claim.times != 1.0 and mine and theirs:
                    yield Pair(_what(spot, other), _times(mine, theirs, sign, claim.times), unit="times")
                elif mine and theirs:
                    yield Pair(_what(spot, other), _tested(claim, mine, theirs, sign, margin), equal)


def _who_reaches(mine: Values, theirs: Values) -> Evidence:
    """Who reaches the target in more seeds; there is no mean of what is never reached."""
    ahead, behind = len(set(mine) - set(theirs)), len(set(theirs) - set(mine))
    sign = math.copysign(math.inf, ahead - behind) if ahead != behind else 0.0
    return Evidence(sign, len(set(mine) | set(theirs)), p=either(ahead, behind))


def _times(mine: Values, theirs: Values, sign: float, times: float) -> Evidence:
    """How many times as good: tested as a difference of logarithms."""
    pairs = [(mine[s], theirs[s]) if sign > 0 else (theirs[s], mine[s]) for s in sorted(set(mine) & set(theirs))]
    ratios = [better / worse if worse else math.inf for better, worse in pairs]
    return evidence_of_ratios(ratios, times, counted=True)


def _above(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """Better than each of the others, by more than `by`, or at least `times` as good."""
    yield from _against(made, claim, measured, data, claim.by)


def _near(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """At most `within` worse than each of the others: non-inferiority."""
    yield from _against(made, claim, measured, data, -claim.within)


def _axis(claim: Claim) -> str:
    """The axis that a claim is about."""
    if claim.along is None:
        raise ConfigError(
            f"claim {claim.says!r}: the check {claim.check!r} goes along an axis. Give its name as along."
        )
    return claim.along


def _trend(made: Recipe, claim: Claim, measured: Measured, data: str, direction: float) -> Pairs:
    """From the first to the last value of the axis."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        if len(lane) > 1:
            first, last = (values(made, spot, claim.measure) for spot in (lane[0], lane[-1]))
            found = _tested(claim, last, first, direction * _sign(made, claim, lane[0]), claim.by)
            yield Pair(_lane(lane, along), found, _equal(made, claim, lane[0]))


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
        found = [group for spot in lane if (group := values(made, spot, claim.measure))]
        if len(found) > 1:
            yield Pair(_lane(lane, along), all_within(found, claim.within))


def _best_at(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """The best mean along the axis is at one of `value`."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        sign = _sign(made, claim, lane[0])
        found = {spot.at(along): values(made, spot, claim.measure) for spot in lane}
        inside = [group for name, group in found.items() if group and name in claim.value]
        outside = [group for name, group in found.items() if group and name not in claim.value]
        if inside and outside:
            best = max(found, key=lambda name: sign * mean(found[name]) if found[name] else -math.inf)
            what = f"{_lane(lane, along)}: best at {best}"
            yield Pair(what, best_inside(inside, outside, sign), _equal(made, claim, lane[0]))


def _shrinks(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """What a method has over another is less at the last value of the axis than at the first."""
    along = _axis(claim)
    for lane in lanes(_spots(made, claim, measured, data), along):
        for method in claim.than:
            ends = [_others(claim, measured, spot, method)[:1] for spot in (lane[0], lane[-1])]
            if len(lane) > 1 and all(ends):
                sign = _sign(made, claim, lane[0])
                first, last = (
                    _gain(values(made, spot, claim.measure), values(made, end[0], claim.measure), sign)
                    for spot, end in zip((lane[0], lane[-1]), ends, strict=True)
                )
                found = _tested(claim, first, last, 1.0, claim.by)
                yield Pair(f"{_lane(lane, along)}: gain over {method}", found, _equal(made, claim, lane[0]))


def _gain(mine: Values, theirs: Values, sign: float) -> Values:
    return {seed: sign * (mine[seed] - theirs[seed]) for seed in set(mine) & set(theirs)}


def _reach(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """To reach the validation score of `of`, the others send at least `times` the bytes that it sends."""
    for spot in _spots(made, claim, measured, data):
        for method in claim.than:
            for other in _others(claim, measured, spot, method):
                seeds = sorted(set(spot.records) & set(other.records))
                found = ratios_of([(spot.records[seed], other.records[seed]) for seed in seeds])
                if found is not None:
                    ratios, at_least = found
                    tested = evidence_of_ratios(ratios, claim.times, at_least=at_least)
                    yield Pair(_what(spot, other), tested, None, "times", at_least, tuple(ratios))


def _harmless(made: Recipe, claim: Claim, measured: Measured, data: str) -> Pairs:
    """The attack is at most `within` above the same attacker without the run."""
    for spot in _spots(made, claim, measured, data):
        without, attacked = values(made, spot, "attack-baseline"), values(made, spot, "attack")
        if without and attacked:
            found = _tested(claim, without, attacked, 1.0, -claim.within)
            yield Pair(f"{_where(spot)} {spot.place.method}", found, EQUAL)


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


_CHECKS: Mapping[str, Callable[[Recipe, Claim, Measured, str], Pairs]] = {
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
