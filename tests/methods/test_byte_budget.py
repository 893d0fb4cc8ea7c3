"""`max_bytes`: training stops before the batch that would exceed it, with the best weights so far, and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import colonnade as cn
from colonnade.methods._base.parts.byte_budget import ByteBudget
from tests.conftest import make_data
from tests.methods.small import small

PARTS = cn.split(make_data(3, rows=200, labelled=0.9), seed=1)
PLENTY = 10**12
OPTIONS: dict[str, Any] = {"batch_size": 16, "epochs": 12, "patience": 100}


def split_nn(max_bytes: int | None, valid: bool = True, **options: Any) -> Any:
    return small("splitnn", max_bytes=max_bytes, **{**OPTIONS, **options}).fit(
        PARTS.train, PARTS.valid if valid else None
    )


@pytest.mark.parametrize("codec", ["float32", "float16", "int8"])
@pytest.mark.parametrize("valid", [True, False])
def test_an_exchange_costs_what_was_predicted(codec: str, valid: bool) -> None:
    model = split_nn(None, valid, codec=codec, epochs=1)
    traffic, fed = model.traffic_, model.federation_
    budget = ByteBudget(fed, "train", PLENTY, 16)
    n, size = len(fed.active.labelled_aligned), OPTIONS["batch_size"]
    sizes = [*[size] * (n // size), *([n % size] if n % size else [])]
    orders = traffic.by_kind["order"]["bytes"] - (budget._cost("validate", "order") * 2 if valid else 0)
    assert sum(map(budget.exchange, sizes)) + orders == traffic.by_phase["train"]["bytes"]
    assert budget.reserve == traffic.by_phase.get("validate", {"bytes": 0})["bytes"]


@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.31, 0.5, 0.77, 1.01])
def test_training_stops_as_late_as_the_bytes_allow(valid: bool, share: float) -> None:
    whole = split_nn(None, valid)
    most = int(whole.traffic_.bytes * share)
    model = split_nn(most, valid)
    assert model.traffic_.bytes <= most
    fed = model.federation_
    batch = ByteBudget(fed, "train", PLENTY, 16).exchange(OPTIONS["batch_size"])
    reserve = ByteBudget(fed, "train", PLENTY, 16).reserve
    if share < 1.0:
        assert model.history_[-1]["stopped"] == "max_bytes"
        assert most - model.traffic_.bytes < batch + reserve  # one more batch and a look would not have fitted
    else:
        assert len(model.history_) == len(whole.history_) and not any("stopped" in h for h in model.history_)
    assert not any("stopped" in h for h in model.history_[:-1])
    same = [h["loss"] for h in model.history_[:-1]]
    assert same == [h["loss"] for h in whole.history_][: len(same)]  # until then, nothing is otherwise


def test_the_best_validated_weights_are_kept() -> None:
    parts = PARTS
    most = split_nn(None).traffic_.bytes // 2
    model = split_nn(most, learning_rate=0.3)  # too fast: later epochs are worse
    losses = [h["validation_loss"] for h in model.history_]
    assert losses.index(min(losses)) < len(losses) - 1
    active = model.federation_.active
    found = active.predict("valid", model.federation_.ask("represent", table="valid"), len(active.y["valid"]))
    assert float(active.targets.loss(found, active.y["valid"])) == pytest.approx(min(losses), rel=1e-4)
    assert model.score(parts.test.views, parts.test.labels) > 0.34


def test_less_than_an_epoch_is_a_model_too() -> None:
    one = split_nn(None, epochs=1)
    fed = one.federation_
    budget = ByteBudget(fed, "train", PLENTY, 16)
    setup = one.traffic_.by_phase["setup"]["bytes"]
    begin = one.traffic_.by_kind["order"]["bytes"] - 2 * budget._cost("validate", "order")
    least = setup + begin + budget.exchange(16) + budget.reserve
    model = split_nn(least)
    assert model.traffic_.bytes == least and [h["epoch"] for h in model.history_] == [1]
    assert model.history_[0]["stopped"] == "max_bytes" and np.isfinite(model.history_[0]["loss"])
    text = rf"max_bytes={least - 1} does not pay for one batch: .* about 16 rows .* Allow at least {least}, or lower"
    with pytest.raises(cn.ConfigError, match=text):
        split_nn(least - 1)


def test_early_stopping_is_not_called_a_budget() -> None:
    model = split_nn(10**9, patience=1, epochs=100, learning_rate=0.3)
    assert len(model.history_) < 100 and not any("stopped" in h for h in model.history_)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"max_bytes": 0}, r"max_bytes must be a whole number of at least 1\. Got 0\. Use none for no limit"),
        ({"max_bytes": 1e6}, r"max_bytes must be a whole number"),
        (
            {"max_bytes": 10**6, "epsilon": 2.0},
            r"max_bytes=1000000 cannot be combined with epsilon=2\.0.* Lower epochs",
        ),
    ],
)
def test_bad_budgets_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(cn.ConfigError, match=text):
        cn.SplitNN(**options)
