"""Probes: rows they may read, and rows they may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import colonnade as cn
from colonnade.data.splits import Split
from colonnade.lab.advisor import probes
from colonnade.lab.advisor.probes import every_id, redivided, run_probes, suits, thinned
from colonnade.lab.advisor.setting import setting_of
from tests.conftest import make_data


@pytest.fixture(scope="module")
def parts() -> Split:
    return cn.split(make_data(rows=200), seed=0)


def test_other_validation_rows_of_the_same_rows(parts: Split) -> None:
    assert parts.valid is not None
    test = set(every_id(parts.test))
    seen = []
    for seed in range(3):
        other = redivided(parts, seed)
        assert other.valid is not None and len(other.valid.labels) == len(parts.valid.labels)
        train, valid = set(every_id(other.train)), set(every_id(other.valid))
        assert not train & valid and not (train | valid) & test
        assert train | valid == set(every_id(parts.train)) | set(every_id(parts.valid))
        assert len(other.train.labels) == len(parts.train.labels)
        seen.append(frozenset(valid))
    assert len(set(seen)) == 3


def test_thinning_keeps_labels_and_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    train = make_data(rows=400, unaligned=400, labelled=0.2)
    monkeypatch.setattr(probes, "ROWS", 300)
    few = thinned(train, 0)
    assert len(few.labels) == len(train.labels)
    sizes = [len(view) for view in few.views.values()]
    assert all(220 < size < 380 for size in sizes)
    share = len(few.aligned) / sizes[0]
    assert 0.35 < share < 0.75  # it was a half
    monkeypatch.setattr(probes, "LABELLED", 30)
    assert len(thinned(train, 0).labels) == 30
    monkeypatch.setattr(probes, "ROWS", 2000)
    monkeypatch.setattr(probes, "LABELLED", 1000)
    assert thinned(train, 0) is train


def test_probes_never_read_test_rows(parts: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    short: dict[str, dict[str, Any]] = {name: {"epochs": 3} for name in ("local", "splitnn", "fedonce")}
    short["fedonce"]["pretrain_epochs"] = 1
    monkeypatch.setattr(probes, "PROBES", short)
    setting = setting_of(parts.train, "accuracy")
    blind = Split(parts.train, parts.valid, None)  # type: ignore[arg-type]
    told: list[tuple[str, int, int]] = []
    found, failed = run_probes(blind, setting, seeds=2, tell=lambda *what: told.append(what))
    assert list(found) == list(short) and not failed
    assert [done for _, done, _ in told] == list(range(6)) and {total for *_, total in told} == {6}
    assert found["local"].bytes == 0 < found["fedonce"].bytes < found["splitnn"].bytes
    assert found["local"].seeds == 2
    again, _ = run_probes(parts, setting, seeds=2)
    assert {n: p.score for n, p in found.items()} == {n: p.score for n, p in again.items()}


def test_a_method_that_does_not_suit_says_why() -> None:
    regression = setting_of(make_data(task="regression"), "rmse")
    assert "not regression" in str(suits("mmvfl", regression)) and suits("splitnn", regression) is None
    data = make_data()
    server = setting_of(cn.VerticalData.of(data.views, data.labels, "server", data.task), "accuracy")
    assert "labels only" in str(suits("local", server))


def test_rows_are_needed_to_try_methods_on(parts: Split) -> None:
    with pytest.raises(cn.DataError, match="no validation rows"):
        redivided(Split(parts.train, None, parts.test), 0)
    assert np.isin(parts.train.labels.ids, every_id(parts.train)).all()
