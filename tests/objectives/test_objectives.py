"""What all objectives have in common."""

import pytest
import torch
from small_tables import make_table
from torch.func import functional_call, stack_module_state, vmap

from colonnade.nets.tabular import TabularEncoder
from colonnade.objectives import OBJECTIVES, PCA, Objective

TRAINED = {name: kind for name, kind in OBJECTIVES.items() if kind is not PCA}
BATCHED = [name for name, kind in TRAINED.items() if kind.after_step is Objective.after_step]
OWN = {
    "simsiam": {"projection": 16, "hidden": 8},
    "byol": {"projection": 16, "hidden": 8},
    "moco": {"projection": 16, "queue": 50},
    "contrastive": {"projection": 16},
    "scarf": {"projection": 16},
}


def build(name, sizes=(3, 5), seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    settings = dict(OWN.get(name, {}))
    if name == "nat":
        settings |= {"rows": 40, "generator": torch.Generator().manual_seed(seed)}
    if name == "supervised":
        settings |= {"outputs": 3, "targets": torch.arange(40) % 3}
    encoder = TabularEncoder(6, sizes, hidden=(10,), width=8, embedding=2)
    return TRAINED[name](encoder, width=8, **settings).to(dtype)


def draw(objective, sizes=(3, 5), seed=0, batch=12):
    table = make_table(sizes=sizes, seed=seed, dtype=torch.float64)
    return objective.draw(table, torch.arange(batch), torch.Generator().manual_seed(seed))


def test_the_names():
    assert list(OBJECTIVES) == ["simsiam", "byol", "moco", "contrastive", "scarf", "nat", "pca", "supervised"]
    assert all(issubclass(kind, Objective) for kind in TRAINED.values())


@pytest.mark.parametrize("sizes", [(), (3, 5)], ids=["numeric", "mixed"])
@pytest.mark.parametrize("name", TRAINED)
def test_the_loss_is_a_finite_scalar_and_trains_the_whole_encoder(name, sizes):
    objective = build(name, sizes)
    loss = objective(*draw(objective, sizes))
    loss.backward()
    assert loss.ndim == 0 and torch.isfinite(loss)
    for where, parameter in objective.encoder.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, where


@pytest.mark.parametrize("name", TRAINED)
def test_draw_depends_on_its_generator_alone_and_forward_leaves_the_state(name):
    objective = build(name)
    first, again = draw(objective), draw(objective)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    before = {n: t.clone() for n, t in objective.state_dict().items()}
    rng = torch.get_rng_state()
    assert torch.equal(objective(*first), objective(*first))
    assert all(torch.equal(t, before[n]) for n, t in objective.state_dict().items())
    assert torch.equal(rng, torch.get_rng_state())


@pytest.mark.parametrize("name", TRAINED)
def test_the_smallest_batch_gives_a_finite_loss(name):
    objective = build(name)
    assert torch.isfinite(objective(*draw(objective, batch=objective.min_batch)))


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", BATCHED)
def test_three_parties_in_one_call_equal_three_calls(name, mode):
    """Losses and gradients of K = 3 stacked objectives, on different data, against the loop."""
    parties = [build(name, seed=s).train(mode == "train") for s in range(3)]
    batches = [draw(party, seed=s) for s, party in enumerate(parties)]
    params, buffers = stack_module_state(parties)
    drawn = tuple(torch.stack(parts) for parts in zip(*batches, strict=True))

    def one(params, buffers, *drawn):
        return functional_call(parties[0], (params, buffers), drawn)

    losses = vmap(one, randomness="error")(params, buffers, *drawn)
    losses.sum().backward()
    for k, (party, batch) in enumerate(zip(parties, batches, strict=True)):
        loss = party(*batch)
        loss.backward()
        assert torch.allclose(losses[k], loss, rtol=1e-10, atol=1e-12)
        for where, parameter in party.named_parameters():
            assert torch.allclose(params[where].grad[k], parameter.grad, rtol=1e-8, atol=1e-10), where
