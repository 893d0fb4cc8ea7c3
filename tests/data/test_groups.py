"""Groups: all rows of a group are in one part, whatever their sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import colonnade as cn
from colonnade.data.description import read_description
from colonnade.data.splits import transductive
from colonnade.errors import DataError
from tests.data.test_splits import federation


def names_in(part: cn.VerticalData, names: dict[Any, Any]) -> set[Any]:
    """The groups of all rows that any party has in this part."""
    return {names[i] for view in part.views.values() for i in view.ids.tolist() if i in names}


def grouped(sizes: list[int], **options: Any) -> tuple[cn.Split, dict[Any, Any]]:
    """Aligned rows in groups of these sizes; every party's other rows are in the first group's."""
    names = np.repeat(np.arange(len(sizes)), sizes)
    rows = int(sum(sizes))
    data = federation(rows=rows, extra=6)
    ids = np.arange(rows + 6)  # p0 holds 6 rows more
    groups = np.concatenate([names, np.zeros(6, dtype=np.int64)])
    return cn.split(data, groups=(groups, ids), **options), dict(zip(ids.tolist(), groups.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_no_group_is_on_two_sides(seed: int) -> None:
    parts, names = grouped([5, 9, 4, 12, 6, 7, 3, 8, 5, 11], seed=seed)
    train, valid, test = (names_in(part, names) for part in (parts.train, parts.valid, parts.test))
    assert not (train & valid or train & test or valid & test)
    assert len(test) == 2 and len(train) == 6  # 20 % of the groups, and what is left
    assert set(parts.train.groups.values.tolist()) == train


def test_a_group_larger_than_the_test_share_trains() -> None:
    for seed in range(5):
        parts, names = grouped([70, 5, 5, 5, 5], seed=seed)
        assert 0 in names_in(parts.train, names) and len(parts.test.labels) == 5


def test_large_groups_are_shared_out_where_there_are_no_others() -> None:
    parts, names = grouped([30, 30, 40])
    assert names_in(parts.train, names) == {2} and len(parts.test.labels) == 30  # the largest trains


@pytest.mark.parametrize(("sizes", "said"), [([60], r"1 group\(s\) \(0\)"), ([30, 30], r"2 group\(s\).*needs 3")])
def test_too_few_groups_are_refused(sizes: list[int], said: str) -> None:
    with pytest.raises(DataError, match=said):
        grouped(sizes)


def test_a_row_without_a_group_is_refused() -> None:
    with pytest.raises(DataError, match="10 of 60 rows that are labelled and held by all parties have no group"):
        cn.split(federation(rows=60), groups=(np.arange(50) % 7, np.arange(50)))


def test_a_group_on_both_sides_is_refused() -> None:
    data = federation(rows=60, extra=0).grouped((np.arange(60) // 6, np.arange(60)))
    train, other = data.only(np.arange(0, 40)), data.only(np.arange(40, 60))  # group 6 has rows 36 to 41
    with pytest.raises(DataError, match="group 6 has training rows and validation rows"):
        cn.SplitNN(epochs=1).fit(train, other)
    with pytest.raises(DataError, match="group 6 has training rows and test rows"):
        cn.split(train, test=other)
    with pytest.raises(cn.ConfigError, match="groups would be on both sides"):
        transductive(data, labels=10)


def test_groups_follow_rows_whose_ids_change() -> None:
    parts, _ = grouped([6] * 15, aligned=0.5)
    train = parts.train
    assert set(train.groups.ids.tolist()) <= set(train.views["p0"].ids.tolist())
    assert len(train.groups) == len(train.views["p0"])


def test_a_table_names_its_groups(tmp_path: Path) -> None:
    own = pd.DataFrame({"id": range(60), "patient": [f"p{i // 4}" for i in range(60)], "age": np.arange(60.0) % 13})
    own["ill"] = np.arange(60) % 2
    own.to_csv(tmp_path / "own.csv", index=False)
    pd.DataFrame({"id": range(60), "dose": np.arange(60.0) % 7}).to_csv(tmp_path / "other.csv", index=False)
    text = '[parties.a]\ndata = "own.csv"\nid = "id"\nlabel = "ill"\n{}[parties.b]\ndata = "other.csv"\nid = "id"\n'
    file = tmp_path / "own.toml"
    file.write_text(text.format('group = "patient"\n'))
    one = read_description(file)
    assert one.data.views["a"].columns == ("age",)  # a patient is no feature
    names = {i: f"p{i // 4}" for i in range(60)}
    parts = one.split()
    assert not names_in(parts.train, names) & names_in(parts.test, names)
    file.write_text(text.format('group = "ill"\n'))
    with pytest.raises(DataError, match="'ill' is both label and group"):
        read_description(file)
