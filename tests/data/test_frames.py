"""`VerticalData.from_frames`: ids and labels as columns of DataFrames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn

RNG = np.random.default_rng(0)
IDS = RNG.permutation(60)
BANK = pd.DataFrame({"customer": IDS, "income": RNG.normal(size=60), "default": RNG.integers(0, 2, 60)})
SHOP = pd.DataFrame({"spent": RNG.normal(size=50), "customer": RNG.permutation(IDS[:50])})
FRAMES = {"bank": BANK, "shop": SHOP}


def refused(frames: Any = FRAMES, id: Any = "customer", label: Any = "default", active: str | None = None) -> str:
    with pytest.raises(cn.DataError) as caught:
        cn.VerticalData.from_frames(frames, id, label, active)
    return str(caught.value)


def test_rows_are_joined_by_the_id_column_and_the_label_is_taken_out() -> None:
    data = cn.VerticalData.from_frames(FRAMES, id="customer", label="default")
    assert (
        data.active == "bank" and data.views["bank"].columns == ("income",) and data.views["shop"].columns == ("spent",)
    )
    assert data.aligned.tolist() == sorted(IDS[:50])
    rows = data.only(data.aligned)
    shop = SHOP.set_index("customer")["spent"].loc[data.aligned].astype(np.float32)
    bank = BANK.set_index("customer")
    assert np.array_equal(rows.views["shop"].x[:, 0], shop)
    assert dict(zip(rows.labels.ids, rows.labels.values, strict=True)) == bank["default"].loc[data.aligned].to_dict()
    assert list(BANK.columns) == ["customer", "income", "default"]  # the given table is left as it was


@pytest.mark.parametrize("party", ["bank", "shop", "both"])
def test_ids_may_be_the_index_of_that_name(party: str) -> None:
    tables = {name: f.set_index("customer") if party in (name, "both") else f for name, f in FRAMES.items()}
    data = cn.VerticalData.from_frames(tables, "customer", "default")
    expected = cn.VerticalData.from_frames(FRAMES, "customer", "default")
    for name, view in data.views.items():
        assert np.array_equal(view.ids, expected.views[name].ids) and np.array_equal(view.x, expected.views[name].x)


def test_ids_may_have_a_name_of_their_own_at_each_party() -> None:
    tables = {"bank": BANK, "shop": SHOP.rename(columns={"customer": "client"})}
    data = cn.VerticalData.from_frames(tables, {"bank": "customer", "shop": "client"}, "default", active="bank")
    assert len(data.aligned) == 50
    assert "party 'shop': there is no column 'customer' for the ids." in refused(tables)
    assert "id names no column of party 'shop'. Add {'shop': COLUMN}." in refused(tables, {"bank": "customer"})
    assert "id names the party 'shp', which has no table. Did you mean 'shop'?" in refused(
        tables, {"bank": "customer", "shop": "client", "shp": "client"}
    )


def test_an_active_party_with_no_other_column_takes_part_with_its_labels() -> None:
    tables = {"court": BANK[["customer", "default"]], "shop": SHOP}
    data = cn.VerticalData.from_frames(tables, "customer", "default")
    assert data.active == "court" and data.passive == ("shop",) and len(data.labels) == 50


def test_empty_cells_of_the_label_are_unlabelled_rows() -> None:
    some = BANK.assign(default=BANK["default"].where(BANK.index < 20))
    data = cn.VerticalData.from_frames({"bank": some, "shop": SHOP}, "customer", "default")
    assert len(data.labels) == 20 and len(data.views["bank"]) == 60


def test_errors_name_party_and_column() -> None:
    assert "party 'bank': there is no column 'custmer' for the ids. Did you mean 'customer'?" in refused(id="custmer")
    assert "label='defualt' is no column of 'bank' and 'shop'. Did you mean 'default'?" in refused(label="defualt")
    assert "label='default' is no column of 'shop'. Party 'bank' has it. Make that party active." in refused(
        active="shop"
    )
    assert "active='bnk' has no table. Did you mean 'bank'?" in refused(active="bnk")
    both = {"bank": BANK, "shop": SHOP.assign(default=1)}
    assert "'bank' and 'shop' have a column 'default' each." in refused(both)
    assert "'bank' and 'shop' have a column 'default' each." in refused(both, active="bank")
    assert "party 'shop': ndarray is no DataFrame." in refused({"bank": BANK, "shop": np.zeros((3, 2))})
    assert "give a DataFrame by party" in refused(BANK)
    text = {"bank": BANK, "shop": SHOP.assign(customer=SHOP["customer"].astype(str))}
    assert "ids differ in type between parties: 'bank' integers, 'shop' text." in refused(text)
    twice = {"bank": BANK, "shop": pd.concat([SHOP, SHOP])}
    assert "party 'shop': 50 ids occur more than once" in refused(twice)


def test_the_id_column_left_as_a_feature_costs_accuracy_and_from_frames_does_not() -> None:
    """What two tables without a common order give, joined by position and by id: the first learns nothing there."""
    rng = np.random.default_rng(3)
    ids, hidden = rng.permutation(300), rng.normal(size=300)
    y = (hidden > 0).astype(int)
    bank = pd.DataFrame({"customer": ids, "income": rng.normal(size=300), "default": y})
    shop = pd.DataFrame({"customer": ids, "spent": hidden}).sample(frac=1, random_state=0).reset_index(drop=True)
    parts = cn.split(cn.VerticalData.from_frames({"bank": bank, "shop": shop}, "customer", "default"))
    assert cn.Linear().fit(parts.train).score(parts.test) > 0.95
    assert "Ids seem to be in column 'customer' of 'bank', 'customer' of 'shop'." in _by_hand(bank, shop)


def _by_hand(bank: pd.DataFrame, shop: pd.DataFrame) -> str:
    with pytest.raises(cn.DataError) as caught:
        cn.VerticalData({"bank": bank.drop(columns="default"), "shop": shop}, bank["default"])
    return str(caught.value)
