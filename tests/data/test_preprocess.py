"""Preprocessing of one party, by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.data import preprocess
from colonnade.data.preprocess import Preprocessor
from colonnade.data.view import View, as_view


def view(categorical: tuple[str, ...] = (), **columns: Any) -> View:
    made = as_view(pd.DataFrame(columns), "shop", categorical, problems := [])
    assert problems == []
    return made


def refused(fitted: Preprocessor, rows: View) -> str:
    with pytest.raises(cn.DataError) as caught:
        fitted.transform(rows, "party 'shop'")
    return str(caught.value)


def test_numbers_are_standardised_with_the_numbers_of_training() -> None:
    """Training 1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5."""
    fitted = Preprocessor.fit(view(x=[1.0, 2, 3, 6], y=[0, 0, 10, 10]))
    np.testing.assert_allclose(fitted.mean, [3, 5])
    np.testing.assert_allclose(fitted.scale, [3.5**0.5, 5])
    table = fitted.transform(view(x=[3.0, 10], y=[5, 0]), "party 'shop'")
    np.testing.assert_allclose(table.x, [[0, 0], [7 / 3.5**0.5, -1]], rtol=1e-6)
    assert table.x.dtype == torch.float32 and table.codes is None


def test_a_gap_becomes_the_mean_and_an_indicator() -> None:
    fitted = Preprocessor.fit(view(full=[1.0, 3, 1, 3], gaps=[1.0, np.nan, 3, np.nan]))
    assert fitted.gaps == (1,)
    np.testing.assert_allclose([fitted.mean[1], fitted.scale[1]], [2, 1])  # of the values that are there
    table = fitted.transform(view(full=[np.nan, 3, 1], gaps=[np.nan, 3, 1]), "party 'shop'")
    assert table.x.tolist() == [[0, 0, 1], [1, 1, 0], [-1, -1, 0]]  # no indicator for a column that had no gap


def test_numbers_far_out_are_clipped() -> None:
    fitted = Preprocessor.fit(view(x=[0.0, 2]))
    assert fitted.transform(view(x=[1000.0, -1000, 10.5]), "party 'shop'").x[:, 0].tolist() == [10, -10, 9.5]


@pytest.mark.parametrize("values", [[5.0] * 4, [0.1] * 4, [1e6 + 0.01] * 4])
def test_a_column_without_spread_becomes_zero(values: list[float]) -> None:
    fitted = Preprocessor.fit(view(x=values))
    assert fitted.scale.tolist() == [1]
    np.testing.assert_allclose(fitted.transform(view(x=values), "party 'shop'").x, 0, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-20, 1e-9, 1.0, 1e9, 1e20])
def test_the_unit_of_a_column_does_not_matter(unit: float) -> None:
    x = np.array([1.0, 2, 3, 6])
    fitted = Preprocessor.fit(view(x=x * unit))
    np.testing.assert_allclose(fitted.transform(view(x=x * unit), "s").x[:, 0], (x - 3) / 3.5**0.5, rtol=1e-4)


def test_categories_rare_unknown_and_missing_share_the_code_0() -> None:
    fitted = Preprocessor.fit(view(job=["nurse", "cook", "cook", "nurse", "pilot", None, None]))
    assert fitted.vocabularies == (("cook", "nurse"),) and fitted.sizes == (2,)
    table = fitted.transform(view(job=["pilot", "nurse", "never seen", None, "cook"]), "party 'shop'")
    assert table.codes is not None and table.codes.dtype == torch.int64
    assert table.codes[:, 0].tolist() == [0, 2, 0, 0, 1]
    assert table.sizes == (2,) and table.x.shape == (5, 0)


def test_numbers_declared_categorical_are_known_again_as_ints_and_as_floats() -> None:
    fitted = Preprocessor.fit(view(("zone",), zone=[7, 7, 12, 12, 3]))
    assert fitted.vocabularies == (("12", "7"),)
    for zone in ([7, 12, 3, 7], [7.0, 12.0, np.nan, 7.0], ["7", "12", None, "7"]):
        table = fitted.transform(view(("zone",), zone=zone), "party 'shop'")
        assert table.codes is not None and table.codes[:, 0].tolist() == [2, 1, 0, 2]


def test_it_is_fitted_on_training_rows_alone() -> None:
    """Values of later rows change neither scales nor vocabularies."""
    rows = view(x=[1.0, 3, 500, np.nan], job=["a", "a", "b", "b"])
    fitted = Preprocessor.fit(rows.take(np.array([0, 1])))
    assert fitted.mean.tolist() == [2] and fitted.scale.tolist() == [1]
    assert fitted.vocabularies == (("a",),) and fitted.gaps == ()


def test_each_party_of_a_method_is_fitted_on_its_own_training_rows(data: cn.VerticalData) -> None:
    parts = cn.split(data)
    model = cn.SplitNN(hidden=(4,), width=2, epochs=1).fit(parts.train, parts.valid)
    party = model.federation_.engine.parties["p1"]
    x = parts.train.views["p1"].x.astype(np.float64)
    np.testing.assert_allclose(party.preprocessor.mean, np.nanmean(x, axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(party.preprocessor.scale, np.nanstd(x, axis=0), rtol=1e-5)


def test_the_order_of_columns_does_not_matter() -> None:
    columns = {"x": [1.0, 2, 3], "job": ["a", "a", "b"], "y": [5.0, np.nan, 1], "zone": ["u", "v", "u"]}
    fitted = Preprocessor.fit(view(**columns))
    one = fitted.transform(view(**columns), "s")
    other = fitted.transform(view(**dict(reversed(columns.items()))), "s")
    assert torch.equal(one.x, other.x) and torch.equal(one.codes, other.codes)


def test_large_tables_are_treated_in_pieces_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(3, 2, (50, 3))
    x[::7, 1] = np.nan
    rows = as_view(x, "s", (), [])
    whole = Preprocessor.fit(rows)
    monkeypatch.setattr(preprocess, "_CHUNK", 7)
    pieces = Preprocessor.fit(rows)
    np.testing.assert_allclose(pieces.mean, whole.mean, rtol=1e-6)
    np.testing.assert_allclose(pieces.scale, whole.scale, rtol=1e-6)
    np.testing.assert_allclose(whole.mean, np.nanmean(x, axis=0), rtol=1e-5)
    np.testing.assert_allclose(whole.scale, np.nanstd(x, axis=0), rtol=1e-5)
    assert torch.equal(whole.transform(rows, "s").x[:8], whole.transform(rows.take(np.arange(8)), "s").x)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_what_comes_out_is_finite_and_standardised(drawn: st.DataObject) -> None:
    rows = drawn.draw(st.integers(2, 20))
    numbers = st.floats(-1e4, 1e4, width=32) | st.just(float("nan"))
    x = np.array(drawn.draw(st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=rows, max_size=rows)))
    made = as_view(x, "s", (), [])
    table = Preprocessor.fit(made).transform(made, "s").x.numpy()
    assert np.isfinite(table).all() and np.abs(table).max() <= 10
    for i in range(2):
        there = table[~np.isnan(x[:, i]), i]
        assert abs(there.mean() if len(there) else 0) < 1e-2
        assert (table[np.isnan(x[:, i]), i] == 0).all()


def test_rows_that_do_not_fit_are_explained_together() -> None:
    fitted = Preprocessor.fit(view(x=[1.0, 2], y=[1.0, 2], job=["a", "b"], zone=["u", "v"]))
    found = refused(fitted, view(x=["p", "q"], job=[1.0, 2], z=[np.inf, 1.0], zone=["u", "v"]))
    assert found.splitlines() == [
        "The rows do not fit the trained model: 4 problems.",
        "  1. party 'shop': column 'y' is missing. Give every column that training had.",
        "  2. party 'shop': column 'z' was not there in training. Leave it out.",
        "  3. party 'shop': column 'x', 'job' held numbers in training, now text.",
        "  4. party 'shop': column 'z' holds infinity. Replace it by a number or by missing (NaN).",
    ]


def test_it_survives_json() -> None:
    rows = view(x=[1.0, 2, 4], y=[1 / 3, np.nan, 5], job=["ä", "ä", "b"], size=[1e-3, 2e7, 0])
    fitted = Preprocessor.fit(rows)
    again = Preprocessor.from_json(json.loads(json.dumps(fitted.to_json())))
    one, other = fitted.transform(rows, "s"), again.transform(rows, "s")
    assert torch.equal(one.x, other.x) and torch.equal(one.codes, other.codes) and one.sizes == other.sizes
    assert again.to_json() == fitted.to_json() and again.mean.dtype == np.float32


def images(dtype: Any = np.uint8) -> np.ndarray:
    """Two channels: all pixels 0 or 255 by row; 51 or 153 by row."""
    x = np.zeros((2, 2, 3, 3), dtype=dtype)
    x[1, 0], x[0, 1], x[1, 1] = 255, 51, 153
    return x


def test_images_of_bytes_are_standardised_per_channel() -> None:
    """In [0, 1] channel 0 is 0 and 1 (mean 0.5, spread 0.5), channel 1 is 0.2 and 0.6 (mean 0.4, spread 0.2)."""
    made = as_view(images(), "s", (), [])
    fitted = Preprocessor.fit(made)
    np.testing.assert_allclose(fitted.mean, [0.5, 0.4], rtol=1e-6)
    np.testing.assert_allclose(fitted.scale, [0.5, 0.2], rtol=1e-6)
    table = fitted.transform(made, "s")
    assert table.is_image and table.x.shape == (2, 2, 3, 3)
    np.testing.assert_allclose(table.x[:, :, 0, 0], [[-1, -1], [1, 1]], rtol=1e-5)
    assert fitted.shape == (2, 3, 3) and fitted.blank()[0].shape == (2, 2, 3, 3)
    again = Preprocessor.from_json(json.loads(json.dumps(fitted.to_json())))
    assert torch.equal(again.transform(made, "s").x, table.x)


def test_images_of_another_size_or_type_are_refused() -> None:
    in_bytes, in_numbers = (Preprocessor.fit(as_view(images(t), "s", (), [])) for t in (np.uint8, np.float32))
    wrong = as_view(images()[:, :, :2], "s", (), [])
    assert refused(in_bytes, wrong).endswith(
        "party 'shop': rows of shape (2, 2, 3), but training had (2, 3, 3). Resize them."
    )
    text = "party 'shop': pixels are {}, but training had {}. Give them in the same type and range."
    assert text.format("numbers", "bytes") in refused(in_bytes, as_view(images(np.float32), "s", (), []))
    assert text.format("bytes", "numbers") in refused(in_numbers, as_view(images(), "s", (), []))
    assert "rows of shape (2,), but training had (2, 3, 3)" in refused(in_bytes, view(x=[1.0, 2], y=[1.0, 2]))
