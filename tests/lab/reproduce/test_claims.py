"""Checks of claims, on numbers whose verdict is known by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

from colonnade.lab.reproduce.claims import judge_claims, paired
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
    (found,) = judge_claims(made, measured(scores, **more))
    return found


SCORES = {
    ("Alone", "few"): [0.5, 0.6], ("Alone", "many"): [0.8, 0.9],
    ("Together", "few"): [0.7, 0.9], ("Together", "many"): [0.8, 0.88],
}  # fmt: skip


def test_above_compares_setting_by_setting():
    found = verdict({"check": "above", "of": "Together", "than": "Alone"}, SCORES)
    assert [round(pair.difference, 6) for pair in found.pairs] == [0.25, -0.01] and found.holds == "in 1 of 2"
    assert (
        verdict({"check": "above", "of": "Together", "than": "Alone", "at": {"labels": "few"}}, SCORES).holds == "yes"
    )
    much = {"check": "above", "of": "Together", "than": "Alone", "by": 0.3}
    assert verdict(much, SCORES).holds == "no"


def test_significance_is_the_paired_t_test():
    first, second = {0: 0.7, 1: 0.9, 2: 0.8}, {0: 0.5, 1: 0.6, 2: 0.7, 3: 0.1}
    gap, n, p = paired(first, second)
    assert n == 3 and gap == pytest.approx(0.2)
    assert p == pytest.approx(stats.ttest_rel([0.7, 0.9, 0.8], [0.5, 0.6, 0.7]).pvalue)
    assert paired({0: 1.0}, {0: 0.5})[1:] == (1, None) and math.isnan(paired({0: 1.0}, {1: 1.0})[0])


def test_near_improves_worsens_and_steady():
    assert verdict({"check": "near", "of": "Together", "than": "Alone", "within": 0.02}, SCORES).holds == "yes"
    assert verdict({"check": "near", "of": "Together", "than": "Alone", "within": 0.001}, SCORES).holds == "in 1 of 2"
    assert verdict({"check": "improves", "of": "Alone", "along": "labels"}, SCORES).pairs[
        0
    ].difference == pytest.approx(0.3)
    assert verdict({"check": "worsens", "of": "Alone", "along": "labels"}, SCORES).holds == "no"
    assert verdict({"check": "steady", "of": "Together", "along": "labels", "within": 0.05}, SCORES).holds == "yes"
    assert verdict({"check": "steady", "of": "Alone", "along": "labels", "within": 0.05}, SCORES).holds == "no"


def test_shrinks_and_best_at():
    assert verdict({"check": "shrinks", "of": "Together", "than": "Alone", "along": "labels"}, SCORES).holds == "yes"
    assert verdict({"check": "shrinks", "of": "Alone", "than": "Together", "along": "labels"}, SCORES).holds == "no"
    best = {"check": "best-at", "of": "Alone", "along": "labels"}
    assert verdict({**best, "value": ["many"]}, SCORES).holds == "yes"
    assert verdict({**best, "value": ["few"]}, SCORES).holds == "no"


def test_less_is_better_for_bytes():
    more = {"Together-few": {"traffic": {"bytes": 10}}}
    claim = {"check": "above", "of": "Together", "than": "Alone", "measure": "bytes", "at": {"labels": "few"}}
    assert verdict({**claim, "times": 10.0}, SCORES, **more).holds == "yes"
    assert verdict({**claim, "times": 11.0}, SCORES, **more).holds == "no"


@pytest.mark.parametrize(("alone", "together", "holds"), [(0.9, 0.1, "yes"), (0.1, 0.9, "no"), (0.1, 0.1, "not run")])
def test_a_target_that_is_never_reached_speaks_against_who_never_reaches_it(alone: float, together: float, holds: str):
    made = {**content(), "targets": {"few": 0.5}}
    claim = {"says": "it", "check": "above", "of": "Alone", "than": "Together", "measure": "bytes-to"}
    scores = {("Alone", "few"): [alone, alone], ("Together", "few"): [together, together]}
    (found,) = judge_claims(parse({**made, "claim": [claim]}, "small"), measured(scores))
    assert found.holds == holds
    assert [pair.difference for pair in found.pairs] == ([] if holds == "not run" else [math.inf * (alone - together)])


def test_reach_counts_the_bytes_until_the_other_is_as_good():
    slow = [{"validation": 0.4, "bytes": 300}, {"validation": 0.95, "bytes": 900}]
    claim = {"check": "reach", "of": "Alone", "than": "Together", "at": {"labels": "few"}}
    found = verdict(claim, SCORES, **{"Together-few": {"history": slow}})
    assert found.pairs[0].difference == 9 and found.holds == "yes"
    never = verdict(claim, SCORES, **{"Together-few": {"history": slow[:1]}})
    assert never.pairs[0].difference == math.inf and never.holds == "yes"


def test_a_spot_without_the_axis_is_compared_with_every_value():
    scores = {("Alone", ""): [0.75, 0.75], ("Together", "few"): [0.7, 0.9], ("Together", "many"): [0.7, 0.7]}
    found = verdict({"check": "above", "of": "Together", "than": "Alone"}, scores)
    assert [pair.holds for pair in found.pairs] == [True, False]


def test_a_claim_without_runs_says_so():
    assert verdict({"check": "above", "of": "Together", "than": "Alone"}, {("Alone", "few"): [1.0]}).holds == "not run"
