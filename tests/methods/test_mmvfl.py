"""MMVFL against a slow version, its objective, the selection of columns, what crosses, and what it refuses."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from tests.conftest import make_data
from tests.methods.small import small
from tests.methods.together import observe


def make(widths: list[int], rows: int, classes: int, seed: int, active: str = "p0") -> cn.VerticalData:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows) % classes)
    centres = rng.normal(size=(classes, sum(widths)))
    x = np.split(centres[y] + rng.normal(size=(rows, sum(widths))), np.cumsum(widths)[:-1], axis=1)
    return cn.VerticalData({f"p{k}": v.astype(np.float32) for k, v in enumerate(x)}, y, active=active)


class Slow:
    """The updates as they are printed, with explicit inverses and a column of ones, in numpy."""

    def __init__(self, tables: dict[str, np.ndarray], y: np.ndarray, z: np.ndarray, owner: str, **weights: float):
        self.x = {k: np.hstack([x, np.ones((len(x), 1))]) for k, x in tables.items()}
        self.y, self.owner, self.weights = np.eye(z.shape[1])[y], owner, weights
        self.z = z
        self.zk = {k: z.copy() for k in [*tables, owner]}
        self.a = {k: np.eye(x.shape[1]) for k, x in self.x.items()}
        self.w: dict[str, np.ndarray] = {}

    def iterate(self) -> None:
        beta, zeta, eta = (self.weights[k] for k in ("beta", "zeta", "eta"))
        for k, x in self.x.items():
            self.a[k][-1, -1] = 0.0  # the intercept is free
            self.w[k] = np.linalg.inv(x.T @ x + beta * self.a[k]) @ x.T @ self.zk[k]
            norms = np.linalg.norm(self.w[k], axis=1)
            self.a[k] = np.diag(1 / (2 * norms + 1e-8))
            self.zk[k] = (x @ self.w[k] + zeta * self.z) / (1 + zeta)
        x1 = self.x[self.owner] @ self.w[self.owner] if self.owner in self.x else 0.0
        count = 1 if self.owner in self.x else 0
        self.zk[self.owner] = (x1 + zeta * self.z + eta * self.y) / (count + zeta + eta)
        self.z = sum(self.zk.values()) / len(self.zk)

    def objective(self) -> float:
        beta, zeta, eta = (self.weights[k] for k in ("beta", "zeta", "eta"))
        fit = sum(((x @ self.w[k] - self.zk[k]) ** 2).sum() for k, x in self.x.items())
        norms = sum(np.linalg.norm(w[:-1], axis=1).sum() for w in self.w.values())
        apart = sum(((z - self.z) ** 2).sum() for z in self.zk.values())
        return float(fit + beta * norms + zeta * apart + eta * ((self.zk[self.owner] - self.y) ** 2).sum())


def run_both(data: cn.VerticalData, iterations: int, **weights: float) -> tuple[cn.MMVFL, Slow]:
    model = cn.MMVFL(epochs=iterations, tolerance=1e-30, **weights)
    with pytest.MonkeyPatch.context() as patch:
        seen = observe(patch)
        model.fit(data)
    first = [m.tensors["consensus"].numpy() for m in seen if m.kind == "consensus"]
    active = model.federation_.active
    parties = {active.name: active, **model.federation_.engine.parties}  # type: ignore[attr-defined]
    rows = active.labelled_aligned
    tables = {k: p.tables["train"].x[rows].double().numpy() for k, p in parties.items() if p.encoder is not None}
    slow = Slow(tables, active.y["train"][rows].numpy(), first[0].astype(float), active.name, **weights)
    return model, slow


@settings(max_examples=15, deadline=None)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    rows=st.sampled_from([5, 30]),  # fewer and more than columns
    classes=st.sampled_from([2, 4]),
    beta=st.sampled_from([0.01, 1.0, 20.0]),
    zeta=st.sampled_from([0.5, 1000.0]),
    eta=st.sampled_from([2.0, 1000.0]),
    own=st.booleans(),
    seed=st.integers(0, 999),
)
def test_models_and_predictions_are_those_of_the_slow_version(
    widths: list[int], rows: int, classes: int, beta: float, zeta: float, eta: float, own: bool, seed: int
) -> None:
    data = make(widths, rows, classes, seed, active="p0" if own else "server")
    model, slow = run_both(data, 6, beta=beta, zeta=zeta, eta=eta)
    for _ in range(6):
        slow.iterate()
    mean = np.zeros((rows, classes))
    for name, x in slow.x.items():
        party = model.federation_.active if name == "p0" and own else model.federation_.engine.parties[name]  # type: ignore[attr-defined]
        np.testing.assert_allclose(party.encoder.components, slow.w[name][:-1], rtol=2e-3, atol=2e-4)
        mean += x @ slow.w[name] / len(slow.x)
    shares = np.clip(mean, 1e-3, None)
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(data.views), shares, rtol=1e-2, atol=1e-3)


def test_the_objective_never_rises_and_the_history_has_it() -> None:
    data = make([3, 4, 2], 40, 3, 0)
    model, slow = run_both(data, 40, beta=0.5, zeta=3.0, eta=5.0)
    values, known = [], []
    for _ in range(40):
        slow.iterate()
        values.append(slow.objective())
        known.append(values[-1] - 0.5 * sum(np.linalg.norm(w[:-1], axis=1).sum() for w in slow.w.values()))
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(values)) and values[-1] < 0.5 * values[0]
    # the active party knows all of it but the norms of others' models
    assert [h["loss"] * 40 for h in model.history_] == pytest.approx(known, rel=1e-3)


def test_columns_without_information_are_left_out() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    noise = rng.normal(size=(300, 5))
    views = {"a": np.c_[y + 0.5 * rng.normal(size=300), noise], "b": np.c_[noise[::-1], y + rng.normal(size=300)]}
    model = cn.MMVFL(beta=30.0).fit(cn.VerticalData(views, y))
    a = torch.linalg.vector_norm(model.federation_.active.encoder.components, dim=1)
    b = torch.linalg.vector_norm(model.federation_.engine.parties["b"].encoder.components, dim=1)
    assert a[0] > 50 * a[1:].max() and b[-1] > 50 * b[:-1].max()
    none = cn.MMVFL(beta=1e-3).fit(cn.VerticalData(views, y)).federation_.active.encoder.components
    assert torch.linalg.vector_norm(none, dim=1)[1:].max() > 10 * a[1:].max()


def test_the_consensus_becomes_the_labels_and_stops_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the method shares are the labels: any passive party can read them off the last message."""
    data = make([3, 3, 3], 50, 3, 1)
    seen = observe(monkeypatch)
    model = cn.MMVFL().fit(data)
    sent = [m.tensors["consensus"] for m in seen if m.kind == "consensus" and m.receiver == "p2"]
    y = model.federation_.active.y["train"]
    assert (sent[-1].argmax(1) == y).all() and (sent[0].argmax(1) == y).float().mean() < 0.7
    assert len(model.history_) < 200 and (sent[-1] - sent[-2]).abs().max() < 2e-4
    assert not any(name == "y" or "label" in name for m in seen for name in (*m.tensors, *m.values))


def test_a_party_that_is_always_late_is_left_out() -> None:
    parts = cn.split(make_data(3))
    model = small("mmvfl", response_limit=1e-9, epochs=3).fit(parts.train, parts.valid)
    assert set(model.late_) == {"p1", "p2"} and model.score(parts.test.views, parts.test.labels) > 0.34


def test_only_options_that_are_read_are_offered() -> None:
    assert {"hidden", "width", "batch_size", "learning_rate", "encoders"}.isdisjoint(cn.MMVFL().get_params())
    with pytest.raises(cn.ConfigError, match=r"'hidden' is no option of MMVFL"):
        cn.MMVFL(hidden=(8,))


@pytest.mark.parametrize("option", ["beta", "zeta", "eta", "tolerance"])
def test_weights_are_positive(option: str) -> None:
    with pytest.raises(cn.ConfigError, match=rf"{option} must be a number above 0\. Got 0"):
        cn.MMVFL(**{option: 0})


def test_regression_is_refused_with_the_methods_that_do_it() -> None:
    with pytest.raises(cn.ConfigError, match=r"mmvfl does binary, multiclass, not regression\. These do .*splitnn"):
        small("mmvfl").fit(make_data(task="regression"))


def test_what_is_saved_is_a_linear_model(tmp_path: Any) -> None:
    """Saved parts are linear models, and nothing of the rows they came from."""
    data = make([3, 3], 30, 2, 0)
    model = cn.MMVFL(epochs=5).fit(data)
    again = cn.load(model.save(tmp_path / "model"))
    assert set(again.federation_.active.state()) == {f"encoder.{k}" for k in ("mean", "components", "bias", "starts")}
