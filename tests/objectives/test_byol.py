import pytest
import torch
from slow_reference import assert_same_loss_and_gradient, cosine, encode, two_normed_layers
from torch import nn

from colonnade.errors import ConfigError
from colonnade.objectives import BYOL


def build(momentum=0.999):
    return BYOL(nn.Linear(3, 4), width=4, projection=5, hidden=3, momentum=momentum).double()


def slow_loss(p, target, x1, x2):
    total = 0.0
    for mine, other in ((x1, x2), (x2, x1)):
        prediction = two_normed_layers(two_normed_layers(encode(mine, p), p, "projector"), p, "predictor")
        z = two_normed_layers(encode(other, target, "target_encoder"), target, "target_projector")
        total += sum(2 - 2 * cosine(a, b) for a, b in zip(prediction, z, strict=True)) / len(mine)
    return total


def test_value_and_gradient_against_loops(two_views):
    objective = build()
    with torch.no_grad():
        for p in objective.parameters():  # the target differs from the online network
            p += 0.1 * torch.randn_like(p)
    target = {n: t.numpy() for n, t in objective.state_dict().items() if n.startswith("target")}
    x1, x2 = (x.numpy() for x in two_views)
    assert_same_loss_and_gradient(objective, two_views, lambda p: slow_loss(p, target, x1, x2))


def test_the_target_begins_equal_and_takes_no_gradient(two_views):
    objective = build()
    assert torch.equal(objective.target_encoder.weight, objective.encoder.weight)
    assert objective.target_encoder.weight.data_ptr() != objective.encoder.weight.data_ptr()
    objective(*two_views).backward()
    for network in (objective.target_encoder, objective.target_projector):
        assert all(p.grad is None and not p.requires_grad for p in network.parameters())
    assert objective.encoder.weight.grad.abs().sum() > 0


def test_the_target_follows_by_hand(two_views):
    """m = .9: a target at 1 and an online weight at 2 meet at 1.1, then 1.19; without a step nothing moves."""
    objective = build(momentum=0.9)
    pairs = (
        (objective.target_encoder.weight, objective.encoder.weight),
        (objective.target_projector[0].weight, objective.projector[0].weight),
    )
    with torch.no_grad():
        for target, online in pairs:
            target.fill_(1.0)
            online.fill_(2.0)
    objective(*two_views)
    for expected in (1.1, 1.19):
        objective.after_step()
        for target, online in pairs:
            assert torch.allclose(target, torch.full_like(target, expected))
            assert (online == 2).all() and not target.requires_grad


def test_buffers_of_the_target_are_its_own():
    encoder = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    objective = BYOL(encoder, width=4, projection=5, hidden=3)
    encoder[1].running_mean.fill_(7.0)
    objective.after_step()
    assert (objective.target_encoder[1].running_mean == 0).all()


def test_momentum_must_be_a_share():
    with pytest.raises(ConfigError, match=r"BYOL: momentum must be a number in \[0, 1\]. Got 1.2. Use 0.999"):
        BYOL(nn.Identity(), width=3, momentum=1.2)
