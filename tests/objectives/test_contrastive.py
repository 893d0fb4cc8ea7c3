import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_reference import assert_same_loss_and_gradient, cosine, encode, two_layers
from torch import nn

from colonnade.errors import ConfigError
from colonnade.objectives import Contrastive


def slow_loss(p, x1, x2, temperature, projector):
    views = [(b, x) for x in (x1, x2) for b, x in enumerate(x)]
    z = encode([x for _, x in views], p)
    z = two_layers(z, p, "projector") if projector else z
    total = 0.0
    for u, (row, _) in enumerate(views):
        top, bottom = 0.0, 0.0
        for v, (other, _) in enumerate(views):
            if v == u:
                continue
            sim = math.exp(cosine(z[u], z[v]) / temperature)
            bottom += sim
            top += sim if other == row else 0.0
        total -= math.log(top / bottom)
    return total / len(views)


@pytest.mark.parametrize(("projection", "temperature"), [(5, 0.2), (None, 0.7)])
def test_value_and_gradient_against_loops(two_views, projection, temperature):
    objective = Contrastive(nn.Linear(3, 4), width=4, projection=projection, temperature=temperature).double()
    x1, x2 = (x.numpy() for x in two_views)
    assert_same_loss_and_gradient(
        objective, two_views, lambda p: slow_loss(p, x1, x2, temperature, projection is not None)
    )


@settings(max_examples=25, deadline=None)
@given(batch=st.integers(1, 7), features=st.integers(1, 4), seed=st.integers(0, 999))
def test_value_for_any_shape(batch, features, seed):
    torch.manual_seed(seed)
    objective = Contrastive(nn.Linear(features, 3), width=3, projection=None).double()
    x1, x2 = torch.randn(2, batch, features, dtype=torch.float64)
    p = {n: t.detach().numpy() for n, t in objective.named_parameters()}
    expected = slow_loss(p, x1.numpy(), x2.numpy(), 0.2, projector=False)
    assert objective(x1, x2).item() == pytest.approx(expected, abs=1e-9)


def test_defaults():
    objective = Contrastive(nn.Identity(), width=4)
    assert objective.temperature == 0.2 and objective.projector[-1].out_features == 128


def test_settings_are_checked():
    with pytest.raises(ConfigError, match=r"Contrastive: temperature must be a finite number above 0. Got -0.2"):
        Contrastive(nn.Identity(), width=3, temperature=-0.2)
    with pytest.raises(ConfigError, match=r"projection must be an integer of at least 1. Got 0. Use None"):
        Contrastive(nn.Identity(), width=3, projection=0)
