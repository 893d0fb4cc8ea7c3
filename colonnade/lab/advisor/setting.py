"""The setting of a federation, in the numbers by which the advisor finds settings like it, and its scale of errors.

Errors of all metrics are put on one scale: the error as a share of the error of a guess that looks at no column. A
method that is as good as the guess has 1, a perfect one 0. The model adds up square roots of it: those of shares of
wrong rows vary by as much whether the share is small or large.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from colonnade.data.ids import locate
from colonnade.data.metrics import LOWER_IS_BETTER
from colonnade.data.vertical import VerticalData

LARGEST = 2.0  # a share of the guess's error; worse is as bad
FEATURES = (
    "labels per class",
    "labelled share",
    "overlap",
    "aligned share of labels",
    "parties",
    "columns",
    "own share of columns",
    "classes",
    "regression",
    "images",
)


@dataclass(frozen=True)
class Setting:
    """Training rows in numbers."""

    task: str
    metric: str
    classes: int  # 0: regression
    labelled: int  # training rows with a label
    labelled_aligned: int  # those that all parties hold
    aligned: int  # training rows that all parties hold
    rows: int  # of the active party; where it has no columns, the aligned ones
    parties: int  # that hold columns
    columns: int
    own_columns: int  # of the active party
    images: bool  # whether a party holds images
    guess: float  # error of a guess that looks at no column, in the unit of the metric

    @property
    def passive(self) -> int:
        """Parties that send something."""
        return self.parties - bool(self.own_columns)

    def features(self) -> npt.NDArray[np.float64]:
        """What makes two settings alike, in the order of `FEATURES`."""
        return np.array(
            [
                math.log10(max(self.labelled_aligned, 1) / max(self.classes, 1)),
                self.labelled / max(self.rows, 1),
                self.aligned / max(self.rows, 1),
                self.labelled_aligned / max(self.labelled, 1),
                math.log2(self.parties),
                math.log10(self.columns),
                self.own_columns / self.columns,
                math.log2(max(self.classes, 1)),
                float(self.task == "regression"),
                float(self.images),
            ]
        )

    def root_error(self, score: float) -> float:
        """The score on the scale of errors, as its square root."""
        if self.metric == "r2":
            error = math.sqrt(max(1 - score, 0.0))
        else:
            error = (score if self.metric in LOWER_IS_BETTER else 1 - score) / self.guess
        return math.sqrt(min(max(error, 0.0), LARGEST))

    def score(self, root_error: float) -> float:
        """The inverse of `root_error`."""
        error = max(root_error, 0.0) ** 2
        if self.metric == "r2":
            return 1 - error**2
        return error * self.guess if self.metric in LOWER_IS_BETTER else 1 - error * self.guess

    def gain(self, better: float, worse: float) -> float:
        """By how much the first score is better than the second."""
        return worse - better if self.metric in LOWER_IS_BETTER else better - worse

    def to_json(self) -> dict[str, Any]:
        """For the record."""
        return {**asdict(self), "guess": round(self.guess, 6)}


def setting_of(train: VerticalData, metric: str) -> Setting:
    """The setting of training rows that are scored by a metric."""
    own = train.views.get(train.active)
    aligned = train.aligned
    known = locate(aligned, train.labels.ids) >= 0
    return Setting(
        task=train.task,
        metric=metric,
        classes=len(train.classes),
        labelled=len(train.labels),
        labelled_aligned=int(known.sum()),
        aligned=len(aligned),
        rows=len(aligned) if own is None else len(own),
        parties=len(train.views),
        columns=sum(view.width for view in train.views.values()),
        own_columns=0 if own is None else own.width,
        images=any(view.is_image for view in train.views.values()),
        guess=guess_error(train.labels.values, metric),
    )


def guess_error(labels: npt.NDArray[Any], metric: str) -> float:
    """Error of the best guess that looks at no column: the commonest class, the mean, or chance."""
    if metric == "accuracy":
        counts = np.unique(labels, return_counts=True)[1]
        return max(1 - float(counts.max()) / len(labels), 1e-3)
    if metric == "rmse":
        return float(np.std(labels)) or 1.0
    return 0.5 if metric == "auc" else 1.0
