"""Methods whose parties learn alone first: what crosses, what is learnt, and what happens to parties that are late."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from torch import nn

import colonnade as cn
from colonnade.data.table import Table
from colonnade.engines.in_process.stack import stack_parties
from colonnade.methods.fedonce import noise_as_targets
from colonnade.methods.vflhlp import pretrain_active
from colonnade.nets.tabular import TabularEncoder
from colonnade.objectives.base import Objective
from colonnade.objectives.training import Course, Lesson, build_objective, cut, learn
from colonnade.parties.active import Scaler
from tests.conftest import make_data
from tests.methods.small import small
from tests.methods.together import engine_of, observe, passive_of, put_together

ONE_ROUND = ["ss-vfl-i", "fedonce", "fedonce-pca"]
PRETRAINED = ["ss-vfl-i", "ss-vfl-c", "fed-local-ssl", "fedonce", "fedonce-multi", "vflhlp", "vflhlp-a", "vflhlp-p"]


@pytest.mark.parametrize("name", ONE_ROUND)
@pytest.mark.parametrize("parties", [2, 4])
def test_one_round_methods_send_one_message_per_passive_party(name: str, parties: int, monkeypatch) -> None:
    split = cn.split(make_data(parties))
    seen = observe(monkeypatch)
    model = small(name).fit(split.train, split.valid)
    learnt = [m for m in seen if m.phase != "setup"]
    up = [m.sender for m in learnt if m.receiver == "p0"]
    assert sorted(up) == [f"p{k}" for k in range(1, parties)]  # each exactly once, validation rows included
    assert not [m for m in learnt if m.kind == "gradient"]
    assert model.traffic_.by_phase["train"]["rounds"] == 1
    assert model.traffic_.by_direction["up"]["messages"] == 2 * (parties - 1)  # its width at set-up, and this


@pytest.mark.parametrize("name", PRETRAINED)
def test_rows_without_label_or_partner_are_learnt_from(name: str) -> None:
    """Without a passive party's unaligned rows, something else is learnt; vflhlp-a learns from unaligned labels."""
    data = make_data()
    changed = "p0" if name == "vflhlp-a" else "p1"
    views = {
        n: (v.take(np.flatnonzero(np.isin(v.ids, data.aligned))) if n == changed else v) for n, v in data.views.items()
    }
    if name == "vflhlp-a":  # it learns from labelled rows, aligned or not: take the passive party's rows away instead
        keep = np.flatnonzero(np.isin(data.views["p1"].ids, data.aligned[::2]))
        data = cn.VerticalData.of({**data.views, "p1": data.views["p1"].take(keep)}, data.labels, "p0", data.task)
        lonely = data.labels.take(np.flatnonzero(np.isin(data.labels.ids, data.aligned)))
        fewer = cn.VerticalData.of(data.views, lonely, "p0", data.task)
    else:
        fewer = cn.VerticalData.of(views, data.labels, "p0", data.task)
    rows = data.only(data.aligned).views
    a, b = small(name).fit(data), small(name).fit(fewer)
    assert not np.allclose(a.predict_proba(rows), b.predict_proba(rows), atol=1e-4)


def test_one_round_of_a_slow_party_counts_as_zero() -> None:
    class Slow(nn.Module):
        width = 4

        def __init__(self) -> None:
            super().__init__()
            self.net = TabularEncoder(4, width=4)

        def forward(self, x):
            time.sleep(0.15)
            return self.net(x)

    rng = np.random.default_rng(0)
    views = {n: rng.normal(size=(80, 4)) for n in ("bank", "shop", "post")}
    y = (views["bank"][:, 0] + views["post"][:, 0] > 0).astype(int)
    split = cn.split(cn.VerticalData(views, y))
    options = {"encoders": {"shop": Slow()}, "pretrain_epochs": 1, "epochs": 5, "hidden": (8,), "width": 4}
    model = cn.FedOnce(response_limit=0.1, **options).fit(split.train, split.valid)
    assert model.late_ == {"shop": 1}
    before = model.predict_proba(split.test.views)
    assert before.shape == (16, 2)  # prediction goes on without it too
    patient = cn.FedOnce(response_limit=60.0, **options).fit(split.train, split.valid)
    assert patient.late_ == {}
    head = model.federation_.active.head[
        0
    ].weight  # columns of the head that read the late party: zeros gave no gradient
    start = cn.FedOnce(**options)
    fed = put_together(start, split.train)
    own = fed.active.width
    shop = slice(own, own + 4)
    decay = 1 - 5 * 2e-3  # Adam's weight decay alone moves them, by at most the learning rate a step
    torch.testing.assert_close(head[:, shop], fed.active.head[0].weight[:, shop], atol=0.02, rtol=1 - decay)


def test_a_late_answer_in_split_training_is_zero_for_that_batch() -> None:
    split = cn.split(make_data(3))
    model = small("splitnn", response_limit=1e-9, epochs=2).fit(split.train, split.valid)
    assert set(model.late_) == {"p1", "p2"} and "gradient" not in model.traffic_.by_kind


def test_some_parties_late_and_some_not() -> None:
    """Parties of equal shape, of which only one is slow, each answer for themselves."""
    rng = np.random.default_rng(0)
    data = cn.VerticalData({f"p{k}": rng.normal(size=(60, 3)) for k in range(4)}, rng.integers(0, 2, 60))
    method = cn.SplitNN(epochs=2, hidden=(4,), width=3, response_limit=0.05)
    fed = put_together(method, data)
    slow = passive_of(fed)["p2"]
    forward = slow._carry["forward"]
    slow._carry["forward"] = lambda message: (time.sleep(0.06), forward(message))[1]
    from colonnade.methods._base.parts.monitor import Monitor

    method.run(fed, Monitor(fed, "accuracy", [], lambda *a: None, 2, 5))
    assert set(fed.engine.promises.late) == {"p2"}


def test_a_row_that_a_party_lacks_is_zero_after_scaling_too() -> None:
    scaler = Scaler({"a": 2, "b": 3})
    scaler.fit({"a": torch.randn(50, 2) + 5, "b": torch.randn(50, 3) * 9})
    h = torch.tensor([[5.0, 6.0], [0.0, 0.0]])
    out = scaler("a", h)
    assert torch.equal(out[1], torch.zeros(2)) and not torch.equal(out[0], h[0])


@pytest.mark.parametrize("assignment", ["batch", "fixed"])
def test_nat_of_stacked_parties_equals_nat_of_each_alone(assignment: str) -> None:
    rng = np.random.default_rng(1)
    data = cn.VerticalData({f"p{k}": rng.normal(size=(70, 3)) for k in range(4)}, rng.integers(0, 2, 70))
    found = []
    for stack in (True, False):
        method = cn.FedOnce(
            hidden=(6,),
            width=3,
            pretrain_epochs=3,
            pretrain_batch_size=16,
            pretrain_learning_rate=0.01,
            assignment=assignment,
        )
        fed = put_together(method, data, stack=stack)
        assert len(engine_of(fed).stacks) == int(stack)
        before = fed.ask("represent")
        fed.tell("pretrain", **noise_as_targets(method).values())
        found.append(fed.ask("represent"))
        assert not torch.allclose(before["p2"], found[-1]["p2"], atol=1e-3)
    for name in found[0]:
        torch.testing.assert_close(found[0][name], found[1][name], rtol=1e-4, atol=1e-5)


def test_nat_lowers_its_loss_and_assignment_lowers_it_further() -> None:
    table = Table(torch.randn(300, 5, generator=torch.Generator().manual_seed(0)))
    last = {}
    for assignment in ("batch", "fixed"):
        encoder = TabularEncoder(5, hidden=(32,), width=3)
        lesson = Lesson(
            objective="nat", epochs=30, batch_size=50, learning_rate=0.01, weight_decay=0.0, optimizer="adam", seed=0,
            assignment=assignment,
        )  # fmt: skip
        losses: list[float] = []
        objective = build_objective(lesson, encoder, 3, table, "p", {})
        from contextlib import nullcontext

        course = Course(objective, table, lesson, "p", autocast=nullcontext)
        learn(course, lambda e, v, kept=losses: kept.append(v) or False)
        assert losses[-1] < losses[0]
        last[assignment] = losses[-1]
    assert last["batch"] < 0.8 * last["fixed"]


def test_vflhlp_constraint_is_eq_8_by_hand() -> None:
    split = cn.split(make_data())
    method = small("vflhlp-a", beta=0.5, warm_start=False)
    fed = put_together(method, split.train)
    from colonnade.methods._base.parts.monitor import Monitor

    monitor = Monitor(fed, "accuracy", [], lambda *a: None, 5, 5)
    start = [p.detach().clone() for p in fed.active.encoder.parameters()]
    head_start = fed.active.head[0].weight.detach().clone()
    constraint = pretrain_active(method, fed, monitor)
    for now, then in zip(fed.active.encoder.parameters(), start, strict=True):
        assert torch.equal(now, then)  # without warm start, Algorithm 1 begins where it was
    value = constraint().item()
    # pull the weights to where the constraint is zero by following its gradient exactly: θ - ∇/β = Θ
    parameters = [*fed.active.encoder.parameters(), fed.active.head[0].weight]
    gradients = torch.autograd.grad(constraint(), parameters)
    by_hand = sum(float((g / 0.5).square().sum()) for g in gradients) * 0.5 * 0.5  # g = β(θ - Θ)
    assert value == pytest.approx(by_hand, rel=1e-4) and value > 0
    width = fed.active.width
    assert torch.equal(gradients[-1][:, width:], torch.zeros_like(gradients[-1][:, width:]))  # θ_s^0 only
    assert torch.equal(fed.active.head[0].weight, head_start)


def test_vflhlp_starts_at_the_active_partys_own_model() -> None:
    split = cn.split(make_data())
    method = small("vflhlp-a", beta=1.0, warm_start=True)
    fed = put_together(method, split.train)
    from colonnade.methods._base.parts.monitor import Monitor

    constraint = pretrain_active(method, fed, Monitor(fed, "accuracy", [], lambda *a: None, 5, 5))
    assert constraint().item() == 0.0


def test_fedonce_multi_cannot_end_worse_on_validation_than_fedonce() -> None:
    split = cn.split(make_data(3, rows=200))
    model = small("fedonce-multi").fit(split.train, split.valid)
    once = [r["validation_loss"] for r in model.history_ if r["phase"] == "train"]
    tuned = [r["validation_loss"] for r in model.history_ if r["phase"] == "tune"]
    assert tuned and min(once) < float("inf")
    fed = model.federation_
    with fed.phase("check"):
        logits = fed.active.predict("valid", fed.ask("represent", table="valid"), len(fed.active.y["valid"]))
    final = float(fed.active.targets.loss(logits, fed.active.y["valid"]))
    assert final <= min(once) + 1e-5
    assert model.traffic_.by_kind["gradient"]["messages"] > 0


def test_an_objective_of_ones_own() -> None:
    calls = []

    class Shrink(Objective):
        def __init__(self, encoder, *, width):
            super().__init__(encoder)

        def draw(self, table, rows, generator):
            return table.rows(rows)

        def forward(self, *drawn):
            calls.append(1)
            return self.encoder(*drawn).square().mean()

    split = cn.split(make_data())
    model = cn.FedLocalSSL(objective=Shrink, pretrain_epochs=2, epochs=2, hidden=(8,), width=4).fit(
        split.train, split.valid
    )
    assert calls and [r for r in model.history_ if r["phase"] == "pretrain"][-1]["loss"] >= 0
    with pytest.raises(cn.ConfigError, match=r"objective must be one of simsiam, byol.*Got 'simsam'"):
        cn.FedLocalSSL(objective="simsam")


@pytest.mark.parametrize("objective", ["simsiam", "byol", "moco", "contrastive", "scarf", "nat"])
def test_every_objective_serves_fed_local_ssl_on_mixed_and_all_categorical_tables(objective: str) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    letters = pd.DataFrame({c: rng.choice(list("abcd"), 60) for c in "xyz"})
    data = cn.VerticalData({"a": letters, "b": rng.normal(size=(60, 3))}, (letters["x"] < "c").astype(int).to_numpy())
    model = cn.FedLocalSSL(
        objective=objective, projection=8, pretrain_epochs=2, pretrain_batch_size=59, epochs=40, learning_rate=0.02
    ).fit(data)  # 60 rows in batches of 59 leave one row over, which batch norm cannot take alone
    assert model.score(data.views, data.labels) > 0.9


def test_short_batches_are_merged_and_too_few_rows_explained() -> None:
    order = torch.Generator().manual_seed(0)
    sizes = [len(p) for p in cut(torch.arange(41), 10, order, 2)]
    assert sizes == [10, 10, 10, 11]
    assert [len(p) for p in cut(torch.arange(41), 10, order, 1)] == [10, 10, 10, 10, 1]
    assert [len(p) for p in cut(torch.arange(5), 10, order, 2)] == [5]
    lesson = Lesson(
        objective="simsiam",
        epochs=1,
        batch_size=4,
        learning_rate=0.1,
        weight_decay=0.0,
        optimizer="sgd",
        seed=0,
        projection=4,
    )
    table = Table(torch.randn(1, 3))
    objective = build_objective(lesson, TabularEncoder(3), 64, table, "p", {})
    from contextlib import nullcontext

    with pytest.raises(cn.DataError, match="party 'p' has 1 rows, and simsiam needs 2 in a batch"):
        Course(objective, table, lesson, "p", autocast=nullcontext)


def test_labels_on_unaligned_rows_only_are_explained() -> None:
    data = make_data()
    only = data.labels.take(np.flatnonzero(~np.isin(data.labels.ids, data.aligned[:60])))
    few = cn.VerticalData.of({**data.views, "p1": data.views["p1"].take(np.arange(60))}, only, "p0", data.task)
    assert len(few.aligned) == 60
    with pytest.raises(cn.DataError, match=r"none of the \d+ labelled rows of party 'p0' is held by all parties"):
        small("vflhlp").fit(few)
    assert small("local").fit(few).history_


def test_parties_with_tables_of_other_length_are_not_stacked_for_nat() -> None:
    data = make_data(5, unaligned=0)
    method = small("fedonce")
    fed = put_together(method, data)
    groups = stack_parties(passive_of(fed).values())
    assert all(len({len(p.tables["train"]) for p in g.encoders.parties}) == 1 for g in groups)


@pytest.mark.parametrize("name", PRETRAINED)
def test_small_tables_wide_representations_and_full_labels_work(name: str) -> None:
    """Fewer rows than a batch, representations wider than the batch, no unlabelled row, no unaligned row."""
    rng = np.random.default_rng(0)
    views = {n: rng.normal(size=(24, 3)) for n in ("a", "b")}
    data = cn.VerticalData(views, (views["a"][:, 0] + views["b"][:, 0] > 0).astype(int))
    model = small(name, width=40, batch_size=100, epochs=60).fit(data)
    assert model.score(data.views, data.labels) > 0.9
