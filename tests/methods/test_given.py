"""What `fit`, `predict` and `score` take, and what they say to the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn
from tests.conftest import make_data

QUICK: dict[str, Any] = {"epochs": 1, "hidden": (4,), "width": 2}
RNG = np.random.default_rng(0)
VIEWS = {"bank": RNG.normal(size=(40, 2)), "shop": RNG.normal(size=(40, 3))}
Y = (VIEWS["bank"][:, 0] + VIEWS["shop"][:, 0] > 0).astype(int)


@pytest.mark.parametrize("name", ["splitnn", "local", "linear", "secureboost"])
def test_predict_and_score_take_data(name: str) -> None:
    options = {"secureboost": {"trees": 2, "encrypt": False}, "linear": {}}.get(name, QUICK)
    data = make_data(rows=60)
    model = cn.METHODS[name](**options).fit(data)
    rows = data.only(data.aligned)
    assert np.array_equal(model.predict(rows), model.predict(rows.views))
    assert np.array_equal(model.predict_proba(rows), model.predict_proba(rows.views))
    assert model.score(rows) == model.score(rows.views, rows.labels)
    assert model.scores(rows) == model.scores(rows.views, rows.labels)
    assert model.score(rows, pd.Series(rows.labels.values, index=rows.labels.ids)) == model.score(rows)


def test_score_of_data_needs_the_labelled_rows_alone() -> None:
    data = make_data(rows=60)
    model = cn.SplitNN(**QUICK).fit(data)
    labelled = data.only(data.labels.ids)
    assert model.score(data) == model.score(labelled.views, labelled.labels)  # data has rows that are not aligned


def test_the_joint_representation_of_data() -> None:
    rows = make_data(rows=60, unaligned=0)
    for model in (cn.SplitNN(**QUICK).fit(rows), cn.Combined(**QUICK).fit(rows)):
        assert np.array_equal(model.transform(rows), model.transform(rows.views))


def test_fit_takes_tables_and_labels() -> None:
    model = cn.SplitNN(**QUICK).fit(VIEWS, Y)
    other = cn.SplitNN(**QUICK).fit(cn.VerticalData(VIEWS, Y))
    assert model.active_ == "bank" and np.array_equal(model.predict_proba(VIEWS), other.predict_proba(VIEWS))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((VIEWS,), "the tables come without labels. Use fit(VerticalData(views, labels)), or fit(views, labels)."),
        ((VIEWS["bank"], Y), "give VerticalData(views=…, labels=…). Got ndarray."),
        ((cn.VerticalData(VIEWS, Y), Y), "the second argument holds validation rows, as VerticalData. Got ndarray."),
        (
            (cn.split(cn.VerticalData(VIEWS, Y)),),
            "this holds training and test rows. Use fit(parts.train, parts.valid)",
        ),
    ],
)
def test_fit_says_what_it_takes(given: tuple[Any, ...], text: str) -> None:
    with pytest.raises(cn.DataError) as caught:
        cn.SplitNN(**QUICK).fit(*given)
    assert text in str(caught.value)


def test_predict_and_score_say_what_they_take() -> None:
    model = cn.SplitNN(**QUICK).fit(VIEWS, Y)
    with pytest.raises(cn.DataError, match=r"score: the tables come without labels. Use score\(views, labels\)"):
        model.score(VIEWS)
    with pytest.raises(cn.DataError, match=r"give VerticalData, or a table by party: .* Got ndarray."):
        model.predict(VIEWS["bank"])
