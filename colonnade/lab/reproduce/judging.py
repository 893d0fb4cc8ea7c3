"""Withhold verdicts where there is too little to judge by: a quick run, one seed, or few epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.lab.report.kinds import FEWEST_SEEDS, is_short

NOT_JUDGED = "not judged"
_OPEN = ("", "not run", "other data", "never")  # what is no verdict about a score


def withheld(result: Mapping[str, Any], settings: Mapping[str, Any], *, quick: bool) -> dict[str, Any]:
    """A result of trained runs, without the verdicts that its seeds and epochs are too few for.

    Args:
        result: what `result_of` gives.
        settings: options that were asked for on top of the recipe's own.
        quick: whether the runs only prove that the recipe runs.
    """
    short = quick or any(is_short(name.rpartition(".")[2], value) for name, value in settings.items())
    claims = [_claim(claim, short) for claim in result["claims"]]
    numbers = [_number(line, short) for line in result["numbers"]]
    return {**result, "claims": claims, "numbers": numbers}


def _claim(claim: Mapping[str, Any], short: bool) -> dict[str, Any]:
    few = all(pair["n"] < FEWEST_SEEDS for pair in claim["pairs"])
    return {**claim, "holds": _verdict(claim["holds"], short or few)}


def _number(line: Mapping[str, Any], short: bool) -> dict[str, Any]:
    return {**line, "holds": _verdict(line["holds"], short or line["n"] < FEWEST_SEEDS)}


def _verdict(holds: str, too_little: bool) -> str:
    return NOT_JUDGED if too_little and holds not in _OPEN else holds
