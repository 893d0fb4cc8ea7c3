"""No verdict from a quick run, one seed, or few epochs."""

from __future__ import annotations

from typing import Any

import pytest

from colonnade.lab.reproduce.judging import withheld


def result(seeds: int) -> dict[str, Any]:
    claims = [{"holds": "yes", "pairs": [{"n": seeds}, {"n": 1}]}, {"holds": "not run", "pairs": []}]
    numbers = [{"holds": holds, "n": seeds} for holds in ("above", "no", "", "other data")]
    return {"claims": claims, "numbers": numbers, "paper": "002"}


def verdicts(found: dict[str, Any]) -> list[str]:
    return [one["holds"] for one in (*found["claims"], *found["numbers"])]


def test_enough_seeds_and_epochs_keep_their_verdicts():
    found = withheld(result(3), {"splitnn.epochs": 50, "width": 4}, quick=False)
    assert verdicts(found) == ["yes", "not run", "above", "no", "", "other data"]


@pytest.mark.parametrize(
    ("seeds", "settings", "quick"),
    [(1, {}, False), (3, {}, True), (3, {"epochs": 2}, False), (3, {"secureboost.trees": 3}, False)],
)
def test_too_little_keeps_numbers_and_no_verdict(seeds, settings, quick):
    found = withheld(result(seeds), settings, quick=quick)
    assert verdicts(found) == ["not judged", "not run", "not judged", "not judged", "", "other data"]
    assert found["paper"] == "002" and found["numbers"][0]["n"] == seeds
