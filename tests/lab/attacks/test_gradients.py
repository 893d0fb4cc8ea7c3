"""Direct gradient attacks: certain on gradients made to leak, nothing on noise, refused where they do not fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import colonnade as cn
from colonnade.errors import ConfigError
from colonnade.lab.attacks import RefusedError, Run, Witness, gradients, judge
from colonnade.lab.attacks.gradients import attack_batches, labelled_batches
from colonnade.wire.message import Message
from tests.conftest import make_data
from tests.lab.attacks.small import make_parts, make_run


def test_long_gradients_of_the_rare_class_give_it_away() -> None:
    torch.manual_seed(0)
    positive = torch.arange(50) < 5
    unit = torch.nn.functional.normalize(torch.randn(50, 8), dim=1)
    found = attack_batches([(unit * torch.where(positive, 5.0, 1.0)[:, None], positive)], seed=0)
    assert found["norm"] == [1.0] and found["cosine"][0] < 0.9


def test_opposite_directions_give_both_classes_away() -> None:
    positive = torch.arange(50) % 2 == 0
    g = torch.where(positive, 1.0, -1.0)[:, None] * torch.tensor([[1.0, 2.0, 3.0]])
    found = attack_batches([(g, positive)], seed=0)
    assert found["cosine"] == [1.0] and found["norm"] == pytest.approx([0.5])


def test_noise_gives_nothing_away() -> None:
    torch.manual_seed(0)
    batches = [(torch.randn(64, 8), torch.rand(64) < 0.3) for _ in range(40)]
    assert all(abs(np.mean(values) - 0.5) < 0.05 for values in attack_batches(batches, seed=0).values())


def test_batches_of_one_class_say_nothing() -> None:
    assert attack_batches([(torch.randn(4, 2), torch.ones(4, dtype=torch.bool))], seed=0) == {}


def message(kind: str, receiver: str = "shop", **tensors: torch.Tensor) -> Message:
    return Message(kind, "bank", receiver, "train", tensors)


def test_a_gradient_belongs_to_the_rows_asked_for_before_it_and_unlabelled_ones_are_left_out() -> None:
    witness = Witness("shop")
    g = torch.tensor([[1.0], [2.0], [3.0]])
    for sent in (
        message("rows", rows=torch.tensor([2, 0, 1], dtype=torch.int32)),
        message("gradient", gradient=g),
        message("rows"),  # validation
        message("gradient", gradient=g),  # of unknown rows
    ):
        witness(sent)
    batches = labelled_batches(witness, np.array([True, False, True]), np.array([True, False, True]))
    assert len(batches) == 1
    assert batches[0][0].tolist() == [[1.0], [2.0]] and batches[0][1].tolist() == [True, True]


def test_a_replay_shows_what_the_run_leaked() -> None:
    run = make_run(make_parts(rare=1.2), validate=True, epochs=3)
    norm, cosine = gradients(run, "shop")
    assert (norm.attack, cosine.attack) == ("gradient norm", "gradient cosine")
    assert norm.score > 0.9 and cosine.score > 0.9 and norm.prior == 0.5
    assert norm.advantage == pytest.approx(norm.score - 0.5) and "replay" in norm.used
    assert run.replay() is run.replay()


def test_a_replay_that_is_another_run_is_refused() -> None:
    run = make_run(make_parts(rows=100), epochs=2)
    fewer = Run(run.model, run.parts, [{**entry, "bytes": 1} for entry in run.audit])
    with pytest.raises(RefusedError, match="other messages than the run"):
        gradients(fewer, "shop")
    encoder = run.party("shop").encoder
    assert encoder is not None
    with torch.no_grad():
        next(encoder.parameters()).add_(0.1)
    with pytest.raises(RefusedError, match="left party 'shop' other weights than the run"):
        gradients(run, "shop")


def test_what_does_not_fit_is_refused_by_name() -> None:
    once = make_run(make_parts(rows=100), method="fedonce", pretrain_epochs=1, epochs=1)
    with pytest.raises(RefusedError, match="received no gradient: fedonce sends it none"):
        gradients(once, "shop")
    with pytest.raises(ConfigError, match=r"attack gradients by 'shop'.*received no gradient"):
        judge(once, attacks=["gradients"])
    three = make_run(cn.split(make_data(labelled=1.0), seed=0), epochs=1)
    with pytest.raises(RefusedError, match="this task is multiclass"):
        gradients(three, "p1")
