"""Checks of claims, on numbers whose verdict is known by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from colonnade.lab.reproduce.claims import claims_of
from colonnade.lab.reproduce.plan import Place
from colonnade.lab.reproduce.recipe import parse
from colonnade.lab.reproduce.spots import Measured, Spot
from tests.lab.reproduce.small_recipe import content


def measured(scores: dict[tuple[str, str], list[float]], **more: Any) -> Measured:
    """Spots of (method, labels), one record for each score."""
    found = {}
    for (method, labels), values in scores.items():
        place = Place("wine", method, (("labels", labels),) if labels else ())
        records = {
            seed: {
                "metric": "accuracy", "scores": {"accuracy": value}, "traffic": {"bytes": 100}, "seconds": 1.0,
                "history": [{"validation": value, "bytes": 50}], **more.get(f"{method}-{labels}", {}),
            }
            for seed, value in enumerate(values)
        }  # fmt: skip
        found[place] = Spot(place, method, records)
    return found


def verdict(claim: dict[str, Any], scores: dict[tuple[str, str], list[float]], **more: Any) -> Any:
    made = parse({**content(), "claim": [{"says": "it", **claim}]}, "small")
    (found,) = claims_of(made, measured(scores, **more))
    return found["pairs"]


def verdicts(pairs: list[dict[str, Any]]) -> list[str]:
    return [pair["verdict"] for pair in pairs]


SCORES = {
    ("Alone", "few"): [0.5, 0.6], ("Alone", "many"): [0.8, 0.9],
    ("Together", "few"): [0.7, 0.9], ("Together", "many"): [0.8, 0.88],
}  # fmt: skip


def test_above_compares_setting_by_setting():
    found = verdict({"check": "above", "of": "Together", "than": "Alone"}, SCORES)
    assert [round(pair["difference"], 6) for pair in found] == [0.25, -0.01]
    assert verdicts(found) == ["direction only", "undecided"]  # two seeds: 0.2 and 0.3, 0 and -0.02
    few = {"check": "above", "of": "Together", "than": "Alone", "at": {"labels": "few"}}
    assert verdicts(verdict(few, SURE)) == ["holds"]
    assert verdicts(verdict({**few, "by": 0.3}, SURE)) == ["refuted"]
    assert verdict({**few, "by": 0.3}, SURE)[0]["margin"] == 0.3


SURE = {
    ("Alone", "few"): [0.5, 0.6, 0.7], ("Alone", "many"): [0.8, 0.9, 0.95],
    ("Together", "few"): [0.71, 0.8, 0.9], ("Together", "many"): [0.795, 0.896, 0.944],
}  # fmt: skip


def test_near_improves_worsens_and_steady():
    near = {"check": "near", "of": "Together", "than": "Alone"}
    assert verdicts(verdict({**near, "within": 0.02}, SURE)) == ["holds", "holds"]
    assert verdicts(verdict({**near, "within": 0.001}, SURE)) == ["holds", "refuted"]
    up = {"of": "Alone", "along": "labels"}
    assert verdict({**up, "check": "improves"}, SCORES)[0]["difference"] == pytest.approx(0.3)
    assert verdicts(verdict({**up, "check": "improves"}, SURE)) == ["holds"]
    assert verdicts(verdict({**up, "check": "worsens"}, SURE)) == ["refuted"]
    steady = {"check": "steady", "of": "Together", "along": "labels"}
    assert verdicts(verdict({**steady, "within": 0.2}, SURE)) == ["holds"]
    assert verdicts(verdict({**steady, "within": 0.001}, SURE)) == ["refuted"]


def test_shrinks_and_best_at():
    shrinks = {"check": "shrinks", "along": "labels"}
    assert verdicts(verdict({**shrinks, "of": "Together", "than": "Alone"}, SURE)) == ["holds"]
    assert verdicts(verdict({**shrinks, "of": "Alone", "than": "Together"}, SURE)) == ["refuted"]
    best = {"check": "best-at", "of": "Alone", "along": "labels"}
    assert verdicts(verdict({**best, "value": ["many"]}, SURE)) == ["holds"]
    assert verdicts(verdict({**best, "value": ["few"]}, SURE)) == ["refuted"]
    assert verdict({**best, "value": ["few"]}, SURE)[0]["what"].endswith(": best at many")


def test_less_is_better_for_bytes():
    more = {"Together-few": {"traffic": {"bytes": 10}}}
    claim = {"check": "above", "of": "Together", "than": "Alone", "measure": "bytes", "at": {"labels": "few"}}
    (found,) = verdict({**claim, "times": 9.9}, SCORES, **more)
    assert found["verdict"] == "holds" and found["difference"] == pytest.approx(10) and found["unit"] == "times"
    assert verdicts(verdict({**claim, "times": 11.0}, SCORES, **more)) == ["refuted"]


@pytest.mark.parametrize(("alone", "together", "number"), [(0.9, 0.1, 1), (0.1, 0.9, -1), (0.1, 0.1, 0)])
def test_a_target_that_is_never_reached_speaks_against_who_never_reaches_it(alone: float, together: float, number: int):
    made = {**content(), "targets": {"few": 0.5}}
    claim = {"says": "it", "check": "above", "of": "Alone", "than": "Together", "measure": "bytes-to"}
    for seeds, sure in ((2, False), (6, True)):
        scores = {("Alone", "few"): [alone] * seeds, ("Together", "few"): [together] * seeds}
        (found,) = claims_of(parse({**made, "claim": [claim]}, "small"), measured(scores))
        assert [float(pair["difference"]) for pair in found["pairs"]] == ([math.inf * number] if number else [])
        expected = ("holds" if sure else "direction only") if number > 0 else "refuted" if sure else "undecided"
        assert verdicts(found["pairs"]) == ([expected] if number else [])


def test_reach_counts_the_bytes_until_the_other_is_as_good():
    slow = [{"validation": 0.4, "bytes": 300}, {"validation": 0.95, "bytes": 900}]
    claim = {"check": "reach", "of": "Alone", "than": "Together", "at": {"labels": "few"}}
    (found,) = verdict(claim, SCORES, **{"Together-few": {"history": slow}})
    assert found["difference"] == pytest.approx(9) and found["ratios"] == [9.0, 9.0] and "at_least" not in found
    (never,) = verdict(claim, SCORES, **{"Together-few": {"history": slow[:1], "traffic": {"bytes": 300}}})
    assert never["at_least"] and never["difference"] == pytest.approx(3)


def test_a_spot_without_the_axis_is_compared_with_every_value():
    scores = {("Alone", ""): [0.75, 0.75], ("Together", "few"): [0.7, 0.9], ("Together", "many"): [0.7, 0.71]}
    found = verdict({"check": "above", "of": "Together", "than": "Alone"}, scores)
    assert [pair["difference"] > 0 for pair in found] == [True, False]


def test_a_claim_without_runs_has_no_comparison():
    assert verdict({"check": "above", "of": "Together", "than": "Alone"}, {("Alone", "few"): [1.0]}) == []
