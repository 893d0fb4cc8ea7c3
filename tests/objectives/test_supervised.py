import math

import pytest
import torch
from slow_reference import assert_same_loss_and_gradient, encode, linear
from torch import nn

from colonnade.errors import ConfigError, DataError
from colonnade.objectives import Supervised


def slow_outputs(x, p):
    return linear(encode(x, p), p["head.weight"], p["head.bias"])


def slow_cross_entropy(x, y, p):
    total = 0.0
    for row, c in zip(slow_outputs(x, p), y, strict=True):
        total -= math.log(math.exp(row[c]) / sum(math.exp(v) for v in row))
    return total / len(y)


def slow_squared_error(x, y, p):
    return sum((row[0] - t) ** 2 for row, t in zip(slow_outputs(x, p), y, strict=True)) / len(y)


def test_classes_against_loops(two_views):
    x, y = two_views[0], torch.tensor([0, 2, 1, 2, 0])
    objective = Supervised(nn.Linear(3, 4), width=4, outputs=3, targets=y).double()
    assert_same_loss_and_gradient(objective, (x, y), lambda p: slow_cross_entropy(x.numpy(), y.tolist(), p))


def test_regression_against_loops(two_views):
    x, y = two_views[0], two_views[1][:, 0]
    objective = Supervised(nn.Linear(3, 4), width=4, outputs=1, targets=y).double()
    assert_same_loss_and_gradient(objective, (x, y), lambda p: slow_squared_error(x.numpy(), y.tolist(), p))


def test_draw_aligns_targets_with_rows(table, generator):
    y = torch.arange(40) % 3
    drawn = Supervised(nn.Identity(), width=4, outputs=3, targets=y).draw(table, torch.tensor([4, 39, 2]), generator)
    assert len(drawn) == 3 and drawn[2].tolist() == [1, 0, 2] and torch.equal(drawn[0], table.x[[4, 39, 2]])


@pytest.mark.parametrize(("none", "outputs"), [(-1, 3), (math.nan, 1)])
def test_rows_without_a_label_may_not_be_drawn(table, generator, none, outputs):
    y = torch.tensor([none, *([1] * 39)])
    objective = Supervised(nn.Identity(), width=4, outputs=outputs, targets=y)
    objective.draw(table, torch.arange(1, 5), generator)
    with pytest.raises(DataError, match=r"1 of 4 rows of the batch have no label. Draw from labelled rows"):
        objective.draw(table, torch.arange(4), generator)


@pytest.mark.parametrize(
    ("targets", "outputs", "text"),
    [
        (torch.zeros(3, 1), 1, r"targets must have shape \(N,\). Got \(3, 1\)"),
        (torch.zeros(3), 2, r"outputs must be 1 for regression. Got 2"),
        (torch.zeros(3, dtype=torch.int32), 2, r"targets must be int64 or floating point. Got torch.int32"),
        (torch.zeros(3, dtype=torch.int64), 1, r"outputs must be at least 2 for classes. Got 1"),
        (torch.tensor([0, 1, 5]), 3, r"targets must be in 0…2, or -1 for no label. Got 0…5"),
        (torch.tensor([0, 1]), 0, r"outputs must be an integer of at least 1. Got 0"),
    ],
)
def test_unusable_targets_are_named(targets, outputs, text):
    with pytest.raises(ConfigError, match=text):
        Supervised(nn.Identity(), width=4, outputs=outputs, targets=targets)


def test_targets_must_be_as_long_as_the_table(table, generator):
    objective = Supervised(nn.Identity(), width=4, outputs=1, targets=torch.zeros(39))
    with pytest.raises(DataError, match="40 rows and there are 39 targets"):
        objective.draw(table, torch.arange(4), generator)
