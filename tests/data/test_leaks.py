"""The label left among the columns of the active party."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn

ROWS = 200
RNG = np.random.default_rng(0)
IDS = [f"c{i}" for i in range(ROWS)]
Y = pd.Series(RNG.integers(0, 2, ROWS), index=IDS, name="default")
THREE = pd.Series(RNG.choice(["a", "b", "c"], ROWS), index=IDS)
TARGET = pd.Series(RNG.normal(size=ROWS) * 20 + 300, index=IDS)


def views(**columns: Any) -> dict[str, pd.DataFrame]:
    own = pd.DataFrame({"income": RNG.normal(size=ROWS), **columns}, index=IDS)
    return {"bank": own, "shop": pd.DataFrame({"spent": RNG.normal(size=ROWS)}, index=IDS)}


def changed(values: pd.Series, share: float, to: Any = None) -> pd.Series:
    """The values with the first rows replaced, by default by another value of the column."""
    out = values.copy()
    here = slice(0, round(share * len(out)))
    out.iloc[here] = np.roll(np.unique(out), 1)[np.searchsorted(np.unique(out), out.iloc[here])] if to is None else to
    return out


def loud(tables: dict[str, Any], labels: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cn.VerticalData(tables, labels, **options)
    assert all(w.category is UserWarning and w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (Y.to_numpy(), Y),
        (np.where(Y == 1, "yes", "no"), Y),
        (Y.to_numpy() == 1, Y),
        (7 - 3 * Y.to_numpy(), Y),
        (Y.astype(str).to_numpy(), Y),
        (THREE.map({"a": 2, "b": 0, "c": 1}).to_numpy(), THREE),
        (THREE.astype("category"), THREE),
        (Y.to_numpy(), Y.where(np.arange(ROWS) < 40)),  # the labelled rows count
    ],
    ids=["equal", "text", "truth values", "other numbers", "digits", "three classes", "category", "few labels"],
)
def test_a_column_that_is_the_label_is_refused(column: Any, labels: Any) -> None:
    with pytest.raises(cn.DataError) as caught:
        cn.VerticalData(views(status=column), labels)
    text = str(caught.value)
    assert "party 'bank': column 'status' equals the label, or renames its classes, in all" in text
    assert "drop it: df.drop(columns='status')" in text


@pytest.mark.parametrize("column", [TARGET, -2.5 * TARGET + 7, TARGET / 1000])
def test_a_column_that_is_the_target_up_to_scale_is_refused(column: Any) -> None:
    with pytest.raises(cn.DataError, match="column 'price' equals the target, or is a linear function of it, in all"):
        cn.VerticalData(views(price=column), TARGET)


def test_a_column_that_is_nearly_the_label_is_warned_of_once() -> None:
    found = loud(views(status=changed(Y, 0.02), score=changed(Y, 0.03)), Y)
    assert len(found) == 1
    assert "column 'status' tells the label of 98.0 % of the 200 labelled rows." in found[0]
    assert "column 'score' tells the label of 97.0 % of the 200 labelled rows." in found[0]
    assert "column 'status' tells the label of 98.0 %" in loud(views(status=changed(THREE, 0.02)), THREE)[0]
    assert "column 'gaps' tells the label of 97.0 %" in loud(views(gaps=changed(Y.astype(float), 0.03, np.nan)), Y)[0]
    near = TARGET + np.random.default_rng(1).normal(size=ROWS) * 0.2
    assert "column 'price' explains 99.9" in loud(views(price=near), TARGET)[0]


def test_fitting_and_splitting_do_not_warn_again() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parts = cn.split(cn.VerticalData(views(status=changed(Y, 0.02)), Y))
        cn.SplitNN(epochs=1, hidden=(4,), width=2).fit(parts.train, parts.valid).score(parts.test)
    assert len([w for w in caught if "tells the label" in str(w.message)]) == 1


def test_good_columns_are_not_suspected() -> None:
    rare = pd.Series((np.arange(ROWS) < 6).astype(int), index=IDS)
    other = (np.arange(ROWS) % 50 == 0).astype(int)
    assert loud(views(good=changed(Y, 0.1), number=Y + 0.3 * RNG.normal(size=ROWS)), Y) == []
    assert loud(views(rare=other), rare) == []  # right in most rows, and so is a guess
    assert loud(views(price=TARGET + RNG.normal(size=ROWS) * 5), TARGET) == []
    assert loud(views(key=np.arange(ROWS)), THREE) == []
    few = pd.Series([0, 1], index=IDS[:2])
    assert loud(views(), few) == []
    assert loud({"bank": views()["bank"], "shop": pd.DataFrame({"status": Y})}, Y) == []  # a partner's own column


def test_a_column_under_the_name_of_the_label_is_refused_in_few_rows_too() -> None:
    few = Y.iloc[:5]
    with pytest.raises(cn.DataError, match="column 'default' equals the label"):
        cn.VerticalData(views(default=Y), few)
    assert loud(views(status=Y), few) == []
    assert len(loud(views(status=Y), Y.iloc[:9])) == 1


def test_the_description_of_own_tables_is_looked_at_too(tmp_path: Any) -> None:
    own = views(status=np.where(Y == 1, "yes", "no"))["bank"].assign(default=Y, customer=range(ROWS))
    own.to_csv(tmp_path / "bank.csv", index=False)
    (tmp_path / "mine.toml").write_text('[parties.bank]\ndata = "bank.csv"\nid = "customer"\nlabel = "default"\n')
    from colonnade.data.description import read_description

    with pytest.raises(cn.DataError, match="column 'status' equals the label"):
        read_description(tmp_path / "mine.toml")
