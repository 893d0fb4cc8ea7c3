"""What objectives do between parties and between a party's two towers, against loops in double precision."""

import math

import pytest
import torch
from slow_reference import (
    assert_same_value_and_gradient,
    cosine,
    encode,
    three_normed_layers,
    two_layers,
    two_normed_layers,
    unit,
)
from torch import nn

from colonnade.objectives import BYOL, SimSiam
from colonnade.objectives.moco import MoCo

KINDS = ["simsiam", "byol", "moco"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def build(kind, **settings):
    """A small objective, away from where batch norms and slow copies begin."""
    made = {"simsiam": SimSiam, "byol": BYOL, "moco": MoCo}[kind]
    widths = {"queue": 7} if kind == "moco" else {"hidden": 3}
    objective = made(nn.Linear(3, 4), width=4, projection=5, **widths, **settings).double()
    with torch.no_grad():
        for p in objective.parameters():
            p += 0.1 * torch.randn_like(p)
        if kind == "moco":
            objective.queue /= objective.queue.norm(dim=1, keepdim=True)  # unit in double precision, too
    return objective


def values(objective):
    """Everything that is held constant: slow copies, queue, and the weights of now."""
    return {name: t.numpy().copy() for name, t in objective.state_dict().items()}


def slow_emit(kind, x, p):
    if kind == "simsiam":
        return three_normed_layers(encode(x, p), p, "projector")
    if kind == "byol":
        return two_normed_layers(encode(x, p, "target_encoder"), p, "target_projector")
    return unit(two_layers(encode(x, p, "key_encoder"), p, "key_projector"))


def slow_p(kind, x, p):
    if kind == "simsiam":
        return two_normed_layers(three_normed_layers(encode(x, p), p, "projector"), p, "predictor")
    if kind == "byol":
        return two_normed_layers(two_normed_layers(encode(x, p), p, "projector"), p, "predictor")
    return unit(two_layers(encode(x, p), p, "projector"))


def minus_log_share(own, others):
    """-ln(own / (own + Σ others)), of exponentials at temperature ½."""
    positive = math.exp(own / 0.5)
    return -math.log(positive / (positive + sum(math.exp(o / 0.5) for o in others)))


def dot(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def slow_match(kind, p, z, fixed):
    total = 0.0
    for a, b in zip(p, z, strict=True):
        if kind == "moco":
            total += minus_log_share(dot(a, b), [dot(a, n) for n in fixed["queue"]])
        else:
            total += -cosine(a, b) if kind == "simsiam" else 2 - 2 * cosine(a, b)
    return total / len(p)


def slow_guided(kind, p, fixed, x1, x2, guides, gamma):
    """The local loss plus γ times the distance from the guides; targets come from `fixed`: the stop-gradient."""
    p1 = slow_p(kind, x1, p)
    if kind == "moco":
        loss = slow_match(kind, p1, slow_emit(kind, x2, fixed), fixed)
        near = 0.0
        for i, q in enumerate(p1):
            near += minus_log_share(dot(q, guides[0][i]), [dot(q, g) for j, g in enumerate(guides[0]) if j != i])
        return loss + gamma * near / len(p1)
    p2 = slow_p(kind, x2, p)
    share = 2 if kind == "simsiam" else 1  # SimSiam halves the symmetrised sum, BYOL does not
    local = slow_match(kind, p1, slow_emit(kind, x2, fixed), fixed)
    local += slow_match(kind, p2, slow_emit(kind, x1, fixed), fixed)
    near = slow_match(kind, p1, guides[0], fixed) + slow_match(kind, p2, guides[1], fixed)
    return local / share + gamma * near / share


@every_kind
def test_cross_and_match_equal_the_loops_in_value_and_gradient(kind, two_views):
    objective, other = build(kind), build(kind)
    fixed = values(objective)
    mine, theirs = two_views
    received = other.emit(theirs)
    z, p = objective.cross(mine)
    torch.testing.assert_close(z, torch.from_numpy(slow_emit(kind, mine.numpy(), fixed)), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(p, torch.from_numpy(slow_p(kind, mine.numpy(), fixed)), rtol=1e-9, atol=1e-9)
    assert torch.equal(z, objective.emit(mine)) and p.shape == received.shape == (5, objective.sent_width)
    slow = lambda w: slow_match(kind, slow_p(kind, mine.numpy(), w), received.numpy(), fixed)  # noqa: E731
    assert_same_value_and_gradient(objective, objective.match(p, received), slow)


@every_kind
@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_the_guided_loss_equals_the_loops_in_value_and_gradient(kind, gamma, two_views):
    objective, guide = build(kind), build(kind)
    fixed = values(objective)
    guides = tuple(guide.emit(view) for view in two_views)
    arrays = [g.numpy() for g in guides]
    x1, x2 = (x.numpy() for x in two_views)
    slow = lambda p: slow_guided(kind, p, fixed, x1, x2, arrays, gamma)  # noqa: E731
    assert_same_value_and_gradient(objective, objective(*two_views, guides=guides, gamma=gamma), slow)


@every_kind
def test_gradients_pass_autograds_own_check(kind, two_views):
    """A second numeric check, of p alone: d match / d p, with what was received held constant."""
    objective, other = build(kind), build(kind)
    received = other.emit(two_views[1])
    p = objective.cross(two_views[0])[1].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda p: objective.match(p, received), (p,))


@every_kind
def test_nothing_sent_has_a_graph_and_no_gradient_reaches_the_sender(kind, two_views):
    objective, other = build(kind), build(kind)
    mine, theirs = two_views
    sent = [other.emit(theirs), other.cross(theirs)[0]]
    assert all(z.grad_fn is None and not z.requires_grad for z in sent)
    objective.match(objective.cross(mine)[1], sent[1]).backward()
    objective(*two_views, guides=(other.emit(mine), other.emit(theirs)), gamma=1.0).backward()
    assert all(p.grad is None for p in other.parameters())
    assert all(p.grad is not None for p in objective.parameters() if p.requires_grad)
    assert all(p.grad is None for p in objective.parameters() if not p.requires_grad)


@pytest.mark.parametrize("kind", ["simsiam", "byol"])
def test_no_gradient_reaches_guides_or_what_was_received(kind, two_views):
    """MoCo relies on `emit` and the wire instead, from which nothing with a graph comes."""
    objective = build(kind)
    leaves = [torch.randn(5, 5, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    objective.match(objective.cross(two_views[0])[1], leaves[0]).backward()
    objective(*two_views, guides=tuple(leaves[1:]), gamma=1.0).backward()
    assert all(leaf.grad is None for leaf in leaves)


@every_kind
def test_without_weight_or_guides_the_loss_is_the_local_one_bit_for_bit(kind, two_views):
    objective, guide = build(kind), build(kind)
    guides = tuple(guide.emit(view) for view in two_views)
    trained = [p for p in objective.parameters() if p.requires_grad]
    plain = objective(*two_views)
    slopes = torch.autograd.grad(plain, trained)
    for extra in ({"guides": guides, "gamma": 0.0}, {"guides": (), "gamma": 3.0}):
        loss = objective(*two_views, **extra)
        assert torch.equal(loss, plain)
        assert all(map(torch.equal, torch.autograd.grad(loss, trained), slopes))
    assert not torch.equal(objective(*two_views, guides=guides, gamma=0.1), plain)


@every_kind
def test_guides_are_paired_with_their_own_view(kind, two_views):
    """The guide of the first view weighs on the prediction of the first view: swapped guides give another loss."""
    objective, guide = build(kind), build(kind)
    one, two = (guide.emit(view) for view in two_views)
    right = objective(*two_views, guides=(one, two), gamma=1.0)
    assert not torch.isclose(right, objective(*two_views, guides=(two, one), gamma=1.0), rtol=1e-4)


def test_moco_takes_received_keys_into_its_queue_once(two_views):
    """J = 7, B = 5; `cross`, `match` and `after_step` leave the queue alone, also when they are repeated."""
    objective, other = build("moco"), build("moco")
    begun = objective.queue.clone()
    received = other.emit(two_views[1])
    for _ in range(3):
        objective.match(objective.cross(two_views[0])[1], received)
        objective.after_step()
    assert torch.equal(objective.queue, begun) and objective.oldest.item() == 0
    objective.receive(3.0 * received)  # a codec may have changed the lengths
    objective.after_step()
    torch.testing.assert_close(objective.queue, torch.cat([received, begun[5:]]))
    assert objective.oldest.item() == 5


@pytest.mark.parametrize("kind", ["byol", "moco"])
def test_what_is_sent_comes_from_the_slow_copy(kind, two_views):
    objective = build(kind, momentum=0.75)
    before = objective.emit(two_views[0])
    with torch.no_grad():
        objective.encoder.weight += 1.0
    assert torch.equal(objective.emit(two_views[0]), before)
    objective.after_step()
    assert not torch.allclose(objective.emit(two_views[0]), before)
