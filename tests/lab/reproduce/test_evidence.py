"""Intervals, p-values and the six verdicts, on numbers whose answer is known by hand or from scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from colonnade.lab.reproduce.evidence import EQUAL, Evidence, computed, either, evidence, false_discovery, holm
from colonnade.lab.reproduce.reached import evidence_of_ratios, ratios_of
from colonnade.lab.reproduce.several import all_within, best_inside


def test_the_interval_and_p_are_those_of_the_paired_t_test():
    mine, theirs = [0.7, 0.9, 0.8, 0.85], [0.5, 0.6, 0.7, 0.61]
    found = evidence([a - b for a, b in zip(mine, theirs, strict=True)])
    known = stats.ttest_rel(mine, theirs)
    interval = known.confidence_interval(0.95)
    assert (found.low, found.high, found.p) == pytest.approx((interval.low, interval.high, known.pvalue))
    assert found.n == 4 and found.difference == pytest.approx(0.21)


@pytest.mark.parametrize(
    ("apart", "margin", "verdict"),
    [
        ([0.10, 0.11, 0.12], 0.0, "holds"),
        ([0.10, 0.11, 0.12], 0.05, "holds"),
        ([0.01, 0.11, 0.21], 0.0, "direction only"),
        ([0.01, 0.02, 0.03], 0.005, "direction only"),
        ([0.001, -0.001, 0.0005], 0.0, "no difference"),
        ([-0.10, -0.11, -0.12], 0.0, "refuted"),
        ([0.001, 0.0012, 0.0011], 0.025, "refuted"),
        ([-0.01, -0.11, 0.05], 0.0, "undecided"),
        ([0.2], 0.0, "not testable here"),
        ([], 0.0, "not testable here"),
        ([0.1, 0.1, 0.1], 0.0, "not testable here"),
    ],
)
def test_each_of_the_six_verdicts(apart: list[float], margin: float, verdict: str):
    assert evidence(apart, margin).verdict(EQUAL) == verdict


def test_at_most_two_points_worse_is_decided_by_the_interval_and_not_by_the_mean():
    assert evidence([-0.010, -0.011, -0.009], -0.02).verdict() == "holds"
    noisy = evidence([-0.06, 0.05, -0.01], -0.02)
    assert noisy.difference > -0.02 and noisy.verdict() == "direction only"
    assert evidence([-0.05, -0.052, -0.051], -0.02).verdict() == "refuted"


def test_no_difference_is_for_scores_out_of_one_alone():
    apart = [0.001, -0.001, 0.0005]
    assert evidence(apart).verdict(EQUAL) == "no difference" and evidence(apart).verdict() == "direction only"


def test_one_seed_is_never_tested_unless_nothing_is_random():
    assert evidence([0.3]).why == "one seed" and evidence([0.3]).p is None
    assert evidence([0.3], counted=True).verdict() == "not testable here"
    assert computed(0.3, 1).verdict() == "holds" and computed(-0.3, 1).verdict() == "refuted"


def test_counted_bytes_need_no_spread():
    assert evidence([100.0, 100.0], counted=True).verdict() == "holds"
    assert "no spread" in evidence([100.0, 100.0]).why


def test_what_only_some_seeds_reach():
    assert either(5, 0) == pytest.approx(2 * 0.5**5) and either(0, 0) == 1.0
    ahead = Evidence(math.inf, 10, p=either(10, 0))
    assert ahead.verdict() == "holds" and Evidence(math.inf, 3, p=either(3, 0)).verdict() == "direction only"
    assert Evidence(-math.inf, 10, p=either(0, 10)).verdict() == "refuted"


def test_holm_and_benjamini_hochberg_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert false_discovery([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert holm([]) == false_discovery([]) == []
    ps = np.random.default_rng(0).random(20).tolist()
    assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1].tolist())


def seeds(*found: float) -> dict[int, float]:
    return dict(enumerate(found))


def test_all_means_within_a_distance():
    near = [seeds(0.50, 0.52, 0.54), seeds(0.505, 0.524, 0.546), seeds(0.499, 0.522, 0.541)]
    assert all_within(near, 0.05).verdict() == "holds" and all_within(near, 0.0001).verdict() != "holds"
    far = [*near, seeds(0.70, 0.7205, 0.7395)]
    assert all_within(far, 0.05).verdict() == "refuted"
    assert all_within(far, 0.05).difference == pytest.approx(0.05 - 0.2, abs=1e-3)
    assert all_within([seeds(0.5), seeds(0.6)], 0.05).why == "one seed"


def test_that_one_of_many_pairs_is_apart_is_corrected_for_their_number():
    rng = np.random.default_rng(0)
    groups = [seeds(*rng.normal(0.5, 0.02, 3)) for _ in range(12)]
    pairs = [evidence([0.005 - abs(a[s] - b[s]) for s in a]) for a in groups for b in groups if a is not b]
    assert any(pair.verdict() == "refuted" for pair in pairs)  # one of 66 differences looks large by luck alone
    assert all_within(groups, 0.005).verdict() == "undecided"


def test_the_best_of_a_group_must_beat_every_other():
    low, middle, high = seeds(0.1, 0.11, 0.12), seeds(0.5, 0.511, 0.522), seeds(0.8, 0.809, 0.82)
    assert best_inside([high], [low, middle], 1.0).verdict(EQUAL) == "holds"
    assert best_inside([middle, low], [high], 1.0).verdict(EQUAL) == "refuted"
    assert best_inside([low], [high, middle], -1.0).verdict(EQUAL) == "holds"  # less is better


def run(scores: list[float], each: int) -> dict[str, object]:
    history = [{"validation": score, "bytes": each * (i + 1)} for i, score in enumerate(scores)]
    return {"metric": "accuracy", "history": history, "traffic": {"bytes": each * len(scores)}}


def test_who_never_gets_there_needs_at_least_what_it_sent():
    once, slow, never = run([0.9], 100), run([0.5, 0.95], 1000), run([0.5, 0.6], 1500)
    assert ratios_of([(once, slow), (once, slow)]) == ([20.0, 20.0], False)
    ratios, at_least = ratios_of([(once, slow), (once, never)]) or ([], False)
    assert (ratios, at_least) == ([20.0, 30.0], True)
    found = evidence_of_ratios(ratios, 1.0, at_least=True)
    assert found.high == math.inf and found.difference == pytest.approx(math.sqrt(600))
    assert ratios_of([({**once, "history": []}, slow)]) is None


def test_ratios_are_tested_as_logarithms():
    found = evidence_of_ratios([10.0, 20.0, 40.0], 5.0)
    known = stats.ttest_1samp(np.log([10.0, 20.0, 40.0]), math.log(5.0))
    assert found.p == pytest.approx(known.pvalue) and found.difference == pytest.approx(20)
    assert math.log(found.low or 0) == pytest.approx(known.confidence_interval().low)
    assert evidence_of_ratios([0.0, 2.0], 1.0).verdict() == "not testable here"
    assert evidence_of_ratios([math.inf, math.inf], 10.0).verdict() == "holds"
