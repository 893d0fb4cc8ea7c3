"""Membership inference: an overfitted model betrays its rows, one that learnt nothing does not."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.lab.attacks import RefusedError, Run, judge, membership, shadow_models
from colonnade.lab.attacks.membership import best_threshold, cross_entropy, losses, outputs
from tests.lab.attacks.small import make_parts, make_run

module = sys.modules["colonnade.lab.attacks.membership"]


def test_an_overfitted_model_betrays_its_rows() -> None:
    run = make_run(make_parts(signal=0.0, rows=400), epochs=40)
    (found,) = membership(run)
    assert found.adversary == "anyone" and found.score > 0.8 and found.advantage > 0.4
    assert found.prior == found.baseline == 0.5 and found.n == 240 + 80


def test_shadow_models_know_members_of_an_overfitted_model() -> None:
    run = make_run(make_parts(signal=0.0, rows=800, labels=50), epochs=40)
    (found,) = shadow_models(run)
    assert found.attack == "shadow-models" and found.score > 0.75 and found.advantage > 0.3 and found.n == 50 + 80


def test_a_model_that_learnt_nothing_betrays_nobody() -> None:
    run = make_run(make_parts(rows=800), epochs=1, learning_rate=1e-9)
    (found,) = membership(run)
    assert abs(found.score - 0.5) < 0.08 and abs(found.advantage) < 3 * found.error


def test_the_threshold_is_judged_on_rows_that_did_not_choose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On pure noise the advantage is 0 on average; chosen and judged on the same rows it would be about 0.2."""
    run = make_run(make_parts(rows=100), epochs=1)
    noise = np.random.default_rng(0)
    monkeypatch.setattr(module, "losses", lambda model, rows: noise.normal(size=40))
    found = [membership(run, seed=seed)[0].advantage for seed in range(60)]
    assert abs(np.mean(found)) < 0.05


def test_threshold_by_hand() -> None:
    assert best_threshold(np.array([3.0, 4.0, 1.0]), np.array([0.0, 2.0, 1.5])) == 3.0


def test_losses_are_those_of_the_predictions() -> None:
    run = make_run(make_parts(rows=100), epochs=1)
    rows = run.parts.test.only(run.parts.test.labels.ids)
    p = run.model.predict_proba(rows.views)
    wanted = -np.log(p[np.arange(len(p)), rows.labels.values])
    assert losses(run.model, rows) == pytest.approx(wanted)


def test_losses_of_certain_predictions_are_those_of_the_logits() -> None:
    """Far beyond where a probability rounds to 1, the loss keeps its digits and is never negative."""
    logits = torch.tensor([[0.0, 10.0], [0.0, 60.0], [60.0, 0.0], [0.0, 600.0], [600.0, 0.0]], dtype=torch.float64)
    truth = torch.ones(5, dtype=torch.int64)
    wanted = torch.nn.functional.cross_entropy(logits, truth, reduction="none").numpy()
    found = cross_entropy(torch.softmax(logits, dim=1).numpy(), truth.numpy())
    assert found[:3] == pytest.approx(wanted[:3], rel=1e-9)
    assert found[3] >= 0 and 60 < found[4] < np.inf
    (unknown,) = cross_entropy(np.array([[1.0, 0.0]]), np.array([-1]))  # a class that the model does not know
    assert 60 < unknown < np.inf


class _Sure:
    """A model that is certain of every row: the probabilities are exactly 0 and 1."""

    task_ = "binary"
    classes_ = np.array([0, 1])

    def predict_proba(self, views: Any) -> Any:
        return np.eye(2)[np.zeros(len(views["bank"]), dtype=int)]


def test_what_shadow_models_read_of_certain_predictions_is_finite() -> None:
    rows = make_parts(rows=100).test
    with np.errstate(all="raise"):
        assert np.isfinite(outputs(_Sure(), rows)).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["local", "linear"])
def test_models_that_never_federated_can_be_attacked_too(method: str) -> None:
    parts = make_parts(rows=100)
    options: dict[str, Any] = {"epochs": 2} if method == "local" else {}
    run = Run.of(cn.METHODS[method](**options).fit(parts.train), parts)
    found = judge(run)
    assert {f.attack for f in found.findings} == {"membership", "shadow-models"}
    reasons = {r["attack"]: r["reason"] for r in found.refused}
    assert set(reasons) == {"label-inference", "gradients", "reconstruction"}
    assert f"{method} sends nothing" in reasons["gradients"]


def test_a_party_is_not_anyone() -> None:
    with pytest.raises(RefusedError, match="not for party 'shop'"):
        membership(make_run(make_parts(rows=100), epochs=1), "shop")
