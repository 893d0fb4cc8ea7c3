"""Settings in numbers, and one scale for all metrics."""

from __future__ import annotations

import math

import numpy as np
import pytest

import colonnade as cn
from colonnade.lab.advisor.setting import FEATURES, guess_error, setting_of
from colonnade.lab.advisor.traits import TRAITS
from tests.conftest import make_data


def test_a_setting_counts_what_there_is() -> None:
    data = make_data(parties=3, rows=120, unaligned=15, labelled=0.7)
    found = setting_of(data, "accuracy")
    assert (found.parties, found.passive, found.aligned, found.rows) == (3, 2, 120, 135)
    assert found.labelled == found.labelled_aligned == len(data.labels)
    assert (found.columns, found.own_columns) == (3 + 5 + 3, 3)  # the second party has a category besides
    assert len(found.features()) == len(FEATURES) and np.isfinite(found.features()).all()


def test_a_party_with_labels_only_has_no_columns() -> None:
    data = make_data(parties=2)
    labels = data.labels
    found = setting_of(cn.VerticalData.of(data.views, labels, "server", data.task), "accuracy")
    assert (found.parties, found.passive, found.own_columns, found.rows) == (2, 2, 0, 120)


@pytest.mark.parametrize(
    ("task", "metric", "scores"),
    [("multiclass", "accuracy", (0.4, 0.9)), ("binary", "auc", (0.6, 0.99)), ("regression", "rmse", (1.0, 0.2)),
     ("regression", "r2", (0.1, 0.95))],
)  # fmt: skip
def test_the_scale_of_errors_orders_and_returns(task: str, metric: str, scores: tuple[float, float]) -> None:
    found = setting_of(make_data(task=task), metric)
    worse, better = (found.root_error(score) for score in scores)
    assert better < worse
    for score in scores:
        assert found.score(found.root_error(score)) == pytest.approx(score)
    assert found.gain(scores[1], scores[0]) == pytest.approx(abs(scores[1] - scores[0]))


def test_a_guess_has_error_one() -> None:
    labels = np.array([0, 0, 0, 1])
    assert guess_error(labels, "accuracy") == pytest.approx(0.25)
    data = make_data(task="regression")
    found = setting_of(data, "rmse")
    assert found.root_error(math.sqrt(np.var(data.labels.values))) == pytest.approx(1.0)
    assert setting_of(data, "r2").root_error(0.0) == pytest.approx(1.0)


def test_every_federated_method_has_traits() -> None:
    assert set(TRAITS) == {name for name, method in cn.METHODS.items() if method.kind != "pooled"}
