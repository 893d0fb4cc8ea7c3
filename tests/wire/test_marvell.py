"""Marvell: the least divergence under the power, and noise of the shape that was found."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from colonnade.errors import ConfigError
from colonnade.wire import Message
from colonnade.wire.protections import Marvell
from colonnade.wire.protections.marvell import Shape, best_shape
from tests.declared import make_wire


def slow_sum_kl(means: list[np.ndarray], covariances: list[np.ndarray]) -> float:
    """KL(N_0 ‖ N_1) + KL(N_1 ‖ N_0) of two normal distributions, by the textbook."""
    total = 0.0
    for i, j in ((0, 1), (1, 0)):
        inverse, apart = np.linalg.inv(covariances[j]), means[j] - means[i]
        logs = np.linalg.slogdet(covariances[j])[1] - np.linalg.slogdet(covariances[i])[1]
        total += 0.5 * (np.trace(inverse @ covariances[i]) + apart @ inverse @ apart - len(apart) + logs)
    return total


def test_the_divergence_is_that_of_two_normal_distributions() -> None:
    shape, spread = Shape((1.5, 0.7), (0.2, 0.4)), (0.3, 0.9)
    means = [np.zeros(4), np.eye(4)[0]]
    covariances = [np.diag([shape.along[c] + spread[c], *[shape.across[c] + spread[c]] * 3]) for c in (0, 1)]
    assert shape.sum_kl(spread, 4) == pytest.approx(slow_sum_kl(means, covariances))
    assert shape.power(0.25, 4) == pytest.approx(0.75 * (1.5 + 3 * 0.2) + 0.25 * (0.7 + 3 * 0.4))


@pytest.mark.parametrize("seed", range(6))
def test_no_other_shape_within_the_power_hides_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = tuple((10 ** rng.uniform(-4, 1, 2)).tolist())
    share, width, power = rng.uniform(0.05, 0.95), int(rng.choice([1, 2, 16])), 10 ** rng.uniform(-1, 1)
    found = best_shape(spread, share, width, power)
    assert found.power(share, width) <= power * (1 + 1e-6)
    assert min(found.across) >= 0 and all(a >= b for a, b in zip(found.along, found.across, strict=True))
    best = found.sum_kl(spread, width)
    costs = np.array([width * (1 - share), 1 - share, width * share, share])
    for b0, e0, b1, e1 in rng.dirichlet(np.full(4, 0.5), size=500) * power / costs:
        assert best <= Shape((b0 + e0, b1 + e1), (b0, b1)).sum_kl(spread, width) + 1e-6 * abs(best)
    isotropic = Shape((power / width,) * 2, (power / width,) * 2)
    assert best <= isotropic.sum_kl(spread, width)


def batch(rows: int = 4000, width: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of two classes, 0 twice as frequent, whose means differ."""
    draws = torch.Generator().manual_seed(0)
    y = (torch.arange(rows) % 3 == 0).long()
    g = 0.05 * torch.randn(rows, width, generator=draws) * (1 + y[:, None])
    g[:, 1] += 0.2 * y
    return g, y


def carried(protection: Marvell, g: torch.Tensor) -> torch.Tensor:
    wire = make_wire(protections=[protection])
    wire.carry(Message("rows", "bank", "shop", "train", {"rows": torch.arange(len(g), dtype=torch.int32)}))
    return wire.carry(Message("gradient", "bank", "shop", "train", {"gradient": g})).tensors["gradient"]


def test_the_noise_of_each_class_has_the_shape_that_was_found() -> None:
    g, y = batch()
    noise = carried(Marvell("gradient", 4.0, 0, labels=lambda rows: y[rows.long()]), g) - g
    parts = [g[y == c] for c in (0, 1)]
    apart = parts[1].mean(0) - parts[0].mean(0)
    spread = tuple(float((p - p.mean(0)).square().mean() / apart.square().sum()) for p in parts)
    found = best_shape(spread, float(y.double().mean()), 6, 4.0)
    along = noise @ apart / apart.norm()
    rest = noise - along[:, None] * apart / apart.norm()
    for c in (0, 1):
        n = int((y == c).sum())
        unit = apart.square().sum().item()
        bound = 6 * math.sqrt(2 / n)
        assert abs(along[y == c].square().mean().item() / (found.along[c] * unit) - 1) < bound
        got, wanted = rest[y == c].square().sum(1).mean().item() / 5, found.across[c] * unit
        assert abs(got - wanted) < bound * wanted + 1e-6 * unit
    assert abs(noise.square().sum(1).mean().item() / (4.0 * unit) - 1) < 0.1  # all of the power is used


def test_it_hides_the_class_from_a_norm_attacker_better_than_no_noise() -> None:
    g, y = batch()
    hidden = carried(Marvell("gradient", 8.0, 0, labels=lambda rows: y[rows.long()]), g)

    def advantage(h: torch.Tensor) -> float:
        order = torch.linalg.vector_norm(h, dim=1).argsort().argsort().double()
        pairs = int(y.sum()) * int((1 - y).sum())
        auc = (order[y == 1].sum().item() - y.sum().item() * (y.sum().item() - 1) / 2) / pairs
        return abs(auc - 0.5)

    assert advantage(g) > 0.3 and advantage(hidden) < 0.1


def test_a_batch_of_one_class_gets_isotropic_noise_as_large_as_its_largest_row() -> None:
    g, _ = batch()
    noise = carried(Marvell("gradient", 4.0, 0, labels=lambda rows: torch.ones(len(rows), dtype=torch.long)), g) - g
    sigma = 2.0 * torch.linalg.vector_norm(g, dim=1).max().item() / math.sqrt(6)
    assert abs(noise.std().item() / sigma - 1) < 5 / math.sqrt(2 * noise.numel())


def test_without_labels_it_refuses() -> None:
    g, _ = batch(10)
    with pytest.raises(ConfigError, match=r"marvell: .*not known\. Use iso:gradient"):
        carried(Marvell("gradient", 4.0, 0), g)
    with pytest.raises(ConfigError, match="gradients of rows without a label"):
        carried(Marvell("gradient", 4.0, 0, labels=lambda rows: torch.full((len(rows),), -1)), g)
