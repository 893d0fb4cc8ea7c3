"""Data sets that scikit-learn brings along; no file is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from colonnade.data.datasets.columns import blocks, numeric, pick
from colonnade.data.datasets.dataset import Dataset
from colonnade.data.vertical import VerticalData
from colonnade.data.view import View

DIABETES_SCALE = 346.0  # the largest target, so that targets lie in [0, 1]

_SIDE = 8  # pixels


def _pixels() -> tuple[View, Any]:
    """All 64 pixels of the digits, named r0c0 … r7c7, and the classes; pixels that never change are dropped."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return numeric(bunch.data, [f"r{r}c{c}" for r in range(_SIDE) for c in range(_SIDE)]), bunch.target


def _square(rows: range, columns: range) -> list[str]:
    return [f"r{r}c{c}" for r in rows for c in columns]


def read_digits(parties: int) -> VerticalData:
    """1,797 digits of 8 x 8 pixels; parties nw, ne, sw, se see a quarter of 16 pixels each. From scikit-learn."""
    view, y = _pixels()
    low, high = range(_SIDE // 2), range(_SIDE // 2, _SIDE)
    corners = {"nw": (low, low), "ne": (low, high), "sw": (high, low), "se": (high, high)}
    return VerticalData({name: pick(view, _square(*corner)) for name, corner in corners.items()}, y)


def read_digits_halves(parties: int) -> VerticalData:
    """1,797 digits of 8 x 8 pixels; parties left and right see half of them each. From scikit-learn."""
    view, y = _pixels()
    every, middle = range(_SIDE), _SIDE // 2
    left, right = _square(every, range(middle)), _square(every, range(middle, _SIDE))
    return VerticalData({"left": pick(view, left), "right": pick(view, right)}, y)


def read_breast_cancer(parties: int) -> VerticalData:
    """569 tumours; parties mean (10 columns) and variation (20), or mean, error and worst. From scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    names = [str(name) for name in bunch.feature_names]
    view = numeric(bunch.data, names)
    mean = [n for n in names if n.startswith("mean ")]
    error = [n for n in names if n.endswith(" error")]
    worst = [n for n in names if n.startswith("worst ")]
    groups = {"mean": mean, "error": error, "worst": worst}
    if parties == 2:
        groups = {"mean": mean, "variation": error + worst}
    return VerticalData({name: pick(view, group) for name, group in groups.items()}, bunch.target)


def read_diabetes(parties: int) -> VerticalData:
    """442 patients; parties body (age, sex, bmi, bp) and serum (s1-s6), or blocks. From scikit-learn.

    The target, disease progression after a year, is divided by 346, its largest value.
    """
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes()
    view = numeric(bunch.data, list(bunch.feature_names))
    natural = {"body": pick(view, ("age", "sex", "bmi", "bp")), "serum": pick(view, [f"s{i}" for i in range(1, 7)])}
    target = np.asarray(bunch.target, dtype=np.float64) / DIABETES_SCALE
    return VerticalData(natural if parties == 2 else blocks(view, parties), target, task="regression")


def read_wine(parties: int) -> VerticalData:
    """178 wines; the 13 measurements in contiguous blocks, by default 7 and 6. From scikit-learn."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return VerticalData(blocks(numeric(bunch.data, list(bunch.feature_names)), parties, "lab"), bunch.target)


DIGITS = Dataset(
    name="digits",
    title="handwritten digits of 8 x 8 pixels, a quarter of the image per party",
    parties="nw, ne, sw, se: 16 pixels each, less those that never change",
    task="multiclass",
    metric="accuracy",
    source="scikit-learn load_digits: test part of the UCI set Optical Recognition of Handwritten Digits",
    terms="not stated by scikit-learn; those of the UCI repository",
    read=read_digits,
    default_parties=4,
    party_numbers=(4,),
)

DIGITS_HALVES = Dataset(
    name="digits-halves",
    title="handwritten digits of 8 x 8 pixels, half of the image per party",
    parties="left, right: 32 pixels each, less those that never change",
    task="multiclass",
    metric="accuracy",
    source=DIGITS.source,
    terms=DIGITS.terms,
    read=read_digits_halves,
    party_numbers=(2,),
)

BREAST_CANCER = Dataset(
    name="breast_cancer",
    title="tumours, benign or malignant, from measurements of cell nuclei",
    parties="mean: 10 averages; variation: 10 standard errors and 10 worst values (two parties of their own with 3)",
    task="binary",
    metric="accuracy",
    source="scikit-learn load_breast_cancer: the UCI set Breast Cancer Wisconsin (Diagnostic)",
    terms="not stated by scikit-learn; those of the UCI repository",
    read=read_breast_cancer,
    party_numbers=(2, 3),
)

DIABETES = Dataset(
    name="diabetes",
    title="progression of diabetes after one year, divided by 346",
    parties="body: age, sex, body mass index, blood pressure; serum: six blood measurements; other numbers: blocks",
    task="regression",
    metric="rmse",
    source="scikit-learn load_diabetes: Efron, Hastie, Johnstone, Tibshirani 2004, Least Angle Regression",
    terms="not stated by scikit-learn; cite the paper",
    read=read_diabetes,
)

WINE = Dataset(
    name="wine",
    title="three cultivars of wine from chemical analysis",
    parties="lab1, lab2, …: contiguous blocks of the 13 measurements",
    task="multiclass",
    metric="accuracy",
    source="scikit-learn load_wine: the UCI set Wine",
    terms="not stated by scikit-learn; those of the UCI repository",
    read=read_wine,
)
