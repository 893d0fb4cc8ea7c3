"""SSVFL's losses against slow versions, its batches, its noise, its refusals, and the transductive protocol."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.data import transductive
from colonnade.methods import ssvfl
from colonnade.methods._base.parts.mixed import mixed_batches
from colonnade.methods.ssvfl import consistency, supervised_contrast, supervised_loss
from colonnade.parties.skills.encoder import Encoding
from colonnade.parties.skills.skill import Reply, Skill
from colonnade.parties.skills.split import Split
from colonnade.wire.message import Message
from tests.conftest import make_data
from tests.methods.small import small
from tests.methods.together import observe, put_together


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
def test_batches_hold_every_row_and_both_kinds_always(size: int) -> None:
    method = small("ssvfl")
    fed = put_together(method, make_data(), ready=False)
    active = fed.active
    labelled = set(active.labelled_aligned.tolist())
    first: list[int] = []
    second: list[int] = []
    for rows, known in mixed_batches(active, size, torch.Generator().manual_seed(0)):
        assert 1 <= known < len(rows)
        first += rows[:known].tolist()
        second += rows[known:].tolist()
    assert set(first) == labelled and set(second) == set(range(active.aligned)) - labelled
    assert (
        min(len(first) - len(labelled), len(second) - active.aligned + len(labelled)) == 0
    )  # one kind comes just once


def test_unlabelled_rows_matter_and_the_ablation_ce_is_plain_training() -> None:
    data = make_data()
    known = data.only(np.intersect1d(data.aligned, data.labels.ids))
    rows = data.only(data.aligned).views
    assert not np.allclose(small("ssvfl").fit(data).predict_proba(rows), small("ssvfl").fit(known).predict_proba(rows))
    plain = small("ssvfl", contrast=0.0, consistency=0.0).fit(known)
    split = small("splitnn", hidden=(24,), join="mean").fit(known)
    np.testing.assert_allclose(plain.predict_proba(rows), split.predict_proba(rows), rtol=1e-4, atol=1e-5)


# ssvfl-dp -------------------------------------------------------------------------------------------------------------


def listened(monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, list[Message], list[torch.Tensor]]:
    """A method, its representations as they cross, and the same as they leave the one passive party's encoder."""
    clean: list[torch.Tensor] = []

    def kept(original: Any) -> Any:
        def answer(self: Skill, message: Message) -> Reply:
            reply: Reply = original(self, message)
            clean.append(reply.tensors["representation"].clone())
            return reply

        return answer

    for skill, name in ((Split, "forward"), (Encoding, "represent")):
        monkeypatch.setattr(skill, name, kept(getattr(skill, name)))
    return small("ssvfl-dp", **options), observe(monkeypatch), clean


def representations(seen: list[Message]) -> list[Message]:
    return [message for message in seen if message.kind == "representation"]


def within_five_sigma(noise: torch.Tensor, scale: float) -> None:
    """Mean 0 ± 5c/√N, standard deviation c ± 5c/√(2N)."""
    n = noise.numel()
    assert abs(noise.mean().item()) < 5 * scale / math.sqrt(n)
    assert abs(noise.std().item() - scale) < 5 * scale / math.sqrt(2 * n)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_what_crosses_in_training_is_the_representation_and_noise_of_that_deviation(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = cn.split(make_data(rows=200))
    method, seen, clean = listened(monkeypatch, noise=scale, epochs=8)
    model = method.fit(parts.train, parts.valid)
    crossed = representations(seen)
    assert len(crossed) == len(clean) and {m.phase for m in crossed} == {"train", "validate"}
    for phase in ("train", "validate"):
        noise = [
            (m.tensors["representation"] - h).flatten() for m, h in zip(crossed, clean, strict=True) if m.phase == phase
        ]
        within_five_sigma(torch.cat(noise), scale)
    before = len(crossed)
    first, again = (model.predict_proba(parts.test.views) for _ in range(2))
    assert np.array_equal(first, again)
    crossed = representations(seen)
    later = list(zip(crossed, clean, strict=True))[before:]
    assert [m.phase for m, _ in later] == ["predict"] * 2
    assert all(torch.equal(m.tensors["representation"], h) for m, h in later)


def test_the_active_partys_own_representation_has_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    method, seen, clean = listened(monkeypatch, noise=1.0, epochs=2)
    objective, steps = ssvfl.objective, 0

    def watched(method: Any, active: Any, rows: torch.Tensor, labelled: int, parts: Any) -> torch.Tensor:
        nonlocal steps
        steps += 1
        assert torch.equal(parts["p0"], active.encode(active.tables["train"].rows(rows), train=True))
        assert torch.equal(parts["p1"], representations(seen)[-1].tensors["representation"])
        assert not torch.allclose(parts["p1"], clean[-1], atol=0.1)
        loss: torch.Tensor = objective(method, active, rows, labelled, parts)
        return loss

    monkeypatch.setattr(ssvfl, "objective", watched)
    method.fit(make_data())
    assert steps == len(representations(seen)) >= 2


def test_without_noise_it_is_ssvfl_bit_for_bit_and_with_noise_it_is_not() -> None:
    parts = cn.split(make_data())
    plain = small("ssvfl", epochs=4, seed=1).fit(parts.train, parts.valid)
    silent = small("ssvfl-dp", noise=0.0, epochs=4, seed=1).fit(parts.train, parts.valid)
    loud = small("ssvfl-dp", noise=1.0, epochs=4, seed=1).fit(parts.train, parts.valid)
    views = parts.test.views
    assert np.array_equal(plain.predict_proba(views), silent.predict_proba(views))
    assert not np.allclose(plain.predict_proba(views), loud.predict_proba(views), atol=1e-4)
    for key in ("loss", "validation_loss", "bytes"):
        assert [h[key] for h in plain.history_] == [h[key] for h in silent.history_]
    assert plain.traffic_.to_json() == silent.traffic_.to_json()
    assert plain.traffic_.by_phase["train"] == loud.traffic_.by_phase["train"]  # noise costs no bytes


def test_negative_noise_is_refused() -> None:
    with pytest.raises(cn.ConfigError, match=r"noise must be a number of at least 0\. Got -1"):
        cn.SSVFLDP(noise=-1)


# what it refuses ------------------------------------------------------------------------------------------------------


def with_labels(counts: dict[str, int]) -> cn.VerticalData:
    """40 aligned rows, of which so many are labelled with each class."""
    rng = np.random.default_rng(0)
    views = {name: rng.normal(size=(40, 3)) for name in ("a", "b")}
    values = np.array([name for name, count in counts.items() for _ in range(count)])
    return cn.VerticalData(views, (values, np.arange(len(values))), active="a")


@pytest.mark.parametrize("name", ["ssvfl", "ssvfl-dp"])
def test_the_contrast_needs_two_labelled_rows_of_some_class(name: str) -> None:
    singles = with_labels({"ash": 1, "elm": 1, "oak": 1})
    text = r"every class of party 'a' has one labelled row, and contrast=0\.01 .*Label more rows, or use contrast=0\."
    with pytest.raises(cn.DataError, match=text):
        small(name, epochs=1).fit(singles)
    some = with_labels({"ash": 3, "elm": 1, "oak": 1})
    with pytest.warns(UserWarning, match=rf"^{name}: class elm, oak of party 'a' has one labelled row.*contrast=0"):
        model = small(name, epochs=1).fit(some)
    assert len(model.history_) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(name, epochs=1, contrast=0.0).fit(singles)
        small(name, epochs=1, contrast=0.0).fit(some)
        small(name, epochs=1).fit(with_labels({"ash": 2, "elm": 2}))


def test_a_labelled_row_that_is_not_aligned_makes_no_pair() -> None:
    """Two rows of a class, of which one is the active party's alone, are one for the contrast."""
    rng = np.random.default_rng(0)
    views = {"a": (rng.normal(size=(21, 3)), np.arange(21)), "b": (rng.normal(size=(20, 3)), np.arange(20))}
    labels = (np.array(["ash", "ash", "elm", "elm"]), np.array([0, 1, 2, 20]))
    with pytest.warns(UserWarning, match="class elm of party 'a' has one labelled row"):
        small("ssvfl", epochs=1).fit(cn.VerticalData(views, labels, active="a"))


@pytest.mark.parametrize("name", ["ssvfl", "ssvfl-dp"])
def test_regression_is_refused_with_the_methods_that_do_it(name: str) -> None:
    with pytest.raises(cn.ConfigError) as caught:
        small(name).fit(make_data(task="regression"))
    text, listed = str(caught.value).split("These do regression: ")
    assert f"{name} does binary, multiclass, not regression." in text
    able = {n for n, method in cn.METHODS.items() if "regression" in method.tasks}
    named = set(listed.rstrip(".").split(", "))  # of this package, and of whoever wrote one
    assert named & set(cn.METHODS) == able >= {"splitnn", "fedhssl", "hybrid"}
    assert able.isdisjoint({"ssvfl", "ssvfl-dp"})


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
