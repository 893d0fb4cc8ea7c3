import math

import numpy as np
import pytest
import torch
from slow_reference import assert_same_loss_and_gradient, cosine, encode, two_layers
from small_tables import make_table
from torch import nn

from colonnade.errors import ConfigError
from colonnade.objectives import MoCo


def build(**settings):
    return MoCo(nn.Linear(3, 4), width=4, projection=5, **({"queue": 7} | settings)).double()


def slow_loss(p, fixed, x1, x2, temperature):
    total = 0.0
    queries = two_layers(encode(x1, p), p, "projector")
    keys = two_layers(encode(x2, fixed, "key_encoder"), fixed, "key_projector")
    for q, k in zip(queries, keys, strict=True):
        own = math.exp(cosine(q, k) / temperature)
        others = sum(math.exp(cosine(q, n) / temperature) for n in fixed["queue"])
        total -= math.log(own / (own + others))
    return total / len(x1)


@pytest.mark.parametrize("temperature", [0.5, 0.2])
def test_value_and_gradient_against_loops(two_views, temperature):
    objective = build(temperature=temperature)
    with torch.no_grad():
        for p in objective.parameters():
            p += 0.1 * torch.randn_like(p)
        # built in single precision: unit to 1e-8 only, which the loops' cosine would hide
        objective.queue /= objective.queue.norm(dim=1, keepdim=True)
    fixed = {n: t.numpy().copy() for n, t in objective.state_dict().items()}
    x1, x2 = (x.numpy() for x in two_views)
    assert_same_loss_and_gradient(objective, two_views, lambda p: slow_loss(p, fixed, x1, x2, temperature))
    assert all(p.grad is None for p in objective.key_encoder.parameters())


def test_defaults_and_the_first_queue():
    objective = MoCo(nn.Identity(), width=4)
    assert objective.queue.shape == (4096, 128) and objective.temperature == 0.5 and objective.momentum == 0.999
    assert torch.allclose(objective.queue.norm(dim=1), torch.ones(4096), atol=1e-5)
    assert objective.queue.mean(0).abs().max() < 0.01  # unit vectors in all directions


def test_the_queue_by_hand(two_views):
    """J = 7, B = 5: places 0-4, then 5, 6, 0, 1, 2; keys come from the second view and from before the step."""
    objective = build(momentum=0.0)
    first, second = two_views
    begun = objective.queue.clone()
    projected = lambda x: nn.functional.normalize(objective.projector(objective.encoder(x)), dim=1).detach()  # noqa: E731
    objective(first, second)
    assert torch.equal(objective.queue, begun)  # forward itself leaves the queue alone
    keys = projected(second)
    with torch.no_grad():
        objective.encoder.weight += 1.0
    objective.after_step()
    assert torch.allclose(objective.queue[:5], keys) and torch.equal(objective.queue[5:], begun[5:])
    objective(second, first)
    newer = projected(first)
    objective.after_step()
    assert torch.allclose(objective.queue, torch.cat([newer[2:], keys[3:], newer[:2]]))
    assert objective.oldest.item() == 3


def test_keys_enter_the_queue_once_and_only_from_training(two_views):
    objective = build()
    objective(*two_views)
    objective.after_step()
    held = objective.queue.clone()
    objective.after_step()
    objective.eval()(*two_views)
    objective.after_step()
    assert torch.equal(objective.queue, held) and objective.oldest.item() == 5


def test_a_batch_longer_than_the_queue_leaves_its_last_keys(two_views):
    objective = build(queue=3, momentum=1.0)
    objective(*two_views)
    keys = nn.functional.normalize(objective.key_projector(objective.key_encoder(two_views[1])), dim=1)
    objective.after_step()
    assert torch.allclose(objective.queue, keys[-3:]) and objective.oldest.item() == 0


def test_the_key_networks_follow_by_hand(two_views):
    objective = build(momentum=0.75)
    with torch.no_grad():
        objective.key_encoder.weight.fill_(1.0)
        objective.encoder.weight.fill_(2.0)
        objective.key_projector[0].bias.fill_(0.0)
        objective.projector[0].bias.fill_(4.0)
    objective.after_step()
    np.testing.assert_allclose(objective.key_encoder.weight.numpy(), 1.25)
    np.testing.assert_allclose(objective.key_projector[0].bias.numpy(), 1.0)


def test_learns_with_a_queue_longer_than_the_table(generator):
    table = make_table(n=30, sizes=())
    objective = MoCo(nn.Linear(6, 8), width=8, projection=8, queue=64, momentum=0.9)
    trained = [p for p in objective.parameters() if p.requires_grad]
    losses = []
    for _ in range(60):
        loss = objective(*objective.draw(table, torch.arange(30), generator))
        with torch.no_grad():
            for p, slope in zip(trained, torch.autograd.grad(loss, trained), strict=True):
                p -= 0.5 * slope
        objective.after_step()
        losses.append(loss.item())
    assert all(map(math.isfinite, losses)) and np.mean(losses[-5:]) < np.mean(losses[3:8]) - 0.05


@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        ("temperature", 0, r"temperature must be a finite number above 0. Got 0. Use 0.5"),
        ("queue", 0, r"queue must be an integer of at least 1. Got 0"),
        ("queue", True, r"queue must be an integer of at least 1. Got True"),
        ("width", -1, r"width must be an integer of at least 1. Got -1"),
    ],
)
def test_settings_are_checked(setting, value, text):
    with pytest.raises(ConfigError, match=text):
        MoCo(nn.Identity(), **({"width": 4} | {setting: value}))
