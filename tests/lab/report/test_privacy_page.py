"""Leakage in words and on the page: effects are named, chance is not; ledgers are shown as far as they go."""

from __future__ import annotations

import doctest
import json
import math
import re
from typing import Any

import pytest

from colonnade.lab.report import leakage, tradeoff
from colonnade.lab.report.leakage import difference, headlines, points, sentence, spots, unprotected
from colonnade.lab.report.page import render
from colonnade.lab.report.palette import styles
from colonnade.lab.report.tradeoff import family, tradeoff_plots

from .conftest import make_record
from .test_browser import CHROMIUM, body_of, dom_of
from .test_page import HOSTILE, Tags

STRONG, WEAK = "iso:gradient:5", "iso:gradient:1"


def attacked(protection: str, seed: int, main: float, score: float, method: str = "splitnn", **more: Any) -> dict:
    """A run of which party "fou" has 0.65 without federating."""
    record = make_record(f"{method}:protect={protection}" if protection else method, labels=200, seed=seed)
    record |= {"score": main, "config": record["config"] | {"rows": {"test": 400}}}
    finding = {
        "attack": "label-inference", "adversary": "fou", "target": "labels of new rows", "metric": "accuracy",
        "score": score, "baseline": 0.65, "prior": 0.1, "advantage": score - 0.65, "error": 0.01, "n": 320,
    } | more  # fmt: skip
    attacks = {finding["attack"]: {"asked": {}, "findings": [finding]}}
    return record | {"tradeoff": {"method": method, "protection": protection, "attacks": attacks}}


def three_seeds(protection: str, main: tuple[float, ...], score: tuple[float, ...], **more: Any) -> list[dict]:
    return [attacked(protection, seed, m, s, **more) for seed, (m, s) in enumerate(zip(main, score, strict=True))]


@pytest.fixture
def records() -> list[dict]:
    """Strong noise takes 0.06 off the attack and 0.04 off the main task, weak noise nothing beyond chance."""
    return [
        *three_seeds("", (0.96, 0.97, 0.98), (0.70, 0.71, 0.72)),
        *three_seeds(WEAK, (0.97, 0.96, 0.97), (0.73, 0.69, 0.70)),
        *three_seeds(STRONG, (0.92, 0.93, 0.94), (0.64, 0.65, 0.66)),
    ]


def test_docstring_examples_hold():
    assert doctest.testmod(leakage).failed == doctest.testmod(tradeoff).failed == 0


def test_difference_by_hand():
    """0.10, 0.11, 0.12: deviation 0.01, error 0.01 / sqrt(3); t of two degrees of freedom at 97.5 % is 4.303."""
    found = difference([0.10, 0.11, 0.12])
    assert found.mean == pytest.approx(0.11) and found.error == pytest.approx(0.01 / math.sqrt(3)) and found.shown
    error = 0.01 / math.sqrt(3)
    assert not difference([x * 4.2 * error / 0.01 + d for x, d in ((0.01, -0.01), (0.01, 0.0), (0.01, 0.01))]).shown
    assert difference([x * 4.4 * error / 0.01 + d for x, d in ((0.01, -0.01), (0.01, 0.0), (0.01, 0.01))]).shown
    assert not difference([0.5]).shown and not difference([0.0, 0.0, 0.0]).shown


def test_equal_differences_on_few_rows_are_no_effect():
    """One row of 100 in each of three seeds: error sqrt(0.0099 / 300) = 0.0057, four times of which is above 0.01."""
    assert difference([0.01] * 3).shown
    found = difference([0.01] * 3, rows=100)
    assert found.error == pytest.approx(math.sqrt(0.0099 / 300)) and not found.shown


def test_sentences_name_effects_and_nothing_else(records):
    every = spots(points(records))
    none, weak, strong = (sentence(spot, unprotected(every, spot)) for spot in every)
    assert none == (
        "Without protection, party 'fou' could learn labels of new rows: accuracy 0.710 where it has 0.650 without the "
        "run (advantage +0.060, standard error 0.006)."
    )
    assert "the attack of party 'fou' on labels of new rows shows no difference (0.710, then 0.707)" in weak
    assert "still tells more than the 0.650" in weak and weak.endswith(
        "accuracy shows no difference (0.970, then 0.967)."
    )
    assert (
        "falls from 0.710 to 0.650 and is not shown to tell more than the 0.650 that it has without the run" in strong
    )
    assert strong.startswith(f"With {STRONG}, ") and strong.endswith("accuracy falls from 0.970 to 0.930.")


def test_a_leak_needs_two_errors_over_seeds_and_over_rows():
    def leaks(scores: tuple[float, ...], error: float) -> bool:
        return spots(points(three_seeds("", (0.9,) * 3, scores, error=error)))[0].leaks

    assert leaks((0.70, 0.71, 0.72), 0.01)
    assert not leaks((0.70, 0.71, 0.72), 0.06)  # rows: 0.06 / sqrt(3) = 0.035, twice that is above 0.06
    assert not leaks((0.56, 0.71, 0.86), 0.01)  # seeds: 0.15 / sqrt(3) = 0.087
    assert not leaks((0.60, 0.59, 0.61), 0.001)  # worse than alone


def test_gradients_that_rank_the_other_way_round_leak():
    given = {"attack": "gradient norm", "baseline": 0.5, "prior": 0.5, "error": 0.01}
    found = spots(points(three_seeds("", (0.9,) * 3, (0.2, 0.21, 0.22), advantage=-0.29, **given)))
    assert found[0].leaks


def test_headlines(records):
    every = spots(points(records))
    assert headlines(every) == [
        "splitnn: without protection, these could learn something: fou (labels of new rows, by label-inference). "
        f"With {STRONG}, no attack was shown to learn anything (the largest advantage left is +0.000, standard error "
        "0.006); accuracy falls from 0.970 to 0.930."
    ]
    assert "None of the protections tried stops all of it" in headlines(spots(points(records[:6])))[0]
    quiet = three_seeds("", (0.9, 0.91, 0.92), (0.65, 0.64, 0.66))
    assert "no attack was shown to learn more" in headlines(spots(points(quiet)))[0]


def test_one_seed_shows_no_change():
    every = spots(points([attacked("", 0, 0.97, 0.75), attacked(STRONG, 0, 0.80, 0.60)]))
    text = sentence(every[1], every[0])
    assert "shows no difference (0.750, then 0.600)" in text and "accuracy shows no difference" in text
    assert every[0].leaks  # over rows: 0.10 against 0.01


def test_the_page_holds_the_points(records):
    text = render([*records, *three_seeds("", (0.95,) * 3, (0.66,) * 3, method="fedhssl")])
    assert "<h1>mfeat: what protections of splitnn and fedhssl stop and cost</h1>" in text
    assert "Who could learn what" in text and "Utility against leakage" in text
    assert "0.930 ± 0.010" in text and "+0.060 ± 0.006 *" in text
    assert text.count("<table") == text.count("<caption")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_a_browser_draws_the_plots(records, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(render([*records, *three_seeds("", (0.95,) * 3, (0.66,) * 3, method=HOSTILE)]), encoding="utf-8")
    dom = dom_of(page, tmp_path)
    assert "data-error" not in body_of(dom) and "data-hacked" not in body_of(dom)
    assert dom.count('class="chart"') > 2 and dom.count('class="mark-at"') > 8


def test_the_plot_has_a_line_for_each_family_and_levels_without_the_run(records):
    found = spots(points([*records, *three_seeds("", (0.95,) * 3, (0.66,) * 3, method="fedhssl")]))
    (plot,) = tradeoff_plots(found, styles([]))
    series = {one.name: one for one in plot.series}
    dots = series["splitnn, iso:gradient"].dots
    assert [dot.x for dot in dots] == pytest.approx([0.71, 0.70667, 0.65], abs=1e-5)
    assert [dot.y for dot in dots] == pytest.approx([0.97, 0.96667, 0.93], abs=1e-5)
    assert [dot.text for dot in dots] == ["none", "1", "5"] and dots[0].spread_x == pytest.approx(0.01)
    assert [dot.x for dot in series["fedhssl"].dots] == pytest.approx([0.66])
    assert [dot.x for dot in series["splitnn without the run"].dots] == pytest.approx([0.65, 0.65])
    assert "prior 0.100, outside" in plot.x.title and plot.x.low > 0.5


def test_strengths_of_one_family_share_a_line():
    assert family("gaussian:representation:1:0.5@train/x") == ("gaussian:representation@train/x", "1:0.5")
    made = [attacked(p, 0, 0.9, 0.7) for p in ("", WEAK, "iso:target:1+iso:average:1", STRONG)]
    (plot,) = tradeoff_plots(spots(points(made)), styles([]))
    lines = [one for one in plot.series if one.marked]
    assert {line.name: [dot.text for dot in line.dots] for line in lines} == {
        "splitnn, iso:gradient": ["none", "1", "5"],
        "splitnn, iso:target+iso:average": ["none", "1"],
    }


def test_pages_without_attacks_or_protections_are_as_before():
    text = render([make_record("a"), make_record("b")])
    assert not re.search("Who could learn|Protections|Privacy budget", text) and "<h1>mfeat: what do the other" in text


def test_protections_of_a_run():
    entry = {"name": "iso", "kind": "gradient", "strength": 1.0, "phases": None, "label": "noise, no guarantee"}
    clipped = {"name": "gaussian", "kind": "representation", "clip": 2.0, "strength": 0.5, "phases": ["train", "tune"]}
    runs = [make_record(seed=seed) | {"protections": [entry, clipped]} for seed in (0, 1)]
    text = render(runs)
    assert text.count("<td>noise, no guarantee</td>") == 1 and "<td>train, tune<" in text  # once for both seeds
    assert "none stated" in text and "Caution" not in text


def test_the_page_says_once_that_noise_follows_from_the_seed():
    entry = {"name": "iso", "kind": "gradient", "label": "noise, no guarantee", "caution": "the seed tells the noise"}
    text = render([make_record(seed=seed) | {"protections": [entry]} for seed in (0, 1)])
    assert text.count("Caution: the seed tells the noise.") == 1


PRIVACY = {
    "epsilon": 4.0,
    "delta": 1e-5,
    "division": "moments",
    "spent": 3.87,
    "covered": True,
    "rows": [
        {"party": "fou", "phase": "pretrain", "mechanism": "SampledGaussian", "noise_multiplier": 1.23, "rate": 0.05,
         "steps": 400},
        {"party": "kar", "phase": "train", "mechanism": "none", "not_covered": "assignment couples rows"},
    ],
    "summary": "Differential privacy per person: ε = 3.87.\n- fou, pretrain: 400 steps.",
}  # fmt: skip


def test_the_ledger_is_shown():
    text = render([make_record() | {"privacy": PRIVACY}])
    for part in ("Privacy budget", "3.87", "moments", "SampledGaussian", "1.23", "assignment couples rows", "400"):
        assert part in text, part
    assert "<p>Differential privacy per person: ε = 3.87.</p>" in text


@pytest.mark.parametrize("privacy", [{}, {"spent": None, "covered": False}, {"rows": None, "summary": None}, None])
def test_missing_parts_of_a_ledger_are_left_out(privacy):
    text = render([make_record() | {"privacy": privacy, "protections": [{}] if privacy else None}])
    assert ("Privacy budget" in text) == (privacy is not None)
    assert privacy is None or "no bound" in text


def test_hostile_texts_are_escaped():
    record = attacked(HOSTILE, 0, 0.9, 0.7, method=HOSTILE, adversary=HOSTILE, target=HOSTILE, metric=HOSTILE)
    record |= {"protections": [{"name": HOSTILE, "label": HOSTILE}]}
    record["privacy"] = json.loads(json.dumps(PRIVACY)) | {"summary": HOSTILE, "division": HOSTILE}
    seen = Tags(render([record])).seen
    calm = Tags(render([attacked("", 0, 0.9, 0.7)])).seen
    assert sum(tag == "script" for tag, _ in seen) == sum(tag == "script" for tag, _ in calm)
    assert not any(name.startswith("on") for _, given in seen for name in given) and not any(
        t == "img" for t, _ in seen
    )
