"""Model completion: it finds what the encoder carries, nothing where nothing is, and never peeks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.data.labels import Labels
from colonnade.data.splits import Split
from colonnade.data.table import Table
from colonnade.data.vertical import VerticalData
from colonnade.errors import ConfigError
from colonnade.lab.attacks import RefusedError, Run, label_inference
from colonnade.lab.attacks.auxiliary import balanced, count_auxiliary, folds
from tests.conftest import make_data
from tests.lab.attacks.small import make_parts, make_run

module = sys.modules["colonnade.lab.attacks.label_inference"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 60)
    monkeypatch.setattr(module, "BATCH", 64)
    monkeypatch.setattr(module, "EPOCHS", 3)


def test_an_encoder_that_carries_labels_gives_them_away() -> None:
    run = make_run(make_parts())
    new, trained = label_inference(run, "shop", auxiliary=20)
    assert (new.target, trained.target) == ("labels of new rows", "labels of training rows")
    for found in (new, trained):
        assert found.attack == "label-inference" and found.adversary == "shop" and found.metric == "accuracy"
        assert found.score > found.baseline + 0.1 and found.score > 0.75 and 0.5 <= found.prior < 0.6
        assert found.advantage == pytest.approx(found.score - max(found.baseline, found.prior))
        assert "received gradient" in found.used and "20 labelled rows" in found.used
    assert new.n == len(run.parts.test.labels) - 20 and trained.n == len(run.parts.train.labels)


def test_labels_without_pattern_stay_unknown() -> None:
    run = make_run(make_parts(signal=0.0, rows=800), epochs=5)
    new, _ = label_inference(run, "shop", auxiliary=40)
    assert abs(new.score - 0.5) < 0.12 and abs(new.advantage) < 0.15


def test_labels_of_attacked_rows_choose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guesses stay the same, whatever the labels by which they are judged."""
    monkeypatch.setattr(module, "STEPS", 10)
    run = make_run(make_parts(rows=200), epochs=3)
    at = np.arange(10)
    monkeypatch.setattr(module, "balanced", lambda y, count, rng: (at, np.arange(10, len(y))))
    guesses: list[Any] = []
    infer = module.infer

    def spy(*arguments: Any) -> Any:
        guesses.append(infer(*arguments))
        return guesses[-1]

    monkeypatch.setattr(module, "infer", spy)
    before = label_inference(run, "shop", auxiliary=10)[0]
    test, ids = run.parts.test, run.parts.test.views["shop"].ids
    values, _ = test.labels.of(ids)
    turned = Labels(ids, np.where(np.arange(len(ids)) < 10, values, 1 - values))
    other = VerticalData.of(test.views, turned, test.active, test.task)
    again = Run(run.model, Split(run.parts.train, None, other), run.audit)
    after = label_inference(again, "shop", auxiliary=10)[0]
    assert after.score == pytest.approx(1 - before.score)
    for one, two in zip(guesses[:2], guesses[2:], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_it_works_with_three_classes_categories_and_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 10)
    data = make_data(rows=200, labelled=1.0)
    run = make_run(cn.split(data, seed=0), epochs=3)
    new, _ = label_inference(run, "p1", auxiliary=12)
    assert 0 <= new.score <= 1 and new.n == len(run.parts.test.labels) - 12


def test_auxiliary_rows_are_balanced_and_folds_partition_them() -> None:
    y = np.array([0] * 30 + [1] * 5 + [2] * 3)
    at, rest = balanced(y, 12, np.random.default_rng(0))
    assert sorted([*at, *rest]) == list(range(38))
    assert np.bincount(y[at]).tolist() == [5, 4, 3] or np.bincount(y[at]).tolist() == [4, 5, 3]
    held = [rest for _, rest in folds(y[at])]
    assert sorted(np.concatenate(held)) == list(range(12)) and len(held) == 4
    assert all(not set(fit) & set(left) for fit, left in folds(y[at]))


def test_bad_numbers_of_auxiliary_rows_are_refused() -> None:
    assert count_auxiliary(None, 400, 10) == 80 and count_auxiliary(None, 100, 10) == 50
    with pytest.raises(ConfigError, match=r"auxiliary must be at least 2 and below 40.*Got 40"):
        label_inference(make_run(make_parts(rows=200), epochs=1), "shop", auxiliary=40)
    with pytest.raises(ConfigError, match="at least 10"):
        count_auxiliary(9, 400, 10)


def test_a_party_that_received_nothing_is_refused() -> None:
    run = make_run(make_parts(rows=100), method="fedonce", pretrain_epochs=1, epochs=1)
    with pytest.raises(RefusedError, match="party 'shop' received nothing that other parties"):
        label_inference(run, "shop")
    with pytest.raises(RefusedError, match="'bank' is no passive party"):
        label_inference(run, "bank")


def test_confident_guesses_alone_teach() -> None:
    """FixMatch by hand: a row guessed with 0.99 counts with its own cross entropy, one with 0.6 counts zero."""
    logits = torch.tensor([[np.log(0.99), np.log(0.01)], [np.log(0.6), np.log(0.4)]], dtype=torch.float32)
    table = Table(logits)
    loss = module.consistency(
        torch.nn.Identity(), table, torch.arange(2), lambda t, rows, g: (t.x[rows].flip(1),), torch.Generator()
    )
    assert float(loss) == pytest.approx(-np.log(0.01) / 2, rel=1e-4)
