"""The summary by hand."""

from __future__ import annotations

import doctest
import math

import pytest

from colonnade.report import text
from colonnade.report.summary import Row, best_first, higher_is_better, marks, settings, summarise
from colonnade.report.verdict import verdict

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


def test_verdict_names_the_cheaper_tie():
    runs = [record("dear", score, 4_000_000) for score in (0.88, 0.92)]
    runs += [record("cheap", score, 1_000_000) for score in (0.87, 0.91)]
    assert verdict(runs, summarise(runs)) == (
        "On mfeat with 5% of the labels, 40% of the rows aligned, dear scores best: accuracy 0.900 ± 0.028 "
        "(mean of 2 seeds), sending 4.00 MB; cheap comes within one standard deviation of it, sending 1.00 MB."
    )


def test_verdict_names_the_best_that_communicates():
    runs = [record("alone", 0.9, 0), record("talks", 0.8, 5000)]
    sentence = verdict(runs, summarise(runs))
    assert "alone scores best: accuracy 0.900 (1 seed), sending nothing" in sentence
    assert sentence.endswith("of the methods that communicate, talks is best (0.800, sending 5.00 kB).")


def test_verdict_without_a_finite_score():
    runs = [record("a", math.nan), record("b", math.inf)]
    assert verdict(runs, summarise(runs)).endswith("no method reached a finite score.")


def test_examples_in_text():
    assert doctest.testmod(text).failed == 0


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
