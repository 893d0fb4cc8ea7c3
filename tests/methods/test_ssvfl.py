"""SSVFL's losses against slow versions, its batches, and the transductive protocol."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.data import transductive
from colonnade.methods.ssvfl import consistency, mixed_batches, supervised_contrast, supervised_loss
from tests.conftest import make_data
from tests.methods.small import small


def slow_contrast(h: list[list[float]], y: list[int]) -> float:
    """Eqs 4-5 with -log, by loops."""

    def cosine(a: list[float], b: list[float]) -> float:
        dot = sum(p * q for p, q in zip(a, b, strict=True))
        return dot / math.sqrt(sum(p * p for p in a)) / math.sqrt(sum(q * q for q in b))

    total = 0.0
    for i in range(len(y)):
        others = [math.exp(cosine(h[i], h[k])) for k in range(len(y)) if y[k] != y[i]]
        for j in range(len(y)):
            if j != i and y[j] == y[i] and others:
                total += -math.log(math.exp(cosine(h[i], h[j])) / sum(others))
    return total / len(y)


@settings(max_examples=40, deadline=None)
@given(y=st.lists(st.integers(0, 3), min_size=1, max_size=9), width=st.integers(1, 5), seed=st.integers(0, 999))
def test_contrast_equals_the_slow_version_in_value_and_gradient(y: list[int], width: int, seed: int) -> None:
    h = torch.randn(
        len(y), width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed), requires_grad=True
    )
    labels = torch.tensor(y)
    value = supervised_contrast(h, labels)
    assert value.item() == pytest.approx(slow_contrast(h.tolist(), y), abs=1e-9)
    if not value.requires_grad:
        return
    (gradient,) = torch.autograd.grad(value, h)
    assert torch.isfinite(gradient).all()
    nudged = h.detach().clone()
    nudged[0, 0] += 1e-5
    slope = (slow_contrast(nudged.tolist(), y) - slow_contrast(h.tolist(), y)) / 1e-5
    assert gradient[0, 0].item() == pytest.approx(slope, abs=2e-3, rel=1e-2)


def test_contrast_pulls_positives_together() -> None:
    y = torch.tensor([0, 0, 1, 1])
    near = torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
    far = near[[0, 2, 1, 3]]
    assert supervised_contrast(near, y) < supervised_contrast(far, y)


def test_consistency_by_hand_and_without_gradient_into_the_target() -> None:
    views = [torch.randn(5, 3, requires_grad=True) for _ in range(2)]
    logits = torch.randn(5, 3, requires_grad=True)
    value = consistency(views, logits)
    by_hand = 0.0
    q = torch.softmax(logits, 1)
    for view in views:
        p = torch.softmax(view, 1)
        by_hand += sum((p[i] * (p[i] / q[i]).log()).sum().item() for i in range(5)) / 5
    assert value.item() == pytest.approx(by_hand, rel=1e-5)
    value.backward()
    assert logits.grad is None and views[0].grad is not None
    assert consistency([logits.detach()] * 2, logits).item() == pytest.approx(0.0, abs=1e-6)


def test_supervised_losses_by_hand() -> None:
    logits, y = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0])
    p = [math.exp(2) / (math.exp(2) + 1), 1 / (1 + math.e)]
    assert supervised_loss(logits, y, "ce").item() == pytest.approx(-(math.log(p[0]) + math.log(p[1])) / 2)
    assert supervised_loss(logits, y, "mse").item() == pytest.approx(((1 - p[0]) ** 2 + (1 - p[1]) ** 2) / 2)


@pytest.mark.parametrize("size", [1, 7, 500])
def test_batches_hold_every_unlabelled_row_once_and_labelled_rows_always(size: int) -> None:
    method = small("ssvfl")
    fed = method._assemble(make_data())
    active = fed.active
    labelled = set(active.labelled_aligned.tolist())
    seen: list[int] = []
    for rows, known in mixed_batches(active, size, torch.Generator().manual_seed(0)):
        assert known >= 1 and set(rows[:known].tolist()) <= labelled
        seen += rows[known:].tolist()
    assert sorted(seen) == sorted(set(range(active.aligned)) - labelled)


def test_unlabelled_rows_matter_and_the_ablation_ce_is_plain_training() -> None:
    data = make_data()
    known = data.only(np.intersect1d(data.aligned, data.labels.ids))
    rows = data.only(data.aligned).views
    assert not np.allclose(small("ssvfl").fit(data).predict_proba(rows), small("ssvfl").fit(known).predict_proba(rows))
    plain = small("ssvfl", contrast=0.0, consistency=0.0).fit(known)
    split = small("splitnn", hidden=(24,), join="mean").fit(known)
    np.testing.assert_allclose(plain.predict_proba(rows), split.predict_proba(rows), rtol=1e-4, atol=1e-5)


def test_regression_is_refused_with_the_methods_that_do_it() -> None:
    with pytest.raises(cn.ConfigError, match="ssvfl does binary, multiclass, not regression"):
        small("ssvfl").fit(make_data(task="regression"))


def test_transductive_rows_are_the_unlabelled_training_rows() -> None:
    data = cn.DATASETS["digits"].load()
    parts = transductive(data, labels=0.02, seed=3)
    assert parts.valid is None
    hidden = set(parts.test.labels.ids.tolist())
    assert hidden.isdisjoint(parts.train.labels.ids.tolist())
    assert hidden <= set(parts.train.aligned.tolist())
    assert len(hidden) + len(parts.train.labels) == len(data.labels)
    with pytest.raises(cn.ConfigError, match="leaves no row without a label"):
        transductive(data, labels=1.0)
