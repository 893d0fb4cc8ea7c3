"""By what rows are joined: ids where there are some, positions where they were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn

ROWS = 40
RNG = np.random.default_rng(0)
CUSTOMERS = RNG.permutation(np.arange(1000, 1000 + ROWS))
LABELS = RNG.integers(0, 2, ROWS)


def bank(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"income": RNG.normal(size=ROWS), "age": RNG.integers(18, 30, ROWS), **columns})


def shop(rows: int = ROWS, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"spent": RNG.normal(size=rows), **columns})


def refused(views: dict[str, Any], labels: Any = LABELS, **options: Any) -> str:
    with pytest.raises(cn.DataError) as caught:
        cn.VerticalData(views, labels, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("customer", CUSTOMERS),
        ("CustomerID", CUSTOMERS.astype(str)),
        ("client_id", CUSTOMERS),
        ("key", [f"k{i}" for i in CUSTOMERS]),
        ("Unnamed: 0", np.arange(ROWS)),
        ("policy", CUSTOMERS),  # no name of an id, but both parties have largely the same values
        ("id", CUSTOMERS.astype(float)),
    ],
)
def test_a_column_of_ids_beside_an_index_that_nobody_set_is_refused(column: str, values: Any) -> None:
    theirs = pd.Series(values).sample(frac=0.8, random_state=1).to_numpy()
    text = refused({"bank": bank(**{column: values}), "shop": shop(len(theirs), **{column: theirs})})
    assert f"tables without ids (their index is 0, 1, 2, …): 'bank' ({ROWS} rows), 'shop' ({len(theirs)} rows)" in text
    assert f"Ids seem to be in column {column!r} of 'bank', {column!r} of 'shop'." in text
    assert f"df.set_index({column!r})" in text and "from_frames" in text and "join='position'" in text


def test_an_id_forgotten_at_one_party_alone_is_refused() -> None:
    indexed = bank().set_axis(pd.Index(np.arange(ROWS)[::-1], name="number"))
    text = refused({"bank": indexed, "shop": shop(number=np.arange(ROWS))})
    assert "tables without ids (their index is 0, 1, 2, …): 'shop' (40 rows). Ids seem to be in column 'number'" in text
    text = refused({"bank": bank().set_axis(CUSTOMERS), "shop": shop()})
    assert "Those of 'bank' are 1" in text and "join='id' where the index is the id" in text


def test_frames_without_ids_are_joined_by_position_only_when_asked() -> None:
    views = {"bank": bank(), "shop": shop()}
    text = refused(views)
    assert "Use df.set_index(…) with the column that identifies a row, or join='position' where row k is the" in text
    data = cn.VerticalData(views, LABELS, join="position")
    assert data.aligned.tolist() == list(range(ROWS))
    assert np.array_equal(data.views["shop"].x[:, 0], views["shop"]["spent"].astype(np.float32))
    assert len(cn.VerticalData(views, LABELS, join="id").aligned) == ROWS


def test_ids_that_are_a_shuffled_or_partial_range_are_ids() -> None:
    whole = bank().assign(spent=RNG.normal(size=ROWS))
    mine, theirs = whole[["income", "age"]].sample(frac=1, random_state=1), whole[["spent"]].sample(30, random_state=2)
    data = cn.VerticalData({"bank": mine, "shop": theirs}, pd.Series(LABELS))
    assert sorted(data.aligned) == sorted(theirs.index)
    rows = data.only(data.aligned)
    assert np.array_equal(rows.views["bank"].x[:, 0], whole.loc[data.aligned, "income"].astype(np.float32))
    assert np.array_equal(rows.views["shop"].x[:, 0], whole.loc[data.aligned, "spent"].astype(np.float32))
    assert len(cn.VerticalData({"bank": mine, "shop": whole[["spent"]]}, pd.Series(LABELS)).aligned) == ROWS


def test_arrays_and_named_indexes_are_joined_as_before() -> None:
    arrays = {"bank": RNG.normal(size=(ROWS, 2)), "shop": RNG.normal(size=(ROWS, 2))}
    assert len(cn.VerticalData(arrays, LABELS).aligned) == ROWS
    assert len(cn.VerticalData({"bank": bank(), "shop": arrays["shop"]}, LABELS).aligned) == ROWS
    assert len(cn.VerticalData({"bank": bank()}, LABELS).aligned) == ROWS
    named = {"bank": bank().rename_axis("row"), "shop": shop().rename_axis("row")}
    assert len(cn.VerticalData(named, LABELS).aligned) == ROWS
    mixed = refused({"bank": bank(customer=CUSTOMERS), "shop": arrays["shop"]})
    assert "'bank' (40 rows). Ids seem to be in column 'customer' of 'bank'." in mixed


def test_position_that_contradicts_ids_is_refused() -> None:
    indexed = bank().set_axis(CUSTOMERS)
    text = refused({"bank": indexed, "shop": shop().set_axis(CUSTOMERS[::-1])}, join="position")
    assert "join='position', but ids differ: 'bank' has" in text and "df.reset_index(drop=True)" in text
    text = refused({"bank": bank(), "shop": shop(30)}, join="position")
    assert "join='position' needs as many rows at every party: 'bank' has 40, 'shop' has 30." in text
    text = refused({"bank": bank(customer=CUSTOMERS), "shop": shop(customer=CUSTOMERS[::-1])}, join="position")
    assert "column 'customer' is not the same in 'bank'" in text and "from_frames(tables, id='customer'" in text
    text = refused({"bank": indexed, "shop": shop()}, pd.Series(LABELS, index=CUSTOMERS[::-1]), join="position")
    assert "join='position', but the labels are in another order" in text


def test_position_keeps_the_ids_that_one_party_has() -> None:
    labels = pd.Series(LABELS, index=CUSTOMERS)
    for given in (labels, LABELS, pd.Series(LABELS)):
        data = cn.VerticalData({"bank": bank().set_axis(CUSTOMERS), "shop": shop()}, given, join="position")
        assert data.aligned.tolist() == sorted(CUSTOMERS)
        assert dict(zip(data.labels.ids, data.labels.values, strict=True)) == labels.to_dict()
    data = cn.VerticalData({"bank": bank().set_axis(CUSTOMERS)}, LABELS, active="server", join="position")
    assert data.labels.ids.tolist() == CUSTOMERS.tolist()


def test_ids_of_two_types_are_refused() -> None:
    views = {"bank": bank().set_axis(CUSTOMERS), "shop": shop().set_axis(CUSTOMERS.astype(str))}
    assert "ids differ in type between parties: 'bank' integers, 'shop' text." in refused(views)
    assert "ids differ in type between parties" in refused(views, join="id")


def test_an_unknown_join_is_refused() -> None:
    assert "join must be 'id' or 'position'. Got 'positions'. Did you mean 'position'?" in refused(
        {"bank": bank()}, join="positions"
    )


# who is active --------------------------------------------------------------------------------------------------------


def test_an_active_party_without_a_view_is_refused_with_a_guess() -> None:
    views = {"bank": RNG.normal(size=(ROWS, 2)), "shop": RNG.normal(size=(ROWS, 2))}
    text = refused(views, active="bnk")
    assert "active='bnk' has no view. Did you mean 'bank'? Use active='server', or label_only=True" in text
    assert cn.VerticalData(views, LABELS, active="server").passive == ("bank", "shop")
    assert cn.VerticalData(views, LABELS, active="court", label_only=True).active == "court"
    assert "label_only=True, but party 'bank' has columns." in refused(views, active="bank", label_only=True)


# prediction -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["splitnn", "linear", "secureboost"])
def test_rows_to_predict_are_joined_by_the_same_rule(name: str) -> None:
    options = {"splitnn": {"epochs": 1, "hidden": (4,), "width": 2}, "secureboost": {"trees": 1, "encrypt": False}}
    mine, theirs = bank(customer=CUSTOMERS), shop(customer=CUSTOMERS[::-1])
    indexed = {"bank": mine.set_index("customer"), "shop": theirs.set_index("customer")}
    model = cn.METHODS[name](**options.get(name, {})).fit(cn.VerticalData(indexed, LABELS))
    assert len(model.predict(indexed)) == ROWS
    with pytest.raises(cn.DataError, match=r"Ids seem to be in column 'customer' of 'bank', 'customer' of 'shop'"):
        model.predict({"bank": mine, "shop": theirs})
