"""What the active party can do with columns, judged on labelled rows that it did not learn from: cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import Ids, locate
from colonnade.data.labels import Labels
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View
from colonnade.methods.local import Local

FOLDS = 5  # one is predicted, one ends training early, the others are learnt from


def fold_of(labels: npt.NDArray[Any], seed: int) -> npt.NDArray[np.int64]:
    """A fold for each label, with each class's share; targets are dealt out in their order."""
    shuffled = np.random.default_rng([seed, 0xF01D]).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    found = np.empty(len(labels), dtype=np.int64)
    found[order] = np.arange(len(labels)) % FOLDS
    return found


def held_out(
    view: View | None, labels: Labels, rows: Ids, classes: npt.NDArray[Any], task: Any, metric: str, seed: int
) -> npt.NDArray[Any]:
    """Predictions of each row by a network that has not seen it: (N,) targets or (N, C) probabilities.

    Args:
        view: the columns of all labelled rows; None: there are none, and the guess is all that is left.
        labels: of all labelled rows; those that are not among `rows` are learnt from in every fold.
        rows: (N,) that are predicted.
        classes: (C,), empty for regression.
        task: of the labels.
        metric: that training reports.
        seed: of the folds and of the networks.
    """
    y, _ = labels.of(rows)
    fold = fold_of(y, seed)
    out = np.zeros((len(rows), len(classes)) if len(classes) else len(rows))
    for k in range(FOLDS):
        held, ends = rows[fold == k], rows[fold == (k + 1) % FOLDS]
        known = labels.take(np.flatnonzero(locate(np.sort(np.concatenate([held, ends])), labels.ids) < 0))
        if view is None:
            out[fold == k] = _guess(known.values, classes)
        else:
            out[fold == k] = _learn(view, labels, known, ends, held, classes, task, metric, seed)
    return out


def _learn(
    view: View, labels: Labels, known: Labels, ends: Ids, held: Ids, classes: npt.NDArray[Any], task: Any,
    metric: str, seed: int,
) -> npt.NDArray[Any]:  # fmt: skip
    """Predictions of the held rows by a network that learnt from the known ones."""
    data = VerticalData.of({"own": view}, labels, "own", task)
    model = Local(seed=seed).fit(data.only(np.sort(known.ids)), data.only(np.sort(ends)), metric=metric)
    _, found = model.trained().outputs({"own": view.take(locate(view.ids, held))}, "error")
    if not len(classes):
        return found
    out = np.zeros((len(held), len(classes)))  # a class that is in no known row gets no chance
    out[:, np.searchsorted(classes, model.classes_)] = found
    return out


def _guess(values: npt.NDArray[Any], classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What can be said of a row without a column: the mean, or the shares of the classes."""
    if not len(classes):
        return np.asarray(np.mean(values))
    return np.array([np.mean(values == c) for c in classes])
