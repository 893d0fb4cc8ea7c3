"""Each metric against scikit-learn, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as reference

from colonnade.data.metrics import METRICS, check_metric, default_metric, score, scores
from colonnade.errors import ConfigError

NONE = np.zeros(0)


def predictions(classes: int, rows: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, probabilities that know something about them, and class names out of alphabetical order's way."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, classes, rows)
    raw = rng.normal(size=(rows, classes)) + 1.5 * np.eye(classes)[at]
    p = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    names = np.array([f"class {i:02d}" for i in range(classes)])
    return names[at], p, names


@pytest.mark.parametrize("classes", [2, 3, 9])
def test_classification_agrees_with_scikit_learn(classes: int) -> None:
    truth, p, names = predictions(classes)
    named = names[p.argmax(axis=1)]
    found = scores(truth, p, names, "binary" if classes == 2 else "multiclass")
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(truth, named))
    if classes == 2:
        assert set(found) == {"accuracy", "f1", "auc"}
        assert found["f1"] == pytest.approx(reference.f1_score(truth, named, pos_label=names[1]))
        assert found["auc"] == pytest.approx(reference.roc_auc_score(truth, p[:, 1]))
        return
    assert found["f1"] == pytest.approx(reference.f1_score(truth, named, average="macro"))
    assert found["auc"] == pytest.approx(reference.roc_auc_score(truth, p, multi_class="ovr"))
    assert found.get("top5") == (pytest.approx(reference.top_k_accuracy_score(truth, p, k=5)) if classes > 5 else None)


def test_regression_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=100)
    predicted = truth + 0.5 * rng.normal(size=100)
    found = scores(truth, predicted, NONE, "regression")
    assert set(found) == {"rmse", "r2"}
    assert found["rmse"] == pytest.approx(reference.root_mean_squared_error(truth, predicted))
    assert found["r2"] == pytest.approx(reference.r2_score(truth, predicted))


def test_by_hand() -> None:
    """Rows: right, right, wrong, right. The positive class 1 is found once out of two, and never wrongly claimed."""
    truth = np.array([0, 0, 1, 1])
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    classes = np.array([0, 1])
    assert score("accuracy", truth, p, classes) == 0.75
    assert score("f1", truth, p, classes) == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert score("auc", truth, p, classes) == 0.75  # of four pairs, 0.3 against 0.4 is the wrong way round
    assert score("rmse", np.array([1.0, 2.0]), np.array([1.0, 4.0]), NONE) == pytest.approx(2**0.5)
    assert score("r2", np.array([1.0, 3.0]), np.array([2.0, 2.0]), NONE) == 0.0
    assert score("top5", np.array([5, 0]), np.tile(np.linspace(1, 0, 6) / 3, (2, 1)), np.arange(6)) == 0.5


def test_what_is_not_defined_is_nan() -> None:
    p = np.array([[0.9, 0.1], [0.6, 0.4]])
    assert math.isnan(score("auc", np.array([1, 1]), p, np.array([0, 1])))
    assert math.isnan(score("r2", np.array([2.0, 2.0]), np.array([1.0, 2.0]), NONE))


def test_a_class_that_the_rows_lack_does_not_spoil_auc() -> None:
    truth, p, names = predictions(3)
    two = truth != names[2]
    one = reference.roc_auc_score(truth[two] == names[0], p[two, 0])
    other = reference.roc_auc_score(truth[two] == names[1], p[two, 1])
    assert score("auc", truth[two], p[two], names) == pytest.approx((one + other) / 2)


def test_metrics_fit_their_tasks() -> None:
    assert default_metric("regression") == "r2" and default_metric("binary") == "accuracy"
    for name, tasks in METRICS.items():
        assert all(check_metric(name, task) == name for task in tasks)
    with pytest.raises(ConfigError, match=r"metric must be one of rmse, r2 for a regression task\. Got 'auc'\."):
        check_metric("auc", "regression")
    with pytest.raises(ConfigError, match=r"metric must be one of accuracy, f1, auc for a binary task\. Got 'acc'\."):
        check_metric("acc", "binary")


def test_a_class_that_training_lacked_counts_as_errors() -> None:
    truth, classes = np.array([0, 0, 2, 2, 1, 1]), np.array([0, 2])
    p = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    found = scores(truth, p, classes, "multiclass")
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["f1"] == pytest.approx((0.8 + 0.8 + 0) / 3)
    assert found["auc"] == pytest.approx((0.875 + 0.875 + 0.5) / 3)
