"""`VerticalData`: what may be given, how rows are joined, and the text of every refusal."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.data.view import MISSING, as_view

ROWS = 12


def numbers(rows: int = ROWS, columns: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


def frame(rows: int = ROWS, seed: int = 0, **columns: Any) -> pd.DataFrame:
    """Two columns of numbers and those given, with the ids c0, c1, …"""
    made = pd.DataFrame(numbers(rows, seed=seed), columns=["age", "sum"], index=[f"c{i}" for i in range(rows)])
    return made.assign(**columns)


def zero_one(rows: int = ROWS) -> np.ndarray:
    return np.arange(rows) % 2


def refused(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(cn.DataError) as caught:
        cn.VerticalData(*args, **kwargs)
    return str(caught.value)


# what a view may be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        numbers(),
        numbers().astype(np.float64),
        numbers().tolist(),
        torch.from_numpy(numbers()),
        torch.from_numpy(numbers()).requires_grad_(),
        scipy.sparse.csr_matrix(numbers()),
        scipy.sparse.coo_array(numbers()),
        (numbers(), range(ROWS)),
        (torch.from_numpy(numbers()), torch.arange(ROWS)),
        (numbers(), [str(i) for i in range(ROWS)]),
        pd.DataFrame(numbers()),
        pd.DataFrame(numbers()).astype("Float64"),
    ],
    ids=lambda table: type(table).__name__,
)
def test_every_sort_of_table_gives_the_same_view(table: Any) -> None:
    view = as_view(table, "a", (), problems := [])
    assert problems == []
    np.testing.assert_array_equal(view.x, numbers())
    assert view.x.dtype == np.float32
    assert [str(i) for i in view.ids] == [str(i) for i in range(ROWS)]
    assert view.columns == ("0", "1") and view.fields == () and view.width == 2


def test_half_precision_tensors_are_numbers_too() -> None:
    view = as_view(torch.from_numpy(numbers()).bfloat16(), "a", (), problems := [])
    assert problems == []
    np.testing.assert_allclose(view.x, numbers(), rtol=0.01)


def test_a_frame_keeps_numbers_and_codes_everything_else() -> None:
    table = frame(
        4,
        job=["cook", None, "cook", "nurse"],
        sold=[True, False, True, True],
        size=pd.Categorical(["s", "m", "s", None]),
        many=pd.array([1, None, 3, 4], dtype="Int64"),
        price=[Decimal("1.5"), Decimal("2"), None, Decimal("4")],
        mixed=pd.Series([1, 2.5, None, np.int64(4)], index=[f"c{i}" for i in range(4)], dtype=object),
    )
    view = as_view(table, "a", (), problems := [])
    assert problems == []
    assert view.columns == ("age", "sum", "many", "price", "mixed") and view.fields == ("job", "sold", "size")
    np.testing.assert_array_equal(view.x[:, 2], [1, np.nan, 3, 4])
    np.testing.assert_array_equal(view.x[:, 3], [1.5, 2, np.nan, 4])
    np.testing.assert_array_equal(view.x[:, 4], [1, 2.5, np.nan, 4])
    named = [
        [None if c == MISSING else values[c] for c in codes]
        for codes, values in zip(view.codes.T, view.vocabularies, strict=True)
    ]
    assert named == [["cook", None, "cook", "nurse"], ["True", "False", "True", "True"], ["s", "m", "s", None]]


def test_declared_categories_are_the_same_in_every_type_of_number() -> None:
    large = 2**24  # float32 cannot tell it from the next number
    values = [large, large + 1, large, large + 1]
    as_ints = as_view(np.array([values, [0, 1, 2, 3]]).T, "a", ["0"], [])
    as_floats = as_view(pd.DataFrame({"0": [float(v) for v in values], "1": range(4)}), "a", ["0"], [])
    for view in (as_ints, as_floats):
        assert view.fields == ("0",) and view.columns == ("1",)
        assert [view.vocabularies[0][c] for c in view.codes[:, 0]] == [str(v) for v in values]


def test_columns_named_by_numbers_may_be_declared_by_number() -> None:
    data = cn.VerticalData({"a": pd.DataFrame({0: [1, 1, 2] * 4, 1: range(12)})}, zero_one(), categorical={"a": [0]})
    assert data.views["a"].fields == ("0",)


def test_images_stay_images_and_bytes_stay_bytes() -> None:
    x = np.random.default_rng(0).integers(0, 256, (ROWS, 3, 4, 4), dtype=np.uint8)
    data = cn.VerticalData({"a": (x, range(ROWS)), "b": torch.from_numpy(x).float()}, zero_one())
    assert data.views["a"].is_image and data.views["a"].x.dtype == np.uint8 and data.views["a"].width == 48
    assert data.views["b"].x.dtype == np.float32
    bad = x.astype(np.float32)
    bad[0, 0, 0, 0] = np.nan
    assert "party 'a': images hold NaN or infinity. Replace those pixels." in refused({"a": bad}, zero_one())


# what labels may be ---------------------------------------------------------------------------------------------------

IDS = [f"c{i}" for i in range(ROWS)]
NONE = [np.nan, 1.0, 0.0, np.nan] + [0.0, 1.0] * 4


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(NONE, index=IDS),
        pd.Series(NONE, index=IDS).dropna(),
        pd.Series(NONE, index=IDS).sample(frac=1, random_state=3),
        pd.Series(NONE, index=IDS, dtype="Int64"),
        pd.Series([None if v != v else int(v) for v in NONE], index=IDS, dtype=object),
        pd.Series([pd.NA if v != v else int(v) for v in NONE], index=IDS, dtype=object),
        np.array(NONE),
        [None if v != v else int(v) for v in NONE],
        torch.tensor(NONE),
        (np.array(NONE), IDS),
        (torch.tensor(NONE[::-1]), IDS[::-1]),
        pd.DataFrame({"label": NONE}, index=IDS)["label"],
        pd.concat([pd.Series(NONE, index=IDS), pd.Series([1.0, 0.0], index=["nobody", "none"])]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_every_sort_of_labels_gives_the_same(labels: Any) -> None:
    data = cn.VerticalData({"a": frame()}, labels)
    assert dict(zip(data.labels.ids, data.labels.values, strict=True)) == {
        i: int(v) for i, v in zip(IDS, NONE, strict=True) if v == v
    }
    assert data.labels.values.dtype == np.int64 and data.task == "binary" and list(data.classes) == [0, 1]


@pytest.mark.parametrize(
    ("labels", "classes", "task"),
    [
        (["no", "yes", None] * 4, ["no", "yes"], "binary"),
        (pd.Series(["a", "b", pd.NA, "c"] * 3, index=IDS, dtype="string"), ["a", "b", "c"], "multiclass"),
        (pd.Series(["a", "b", None, "c"] * 3, index=IDS, dtype="category"), ["a", "b", "c"], "multiclass"),
        ([True, False] * 6, [False, True], "binary"),
        (pd.Series([True, False, pd.NA] * 4, index=IDS, dtype="boolean"), [False, True], "binary"),
        ([1.0, 2.0, 4.0] * 4, [1, 2, 4], "multiclass"),
    ],
)
def test_classes_of_text_and_truth_values(labels: Any, classes: list[Any], task: str) -> None:
    data = cn.VerticalData({"a": frame()}, labels)
    assert data.classes.tolist() == classes and data.task == task


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.arange(200) % 2, "binary"),
        (np.arange(200) % 50, "multiclass"),
        (np.arange(200), "regression"),
        (np.arange(200) / 7, "regression"),
        (np.where(np.arange(200) % 2, 0.5, 1.5), "regression"),
        (np.array(["1.5", "2.5"] * 100), "binary"),
    ],
)
def test_the_task_follows_from_the_labels(values: np.ndarray, task: str) -> None:
    assert cn.VerticalData({"a": numbers(200)}, values).task == task


def test_a_given_task_is_kept() -> None:
    data = cn.VerticalData({"a": numbers()}, zero_one(), task="regression")
    assert data.task == "regression" and data.labels.values.dtype == np.float64 and len(data.classes) == 0
    assert cn.VerticalData({"a": numbers(200)}, np.arange(200), task="multiclass").task == "multiclass"
    assert "task must be 'binary', 'multiclass' or 'regression'. Got 'classify'." in refused(
        {"a": numbers()}, zero_one(), task="classify"
    )


# who is active --------------------------------------------------------------------------------------------------------


def test_the_first_party_is_active_unless_another_is_named() -> None:
    views = {"bank": numbers(), "shop": numbers(seed=1)}
    assert cn.VerticalData(views, zero_one()).active == "bank"
    data = cn.VerticalData(views, zero_one(), active="shop")
    assert data.active == "shop" and data.passive == ("bank",)
    assert repr(data) == "VerticalData(bank 12x2, shop* 12x2; 12 aligned, 12 labelled, binary)"
    assert cn.VerticalData({1: numbers(), 2: numbers()}, zero_one(), active=2).passive == ("1",)


def test_a_party_may_have_labels_only() -> None:
    views = {"bank": frame(), "shop": frame(seed=1)}
    data = cn.VerticalData(views, pd.Series([0, 1, 1], index=["c3", "c4", "c5"]), active="court", label_only=True)
    assert data.passive == ("bank", "shop") and len(data.labels) == 3
    text = refused(views, zero_one(), active="server")  # an array without ids has the ids 0, 1, 2, …
    assert "none of their ids (0, 1, 2, …) is a row of 'bank' or 'shop' ('c0', 'c1', 'c10', …)" in text


def test_labels_of_rows_that_the_active_party_lacks_are_not_counted() -> None:
    y = pd.Series([0, 1, 0, 1, 2], index=["c0", "c1", "c2", "c3", "nobody"])
    data = cn.VerticalData({"a": frame()}, y)
    assert len(data.labels) == 4 and list(data.classes) == [0, 1]


# alignment ------------------------------------------------------------------------------------------------------------

id_sets = st.one_of(
    st.lists(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=12), min_size=1, max_size=5),
    st.lists(st.sets(st.integers(0, 9), max_size=8), min_size=1, max_size=5),
    st.lists(
        st.sets(st.text("aé中@ 0", min_size=1, max_size=3).filter(lambda s: s == s.strip()), max_size=8),
        min_size=1,
        max_size=5,
    ),
)


@settings(max_examples=150, deadline=None)
@given(id_sets, st.randoms(use_true_random=False))
def test_rows_are_joined_by_id_alone(sets: list[set[Any]], random: Any) -> None:
    shared = sorted(set.intersection(*sets))
    views, rows = {}, {}
    for k, ids in enumerate(sets):
        order = sorted(ids)
        random.shuffle(order)
        rows[f"p{k}"] = {i: float(n) for n, i in enumerate(order)}
        views[f"p{k}"] = (np.arange(max(len(order), 1), dtype=float)[: len(order), None], order)
    if not shared or len(sets[0]) < 2:
        assert "The data cannot be used" in refused(views, (["a", "b"], sorted(sets[0])[:2] or [0, 1]))
        return
    first = sorted(sets[0])[:2]
    data = cn.VerticalData(views, (["a", "b"], first))
    assert data.aligned.tolist() == shared
    wanted = data.only(data.aligned)
    for name, view in wanted.views.items():
        assert view.ids.tolist() == shared
        assert view.x[:, 0].tolist() == [rows[name][i] for i in shared]
    values, known = data.labels.of(data.aligned)
    assert [v for v, k in zip(values, known, strict=True) if k] == [
        dict(zip(first, ["a", "b"], strict=True))[i] for i in shared if i in first
    ]


def test_only_keeps_the_given_order_and_leaves_out_what_a_party_lacks() -> None:
    data = cn.VerticalData({"a": frame(), "b": frame(8, seed=1)}, pd.Series([0, 1], index=["c1", "c9"]))
    part = data.only(np.array(["c9", "c1", "nobody"]))
    assert part.views["a"].ids.tolist() == ["c9", "c1"] and part.views["b"].ids.tolist() == ["c1"]
    assert part.labels.ids.tolist() == ["c9", "c1"] and part.labels.values.tolist() == [1, 0]


def test_dates_are_ids_whatever_their_resolution() -> None:
    days = pd.date_range("2024-01-01", periods=ROWS)
    views = {"a": pd.DataFrame(numbers(), index=days), "b": (numbers(), days.to_numpy().astype("datetime64[D]"))}
    assert len(cn.VerticalData(views, zero_one()).aligned) == ROWS


# what is refused ------------------------------------------------------------------------------------------------------

TWICE = frame().set_axis(["c0", "c0", "c1", "c1", *IDS[4:]])
BAD_VIEWS: list[tuple[str, dict[str, Any], str]] = [
    ("duplicate ids", {"a": TWICE}, "party 'a': 2 ids occur more than once, e.g. 'c0', 'c1'. Keep one row per id"),
    (
        "no common ids",
        {"a": frame(), "b": frame().set_axis([f"d{i}" for i in range(ROWS)])},
        "no id is held by all parties: 'a' has 'c0', 'c1', 'c2', …; 'b' has 'd0', 'd1', 'd2', …. Check that",
    ),
    (
        "ids of different types",
        {"a": frame(), "b": numbers()},
        "ids differ in type between parties: 'a' text, 'b' integers. Use one type, e.g. df.index.astype(str).",
    ),
    ("missing ids", {"a": frame().set_axis([*IDS[1:], None])}, "party 'a': some ids are missing. Give every row an id"),
    (
        "missing numbers as ids",
        {"a": (numbers(), [np.nan, *range(1, ROWS)])},
        "party 'a': 1 ids are missing (NaN). Give every row an id or leave the row out.",
    ),
    ("NA as id", {"a": (numbers(), np.array([pd.NA, *range(1, ROWS)], object))}, "party 'a': some ids are missing"),
    ("no date as id", {"a": (numbers(), pd.DatetimeIndex([None, *pd.date_range("2024", periods=11)]))}, "missing"),
    (
        "mixed ids",
        {"a": (numbers(), np.array([0, "x", *range(2, ROWS)], object))},
        "party 'a': ids mix number and text.",
    ),
    (
        "fractions as ids",
        {"a": (numbers(), np.arange(ROWS) + 0.5)},
        "party 'a': ids are no whole numbers, e.g. 0.5, 1.5",
    ),
    ("infinite id", {"a": (numbers(), [np.inf, *range(1, ROWS)])}, "party 'a': ids are no whole numbers, e.g. inf."),
    (
        "huge ids",
        {"a": (numbers(), [2**70, *range(1, ROWS)])},
        "party 'a': some ids have more than 64 bits. Make them text",
    ),
    (
        "truth values as ids",
        {"a": (numbers(2), [True, False])},
        "party 'a': ids have the type bool. Use integers or text.",
    ),
    ("one id", {"a": (numbers(), 5)}, "party 'a': ids must be one column. Got shape ()."),
    ("id pairs", {"a": (numbers(), numbers())}, "party 'a': ids must be one column. Got shape (12, 2)."),
    ("too few ids", {"a": (numbers(), range(5))}, "party 'a': 12 rows but 5 ids. Give one id per row."),
    (
        "text in a numeric column",
        {"a": frame(income=[*range(ROWS - 1), "?"])},
        "party 'a', column 'income': 1 of 12 values are text among numbers, e.g. '?'. Make them numbers or missing, "
        "or declare the column categorical.",
    ),
    (
        "text among text numbers",
        {"a": frame(income=[*map(str, range(ROWS - 1)), "n/a"])},
        "party 'a', column 'income': 1 of 12 values are text among numbers, e.g. 'n/a'.",
    ),
    (
        "infinity",
        {"a": frame(income=[np.inf, *range(ROWS - 1)])},
        "party 'a': column 'income' holds infinity. Replace it by a number or by missing (NaN).",
    ),
    (
        "constant columns",
        {"a": frame(one=1, same="x")},
        "party 'a': column 'one', 'same' has one value in all rows. Leave it out, e.g. df.drop(columns=…).",
    ),
    (
        "empty columns",
        {"a": frame(gap=np.nan, none=None)},
        "party 'a': column 'gap', 'none' is empty. Leave it out, e.g. df.drop(columns=…).",
    ),
    ("dates", {"a": frame(day=pd.date_range("2024", periods=ROWS))}, "column 'day': dates are not used as they are."),
    ("durations", {"a": frame(day=pd.to_timedelta(range(ROWS), "D"))}, "column 'day': dates are not used as they are."),
    ("repeated column", {"a": frame().set_axis(["x", "x"], axis=1)}, "party 'a': column 'x' occurs more than once."),
    ("no rows", {"a": frame().iloc[:0]}, "party 'a': the table is empty (0 rows, 2 columns). Leave the party out."),
    ("no columns", {"a": frame()[[]]}, "party 'a': the table is empty (12 rows, 0 columns). Leave the party out."),
    ("one axis", {"a": numbers()[:, 0]}, "party 'a': shape (12,) is neither a table (rows, columns) nor images"),
    (
        "three axes",
        {"a": numbers()[:, None]},
        "party 'a': shape (12, 1, 2) is neither a table (rows, columns) nor images",
    ),
    (
        "text array",
        {"a": np.array([["a", "b"]] * ROWS)},
        "party 'a': values of type <U1 are not numbers. Use a DataFrame",
    ),
    ("nothing", {"a": None}, "party 'a': values of type object are not numbers."),
    ("ragged rows", {"a": [[1, 2], [3]] * 6}, "party 'a': its rows differ in length: (1,), (2,). Give every row"),
]


@pytest.mark.parametrize(("views", "text"), [case[1:] for case in BAD_VIEWS], ids=[case[0] for case in BAD_VIEWS])
def test_a_bad_view_is_explained(views: dict[str, Any], text: str) -> None:
    rows = len(views["a"]) if isinstance(views["a"], pd.DataFrame) else ROWS
    found = refused(views, zero_one(rows))
    assert text in found
    assert found.startswith("The data cannot be used: ")


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (None, "labels of party 'a': there are none. Give a Series by id, or an array in the order of the rows."),
        ([None] * ROWS, "labels of party 'a': no row has a label. Give at least a few labels."),
        ([], "labels of party 'a': labels of shape (0,) for 12 rows. Give one per row, or a Series by id."),
        ([0, 1, 0], "labels of party 'a': labels of shape (3,) for 12 rows. Give one per row, or a Series by id."),
        (np.zeros((ROWS, 2)), "labels of party 'a': labels of shape (12, 2) for 12 rows."),
        (pd.DataFrame(np.eye(ROWS)), "labels of party 'a': labels must be one column. Got 12. Select one, e.g."),
        ((0, 1), "labels of party 'a': ids must be one column. Got shape ()."),
        ([1] * ROWS, "labels of party 'a': only the class 1 occurs. Classification needs two."),
        (["yes", None] * 6, "labels of party 'a': only the class 'yes' occurs. Classification needs two."),
        (
            pd.Series([0, 1], index=["x", "y"]),
            "none of their ids ('x', 'y') is a row of its view ('c0', 'c1', 'c10', …).",
        ),
        (pd.Series([0, 1], index=[0, 1]), "none of their ids (0, 1) is a row of its view"),
        (pd.Series([0, 1, 1], index=["c1", "c1", "c2"]), "labels of party 'a': 1 ids occur more than once, e.g. 'c1'."),
        ([0.5, np.inf] * 6, "labels of party 'a': a target is infinite. Replace it or leave it out."),
        ([0, 1, np.inf] * 4, "labels of party 'a': a target is infinite. Replace it or leave it out."),
    ],
)
def test_bad_labels_are_explained_once(labels: Any, text: str) -> None:
    found = refused({"a": frame()}, labels)
    assert text in found
    if "must be one column" not in text:
        assert found == f"The data cannot be used: {found.split(': ', 1)[1]}" and "problems." not in found


def test_labels_that_do_not_fit_a_given_task() -> None:
    assert "3 classes in a binary task. Use task='multiclass'." in refused({"a": frame()}, [0, 1, 2] * 4, task="binary")
    assert "regression needs numbers. Got 'a', 'b', 'a', …." in refused(
        {"a": frame()}, ["a", "b"] * 6, task="regression"
    )


def test_categorical_columns_must_exist() -> None:
    found = refused({"a": frame(), "b": numbers()}, zero_one(), categorical={"a": ["jbo"], "b": ["0", "7"], "c": ["x"]})
    assert "party 'a': categorical column 'jbo' does not exist. It has 'age', 'sum'." in found
    assert "party 'b': categorical column '7' does not exist. It has '0', '1'." in found
    assert "categorical names the party 'c', which has no view. " in found
    assert "categorical must list columns. Got 'age'. Use ['age']." in refused(
        {"a": frame()}, zero_one(), categorical={"a": "age"}
    )


@pytest.mark.parametrize("views", [{}, None, [numbers()]])
def test_views_must_map_names_to_tables(views: Any) -> None:
    assert "views must map party names to tables." in refused(views, zero_one())


def test_all_problems_are_listed_together() -> None:
    bank = frame(one=1, gap=np.nan, income=[*range(ROWS - 1), "?"], far=[np.inf, *range(ROWS - 1)])
    bank.index = ["c0", "c0", *IDS[2:]]
    shop = frame(day=pd.date_range("2024", periods=ROWS)).set_axis([f"d{i}" for i in range(ROWS)])
    found = refused({"bank": bank, "shop": shop}, [1] * ROWS, categorical={"shop": ["nothing"]})
    wanted = [
        "party 'bank', column 'income': 1 of 12 values are text among numbers",
        "party 'bank': 1 ids occur more than once, e.g. 'c0'",
        "party 'shop': categorical column 'nothing' does not exist",
        "party 'shop', column 'day': dates are not used as they are",
        "party 'bank': column 'far' holds infinity",
        "party 'bank': column 'gap' is empty",
        "party 'bank': column 'one' has one value in all rows",
        "no id is held by all parties",
        "labels of party 'bank': only the class 1 occurs",
    ]
    assert found.startswith(f"The data cannot be used: {len(wanted)} problems.\n")
    for text in wanted:
        assert re.search(rf"^  \d\. {re.escape(text)}", found, re.MULTILINE), text


def test_one_problem_with_ids_does_not_bring_up_others() -> None:
    found = refused({"a": frame().set_axis([*IDS[1:], None]), "b": frame()}, zero_one())
    assert found == (
        "The data cannot be used: party 'a': some ids are missing. Give every row an id or leave the row out."
    )


def test_a_row_of_numbers_with_a_gap_is_still_numbers() -> None:
    one = pd.DataFrame({"age": [None], "job": ["cook"]}, index=["c0"])
    view = as_view(one, "a", ("job",), problems := [])
    assert problems == [] and view.columns == ("age",) and np.isnan(view.x).all()
