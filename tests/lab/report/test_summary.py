"""The summary by hand."""

from __future__ import annotations

import doctest
import math
import re
from dataclasses import replace

import pytest

from colonnade.lab.report import chart, text
from colonnade.lab.report.answer import run_tiles
from colonnade.lab.report.kinds import kind_of, too_little
from colonnade.lab.report.page import render
from colonnade.lab.report.summary import Row, best_first, higher_is_better, marks, settings, summarise
from colonnade.lab.report.verdict import verdict

from .conftest import make_record


def record(method: str, score: float, sent: int = 10, metric: str = "accuracy", **config: float | None) -> dict:
    made = make_record(method) | {"score": score, "metric": metric, "seconds": 2.0}
    made["traffic"] = made["traffic"] | {"bytes": sent}
    made["config"] = {"labels": 0.05, "aligned": 0.4} | config
    return made


def row(method: str, mean: float, std: float | None = 0.01, sent: int = 100) -> Row:
    return Row(method, 0.05, 0.4, 3, mean, std, sent, 1.0)


def test_mean_and_sample_deviation_by_hand():
    """Scores 0.7, 0.8, 0.9: mean 0.8, squares 0.01 + 0 + 0.01 over n - 1 = 2, root 0.1; bytes (10 + 20 + 60) / 3."""
    found = summarise([record("a", 0.7, 10), record("a", 0.8, 20), record("a", 0.9, 60)])
    assert len(found) == 1
    assert found[0].n == 3 and found[0].bytes == 30 and found[0].seconds == 2.0
    assert found[0].mean == pytest.approx(0.8) and found[0].std == pytest.approx(0.1)


def test_one_run_has_no_deviation():
    assert summarise([record("a", 0.7)])[0].std is None


def test_order_is_settings_then_best():
    given = [record("a", 0.7, labels=None), record("b", 0.6), record("a", 0.5), record("c", math.nan)]
    found = [(row.labels, row.method) for row in summarise([*given, record("a", 0.1, labels=20)])]
    assert found == [(20, "a"), (0.05, "b"), (0.05, "a"), (0.05, "c"), (None, "a")]


def test_rmse_is_better_when_lower():
    assert not higher_is_better("rmse")
    assert all(higher_is_better(metric) for metric in ("accuracy", "auc", "f1", "r2", "top5"))
    found = summarise([record("a", 3.0, metric="rmse"), record("b", 2.0, metric="rmse")])
    assert [row.method for row in found] == ["b", "a"]
    assert best_first("rmse")(found[0]) < best_first("rmse")(found[1])


def test_all_labels_is_one_setting_however_it_is_written():
    found = summarise([record("a", 0.7, labels=None), record("a", 0.8, labels=1.0)])
    assert [row.n for row in found] == [2] and settings(found) == [(None, 0.4)]


def test_marks_best_and_those_within_its_deviation():
    first, near, far = row("a", 0.90, 0.02), row("b", 0.885), row("c", 0.87)
    assert marks([first, near, far], "accuracy") == {first: "best", near: "close"}
    assert marks([first], "accuracy") == {}
    pooled = replace(row("p", 0.89), kind="pooled")
    assert marks([first, far, pooled], "accuracy") == {first: "best"}  # a reference is never a tie


def three_kinds(seeds: int = 3, **config: int) -> list[dict]:
    """Alone 0.41, two federated methods, pooled 0.76, as on the front page."""
    scores = {"local": (0.41, 0), "cheap": (0.75, 49_000), "dear": (0.79, 103_000_000), "combined": (0.76, 0)}
    return [
        record(method, score + 0.01 * (seed - 1), sent, active="nw", **config) | {"seed": seed}
        for method, (score, sent) in scores.items()
        for seed in range(seeds)
    ]


def test_the_headline_answers_alone_federated_pooled_and_at_what_cost():
    runs = three_kinds()
    assert verdict(runs, summarise(runs)) == (
        "With 5% of the labels, 40% of the rows aligned, accuracy is 0.410 for nw alone, 0.750 to 0.790 federated and "
        "0.760 with all columns pooled in one place (not federated). The cheapest, cheap, sends 49.0 kB (0.750); the "
        "best, dear, sends 103 MB (0.790). Means over 3 seeds."
    )


def test_references_stand_after_federated_methods():
    assert [(row.method, row.kind) for row in summarise(three_kinds())] == [
        ("dear", "federated"), ("cheap", "federated"), ("local", "alone"), ("combined", "pooled"),
    ]  # fmt: skip


def test_a_record_says_its_kind_and_an_older_one_is_looked_up():
    assert kind_of({"method": "combined:epochs=3"}) == "pooled" and kind_of({"method": "mine"}) == "federated"
    assert kind_of({"method": "mine", "kind": "alone"}) == "alone"


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        (three_kinds(1), "one seed"),
        (three_kinds(epochs=2), "2 epochs"),
        (three_kinds(1, epochs=1), "one seed and 1 epoch"),
    ],
)
def test_few_seeds_or_epochs_give_no_verdict(runs, reason):
    sentence = verdict(runs, summarise(runs))
    assert too_little(runs) == reason and "the best" not in sentence
    assert sentence.replace(" Means over 3 seeds.", "").endswith(
        f"{reason[0].upper()}{reason[1:]}: too little to judge by. No method is called better than another."
    )
    text = render(runs)
    assert "≈" not in text and 'class="number best"' not in text
    assert too_little(three_kinds()) == "" and 'class="number best"' in render(three_kinds())


def test_a_run_is_shown_between_its_references():
    run = record("dear", 0.79) | {"references": {"alone": 0.41, "guess": 0.1, "pooled": 0.76}}
    assert verdict([run], summarise([run])).endswith(
        "For comparison: the active party alone 0.410, a constant guess 0.100 and all columns pooled (not federated) "
        "0.760."
    )
    tiles = run_tiles(run, summarise([run])[0])
    assert [float(figure) for figure in re.findall(r"<dd>([\d.]+)</dd>", tiles)] == [0.1, 0.41, 0.79, 0.76]
    bare = record("dear", 0.79)
    assert "For comparison" not in verdict([bare], summarise([bare]))


def test_verdict_without_a_finite_score():
    runs = [record("a", math.nan), record("b", math.inf)]
    assert verdict(runs, summarise(runs)).endswith("no method reached a finite score.")


def test_examples_in_text():
    assert doctest.testmod(text).failed == doctest.testmod(chart).failed == 0


@pytest.mark.parametrize(
    ("labels", "aligned", "words"),
    [
        (None, 1.0, "all labels, all rows aligned"),
        (100, 0.4, "100 labels, 40% of the rows aligned"),
        (0.005, None, "0.5% of the labels"),
        (1, None, "1 label"),
    ],
)
def test_setting_in_words(labels, aligned, words):
    assert text.setting_text(labels, aligned) == words
