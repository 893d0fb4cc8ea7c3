"""Differential privacy as users meet it: options, the record, what is refused, what is caught."""

import math

import dp_accounting
import numpy as np
import opacus
import pytest
import torch

import colonnade as cn
from colonnade.errors import ConfigError
from colonnade.methods._base.parts.privacy import privacy_of
from colonnade.parties.skills.pretraining import PrivateAccount
from colonnade.privacy import PrivacyError
from tests.methods.small import small


def make_data(rows=300, parties=3, seed=0):
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, rows)
    views = {f"p{k}": draw.normal(size=(rows, 4)) + y[:, None] * (1.0 if k else 0.5) for k in range(parties)}
    return cn.VerticalData(views, y)


def quick(**options):
    base = {"epochs": 3, "pretrain_epochs": 2, "hidden": (8,), "epsilon": 4.0, "delta": 1e-4}
    return cn.FedOnceL1(**{**base, **options})


def own_figure(rows, delta):
    """ε of the ledger's lines by dp-accounting itself."""
    accountant = dp_accounting.rdp.RdpAccountant()
    for row in rows:
        gaussian = dp_accounting.GaussianDpEvent(row["noise"])
        accountant.compose(dp_accounting.PoissonSampledDpEvent(row["rate"], gaussian), row["done"])
    return accountant.get_epsilon(delta)


def test_the_record_says_what_was_spent_and_dp_accounting_agrees():
    model = quick().fit(make_data())
    privacy = privacy_of(model)
    assert privacy["covered"] and 3.9 < privacy["spent"] <= 4.0
    assert privacy["spent"] == pytest.approx(own_figure(privacy["rows"], 1e-4), abs=1e-6)
    lines = {(row["party"], row["phase"]): row for row in privacy["rows"]}
    assert set(lines) == {("p0", "train"), ("p1", "pretrain"), ("p2", "pretrain")}
    for row in lines.values():
        assert row["done"] == row["planned"] and row["noise measured"] == pytest.approx(row["noise"], rel=0.1)
    assert lines["p1", "pretrain"]["planned"] == math.ceil(2 * 300 / 32) and lines["p0", "train"]["rate"] == 32 / 300


@pytest.mark.parametrize("method", [cn.FedOnceL1, cn.Local])
def test_a_run_whose_noise_is_off_is_caught(monkeypatch, method):
    made = opacus.optimizers.DPOptimizer

    def silent(optimizer, **settings):
        return made(optimizer, **{**settings, "noise_multiplier": 0.0})

    monkeypatch.setattr(opacus.optimizers, "DPOptimizer", silent)
    with pytest.raises(PrivacyError, match="noise"):
        method(epochs=2, epsilon=4.0, delta=1e-4, batch_size=32).fit(make_data())


def test_a_guest_that_takes_more_steps_than_it_was_asked_to_is_caught(monkeypatch):
    told = PrivateAccount.tell_account

    def one_more(skill, message):
        reply = told(skill, message)
        return type(reply)({}, {**reply.values, "done": reply.values["done"] + 1})

    monkeypatch.setattr(PrivateAccount, "tell_account", one_more)
    with pytest.raises(PrivacyError, match="p1"):
        quick().fit(make_data())


def test_exchanged_targets_are_labelled_as_not_covered():
    privacy = privacy_of(quick(assignment="batch").fit(make_data()))
    assert not privacy["covered"] and privacy["spent"] is None and privacy["nominal"] <= 4.0
    assert "No differential privacy guarantee" in privacy["summary"]
    assert any("exchanged" in row["not covered"] for row in privacy["rows"] if row["phase"] == "pretrain")


def test_moments_division_needs_less_noise_than_simple_and_pld_less_still():
    noise = {}
    for division in ("moments", "simple", "pld"):
        model = quick(division=division).fit(make_data(parties=4))
        noise[division] = [row["noise"] for row in privacy_of(model)["rows"]]
    assert max(noise["pld"]) < min(noise["moments"]) and max(noise["moments"]) < min(noise["simple"])


def test_same_seed_same_model_and_a_saved_one_predicts_the_same(tmp_path):
    data = make_data()
    first, second = quick().fit(data), quick().fit(data)
    expected = first.predict_proba(data.views)
    assert np.array_equal(expected, second.predict_proba(data.views))
    assert not np.array_equal(expected, quick(seed=1).fit(data).predict_proba(data.views))
    first.save(tmp_path / "model")
    assert np.allclose(cn.load(tmp_path / "model").predict_proba(data.views), expected)


def test_what_guests_tell_is_counts_alone():
    model = quick().fit(make_data())
    told = [entry for entry in model.federation_.wire.audit_json() if entry["kind"] == "account"]
    assert {(e["from"], e["messages"]) for e in told} == {("p1", 2), ("p2", 2)} and all(e["first"] == {} for e in told)


def test_less_budget_costs_accuracy():
    """Noise of ε = 0.05 drowns what ε = 100 learns."""
    data, new = make_data(), make_data(seed=1)
    scores = [cn.Local(epsilon=e, epochs=15).fit(data).score(new.views, new.labels) for e in (0.05, 100.0)]
    assert scores[1] > 0.65 and scores[1] > scores[0] + 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be a number above 0. Got 0.0"),
        ({"delta": 1.0}, "delta must be a number above 0 and below 1. Got 1.0"),
        ({"clip": -1.0}, "clip must be a number above 0. Got -1.0"),
        ({"division": "half"}, "division must be one of moments, simple, pld. Got 'half'"),
    ],
)
def test_bad_budgets_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        quick(**options)


def test_encoders_that_are_not_trained_leave_the_budget_to_the_host():
    privacy = privacy_of(quick(pretrain_epochs=0).fit(make_data()))
    assert privacy["covered"] and [row["party"] for row in privacy["rows"]] == ["p0"]
    assert privacy["rows"][0]["noise"] < privacy_of(quick().fit(make_data()))["rows"][-1]["noise"]


def test_a_delta_that_promises_nothing_is_warned_of():
    with pytest.warns(UserWarning, match="delta"):
        quick(delta=0.01).fit(make_data())


def test_batch_norm_is_refused_and_a_batch_beyond_the_rows_is_all_of_them():
    data = make_data()
    norm = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    with pytest.raises(ConfigError, match=r"GroupNorm"):
        quick(encoders={"p1": norm}).fit(data)
    rows = privacy_of(quick(batch_size=301).fit(data))["rows"]
    assert [row["rate"] for row in rows if row["party"] == "p0"] == [1.0]


def test_the_active_party_alone_can_be_private():
    model = cn.Local(epochs=4, batch_size=32, epsilon=4.0, delta=1e-4).fit(make_data())
    privacy = privacy_of(model)
    assert privacy["covered"] and [row["party"] for row in privacy["rows"]] == ["p0"]
    assert privacy["spent"] == pytest.approx(own_figure(privacy["rows"], 1e-4), abs=1e-6)
    assert privacy_of(cn.Local(epochs=1).fit(make_data())) is None


def test_clipped_and_noisy_messages_are_entered_in_the_ledger():
    """Over encoders that learnt privately they add up to one ε; over others there is none."""
    protect = {"protect": "gaussian:representation:1:4"}
    privacy = privacy_of(quick(**protect).fit(make_data()))
    kinds = [row["mechanism"] for row in privacy["rows"]]
    assert sorted(kinds) == ["Gaussian"] * 2 + ["SampledGaussian"] * 3 and privacy["covered"]
    accountant = dp_accounting.rdp.RdpAccountant()
    for row in privacy["rows"]:
        noise = dp_accounting.GaussianDpEvent(row["noise"])
        sampled = dp_accounting.PoissonSampledDpEvent(row["rate"], noise) if row["rate"] < 1 else noise
        accountant.compose(sampled, row["done"])
    assert privacy["spent"] == pytest.approx(accountant.get_epsilon(privacy["delta"]), abs=1e-6)
    assert privacy["spent"] > 4.0  # what is sent comes on top of what training spends
    plain = privacy_of(cn.FedOnce(**protect, pretrain_epochs=1, epochs=2).fit(make_data()))
    assert not plain["covered"] and plain["nominal"] > 0 and "given the networks" in plain["rows"][0]["not covered"]


@pytest.mark.parametrize("name", ["splitnn", "ss-vfl-c", "ss-vfl-i", "fed-local-ssl"])
def test_the_head_of_other_methods_can_be_private_and_the_rest_is_labelled(name):
    """The active party's steps carry noise; what the passive parties learn has none, and the record says so."""
    data, new = make_data(), make_data(seed=1)
    model = small(name, epsilon=50.0, delta=1e-4, epochs=8, optimizer="plain-sgd", learning_rate=0.3).fit(data)
    privacy = privacy_of(model)
    lines = {row["party"]: row for row in privacy["rows"]}
    assert lines["p0"]["mechanism"] == "SampledGaussian" and lines["p0"]["done"] == lines["p0"]["planned"]
    assert all("noise" in lines[guest]["not covered"] for guest in ("p1", "p2"))
    assert not privacy["covered"] and privacy["nominal"] <= 50.0
    assert model.score(new.views, new.labels) > 0.6


@pytest.mark.parametrize("name", ["ssvfl", "hybrid", "vflhlp", "fedhssl", "fedonce", "fedonce-pca", "fedonce-multi"])
def test_methods_without_private_training_have_no_budget(name):
    with pytest.raises(ConfigError, match="'epsilon' is no option of"):
        small(name, epsilon=4.0)


def test_a_private_exchange_sends_what_its_sample_asks_for():
    """Rows of a Poisson sample go down, representations and gradients of as many rows cross; a step is a round trip."""
    model = small("splitnn", epsilon=50.0, delta=1e-4, epochs=3, patience=3).fit(make_data())
    kinds = {kind: cell["messages"] for kind, cell in model.traffic_.by_kind.items()}
    steps = privacy_of(model)["rows"][-1]["done"]
    assert kinds["representation"] == kinds["gradient"] == 2 * steps == 2 * math.ceil(3 * 300 / 32)


def test_a_budget_of_an_earlier_training_is_not_claimed_for_a_later_one() -> None:
    data = cn.DATASETS["wine"](labels=30, seed=0).train
    model = cn.SplitNN(epochs=1, epsilon=8.0).fit(data)
    assert privacy_of(model) is not None
    assert privacy_of(model.set_params(epsilon=None).fit(data)) is None
