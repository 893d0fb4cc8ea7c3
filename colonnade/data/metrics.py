"""Scores of predictions. N rows, C classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.labels import Task
from colonnade.errors import ConfigError

METRICS: dict[str, tuple[Task, ...]] = {
    "accuracy": ("binary", "multiclass"),
    "top5": ("multiclass",),
    "f1": ("binary", "multiclass"),
    "auc": ("binary", "multiclass"),
    "rmse": ("regression",),
    "r2": ("regression",),
}
LOWER_IS_BETTER = frozenset({"rmse"})


def default_metric(task: Task) -> str:
    """What `score` returns when no metric is named."""
    return "r2" if task == "regression" else "accuracy"


def check_metric(metric: str, task: Task) -> str:
    """Refuse a metric that does not fit the task."""
    fitting = [name for name, tasks in METRICS.items() if task in tasks]
    if metric not in fitting:
        raise ConfigError(f"metric must be one of {', '.join(fitting)} for a {task} task. Got {metric!r}.")
    return metric


def score(metric: str, truth: npt.NDArray[Any], predicted: npt.NDArray[Any], classes: npt.NDArray[Any]) -> float:
    """One metric.

    Args:
        metric: a name in `METRICS`.
        truth: (N,) labels.
        predicted: (N,) targets, or (N, C) class probabilities in the order of `classes`.
        classes: (C,) class names; empty for regression.
    """
    if metric == "rmse":
        return float(np.sqrt(np.mean((truth - predicted) ** 2)))
    if metric == "r2":
        spread = float(np.sum((truth - truth.mean()) ** 2))
        return 1 - float(np.sum((truth - predicted) ** 2)) / spread if spread > 0 else float("nan")
    if metric == "accuracy":
        return float(np.mean(classes[predicted.argmax(axis=1)] == truth))
    if metric == "top5":
        best = np.argsort(-predicted, axis=1, kind="stable")[:, :5]
        return float(np.mean((classes[best] == truth[:, None]).any(axis=1)))
    return _by_scikit_learn(metric, truth, predicted, classes)


def guess_score(metric: str, known: npt.NDArray[Any], truth: npt.NDArray[Any], task: Task) -> float:
    """One metric of a constant guess: the mean of the `known` targets, or the shares of their classes.

    Args:
        metric: a name in `METRICS` that fits the task.
        known: (M,) training labels.
        truth: (N,) labels of the rows to guess.
        task: of the labels.
    """
    if task == "regression":
        return score(metric, truth, np.full(len(truth), known.mean()), np.zeros(0))
    classes, counts = np.unique(known, return_counts=True)
    return score(metric, truth, np.tile(counts / len(known), (len(truth), 1)), classes)


def _by_scikit_learn(
    metric: str, truth: npt.NDArray[Any], predicted: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> float:
    from sklearn.metrics import f1_score, roc_auc_score

    predicted, classes = _with_unseen(truth, predicted, classes)
    if metric == "f1":
        named = classes[predicted.argmax(axis=1)]
        if len(classes) == 2:
            return float(f1_score(truth, named, pos_label=classes[1], zero_division=0))
        return float(f1_score(truth, named, labels=classes, average="macro", zero_division=0))
    if len(np.unique(truth)) < 2:
        return float("nan")
    if len(classes) == 2:
        return float(roc_auc_score(truth == classes[1], predicted[:, 1]))
    per_class = [
        roc_auc_score(truth == c, predicted[:, i]) for i, c in enumerate(classes) if 0 < np.mean(truth == c) < 1
    ]
    return float(np.mean(per_class))


def _with_unseen(
    truth: npt.NDArray[Any], predicted: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Probabilities and classes with those that training had no label of: never predicted, so that they are errors."""
    unseen = np.setdiff1d(truth, classes)
    if not len(unseen):
        return predicted, classes
    every = np.concatenate([classes, unseen])
    order = np.argsort(every, kind="stable")
    return np.pad(predicted, ((0, 0), (0, len(unseen))))[:, order], every[order]


def scores(
    truth: npt.NDArray[Any], predicted: npt.NDArray[Any], classes: npt.NDArray[Any], task: Task
) -> dict[str, float]:
    """Every metric that fits the task, and says something: of five classes or fewer, the top five are all."""
    fitting = [name for name, tasks in METRICS.items() if task in tasks and (name != "top5" or len(classes) > 5)]
    return {name: score(name, truth, predicted, classes) for name in fitting}
