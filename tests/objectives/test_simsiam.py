import numpy as np
import pytest
import torch
from slow_reference import (
    assert_same_loss_and_gradient,
    batch_norm,
    cosine,
    encode,
    linear,
    parameters,
    relu,
    two_normed_layers,
)
from torch import nn

from colonnade.errors import ConfigError
from colonnade.objectives import SimSiam, negative_cosine


def build():
    return SimSiam(nn.Linear(3, 4), width=4, projection=5, hidden=3).double()


def slow_z(x, p):
    z = encode(x, p)
    for i in (0, 3, 6):
        z = batch_norm(
            linear(z, p[f"projector.{i}.weight"]), p[f"projector.{i + 1}.weight"], p[f"projector.{i + 1}.bias"]
        )
        z = relu(z) if i < 6 else z
    return z


def slow_loss(p, frozen, x1, x2):
    """½ Σ of the two terms; the z of each term comes from `frozen`, which is the stop-gradient."""
    total = 0.0
    for mine, other in ((x1, x2), (x2, x1)):
        prediction = two_normed_layers(slow_z(mine, p), p, "predictor")
        target = slow_z(other, frozen)
        total += sum(-cosine(a, b) for a, b in zip(prediction, target, strict=True)) / len(mine)
    return total / 2


def test_value_and_gradient_against_loops(two_views):
    objective = build()
    for p in objective.parameters():  # batch norms away from gain 1 and shift 0
        p.data += 0.1 * torch.randn_like(p)
    frozen = parameters(objective)
    x1, x2 = (x.numpy() for x in two_views)
    assert_same_loss_and_gradient(objective, two_views, lambda p: slow_loss(p, frozen, x1, x2))


def test_no_gradient_flows_into_z():
    p, z = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
    negative_cosine(p, z).backward()
    assert z.grad is None and p.grad.abs().sum() > 0


def test_negative_cosine_by_hand():
    """cos((3, 4), (4, 3)) = 24/25, cos((1, 0), (0, 2)) = 0: mean .48."""
    value = negative_cosine(torch.tensor([[3.0, 4.0], [1.0, 0.0]]), torch.tensor([[4.0, 3.0], [0.0, 2.0]]))
    assert value.item() == pytest.approx(-0.48)


def test_projector_output_is_normalised_per_column(two_views):
    z = build().project(two_views[0]).detach().numpy()
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-9)


def test_all_problems_are_named_at_once():
    with pytest.raises(
        ConfigError, match=r"(?s)SimSiam: 2 problems.*projection must be.*Got 0.*hidden must be.*Got 1\.5"
    ):
        SimSiam(nn.Identity(), width=3, projection=0, hidden=1.5)
