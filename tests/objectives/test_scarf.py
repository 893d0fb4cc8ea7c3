import math

import pytest
import torch
from slow_reference import assert_same_loss_and_gradient, cosine, encode, two_layers
from torch import nn

from colonnade.errors import ConfigError
from colonnade.objectives import Scarf


def slow_loss(p, x, corrupted, temperature):
    z = two_layers(encode(x, p), p, "projector")
    z_tilde = two_layers(encode(corrupted, p), p, "projector")
    n = len(x)
    total = 0.0
    for i in range(n):
        s = [cosine(z[i], z_tilde[j]) / temperature for j in range(n)]
        total -= math.log(math.exp(s[i]) / (sum(math.exp(v) for v in s) / n))
    return total / n


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_value_and_gradient_against_loops(two_views, temperature):
    objective = Scarf(nn.Linear(3, 4), width=4, projection=5, temperature=temperature).double()
    x1, x2 = (x.numpy() for x in two_views)
    assert_same_loss_and_gradient(objective, two_views, lambda p: slow_loss(p, x1, x2, temperature))


def test_draws_the_rows_as_they_are_and_then_corrupted(table, generator):
    rows = torch.arange(30)
    drawn = Scarf(nn.Identity(), width=3).draw(table, rows, generator)
    assert torch.equal(drawn[0], table.x[:30]) and torch.equal(drawn[1], table.codes[:30])
    changed = torch.cat([drawn[2] != drawn[0], drawn[3] != drawn[1]], dim=1)  # 8 columns: ⌊.6·8⌋ = 4 chosen
    assert changed[:, :6].any() and changed[:, 6:].any() and changed.sum(1).max() <= 4


def test_defaults_and_checks():
    objective = Scarf(nn.Identity(), width=3)
    assert (objective.temperature, objective.rate) == (1.0, 0.6)
    with pytest.raises(ConfigError, match=r"Scarf: rate must be a number in \[0, 1\]. Got 60"):
        Scarf(nn.Identity(), width=3, rate=60)
