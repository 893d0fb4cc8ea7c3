from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.data.view import as_view
from colonnade.methods.secureboost.trees.bins import Binner


def view_of(frame: pd.DataFrame):
    problems: list[str] = []
    found = as_view(frame, "p", (), problems)
    assert not problems
    return found


def test_few_values_get_a_bin_each_and_the_edge_lies_halfway() -> None:
    view = view_of(pd.DataFrame({"x": [0.0, 0.0, 1.0, 4.0, np.nan]}))
    binner = Binner.fit_bins(view, 8)
    assert binner.edges[0].tolist() == [0.5, 2.5]
    assert binner.slots.tolist() == [4]
    assert binner.transform(view, "p").x[:, 0].tolist() == [1, 1, 2, 3, 0]
    new = view_of(pd.DataFrame({"x": [-9.0, 0.5, 0.6, 2.6, 99.0, np.nan]}))
    assert binner.transform(new, "p").x[:, 0].tolist() == [1, 1, 2, 3, 3, 0]


def test_many_values_are_parted_evenly() -> None:
    x = np.random.default_rng(0).permutation(1000).astype(np.float32)
    binner = Binner.fit_bins(view_of(pd.DataFrame({"x": x})), 4)
    counts = np.bincount(binner.transform(view_of(pd.DataFrame({"x": x})), "p").x[:, 0].numpy())
    assert counts.tolist() == [0, 250, 250, 250, 250]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60),
    st.integers(2, 9),
)
def test_slots_keep_the_order_of_values(values: list[float], bins: int) -> None:
    view = view_of(pd.DataFrame({"x": np.array(values, dtype=np.float32)}))
    binner = Binner.fit_bins(view, bins)
    slots = binner.transform(view, "p").x[:, 0].numpy().astype(int)
    assert slots.min() >= 1 and slots.max() <= min(bins, binner.slots[0] - 1)
    order = np.argsort(np.array(values, dtype=np.float32), kind="stable")
    assert (np.diff(slots[order]) >= 0).all()
    same = np.array(values, dtype=np.float32)
    assert all(len({int(s) for s in slots[same == v]}) == 1 for v in same)


def test_of_categories_the_frequent_ones_get_a_slot_and_the_others_share_slot_0() -> None:
    kinds = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"] + [None]
    view = view_of(pd.DataFrame({"kind": kinds}))
    binner = Binner.fit_bins(view, 2)
    assert binner.vocabularies == (("a", "b"),)
    assert binner.transform(view, "p").x[:, 0].tolist() == [1] * 5 + [2] * 4 + [0] * 5
    unseen = view_of(pd.DataFrame({"kind": ["z", "b"]}))
    assert binner.transform(unseen, "p").x[:, 0].tolist() == [0, 2]


def test_bins_come_back_from_json() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=50), "kind": rng.choice(["a", "b"], 50)})
    binner = Binner.fit_bins(view_of(frame), 6)
    again = Binner.from_json(binner.to_json())
    assert (again.transform(view_of(frame), "p").x == binner.transform(view_of(frame), "p").x).all()
    assert again.slots.tolist() == binner.slots.tolist() and again.categorical.tolist() == [False, True]


def test_other_columns_than_in_training_are_explained() -> None:
    binner = Binner.fit_bins(view_of(pd.DataFrame({"x": [1.0, 2.0]})), 4)
    with pytest.raises(cn.DataError, match="column 'x' is missing"):
        binner.transform(view_of(pd.DataFrame({"y": [1.0, 2.0]})), "party 'p'")
