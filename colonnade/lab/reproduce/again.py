"""Judge a recorded result again from the values of its seeds: the runs are not needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.lab.reproduce.claims import claims_of
from colonnade.lab.reproduce.evidence import NOT_TESTABLE
from colonnade.lab.reproduce.form import Claim, Recipe
from colonnade.lab.reproduce.outcome import Result, judged_numbers, plain
from colonnade.lab.reproduce.reached import evidence_of_ratios
from colonnade.lab.reproduce.spots import of_result
from colonnade.lab.reproduce.verdicts import Pair

NOT_KEPT = "recorded without the ratio of each seed"


def judged_again(made: Recipe, result: Result) -> Result:
    """The result with the comparisons of the recipe's claims made anew; verdicts are for `verdicts.settled`."""
    lines = [{key: value for key, value in line.items() if key != "holds"} for line in result["numbers"]]  # of old
    result = {**result, "numbers": lines}
    measured = of_result(result)
    claims = [
        _reached(made, claim, result) if claim["check"] == "reach" else claim for claim in claims_of(made, measured)
    ]
    again: Result = plain({**result, "numbers": judged_numbers(made, result, measured), "claims": claims})
    return again


def _reached(made: Recipe, claim: dict[str, Any], result: Result) -> dict[str, Any]:
    """A claim about bytes until another method is as good: histories are not recorded, their ratios are."""
    same = [c for c in result["claims"] if (c["says"], c["data"]) == (claim["says"], claim["data"])]
    asked = next(c for c in made.claim if c.says == claim["says"] and c.check == "reach")
    return {**claim, "pairs": [_ratios(pair, asked) for kept in same for pair in kept["pairs"]]}


def _ratios(pair: Mapping[str, Any], asked: Claim) -> dict[str, Any]:
    if "ratios" in pair:
        at_least = pair.get("at_least", False)
        found = evidence_of_ratios(pair["ratios"], asked.times, at_least=at_least)
        return Pair(pair["what"], found, None, "times", at_least, tuple(pair["ratios"])).to_json()
    return {
        "what": pair["what"], "verdict": NOT_TESTABLE, "difference": pair["difference"], "margin": asked.times,
        "low": None, "high": None, "p": None, "n": pair["n"], "why": NOT_KEPT, "unit": "times",
    }  # fmt: skip
