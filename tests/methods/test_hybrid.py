"""The hybrid: its agreement term against a slow version, what each step adds to the loss, and which attempt is kept."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import colonnade as cn
from colonnade.methods._base.parts.monitor import Monitor, Training
from colonnade.methods.hybrid import OwnRows, unaligned_share
from colonnade.methods.vflhlp import learn_own_labels, pretrain_active
from colonnade.nets.two_towers import TwoTowers
from colonnade.parties.federation import Federation
from tests.conftest import make_data
from tests.methods.small import small
from tests.methods.together import observe, parties_of, put_together

QUICK: dict[str, Any] = {"pretrain_batch_size": 16, "pretrain_epochs": 1, "epochs": 3}


def mixed(task: str = "multiclass", parties: int = 2, seed: int = 1) -> cn.data.Split:
    """Rows of every kind: aligned or not, labelled or not, and validation rows."""
    return cn.split(make_data(parties, task, rows=160), aligned=0.5, seed=seed)


def assembled(method: Any, data: cn.VerticalData) -> tuple[Federation, Monitor]:
    """The federation as `run` has it after `prepare`."""
    fed = put_together(method, data)
    return fed, Monitor(fed, "accuracy", [], lambda phase, done, total: None, method.epochs, method.patience)


def attempts_of(model: cn.Method) -> dict[str, list[dict[str, Any]]]:
    """The history of training by attempt."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for entry in model.history_:
        if entry["phase"] != "pretrain":
            parts.setdefault(entry["phase"], []).append(entry)
    return parts


# the agreement --------------------------------------------------------------------------------------------------------


def slow_disagreement(views: list[list[list[float]]], joint: list[list[float]], confidence: float, task: str) -> float:
    """Mean over parties and rows, by loops: cross entropy where the joint prediction is confident, or squares."""

    def softmax(row: list[float]) -> list[float]:
        top = max(row)
        e = [math.exp(v - top) for v in row]
        return [v / sum(e) for v in e]

    total = 0.0
    for view in views:
        for said, wanted in zip(view, joint, strict=True):
            if task == "regression":
                total += (said[0] - wanted[0]) ** 2
            elif max(softmax(wanted)) > confidence:
                total -= sum(q * math.log(p) for q, p in zip(softmax(wanted), softmax(said), strict=True))
    return total / len(views) / len(joint)


def disagreement(views: list[torch.Tensor], joint: torch.Tensor, confidence: float, task: str) -> torch.Tensor:
    active: Any = SimpleNamespace(targets=SimpleNamespace(task=task))
    return cn.Hybrid(confidence=confidence).disagreement(active, views, joint)


@settings(max_examples=40, deadline=None)
@given(
    task=st.sampled_from(["multiclass", "regression"]), parties=st.integers(1, 3), rows=st.integers(1, 5),
    classes=st.integers(2, 4), confidence=st.sampled_from([0.0, 0.5, 0.8]), seed=st.integers(0, 999),
)  # fmt: skip
def test_the_agreement_equals_the_slow_version_in_value_and_gradient(
    task: str, parties: int, rows: int, classes: int, confidence: float, seed: int
) -> None:
    draw = torch.Generator().manual_seed(seed)
    outputs = 1 if task == "regression" else classes
    joint = (2 * torch.randn(rows, outputs, dtype=torch.float64, generator=draw)).requires_grad_()
    views = [
        torch.randn(rows, outputs, dtype=torch.float64, generator=draw, requires_grad=True) for _ in range(parties)
    ]
    value = disagreement(views, joint, confidence, task)
    lists = [view.tolist() for view in views]
    assert value.item() == pytest.approx(slow_disagreement(lists, joint.tolist(), confidence, task), abs=1e-12)
    gradients = torch.autograd.grad(value, views)
    assert torch.autograd.grad(value, joint, allow_unused=True)[0] is None  # the joint prediction is the target
    step = 1e-5
    for k in range(parties):
        for i in range(rows):
            for c in range(outputs):
                up, down = copy.deepcopy(lists), copy.deepcopy(lists)
                up[k][i][c] += step
                down[k][i][c] -= step
                slope = slow_disagreement(up, joint.tolist(), confidence, task)
                slope = (slope - slow_disagreement(down, joint.tolist(), confidence, task)) / (2 * step)
                assert gradients[k][i, c].item() == pytest.approx(slope, abs=1e-8)


def test_only_confident_rows_count() -> None:
    joint = torch.tensor([[math.log(9.0), 0.0], [math.log(1.5), 0.0]])  # .9 and .6
    view = torch.tensor([[0.3, -0.2], [1.0, 2.0]], requires_grad=True)
    p = 1 / (1 + math.exp(-0.5))
    one = -(0.9 * math.log(p) + 0.1 * math.log(1 - p))
    value = disagreement([view], joint, 0.8, "binary")
    assert value.item() == pytest.approx(one / 2, rel=1e-5)  # the mean is over all rows
    (gradient,) = torch.autograd.grad(value, view)
    assert gradient[0].abs().min() > 0 and torch.equal(gradient[1], torch.zeros(2))
    assert disagreement([view], joint, 0.95, "binary").item() == 0
    assert disagreement([view], joint, 0.5, "binary") > value
    # no row is left out in regression, however sure
    assert disagreement([view[:, :1]], joint[:, :1], 0.95, "regression") > 0


# the loss -------------------------------------------------------------------------------------------------------------


def test_the_unaligned_share_by_hand() -> None:
    """Rows 0-5 are aligned; of the labelled rows 0-3 and 6-7, two of six are not."""
    rng = np.random.default_rng(0)
    views = {"a": (rng.normal(size=(10, 2)), np.arange(10)), "b": (rng.normal(size=(6, 2)), np.arange(6))}
    labels = (np.array([0, 1, 0, 1, 0, 1]), np.array([0, 1, 2, 3, 6, 7]))
    data = cn.VerticalData(views, labels, active="a")
    method: Any = small("hybrid")
    active = put_together(method, data, ready=False).active
    assert unaligned_share(active) == pytest.approx(2 / 6)
    assert OwnRows(active, 4, 0).rows.tolist() == [6, 7]
    aligned = put_together(method, data.only(np.arange(6)), ready=False).active
    assert unaligned_share(aligned) == 0 and OwnRows(aligned, 4, 0).next() is None


def test_own_rows_come_once_each_before_any_comes_again() -> None:
    fed, _ = assembled(small("hybrid"), mixed().train)
    own = OwnRows(fed.active, 7, 3)
    count = -(-len(own.rows) // 7)
    for _ in range(2):
        drawn = [own.next() for _ in range(count)]
        assert sorted(torch.cat(drawn).tolist()) == own.rows.tolist()  # type: ignore[arg-type]
    assert len(own.rows) and int(own.rows.min()) >= fed.active.aligned
    assert set(own.rows.tolist()) <= set(fed.active.labelled.tolist())


@pytest.mark.parametrize("join", ["concat", "mean"])
def test_unaligned_rows_are_seen_as_in_a_prediction_without_the_others(join: str) -> None:
    parts = mixed(parties=3)
    model: Any = small("hybrid", join=join, **QUICK).fit(parts.train)
    active = model.federation_.active
    order = np.sort(np.setdiff1d(parts.train.views["p0"].ids, parts.train.aligned))  # the agreed order, from there on
    rows = torch.arange(active.aligned, active.aligned + len(order))
    seen = torch.softmax(OwnRows(active, 32, 0).logits(rows).double(), dim=1).detach().numpy()
    view = parts.train.views["p0"]
    at = np.searchsorted(view.ids, order, sorter=np.argsort(view.ids))
    alone = {"p0": view.take(np.argsort(view.ids)[at])}
    np.testing.assert_allclose(seen, model.predict_proba(alone, absent="zero"), rtol=1e-5, atol=1e-7)
    assert model.absent_ == {"p1": len(order), "p2": len(order)}


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_the_loss_is_the_sum_of_its_parts(task: str) -> None:
    method: Any = small("hybrid", unaligned=0.7, confidence=0.0, batch_size=9)
    fed, _ = assembled(method, mixed(task).train)
    active = fed.active
    share, y = unaligned_share(active), active.y["train"]
    known = active.labelled_aligned[:5]
    unknown = torch.tensor(sorted(set(range(active.aligned)) - set(active.labelled_aligned.tolist()))[:6])
    rows = torch.cat([known, unknown])
    parts = {"p0": torch.randn(11, 12), "p1": torch.randn(11, 12)}
    logits = active.head(torch.cat(list(parts.values()), 1))
    labelled = active.targets.loss(logits[:5], y[known])
    alone = OwnRows(active, 9, 2)
    batch = OwnRows(active, 9, 2).next()
    assert batch is not None and 0 < share < 1
    zero = torch.zeros(len(batch), 12)
    own = active.head(torch.cat([active.encode(active.tables["train"].rows(batch), train=True), zero], 1))
    views = [active.extras[f"classifier-{k}"](h[5:]).tolist() for k, h in enumerate(parts.values())]
    apart = slow_disagreement(views, logits[5:].tolist(), 0.0, task)
    by_hand = labelled + 0.7 * share * active.targets.loss(own, y[batch])
    assert method.loss(alone, 3.0, active, rows, 5, parts).item() == pytest.approx(by_hand.item() + 3 * apart, rel=1e-5)
    assert method.loss(OwnRows(active, 9, 2), 0.0, active, rows, 5, parts).item() == pytest.approx(by_hand.item())
    method.set_params(unaligned=0.0)
    assert method.loss(alone, 0.0, active, rows, 5, parts).item() == pytest.approx(labelled.item())


def test_the_constraint_is_the_share_times_that_of_vflhlp_a() -> None:
    """share · β/2 · (‖θ¹ - Θ¹‖² + ‖θ_s⁰ - Θ⁰‖²), the weights Θ learnt by a federation of its own."""
    data = mixed().train
    method: Any = small("hybrid", beta=0.3, epochs=4)
    fed, monitor = assembled(method, data)
    constraint = method.hold_near_own_labels(fed, monitor)
    other, elsewhere = assembled(method, data)
    learnt = learn_own_labels(other, elsewhere, Training.of(method), 4, method.patience)
    active = fed.active
    squares = torch.zeros(())
    for now, then in zip(active.encoder.parameters(), other.active.encoder.parameters(), strict=True):  # type: ignore[union-attr]
        squares = squares + ((now - then).double() ** 2).sum().detach()
    head: Any = active.head
    squares = squares + ((head[0].weight[:, :12] - learnt.head.weight).double() ** 2).sum().detach()
    share = len(set(active.labelled.tolist()) - set(active.labelled_aligned.tolist())) / len(active.labelled)
    assert 0 < share < 1 and squares > 0
    assert constraint().item() == pytest.approx(share * 0.3 / 2 * squares.item(), rel=1e-5)
    third, monitor = assembled(method, data)
    assert constraint().item() == pytest.approx(share * pretrain_active(method, third, monitor)().item(), rel=1e-6)


def test_there_is_no_constraint_without_unaligned_labels_or_without_beta() -> None:
    data = mixed().train
    aligned = data.only(data.aligned)
    for method, rows in ((small("hybrid"), aligned), (small("hybrid", beta=0.0), data)):
        fed, monitor = assembled(method, rows)
        assert method.hold_near_own_labels(fed, monitor) is None and not monitor.history  # type: ignore[attr-defined]


# what it is without its parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parties", [2, 3])
def test_with_labels_on_all_aligned_rows_and_no_pretraining_it_is_splitnn_of_two_towers_bit_for_bit(
    parties: int,
) -> None:
    """64 rows, two batches of 32: both ways to average the losses of an epoch round alike."""
    data = make_data(parties, labelled=1.0)
    data = data.only(data.aligned[:64])
    options: dict[str, Any] = {"pretrain_epochs": 0, "pretrain_batch_size": 16, "epochs": 4, "seed": 2}
    model = small("hybrid", **options).fit(data)
    guided = small("fedgssl", **options).fit(data)
    fed, _ = assembled(small("hybrid", **options), data)
    towers = {p.name: copy.deepcopy(p.encoder) for p in parties_of(fed)}
    assert all(isinstance(t, TwoTowers) for t in towers.values())
    split = small("splitnn", encoders=towers, epochs=4, seed=2).fit(data)
    for other in (guided, split):
        assert np.array_equal(model.predict_proba(data.views), other.predict_proba(data.views))
        assert [h["loss"] for h in model.history_] == [h["loss"] for h in other.history_]
    assert not np.array_equal(
        model.predict_proba(data.views), small("hybrid", **{**options, "epochs": 3}).fit(data).predict_proba(data.views)
    )


def test_every_part_matters_where_there_are_rows_for_it() -> None:
    parts = mixed()
    base: dict[str, Any] = {**QUICK, "epochs": 2, "confidence": 0.4}
    first = small("hybrid", **base).fit(parts.train).predict_proba(parts.test.views)
    for option in ("unaligned", "beta", "consistency", "pretrain_epochs", "confidence"):
        other = small("hybrid", **{**base, option: 0}).fit(parts.train)
        assert not np.allclose(first, other.predict_proba(parts.test.views), atol=1e-6), option


# attempts -------------------------------------------------------------------------------------------------------------


def merit(entries: list[dict[str, Any]], sign: int) -> tuple[float, float]:
    """Metric and loss at the epoch of an attempt with the lowest validation loss."""
    best = min(entries, key=lambda e: e["validation_loss"])
    return sign * best["validation"], -best["validation_loss"]


def loss_on(model: cn.Method, rows: cn.VerticalData) -> float:
    """The validation loss of the model as it is now, by hand."""
    truth, _ = rows.labels.of(rows.views["p0"].ids)
    if model.task_ == "regression":
        scale = model.federation_.active.targets.scale  # type: ignore[attr-defined]
        return float((((model.predict(rows.views) - truth) / scale) ** 2).mean())
    p = model.predict_proba(rows.views)
    return float(-np.log(p[np.arange(len(p)), np.searchsorted(model.classes_, truth)]).mean())


@pytest.mark.parametrize(("task", "metric", "sign"), [("multiclass", "accuracy", 1), ("regression", "rmse", -1)])
@pytest.mark.parametrize("weights", [(0.0, 1e4), (1e4, 0.0)])
def test_the_attempt_with_the_best_validation_metric_is_kept(
    task: str, metric: str, sign: int, weights: tuple[float, float]
) -> None:
    parts = mixed(task)
    options: dict[str, Any] = {**QUICK, "epochs": 8, "consistency": weights, "confidence": 0.0}
    model = small("hybrid", **options).fit(parts.train, parts.valid, metric=metric)
    attempts = attempts_of(model)
    assert list(attempts) == ["train", "train 2", "train 3", "train 4"]
    merits = [merit(entries, sign) for entries in attempts.values()]
    winner = merits.index(max(merits))
    assert winner % 2 == weights.index(0.0)  # so heavy a weight harms: the winner is not always the last, nor the first
    assert parts.valid is not None
    assert model.score(parts.valid.views, parts.valid.labels) == pytest.approx(sign * max(merits)[0], rel=1e-5)
    assert loss_on(model, parts.valid) == pytest.approx(-max(merits)[1], rel=1e-4)
    others = [m[1] for i, m in enumerate(merits) if i != winner]
    assert all(abs(loss + loss_on(model, parts.valid)) > 1e-3 for loss in others)  # the check tells attempts apart


def test_an_attempt_begins_where_the_first_began() -> None:
    """With one batch per epoch, order does not matter: equal weights give equal attempts."""
    rng = np.random.default_rng(0)
    views = {f"p{k}": rng.normal(size=(60, 3)) for k in range(3)}
    y = np.where(np.sum([v[:, 0] for v in views.values()], axis=0) > 0, 1.0, 0.0)
    y[40:] = np.nan
    parts = cn.split(cn.VerticalData(views, y))
    options: dict[str, Any] = {**QUICK, "pretrain_epochs": 0, "batch_size": 200, "confidence": 0.0}
    model = small("hybrid", consistency=(1.0, 1.0, 1.0), **options).fit(parts.train, parts.valid)
    first, *others = attempts_of(model).values()
    assert len(others) == 2
    for other in others:
        for key in ("loss", "validation_loss"):
            assert [e[key] for e in other] == pytest.approx([e[key] for e in first], rel=1e-4)
    assert first[0]["loss"] - first[-1]["loss"] > 1e-3


@pytest.mark.parametrize(
    ("options", "labelled", "count"),
    [
        ({}, 0.7, 4),
        ({"consistency": 0.5}, 0.7, 2),
        ({"consistency": (0.0, 0.5, 1.0)}, 0.7, 6),
        ({"pretrain_epochs": 0}, 0.7, 2),
        ({}, 1.0, 2),  # nothing aligned is unlabelled: no agreement to try
        ({"pretrain_epochs": 0}, 1.0, 1),
    ],
)
def test_attempts_are_starts_times_weights(options: dict[str, Any], labelled: float, count: int) -> None:
    parts = cn.split(make_data(labelled=labelled))
    model = small("hybrid", **{**QUICK, "epochs": 1, **options}).fit(parts.train, parts.valid)
    assert list(attempts_of(model)) == ["train", *(f"train {i}" for i in range(2, count + 1))]
    assert {p for p in model.traffic_.by_phase if p.startswith("train")} == set(attempts_of(model))
    assert (model.history_[0]["phase"] == "pretrain") == ("pretrain_epochs" not in options)


def test_without_validation_rows_there_is_one_attempt_with_everything() -> None:
    parts = mixed()
    model = small("hybrid", consistency=(0.0, 0.5, 1.0), **QUICK).fit(parts.train)
    assert list(attempts_of(model)) == ["train"] and len(attempts_of(model)["train"]) == 3
    same = small("hybrid", consistency=1.0, **QUICK).fit(parts.train)
    assert np.array_equal(model.predict_proba(parts.test.views), same.predict_proba(parts.test.views))
    assert "cross" in model.traffic_.by_phase


def test_bytes_are_those_of_pretraining_once_and_of_each_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """X·N·(4 + 8P), and per attempt E·n·(4 + 8d) without agreement, E·(u + labelled rows)·(4 + 8d) with it."""
    payload: dict[str, int] = {}
    seen_messages = observe(monkeypatch)
    parts = mixed()
    model: Any = small("hybrid", **{**QUICK, "pretrain_epochs": 2, "batch_size": 8}).fit(parts.train, parts.valid)
    for message in seen_messages:
        size = sum(t.numel() * t.element_size() for t in message.tensors.values())
        payload[message.phase] = payload.get(message.phase, 0) + size
    active = model.federation_.active
    n, v, epochs = len(active.labelled_aligned), len(active.y["valid"]), 3
    u = active.aligned - n
    assert 0 < -(-u // 8) <= -(-n // 8)  # each labelled row comes once, unlabelled ones again and again
    passes, rest = divmod(-(-n // 8), -(-u // 8))
    seen = passes * u + min(rest * 8, u)
    plain, agreed = epochs * n * (4 + 8 * 12), epochs * (n + seen) * (4 + 8 * 12)
    assert payload == {
        "setup": 0, "pretrain": 0, "cross": 2 * active.aligned * (4 + 8 * 16), "validate": 4 * epochs * v * 4 * 12,
        "train": plain, "train 2": agreed, "train 3": plain, "train 4": agreed,
    }  # fmt: skip


# tasks, options, storing ----------------------------------------------------------------------------------------------


def test_regression_works() -> None:
    parts = cn.split(make_data(task="regression", rows=200, labelled=0.9), aligned=0.6, seed=1)
    model = small("hybrid", pretrain_batch_size=32, pretrain_epochs=1, epochs=12).fit(parts.train, parts.valid)
    assert len(attempts_of(model)) == 4
    assert model.score(parts.test.views, parts.test.labels) > 0.5


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(cn.ConfigError) as caught:
        cn.Hybrid(consistency=-1, confidence=-0.5, unaligned=-2, beta=-3, gamma=-1)
    text = str(caught.value)
    assert "Hybrid: 5 problems" in text
    for name, value in (("unaligned", -2), ("beta", -3)):
        assert f"{name} must be a number of at least 0. Got {value}." in text
    assert "consistency must be a number of at least 0, or a few such numbers. Got -1." in text
    assert "gamma must be" in text and "confidence must be a number of at least 0 and below 1. Got -0.5." in text
    with pytest.raises(cn.ConfigError, match=r"consistency must be .* or a few such numbers\. Got \(\)"):
        cn.Hybrid(consistency=())


def test_a_warm_start_is_where_every_attempt_begins() -> None:
    parts = mixed()
    cold, warm = (
        small("hybrid", warm_start=w, **{**QUICK, "pretrain_epochs": 0}).fit(parts.train) for w in (False, True)
    )
    rows = parts.test.views
    assert not np.allclose(cold.predict_proba(rows), warm.predict_proba(rows))


@pytest.mark.parametrize(
    ("value", "shown"), [((0.0, -1.0), r"\(0\.0, -1\.0\)"), ("much", "'much'"), ((True,), r"\(True,\)")]
)
def test_every_weight_of_the_agreement_is_checked(value: Any, shown: str) -> None:
    text = rf"^Hybrid: consistency must be a number of at least 0, or a few such numbers\. Got {shown}\."
    with pytest.raises(cn.ConfigError, match=text):
        cn.Hybrid(consistency=value)


def test_a_saved_model_predicts_the_same_and_keeps_its_options(tmp_path: Any) -> None:
    parts = mixed()
    model = small("hybrid", consistency=(0.0, 2.0), confidence=0.5, **QUICK).fit(parts.train, parts.valid)
    model.save(tmp_path / "model")
    loaded = cn.load(tmp_path / "model")
    assert type(loaded) is cn.Hybrid and loaded.get_params() == model.get_params()
    assert loaded.history_ == model.history_
    for names in (["p0", "p1"], ["p0"]):
        views = {name: parts.test.views[name] for name in names}
        first, again = (m.predict_proba(views, absent="zero") for m in (model, loaded))
        assert np.array_equal(first, again)


def test_a_party_with_labels_only_cannot_be_active() -> None:
    data = make_data()
    alone = cn.VerticalData.of(data.views, data.labels, "server", data.task)
    text = r"hybrid trains .*'server', which has labels and no columns\. Use a method .*e\.g\. splitnn or ss-vfl-c"
    with pytest.raises(cn.DataError, match=text):
        small("hybrid").fit(alone)
