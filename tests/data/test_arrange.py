"""The same data, arranged otherwise: other hosts, fewer rows, biased columns."""

from __future__ import annotations

import numpy as np
import pytest

import colonnade as cn
from colonnade.data.arrange import GUEST, HOST, biased, fewer, hosted
from colonnade.data.datasets import DATASETS
from colonnade.errors import ConfigError


def test_the_labels_move_to_another_party_whose_view_comes_first():
    data = DATASETS["wine"].load(3)
    moved = hosted(data, "lab2")
    assert moved.active == "lab2" and list(moved.views) == ["lab2", "lab1", "lab3"]
    assert (moved.labels.values == data.labels.values).all() and hosted(data, None) is data
    server = hosted(data, "server")
    assert server.active == "server" and list(server.views) == ["lab1", "lab2", "lab3"]
    with pytest.raises(ConfigError, match="active names the party 'lab9', which does not exist"):
        hosted(data, "lab9")


def test_a_moved_host_keeps_its_labels_under_its_own_ids():
    parts = DATASETS["wine"](parties=3, active="lab2", aligned=0.3, labels=0.5)
    own = parts.train.views["lab2"].ids
    assert parts.train.active == "lab2" and np.isin(parts.train.labels.ids, own).all()
    assert not np.isin(parts.train.labels.ids, parts.train.views["lab1"].ids).all()
    model = cn.SplitNN(epochs=1).fit(parts.train, parts.valid)
    assert model.active_ == "lab2"


def test_fewer_rows_are_the_same_for_every_seed():
    data = DATASETS["digits"].load()
    some = fewer(data, 100)
    assert len(some.aligned) == 100 and (some.aligned == fewer(data, 100).aligned).all()
    assert fewer(data, None) is data and fewer(data, 10**6) is data
    with pytest.raises(ConfigError, match="rows must be at least 10"):
        fewer(data, 3)
    parts = DATASETS["digits"](rows=100, seed=3)
    found = np.concatenate([part.aligned for part in (parts.train, parts.valid, parts.test)])
    assert set(found) <= set(some.aligned)


def test_the_host_gets_its_share_of_the_dominant_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 12)).astype(np.float32)
    y = (x[:, [1, 5, 8, 10]].sum(axis=1) > 0).astype(int)  # four columns matter
    data = cn.VerticalData({"a": x[:, :6], "b": x[:, 6:]}, y)
    parts = cn.split(data, seed=0)
    strong = {"a.1", "a.5", "b.2", "b.4"}
    for share in (0.0, 0.5, 1.0):
        made = biased(parts, share, 4, seed=0)
        host, guest = (set(made.train.views[name].columns) for name in (HOST, GUEST))
        assert len(host & strong) == round(4 * share) and len(host) == len(guest) == 6 and not host & guest
        assert made.train.active == HOST and list(made.test.views[HOST].columns) == list(made.train.views[HOST].columns)
        assert (made.test.labels.ids == parts.test.labels.ids).all()
    with pytest.raises(ConfigError, match="at most half of the 12 columns"):
        biased(parts, 0.5, 7, seed=0)


def test_a_biased_division_refuses_what_it_cannot_divide():
    with pytest.raises(ConfigError, match="aligned rows of numbers"):
        biased(DATASETS["wine"](aligned=0.5), 0.5, 3, seed=0)
