"""The verdict on a claim from its comparisons, and what remains of it beside the other claims of its paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from colonnade.lab.reproduce.evidence import (
    DIRECTION,
    HOLDS,
    LEVEL,
    NOT_TESTABLE,
    REFUTED,
    SAME,
    UNDECIDED,
    Evidence,
    false_discovery,
    holm,
)
from colonnade.lab.reproduce.judging import too_little_of

Result = dict[str, Any]
NEEDED = "statsmodels corrects p-values. Install it: pip install 'colonnade[evidence]'"
TOO_MANY = "not beyond chance among so many claims of the paper"


@dataclass(frozen=True)
class Pair:
    """One comparison that a claim makes."""

    what: str
    found: Evidence
    equal: float | None = None  # see `Evidence.verdict`
    unit: str = ""  # "times": how many times, not how much more
    at_least: bool = False  # it is more than what was seen: the other never got there
    ratios: tuple[float, ...] = ()  # of `reach`, by seed: they follow from histories, which results do not hold

    def to_json(self) -> dict[str, Any]:
        """All of it, with its own verdict."""
        e = self.found
        return {
            "what": self.what, "verdict": e.verdict(self.equal), "difference": e.difference, "margin": e.margin,
            "low": e.low, "high": e.high, "p": e.p, "n": e.n, "why": e.why,
            **({"unit": self.unit} if self.unit else {}),
            **({"at_least": True} if self.at_least else {}),
            **({"ratios": list(self.ratios)} if self.ratios else {}),
        }  # fmt: skip


def settled(results: Sequence[Result]) -> list[Result]:
    """The results with verdicts on their claims, corrected for the number of claims of each paper.

    Give all results of a paper together: the correction of Benjamini and Hochberg is over all of its claims.
    """
    every = [_judged(claim, result) for result in results for claim in result["claims"]]
    papers = [result["paper"] for result in results for _ in result["claims"]]
    for paper in dict.fromkeys(papers):
        mine = [claim for claim, of in zip(every, papers, strict=True) if of == paper and claim["p"] is not None]
        for claim, q in zip(mine, false_discovery([claim["p"] for claim in mine]), strict=True):
            _correct(claim, q)
    left = iter(every)
    return [{**result, "claims": [next(left) for _ in result["claims"]]} for result in results]


def _judged(claim: Mapping[str, Any], result: Result) -> dict[str, Any]:
    """A claim with the verdict of its own comparisons."""
    pairs = claim["pairs"]
    found = {**claim, "verdict": NOT_TESTABLE, "why": _why(claim, result), "p": None, "q": None, "beyond": [0, 0, 0]}
    if found["why"]:
        return found
    corrected = _corrected(pairs)
    verdict = _of_pairs(pairs, corrected)
    return {**found, "verdict": verdict, "p": _p(pairs, corrected), "beyond": _beyond(pairs, corrected)}


def _why(claim: Mapping[str, Any], result: Result) -> str:
    """Why a claim cannot be tested here; nothing when it can be."""
    if why := too_little_of(result, claim["data"]):
        return why
    pairs = claim["pairs"]
    if all(pair["verdict"] == NOT_TESTABLE for pair in pairs):
        return "; ".join(dict.fromkeys(pair["why"] for pair in pairs)) or "no runs to compare"
    return "" if find_spec("statsmodels") else NEEDED


def _right(pair: Mapping[str, Any]) -> bool:
    return float(pair["difference"]) > float(pair["margin"])


def _corrected(pairs: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """p of each comparison, corrected for their number (Holm); 0 where nothing is random, None where none is tested."""
    left = iter(holm([pair["p"] for pair in pairs if pair["p"] is not None]))
    return [next(left) if p["p"] is not None else None if p["low"] is None else 0.0 for p in pairs]


def _of_pairs(pairs: Sequence[Mapping[str, Any]], corrected: Sequence[float | None]) -> str:
    """The verdict of a claim that speaks of several comparisons, all of which it needs."""
    verdicts = [pair["verdict"] for pair in pairs]
    if any(v == REFUTED and p is not None and p < LEVEL for v, p in zip(verdicts, corrected, strict=True)):
        return REFUTED
    for alike in (HOLDS, SAME):
        if all(verdict == alike for verdict in verdicts):
            return alike
    return DIRECTION if all(map(_right, pairs)) else UNDECIDED


def _p(pairs: Sequence[Mapping[str, Any]], corrected: Sequence[float | None]) -> float | None:
    """p of a claim: of its weakest comparison where all speak for it, else of the strongest against it.

    That all comparisons hold needs no correction for their number, as chance would have to favour each (Berger 1982).
    That one of many is against it does.
    """
    if all(map(_right, pairs)):
        untested = any(pair["low"] is None and pair["p"] is None for pair in pairs)
        tested = [pair["p"] for pair in pairs if pair["p"] is not None]
        return float(max(tested)) if tested and not untested else None
    against = [
        p
        for pair, p in zip(pairs, corrected, strict=True)
        if not _right(pair) and pair["p"] is not None and p is not None
    ]
    return min(against, default=None)


def _beyond(pairs: Sequence[Mapping[str, Any]], corrected: Sequence[float | None]) -> list[int]:
    """Comparisons beyond chance: for the claim, against it, and how many were tested."""
    sure = [_right(pair) for pair, p in zip(pairs, corrected, strict=True) if p is not None and p < LEVEL]
    return [sum(sure), len(sure) - sum(sure), sum(p is not None for p in corrected)]


def _correct(claim: dict[str, Any], q: float) -> None:
    """Take back what is not beyond chance among all claims of the paper."""
    claim["q"] = q
    if q >= LEVEL and claim["verdict"] in (HOLDS, REFUTED):
        claim["verdict"] = DIRECTION if claim["verdict"] == HOLDS else UNDECIDED
        claim["why"] = TOO_MANY
