"""Private steps against slow, independent versions; the scale of the noise; and broken runs that must be caught.

N rows, B rows of a sample, q sampling rate, Ω clip, σ noise multiplier.
"""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from colonnade.data.table import Table
from colonnade.errors import ConfigError
from colonnade.nets.image import CNN0, CNN1, image_encoder
from colonnade.nets.tabular import TabularEncoder, mlp
from colonnade.objectives.contrastive import Contrastive
from colonnade.objectives.nat import NAT
from colonnade.objectives.simsiam import SimSiam
from colonnade.objectives.supervised import Supervised
from colonnade.privacy import Ledger, PrivacyError, PrivateSteps, SampledGaussian

N, CLIP, SIGMA = 200, 0.7, 1.3


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def planned(steps=50, sigma=SIGMA, rate=0.1):
    ledger = Ledger()
    return ledger, ledger.plan("bank", "train", SampledGaussian(noise_multiplier=sigma, rate=rate, steps=steps))


def engine(module, entry, *, lr=0.5, seed=0, optimizer=None, rows=N, **settings):
    optimizer = optimizer or torch.optim.SGD(module.parameters(), lr=lr)
    settings = {"clip": CLIP, "order": seeded(2 * seed + 100), "noise": seeded(2 * seed + 101)} | settings
    return PrivateSteps(module, optimizer, entry, rows=rows, **settings)


def tabular():
    torch.manual_seed(0)
    x, codes = torch.randn(N, 5), torch.randint(0, 4, (N, 2))
    return TabularEncoder(5, (3, 4), hidden=(8,), width=3, embedding=2), (x, codes)


def cnn0():
    torch.manual_seed(0)
    return CNN0(1, 8, 8, width=3, dropout=False), (torch.randn(N, 1, 8, 8),)


def cnn1():
    torch.manual_seed(0)
    return CNN1(2, 14, 14, width=3), (torch.randn(N, 2, 14, 14),)


def dense():
    torch.manual_seed(0)
    return mlp((4, 8, 3)), (torch.randn(N, 4),)


TARGETS = torch.randn(N, 3, generator=seeded(7)) * torch.logspace(-1.5, 1, N)[:, None]  # gradients small and large
MODULES = {"tabular": tabular, "cnn0": cnn0, "cnn1": cnn1, "dense": dense}


def problem(make):
    """A module, what is drawn for rows, and a loss for each row."""
    module, inputs = make()
    return (
        module,
        lambda rows: (*(t[rows] for t in inputs), TARGETS[rows]),
        lambda *drawn: (module(*drawn[:-1]) - drawn[-1]).square().sum(1) / 2,  # (B,)
    )


def slow_gradients(module, draw, loss_of, rows):
    """One autograd pass for each row: (B, numbers) as float64."""
    found = []
    for row in rows.tolist():
        loss = loss_of(*draw(torch.tensor([row]))).sum()
        parts = torch.autograd.grad(loss, list(module.parameters()))
        found.append(torch.cat([g.flatten() for g in parts]).double())
    return torch.stack(found)


def weights(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()]).double()


@pytest.mark.parametrize("make", MODULES.values(), ids=list(MODULES))
@pytest.mark.parametrize("part", [None, 7])
def test_a_step_equals_a_slow_independent_one(make, part):
    """Poisson sample, gradient of each row by autograd, clipping, sum, the same noise, division by qN, SGD."""
    module, draw, loss_of = problem(make)
    rows = (torch.rand(N, generator=seeded(100), dtype=torch.float64) < 0.1).nonzero().flatten()
    g = slow_gradients(module, draw, loss_of, rows)  # (B, numbers)
    norms = g.norm(dim=1)
    clip = float(norms.median())  # half of the rows are shortened
    summed = (g * (clip / norms).clamp(max=1)[:, None]).sum(0)
    source = seeded(101)
    noise = [torch.normal(0, SIGMA * clip, p.shape, generator=source).flatten() for p in module.parameters()]
    expected = weights(module) - 0.5 * (summed + torch.cat(noise).double()) / (0.1 * N)
    with torch.no_grad():
        mean = sum(float(loss_of(*draw(row[None]))) for row in rows) / (0.1 * N)

    with engine(module, planned()[1], part=part, clip=clip) as steps:
        loss = steps.step(draw, loss_of)
    assert len(rows) > 7
    torch.testing.assert_close(weights(module), expected, rtol=1e-4, atol=1e-5)
    assert float(loss) == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("make", MODULES.values(), ids=list(MODULES))
def test_no_row_moves_the_sum_by_more_than_the_clip(make):
    """Without noise, the update by one row is its clipped gradient: never longer than Ω."""
    module, draw, loss_of = problem(make)
    _, entry = planned(sigma=0.0, rate=1.0)
    lengths = []
    for row in (0, 50, 100, 150, 199):
        single = copy.deepcopy(module)
        loss = lambda *d, m=single: (m(*d[:-1]) - d[-1]).square().sum(1) / 2  # noqa: E731
        with engine(single, entry, rows=1, lr=1.0, seed=row + 1) as steps:
            steps.step(lambda _, row=row: draw(torch.tensor([row])), loss)
        slow = slow_gradients(module, draw, loss_of, torch.tensor([row]))[0].norm()
        lengths.append(float((weights(single) - weights(module)).norm()))
        assert lengths[-1] == pytest.approx(min(CLIP, float(slow)), rel=1e-3)
    assert max(lengths) == pytest.approx(CLIP, rel=1e-3)


def idle():
    """A module whose loss never changes: what moves it is noise alone."""
    return nn.Linear(40, 50), lambda rows: (torch.zeros(len(rows), 40),), lambda x, m: 0 * m(x).sum(1)


@pytest.mark.parametrize(("sigma", "clip", "rate", "lr"), [(1.3, 0.7, 0.1, 0.5), (4.0, 2.0, 0.02, 1.0)])
def test_noise_has_the_stated_scale(sigma, clip, rate, lr):
    """Updates have standard deviation lr · σΩ / (qN), are Gaussian, and independent from step to step."""
    module, draw, loss = idle()
    ledger, entry = planned(sigma=sigma, rate=rate)
    path = [weights(module)]
    with engine(module, entry, lr=lr, clip=clip) as steps:
        for _ in range(50):
            steps.step(draw, lambda x: loss(x, module))
            path.append(weights(module))
    update = torch.stack(path).diff(dim=0)  # (50, 2050)
    scale = lr * sigma * clip / (rate * N)
    assert update.std() == pytest.approx(scale, rel=0.01)
    assert abs(update.mean()) < 5 * scale / math.sqrt(update.numel())
    assert (update.abs() < scale).double().mean() == pytest.approx(math.erf(1 / math.sqrt(2)), abs=0.01)
    assert abs((update[1:] * update[:-1]).mean() / scale**2) < 5 / math.sqrt(update.numel())
    assert entry.observed.noise_multiplier == pytest.approx(sigma, rel=0.01)
    ledger.check()


def test_dropout_is_not_taken_for_rows_that_meet():
    torch.manual_seed(0)
    module, x = CNN0(1, 8, 8, width=3, dropout=True), torch.randn(N, 1, 8, 8)
    ledger, entry = planned()
    with engine(module, entry) as steps:
        for _ in range(3):
            steps.step(lambda rows: (x[rows],), lambda a: module(a).square().sum(1))
    ledger.check()


def test_samples_are_poisson():
    """Sizes have the binomial's mean and variance, rows are drawn alike and independently of each other."""
    _, entry = planned(rate=0.1)
    steps = engine(nn.Linear(1, 1), entry)
    taken = torch.zeros(4000, N, dtype=torch.float64)
    for i in range(4000):
        taken[i, steps.sample()] = 1
    sizes = taken.sum(1)
    assert sizes.mean() == pytest.approx(20, abs=5 * math.sqrt(18 / 4000))
    assert sizes.var() == pytest.approx(18, rel=5 * math.sqrt(2 / 4000))
    shares = taken.mean(0)
    assert (shares - 0.1).abs().max() < 5 * math.sqrt(0.09 / 4000)
    correlations = torch.corrcoef(taken.T)
    assert (correlations - torch.eye(N)).abs().max() < 6 / math.sqrt(4000)
    assert abs(torch.corrcoef(torch.stack([sizes[1:], sizes[:-1]]))[0, 1]) < 5 / math.sqrt(4000)
    assert entry.observed.drawn == int(sizes.sum()) and entry.observed.offered == 4000 * N


def test_empty_samples_add_noise_and_are_counted():
    module, draw, loss_of = problem(dense)
    ledger, entry = planned(steps=30, rate=1e-4)
    called = []
    before = weights(module)
    with engine(module, entry) as steps:
        for _ in range(30):
            steps.step(lambda rows: called.append(rows) or draw(rows), loss_of)
            assert not torch.equal(weights(module), before)
            before = weights(module)
    assert entry.done == 30 and entry.observed.uses == 30 and len(called) < 5
    ledger.check()
    assert ledger.epsilon(1e-5) == ledger.epsilon(1e-5, planned=True) > 0


def test_same_seed_same_weights_and_another_seed_others():
    found = []
    for seed in (1, 1, 2):
        module, draw, loss_of = problem(tabular)
        torch.manual_seed(len(found))  # the global generator does not matter
        with engine(module, planned()[1], seed=seed) as steps:
            for _ in range(5):
                steps.step(draw, loss_of)
        found.append(weights(module))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_the_module_is_plain_again():
    module, draw, loss_of = problem(tabular)
    names, flags = list(module.state_dict()), [getattr(m, "inplace", None) for m in module.modules()]
    optimizer = torch.optim.Adam(module.parameters())
    with engine(module, planned()[1], optimizer=optimizer) as steps:
        steps.step(draw, loss_of)
    assert list(module.state_dict()) == names and type(module) is TabularEncoder
    assert flags == [getattr(m, "inplace", None) for m in module.modules()]
    for layer in module.modules():
        assert not layer._forward_hooks and not layer._backward_hooks
        assert not {"activations", "autograd_grad_sample_hooks", "max_batch_len"} & set(vars(layer))
    for p in module.parameters():
        assert not [name for name in vars(p) if "grad" in name or name == "_forward_counter"] and p.grad is None
    copy.deepcopy(module)
    before = weights(module)
    loss_of(*draw(torch.arange(9))).sum().backward()
    optimizer.step()  # and can be trained in the usual way
    assert not torch.equal(before, weights(module))


def test_it_is_plain_again_after_an_error_too():
    module, draw, _ = problem(dense)
    with pytest.raises(ZeroDivisionError), engine(module, planned()[1]) as steps:
        steps.step(draw, lambda *d: module(d[0]).sum(1) / (1 // 0))
    assert not any("activations" in vars(layer) for layer in module.modules())
    with engine(module, planned()[1]) as steps:
        steps.step(draw, lambda *d: module(d[0]).square().sum(1))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_private_training_learns(optimizer):
    torch.manual_seed(0)
    x = torch.randn(2000, 4)
    y = (x[:, 0] + x[:, 1] > 0).long()
    module = mlp((4, 16, 2))
    made = {"sgd": torch.optim.SGD(module.parameters(), lr=1.0), "adam": torch.optim.Adam(module.parameters(), 0.02)}
    ledger, entry = planned(steps=100, sigma=1.0, rate=0.05)
    with engine(module, entry, optimizer=made[optimizer], rows=2000, clip=1.0) as steps:
        for _ in range(100):
            steps.step(lambda r: (x[r], y[r]), lambda a, b: F.cross_entropy(module(a), b))  # a mean will do
    assert (module(x).argmax(1) == y).double().mean() > 0.9
    ledger.check()


@pytest.mark.parametrize("broken", ["off", "half", "zeros", "same"])
def test_a_broken_run_is_caught(broken, monkeypatch):
    """The ledger goes on saying σ while the noise is off, too small, lost, or the same in every run."""
    if broken == "zeros":
        lost = lambda std, reference, **_: torch.zeros_like(reference)  # noqa: E731
        monkeypatch.setattr("opacus.optimizers.optimizer._generate_noise", lost)
    module, draw, loss_of = problem(dense)
    ledger, entry = planned()
    with engine(module, entry) as steps:
        steps.optimizer.noise_multiplier *= {"off": 0.0, "half": 0.5}.get(broken, 1.0)
        for _ in range(10):
            steps.step(draw, loss_of)
    if broken == "same":
        with pytest.raises(PrivacyError, match="noise or samples would be repeated"), engine(module, entry) as steps:
            steps.step(draw, loss_of)
        return
    with pytest.raises(PrivacyError, match=r"the ledger says noise 1.3 times the clipping norm, measured was"):
        ledger.check()


def test_no_step_is_taken_beyond_the_plan():
    module, draw, loss_of = problem(dense)
    _, entry = planned(steps=2)
    with engine(module, entry) as steps:
        for _ in range(2):
            steps.step(draw, loss_of)
        before = weights(module)
        with pytest.raises(PrivacyError, match="all 2 planned steps are taken"):
            steps.step(draw, loss_of)
    assert torch.equal(before, weights(module)) and entry.done == 2


def test_gradients_that_are_not_finite_stop_before_the_update():
    module, draw, _ = problem(dense)
    before = weights(module)
    with pytest.raises(PrivacyError, match="not finite"), engine(module, planned()[1]) as steps:
        steps.tried = True
        steps.step(draw, lambda *d: module(d[0]).sum(1) * math.inf)
    assert torch.equal(before, weights(module))


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_is_refused_by_name(affine):
    module = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.BatchNorm1d(4, affine=affine)))
    with pytest.raises(ConfigError, match=r"layer '1.0' \(BatchNorm1d\) .* Use nn.GroupNorm .*ModuleValidator.fix"):
        engine(module, planned()[1])
    with pytest.raises(ConfigError, match="20 problems"):
        engine(image_encoder("resnet18", 1, 16, 16, width=4), planned()[1])


def objective_problem(kind):
    """What an objective draws and loses, on rows of a small table."""
    encoder, (x, codes) = tabular()
    table = Table(x, codes, (3, 4))
    if kind is NAT:
        objective = NAT(encoder, width=3, rows=N, generator=seeded(5), fixed=True)
    elif kind is Supervised:
        objective = Supervised(encoder, width=3, outputs=2, targets=(x[:, 0] > 0).long())
    else:
        objective = kind(encoder, width=3, projection=8)
    draws = seeded(6)
    return objective, lambda rows: objective.draw(table, rows, draws)


@pytest.mark.parametrize("kind", [NAT, Supervised])
def test_objectives_of_single_rows_are_trained(kind):
    objective, draw = objective_problem(kind)
    ledger, entry = planned()
    with engine(objective, entry) as steps:
        for _ in range(3):
            steps.step(draw, objective)
    ledger.check()


@pytest.mark.parametrize("kind", [Contrastive, SimSiam])
def test_objectives_in_which_rows_meet_are_refused(kind):
    objective, draw = objective_problem(kind)
    with pytest.raises(ConfigError, match=r"others' losses depend on|BatchNorm"):  # noqa: SIM117
        with engine(objective, planned()[1]) as steps:
            steps.step(draw, objective)


def test_a_sum_in_the_place_of_a_mean_is_refused():
    module, draw, loss_of = problem(dense)
    with pytest.raises(ConfigError, match="a mean over rows"), engine(module, planned()[1]) as steps:
        steps.step(draw, lambda *d: loss_of(*d).sum())


def test_a_parameter_used_outside_its_layer_is_refused_and_an_unused_one_gets_noise_alone():
    module, draw, _ = problem(dense)
    with pytest.raises(ConfigError, match=r"parameter '2.weight' is used outside"), engine(module, planned()[1]) as s:
        s.step(draw, lambda x, c: F.linear(module[1](module[0](x)), module[2].weight).sum(1))
    before = module[2].weight.detach().clone()
    with engine(module, planned()[1]) as steps:
        steps.step(draw, lambda x, c: module[0](x).sum(1))
    assert (module[2].weight - before).detach().std() == pytest.approx(0.5 * SIGMA * CLIP / 20, rel=0.5)


def test_parameters_that_the_optimizer_does_not_hold_stay_and_keep_no_gradients_of_rows():
    module, draw, loss_of = problem(dense)
    before = module[0].weight.detach().clone()
    optimizer = torch.optim.SGD(module[2].parameters(), lr=0.5)
    with engine(module, planned()[1], optimizer=optimizer) as steps:
        for _ in range(3):
            steps.step(draw, loss_of)
            assert all(p.grad_sample is None for p in module.parameters())
    assert torch.equal(module[0].weight, before)


def test_bad_settings_are_refused_together():
    module, other = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    with pytest.raises(ConfigError, match=r"party 'bank'(.|\n)*clip must be above 0(.|\n)*optimizer must hold"):
        engine(module, planned()[1], clip=0.0, optimizer=optimizer)
    ledger = Ledger()
    entry = ledger.plan("bank", "release", None, not_covered="noise without clipping")
    with pytest.raises(ConfigError, match="needs a SampledGaussian"):
        engine(module, entry)
