"""Splits: the parts share no row, few labels means few, and what is not aligned cannot be joined again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import colonnade as cn
from tests.conftest import make_data


def table(ids: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose first column tells which row it is."""
    ids = np.asarray(ids)
    own = np.random.default_rng(seed).permutation(len(ids))
    x = np.stack([np.arange(len(ids)), np.arange(len(ids)) % 7], axis=1).astype(float)
    return x[own], ids[own]


def federation(
    rows: int = 100,
    extra: int = 10,
    parties: int = 2,
    ids: str = "numbers",
    classes: int = 3,
    active: str | None = None,
) -> cn.VerticalData:
    """`rows` aligned rows, of which the first column is the row's number at every party; `extra` more at each party."""
    views = {}
    for k in range(parties):
        numbers = np.concatenate([np.arange(rows), rows + extra * k + np.arange(extra)])
        own = numbers if ids == "numbers" else np.array([f"{n}@p{n % 3}" for n in numbers])
        x, own = table(own, seed=k)
        views[f"p{k}"] = (x, own)
    names = np.arange(rows) if ids == "numbers" else np.array([f"{n}@p{n % 3}" for n in range(rows)])
    return cn.VerticalData(
        views, (np.arange(rows) % classes, names), active=active, task="multiclass" if classes > 2 else "binary"
    )


def ids_by_party(data: cn.VerticalData) -> dict[str, set[Any]]:
    return {
        **{name: set(view.ids.tolist()) for name, view in data.views.items()},
        "labels": set(data.labels.ids.tolist()),
    }


def assert_apart(parts: cn.Split) -> None:
    train, valid, test = (ids_by_party(part) for part in (parts.train, parts.valid, parts.test))
    for one, other in ((train, valid), (train, test), (valid, test)):
        everything = set().union(*one.values())
        for name, ids in other.items():
            assert not ids & everything, f"{name} shares {sorted(ids & everything)[:3]}"


def same(one: cn.VerticalData, other: cn.VerticalData) -> bool:
    return (
        list(one.views) == list(other.views)
        and all(
            np.array_equal(one.views[n].ids, other.views[n].ids)
            and np.array_equal(one.views[n].x, other.views[n].x, equal_nan=True)
            and np.array_equal(one.views[n].codes, other.views[n].codes)
            for n in one.views
        )
        and np.array_equal(one.labels.ids, other.labels.ids)
        and np.array_equal(one.labels.values, other.labels.values)
    )


settings_of_a_split = st.fixed_dictionaries(
    {
        "rows": st.integers(30, 90),
        "extra": st.integers(0, 12),
        "parties": st.integers(1, 4),
        "ids": st.sampled_from(["numbers", "text"]),
        "classes": st.integers(2, 4),
        "active": st.sampled_from([None, "server"]),
    }
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    settings_of_a_split,
    st.sampled_from([None, 6, 10, 0.3, 1.0]),
    st.sampled_from([1.0, 0.7, 0.2]),
    st.integers(0, 5),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore:class")  # a server loses the labels of rows that are not aligned
def test_parts_share_no_row(made: dict[str, Any], labels: Any, aligned: float, seed: int, official: bool) -> None:
    data = federation(**made)
    labels = None if made["active"] else labels  # a party without columns has labels of aligned rows only
    test = None
    if official:
        apart = np.intersect1d(data.aligned, data.labels.ids)[:10]  # test rows have labels
        test, data = data.only(apart), drop(data, apart)
    parts = cn.split(data, labels=labels, aligned=aligned, seed=seed, test=test)
    assert_apart(parts)
    if official:
        assert same(parts.test, test)
    shared = set.intersection(*(set(v.ids.tolist()) for v in parts.train.views.values()))
    before = set(data.aligned.tolist())
    if made["parties"] > 1:
        assert shared <= before  # a new id is nobody else's
        rows = len(data.aligned) - len(parts.test.labels) * (not official) - round_valid(data)
        assert len(shared) == max(1, round(aligned * rows))
    for part in (parts.valid, parts.test):  # all parties' columns and all labels, about the same rows
        order = part.labels.ids
        assert all(np.array_equal(part.only(order).views[n].x, part.only(order).views["p0"].x) for n in part.views)
        assert len(part.aligned) == len(part.labels)
    assert len(parts.valid.labels) <= len(parts.train.labels)
    assert made["active"] or set(parts.train.labels.values) == set(data.labels.values)
    if labels is not None and labels > 1:
        assert len(parts.train.labels) == labels
    for view in parts.train.views.values():  # every row keeps its values, whatever its id is now
        assert len(set(view.x[:, 0])) == len(view)


def round_valid(data: cn.VerticalData) -> int:
    """Validation rows that are taken from training, before they are thinned out: a fifth of each class."""
    usable = np.isin(data.labels.ids, data.aligned)
    return sum(round(0.2 * n) for n in np.unique(data.labels.values[usable], return_counts=True)[1])


def drop(data: cn.VerticalData, ids: np.ndarray) -> cn.VerticalData:
    views = {n: (v.x, v.ids) for n, v in data.views.items()}
    kept = {n: (x[~np.isin(own, ids)], own[~np.isin(own, ids)]) for n, (x, own) in views.items()}
    here = ~np.isin(data.labels.ids, ids)
    return cn.VerticalData(kept, (data.labels.values[here], data.labels.ids[here]), data.active, task=data.task)


def test_new_ids_collide_with_none_even_when_ids_are_made_to() -> None:
    base = np.array([f"c{i}{mark}" for i in range(10) for mark in ("", "@1", "@2", "@3")])
    views = {
        "x": table([*base, "c1@x", "c3@@1", "c4@y@x"], 0),
        "y@x": table([*base, "c1@y@x", "c3@@2"], 1),
        "1": table([*base, "c5@", "c5@@"], 2),
    }
    parts = cn.split(cn.VerticalData(views, (np.arange(40) % 2, base)), aligned=0.25, seed=1)
    seen: dict[str, list[str]] = {}
    for name, view in parts.train.views.items():
        assert len(set(view.ids)) == len(view)
        for i in view.ids:
            seen.setdefault(str(i), []).append(name)
    aligned = set(parts.train.aligned.tolist())
    assert all((len(holders) == 3) == (i in aligned) for i, holders in seen.items())
    assert all(len(holders) in (1, 3) for holders in seen.values())


@pytest.mark.parametrize(
    ("first", "last"), [(-(2**63), 2**63 - 500), (500 - 2**63, 2**63 - 1), (2**62, 2**63 - 1), (0, 59), (-(2**62), 5)]
)
def test_ids_may_fill_64_bits(first: int, last: int) -> None:
    ids = np.array([first + (last - first) * i // 59 for i in range(60)], dtype=np.int64)
    data = cn.VerticalData({"a": table(ids, 0), "b": table(ids, 1)}, (np.arange(len(ids)) % 2, ids))
    parts = cn.split(data, aligned=0.5)
    assert_apart(parts)
    rows = len(parts.train.views["a"])
    assert len(parts.train.aligned) == round(rows / 2)
    assert len(set(parts.train.views["a"].ids) | set(parts.train.views["b"].ids)) == 2 * rows - round(rows / 2)


def test_each_class_has_its_share_in_every_part() -> None:
    y = np.array([0] * 100 + [1] * 50 + [2] * 10)
    data = cn.VerticalData({"a": np.arange(320.0).reshape(160, 2)}, y)
    parts = cn.split(data)
    counts = [
        np.unique(part.labels.values, return_counts=True)[1].tolist() for part in (parts.train, parts.valid, parts.test)
    ]
    assert counts == [[60, 30, 6], [20, 10, 2], [20, 10, 2]]
    few = cn.split(data, labels=16)
    assert np.unique(few.train.labels.values, return_counts=True)[1].tolist() == [10, 5, 1]
    assert np.unique(few.valid.labels.values, return_counts=True)[1].tolist() == [10, 5, 1]
    least = cn.split(data, labels=3)
    assert sorted(least.train.labels.values) == [0, 1, 2] == sorted(least.valid.labels.values)


def test_labels_are_a_number_or_a_fraction_of_the_training_rows() -> None:
    data = federation(rows=100, extra=20, classes=2)
    rows = 100 - 20 - 20 + 20
    assert len(cn.split(data, labels=7).train.labels) == 7
    assert len(cn.split(data, labels=7.0).train.labels) == 7
    assert len(cn.split(data, labels=0.25).train.labels) == rows // 4
    assert len(cn.split(data, labels=1.0).train.labels) == 60  # all there are
    assert len(cn.split(data).train.labels) == 60
    assert len(cn.split(federation(100, 20, classes=2, active="server"), labels=0.25).train.labels) == 60 // 4


@pytest.mark.parametrize("ids", ["numbers", "text"])
def test_labels_go_to_aligned_rows_first(ids: str) -> None:
    parts = cn.split(federation(rows=100, classes=2, ids=ids), labels=16, aligned=0.5)
    assert len(parts.train.aligned) == 30
    assert set(parts.train.labels.ids) <= set(parts.train.aligned)
    more = cn.split(federation(rows=100, classes=2, ids=ids), labels=50, aligned=0.5)
    labelled = set(more.train.labels.ids.tolist())
    assert len(labelled) == 50 and set(more.train.aligned.tolist()) <= labelled
    assert labelled <= set(more.train.views["p0"].ids.tolist())


def test_labels_of_a_party_without_columns_stay_with_aligned_rows() -> None:
    parts = cn.split(federation(rows=100, active="server"), aligned=0.5)
    assert sorted(parts.train.labels.ids) == parts.train.aligned.tolist()


def test_aligned_fraction_keeps_every_row_at_its_party() -> None:
    data = federation(rows=100, extra=10, parties=3)
    whole, part = cn.split(data), cn.split(data, aligned=0.2)
    assert len(part.train.aligned) == round(0.2 * len(whole.train.aligned))
    for name, view in part.train.views.items():
        assert sorted(view.x[:, 0]) == sorted(whole.train.views[name].x[:, 0])
    assert same(whole.test, part.test) and same(whole.valid, part.valid)


def test_labels_keep_their_rows_when_ids_change() -> None:
    data = federation(rows=90, classes=3)
    truth = {
        float(x): y for x, y in zip(data.only(data.labels.ids).views["p0"].x[:, 0], data.labels.values, strict=True)
    }
    train = cn.split(data, aligned=0.3).train
    values, known = train.labels.of(train.views["p0"].ids)
    assert known.sum() == len(train.labels) == 54
    for row, value in zip(train.views["p0"].x[known, 0], values[known], strict=True):
        assert truth[float(row)] == value


def test_the_seed_decides_and_the_order_of_rows_does_not() -> None:
    data = make_data()
    one, again, other = (cn.split(data, labels=20, aligned=0.5, seed=s) for s in (1, 1, 2))
    assert same(one.train, again.train) and same(one.valid, again.valid) and same(one.test, again.test)
    assert not same(one.test, other.test)
    assert set(one.test.labels.ids) != set(other.test.labels.ids)
    backwards = cn.VerticalData.of(
        {n: v.take(np.arange(len(v))[::-1]) for n, v in data.views.items()},
        data.labels.take(np.arange(len(data.labels))[::-1]),
        data.active,
        data.task,
    )
    reordered = cn.split(backwards, labels=20, aligned=0.5, seed=1)
    assert same(one.test, reordered.test) and same(one.valid, reordered.valid)
    assert set(one.train.aligned) == set(reordered.train.aligned)
    assert set(one.train.views["p1"].ids) == set(reordered.train.views["p1"].ids)


def test_values_of_test_rows_change_nothing_in_training() -> None:
    frames = {p: pd.DataFrame(v.x, columns=list(v.columns), index=v.ids) for p, v in make_data().views.items()}
    labels = make_data().labels
    frames["p1"]["kind"] = np.where(np.arange(len(frames["p1"])) % 2, "a", "b")
    before = cn.split(cn.VerticalData(frames, labels), labels=20, aligned=0.5, seed=3)
    hidden = [*before.test.labels.ids]
    for frame in frames.values():
        numeric = [c for c in frame if c != "kind"]
        frame.loc[hidden, numeric] = frame.loc[hidden, numeric] * 100 - 7
    frames["p1"].loc[hidden, "kind"] = "never seen"
    after = cn.split(cn.VerticalData(frames, labels), labels=20, aligned=0.5, seed=3)
    assert same(before.train, after.train) and same(before.valid, after.valid)
    assert not same(before.test, after.test)
    options = {"hidden": (8,), "width": 4, "epochs": 3}
    models = [cn.SplitNN(**options).fit(parts.train, parts.valid) for parts in (before, after)]
    one, other = (model.predict_proba(before.valid.views) for model in models)
    np.testing.assert_array_equal(one, other)


def test_regression_is_split_without_classes() -> None:
    data = cn.VerticalData({"a": np.arange(200.0).reshape(100, 2)}, np.linspace(0, 1, 100) ** 2)
    parts = cn.split(data, labels=10)
    assert [len(p.labels) for p in (parts.train, parts.valid, parts.test)] == [10, 10, 20]
    assert len(cn.split(data, labels=0.01).train.labels) == 1


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"aligned": 0},
            cn.ConfigError,
            "aligned must be in (0, 1]. Got 0. Use 1.0 when every row is held by all parties.",
        ),
        ({"aligned": 1.5}, cn.ConfigError, "aligned must be in (0, 1]. Got 1.5."),
        ({"aligned": float("nan")}, cn.ConfigError, "aligned must be in (0, 1]. Got nan."),
        (
            {"labels": 0},
            cn.ConfigError,
            "labels must be a number of rows or a fraction in (0, 1]. Got 0. Use e.g. 100 or 0.05.",
        ),
        ({"labels": -5}, cn.ConfigError, "labels must be a number of rows or a fraction in (0, 1]. Got -5."),
        ({"labels": 2.5}, cn.ConfigError, "labels must be a number of rows or a fraction in (0, 1]. Got 2.5."),
        ({"labels": float("nan")}, cn.ConfigError, "labels must be a number of rows or a fraction in (0, 1]. Got nan."),
        ({"labels": float("inf")}, cn.ConfigError, "labels must be a number of rows or a fraction in (0, 1]. Got inf."),
        ({"labels": 61}, cn.ConfigError, "labels=61 asks for more than the 58 labelled training rows there are."),
        ({"labels": 2}, cn.ConfigError, "labels=2 gives 2 labelled rows for 3 classes. Ask for 3 or more."),
        ({"labels": 0.02}, cn.ConfigError, "labels=0.02 gives 1 labelled rows for 3 classes. Ask for 3 or more."),
        ({"seed": -1}, cn.ConfigError, "seed must be a whole number of at least 0. Got -1."),
    ],
)
def test_a_wrong_setting_is_explained(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        cn.split(federation(rows=100), **options)
    assert text in str(caught.value)


def test_too_few_rows_to_split() -> None:
    with pytest.raises(
        cn.DataError, match=r"9 rows are labelled and held by all parties\. A split needs at least 10\."
    ):
        cn.split(federation(rows=9))
    with pytest.raises(cn.DataError, match=r"but no class has the 3 that a split needs\. Label more rows\."):
        cn.split(federation(rows=10, classes=5))


def test_an_official_test_set_must_have_ids_of_its_own() -> None:
    x = np.arange(100.0).reshape(50, 2)
    data, test = cn.VerticalData({"a": x, "b": x}, np.arange(50) % 2), cn.VerticalData({"a": x[:9]}, np.arange(9) % 2)
    with pytest.raises(cn.DataError, match=r"party 'a': 9 test rows have the id of another row, e\.g\. 0, 1, 2, …"):
        cn.split(data, test=test)


def test_the_share_of_test_rows_can_be_chosen() -> None:
    data = federation(rows=100, extra=0, classes=2)
    assert len(cn.split(data, test_share=0.1).test.labels) == 10
    with pytest.raises(cn.ConfigError, match=r"test_share must be in \(0, 0\.5\]\. Got 0"):
        cn.split(data, test_share=0)
