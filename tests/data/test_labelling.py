"""How labels are drawn: which rows keep theirs, and what happens to a class that keeps none."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import colonnade as cn
from colonnade.data.splits import transductive
from tests.data.test_splits import federation

TINY = {"epochs": 2, "pretrain_epochs": 1, "hidden": (4,), "width": 3, "trees": 2}


def digest(parts: cn.Split) -> str:
    content = hashlib.sha256()
    for part in (parts.train, parts.valid, parts.test):
        for view in part.views.values() if part is not None else ():
            content.update(np.asarray(view.ids).astype("U").tobytes() + view.x.tobytes())
        if part is not None:
            content.update(np.asarray(part.labels.ids).astype("U").tobytes() + part.labels.values.tobytes())
    return content.hexdigest()[:16]


@pytest.mark.parametrize(
    ("active", "options", "before"),
    [
        (None, {"labels": 9}, "89f5553727ec260f"),
        (None, {"labels": 0.3, "aligned": 0.4, "seed": 2}, "b6169fed6a7b5d45"),
        ("server", {"labels": 0.3, "aligned": 0.4, "seed": 2}, "51d64c729874cf0e"),
        (None, {"labels": 30, "aligned": 0.3, "seed": 1}, "165c36c4a43f1300"),
        ("server", {"labels": 5, "aligned": 0.5}, "60b10c43bd0002ea"),
    ],
)
def test_the_default_draw_stays_what_it_was(active: str | None, options: dict[str, Any], before: str) -> None:
    assert digest(cn.split(federation(active=active), **options)) == before


def test_the_transductive_draw_stays_what_it_was() -> None:
    assert digest(transductive(federation(extra=0), labels=0.1, seed=3)) == "23cb6c6a3a01f05e"


def counts(data: cn.VerticalData) -> list[int]:
    return [int((data.labels.values == c).sum()) for c in range(3)]


@pytest.mark.filterwarnings("ignore:class")
def test_a_random_draw_takes_no_notice_of_classes() -> None:
    data = federation(rows=90, extra=0)
    drawn = [transductive(data, labels=9, seed=seed, labels_drawn="random") for seed in range(8)]
    assert all(sum(counts(parts.train)) == 9 for parts in drawn)
    assert len({tuple(counts(parts.train)) for parts in drawn}) > 3
    assert {tuple(counts(transductive(data, labels=9, seed=s).train)) for s in range(8)} == {(3, 3, 3)}
    again = transductive(data, labels=9, seed=5, labels_drawn="random")
    assert np.array_equal(again.train.labels.ids, drawn[5].train.labels.ids)
    assert (again.labels_drawn, again.labelled_rows) == ("random", "any")


def test_a_class_without_a_label_is_named_once() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        parts = cn.split(federation(), labels=2, labels_drawn="random")
    missing = [c for c, n in enumerate(counts(parts.train)) if n == 0]
    assert missing and len(said) == 1
    assert all(str(c) in str(said[0].message) for c in missing) and "labels_drawn='stratified'" in str(said[0].message)
    assert len(parts.valid.labels) == 2  # validation rows are as few


def test_labels_on_aligned_rows_alone() -> None:
    data = federation(rows=100, extra=0)
    with_others, alone = (cn.split(data, aligned=0.5, labelled_rows=rows) for rows in ("any", "aligned"))
    assert len(with_others.train.labels) > len(alone.train.labels) == len(alone.train.aligned)
    assert set(alone.train.labels.ids.tolist()) == set(alone.train.aligned.tolist())
    few = cn.split(data, aligned=0.5, labels=0.9, labelled_rows="aligned").train  # a fraction of all rows
    assert len(few.labels) == len(few.aligned)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels_drawn": "fair"}, "labels_drawn must be one of stratified, random. Got 'fair'."),
        ({"labelled_rows": "all"}, "labelled_rows must be one of any, aligned. Got 'all'."),
        (
            {"labels": 40, "aligned": 0.5, "labelled_rows": "aligned"},
            "more than the 29 labelled training rows that all",
        ),
        ({"labels": 500, "labels_drawn": "random"}, "labels=500 asks for more than the 58 labelled training rows"),
    ],
)
def test_a_wrong_draw_is_explained(options: dict[str, Any], said: str) -> None:
    with pytest.raises(cn.ConfigError, match=said):
        cn.split(federation(rows=100, extra=0), **options)


@pytest.mark.parametrize(
    "name", ["local", "splitnn", "vafl", "mmvfl", "linear", "lightgbm", "fedonce", "ssvfl", "vflhlp"]
)
def test_methods_learn_without_a_label_of_some_class(name: str) -> None:
    parts = cn.DATASETS["wine"](parties=3)
    train = parts.train.labelled(parts.train.labels.take(np.flatnonzero(parts.train.labels.values != 2)))
    known = {field.name for field in fields(cn.METHODS[name])}
    model = cn.METHODS[name](seed=0, **{k: v for k, v in TINY.items() if k in known}).fit(train, parts.valid)
    found = model.scores(parts.test.views, parts.test.labels)
    assert found["accuracy"] <= np.mean(parts.test.labels.values != 2)  # rows of class 2 count as errors
    assert all(np.isfinite(list(found.values())))
