"""Whether a number of a paper is met: our runs are not worse than the print by more than the tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from colonnade.lab.reproduce.evidence import NOT_TESTABLE, evidence
from colonnade.lab.reproduce.judging import too_little_of

OTHER_DATA = "other data"


def beside_print(line: Mapping[str, Any], result: Mapping[str, Any], tolerance: float, lower: bool) -> dict[str, str]:
    """The verdict on a number, and why there is none; both empty where the paper prints nothing of it.

    The interval of our seeds decides, not their mean. The print has no interval, so it counts as exact.

    Args:
        line: one number.
        result: the whole table.
        tolerance: by how much it may be worse than the print.
        lower: whether less is better.
    """
    if line["claimed"] is None or (line["measure"] != "score" and line["n"]):
        return {"verdict": "", "why": ""}
    if why := _why(line, result):
        return {"verdict": NOT_TESTABLE, "why": why}
    sign = -1.0 if lower else 1.0
    apart = [sign * (value - line["claimed"]) for value in line["values"] if value is not None]
    found = evidence(apart, -tolerance)
    return {"verdict": found.verdict(), "why": found.why}


def _why(line: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    if not line["n"]:
        return "never"
    if not next(d["same"] for d in result["data"] if d["name"] == line["data"]):
        return OTHER_DATA
    return too_little_of(result, line["data"])
